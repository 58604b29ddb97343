package match

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// A Set has the rules of a group. The zero value has no rules. A Set does not
// change, so any number of goroutines may use it.
type Set struct {
	rules       []rule  // in the order of the file
	text        string  // the patterns of the rules, one after the other
	secondBytes byteSet // the second bytes of targets that some rule may match
	dialect     syntax.Dialect
	wild        bool // whether a rule is wild
}

// IsEmpty reports whether there is no rule.
func (s *Set) IsEmpty() bool { return len(s.rules) == 0 }

// Size returns how many bytes of memory the Set takes, including the Set
// itself.
func (s *Set) Size() int {
	return int(unsafe.Sizeof(*s)) + len(s.rules)*int(unsafe.Sizeof(rule{})) + len(s.text)
}

// Functions that return the index of the deciding rule return one of these
// values if no rule decides.
const (
	None    = -1 - iota // no rule matches
	TooMuch             // the rules take more steps than maxWork
	Itself              // the target is robots.txt itself
)

// Allowed reports whether a robot that obeys the rules may fetch a target.
func (s *Set) Allowed(target string) bool {
	if s.dialect == syntax.RFC9309 && len(target) > 1 && target[0] == '/' && isPlain(target[1]) && !s.secondBytes.has(target[1]) {
		return true // for groups of one to five rules, this keeps up with temoto/robotstxt
	}
	switch decides, _ := s.decide(target); decides {
	case None, Itself:
		return true
	case TooMuch:
		return false
	default:
		return s.rules[decides].rank.has(allowBit)
	}
}

// A Rule is a rule of a [Set].
type Rule struct {
	Allow   bool
	Line    int    // line number in the file, counted from 1
	Written string // the pattern as written in the file
	Form    string // the pattern in the form of [AppendPattern]
}

// Decide returns the rule that decides about a target. If no rule decides,
// without says why: it is [None], [TooMuch] or [Itself]. If a rule decides,
// without is 0. Decide also returns how many steps it took.
func (s *Set) Decide(target string) (r Rule, without, steps int) {
	decides, steps := s.decide(target)
	if decides < 0 {
		return r, decides, steps
	}
	rank := s.rules[decides].rank
	r = Rule{Allow: rank.has(allowBit), Line: rank.line(), Form: s.pattern(decides)}
	to := len(s.text)
	if decides+1 < len(s.rules) {
		to = int(s.rules[decides+1].from)
	}
	if r.Written = s.text[int(s.rules[decides].from)+rank.nbytes() : to]; r.Written == "" {
		r.Written = r.Form
	}
	return r, 0, steps
}

func (s *Set) pattern(i int) string {
	r := &s.rules[i]
	return s.text[r.from:][:r.rank.nbytes()]
}

const robotsTxt = "/robots.txt"

// decide returns the index of the rule that decides, and how many steps that
// took. If no rule decides, it returns None, TooMuch or Itself as the index.
func (s *Set) decide(target string) (decides, steps int) {
	if s.dialect == syntax.RFC9309 && strings.HasPrefix(target, "/") && arePlain(target) {
		return s.decideForm(target) // nearly all targets are in canonical form
	}
	if need := 1 + 3*len(target); need > stackBuffer {
		buf := buffers.Get().(*[]byte)
		defer buffers.Put(buf)
		*buf = AppendTarget(slices.Grow((*buf)[:0], need), target, s.dialect)
		return s.decideForm(AsString(*buf))
	}
	var buf [stackBuffer]byte
	return s.decideForm(AsString(AppendTarget(buf[:0], target, s.dialect)))
}

// decideForm does the same as decide, for a target in the form that the dialect
// compares.
func (s *Set) decideForm(target string) (decides, steps int) {
	if s.dialect == syntax.Koster1996 {
		return s.decideKoster(target)
	}
	if target == robotsTxt && s.dialect == syntax.RFC9309 {
		return Itself, 0
	}
	begin, missing := beginOf(target), byteSet(0)
	if s.wild {
		missing = ^bytesOf(target)
	}
	decides, steps = None, len(s.rules)
	most, best := maxWork(len(target)), rank(0)
	for i := range s.rules {
		r := &s.rules[i]
		if r.rank <= best || r.cannotMatch(begin, missing) {
			continue
		}
		pattern := s.pattern(i)
		if r.rank.has(wildBit) {
			if steps += len(pattern) + len(target)/2; steps > most {
				return TooMuch, steps
			}
		}
		matches := false
		if !r.rank.has(plainBit) {
			matches = matchesWild(pattern, target)
		} else if end := len(pattern) - 1; end < len(target) && target[end] == pattern[end] { // these often differ
			matches = strings.HasPrefix(target, pattern)
		}
		if matches {
			decides, best = i, r.rank
		}
	}
	return decides, steps
}

// decideKoster does the same as decideForm, by the draft of 1996: the first
// rule whose path is a prefix of the target decides. No byte of a path is a
// wildcard.
func (s *Set) decideKoster(target string) (decides, steps int) {
	if target == robotsTxt {
		return Itself, 0
	}
	for i := range s.rules {
		if strings.HasPrefix(target, s.pattern(i)) {
			return i, i + 1
		}
	}
	return None, len(s.rules)
}

// Work is counted in steps, each of about a nanosecond or less. A target may
// cost baseWork steps, and workPerByte more for each of its bytes. Only a file
// that was made to keep crawlers busy reaches this limit, by rules with
// wildcards. The robot then cannot tell whether the target is allowed, and does
// not fetch it.
const (
	baseWork    = 1 << 24
	workPerByte = 32
)

func maxWork(nbytes int) int { return baseWork + workPerByte*nbytes }
