package match

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// A Set contains the rules of a group. The zero value has no rules. A Set is
// immutable, and safe for concurrent use by multiple goroutines.
type Set struct {
	rules       []rule  // in the order of the file
	text        string  // the patterns of the rules
	secondBytes byteSet // the second bytes of all targets that a rule may match
	dialect     syntax.Dialect
	hasWild     bool // whether a rule is wild
}

// IsEmpty reports whether there are no rules.
func (s *Set) IsEmpty() bool { return len(s.rules) == 0 }

// Size returns the memory that the Set occupies, in bytes, including the Set
// itself.
func (s *Set) Size() int {
	return int(unsafe.Sizeof(*s)) + len(s.rules)*int(unsafe.Sizeof(rule{})) + len(s.text)
}

// An Outcome is the outcome of matching a target.
type Outcome uint8

const (
	ByRule      Outcome = iota // a rule decides
	NoMatch                    // no rule matches
	TooMuchWork                // matching takes more steps than maxWork
	IsRobotsTxt                // the target is /robots.txt, which is always allowed
)

// Functions that return the index of the deciding rule return one of these
// values if no rule decides.
const (
	noMatch     = -int(NoMatch)
	tooMuchWork = -int(TooMuchWork)
	isRobotsTxt = -int(IsRobotsTxt)
)

// Allowed reports whether the rules allow a target.
func (s *Set) Allowed(target string) bool {
	if s.cannotMatch(target) {
		return true
	}
	index, _ := s.decide(target)
	switch index {
	case noMatch, isRobotsTxt:
		return true
	case tooMuchWork:
		return false
	}
	return s.rules[index].rank.has(allowBit)
}

// cannotMatch reports whether the second byte of a target excludes all rules.
// It is a fast path for groups of up to five rules, and has false negatives.
func (s *Set) cannotMatch(target string) bool {
	if s.dialect != syntax.RFC9309 || len(target) < 2 || target[0] != '/' {
		return false
	}
	return isPlain(target[1]) && !s.secondBytes.has(target[1])
}

// A Rule is a rule of a [Set].
type Rule struct {
	Allow      bool
	Line       int    // line number in the file, counted from 1
	Pattern    string // the pattern in the file
	Normalized string // the result of [AppendPattern] for the pattern
}

// Decide returns the rule that decides about a target. If the outcome is not
// [ByRule], the Rule is zero. steps is a measure of the time that matching
// takes, as described at maxWork.
func (s *Set) Decide(target string) (r Rule, outcome Outcome, steps int) {
	index, steps := s.decide(target)
	if index < 0 {
		return Rule{}, Outcome(-index), steps
	}
	rank := s.rules[index].rank
	normalized := s.pattern(index)
	raw := s.rawPattern(index)
	if raw == "" {
		raw = normalized
	}
	return Rule{
		Allow:      rank.has(allowBit),
		Line:       rank.line(),
		Pattern:    raw,
		Normalized: normalized,
	}, ByRule, steps
}

// pattern returns the normalized pattern of a rule.
func (s *Set) pattern(index int) string {
	r := &s.rules[index]
	return s.text[r.start:][:r.rank.patternLen()]
}

// rawPattern returns the pattern of a rule in the file, or "" if it is the same
// as the normalized pattern.
func (s *Set) rawPattern(index int) string {
	r := &s.rules[index]
	end := len(s.text)
	if index+1 < len(s.rules) {
		end = int(s.rules[index+1].start)
	}
	return s.text[int(r.start)+r.rank.patternLen() : end]
}

// decide returns the index of the deciding rule, or one of the negative
// constants above, and the number of steps that matching took.
func (s *Set) decide(target string) (index, steps int) {
	if s.dialect == syntax.RFC9309 && strings.HasPrefix(target, "/") && isAllPlain(target) {
		return s.decideNormalized(target) // nearly all targets are normalized
	}
	if need := 1 + 3*len(target); need > stackSize {
		buf := buffers.Get().(*[]byte)
		defer buffers.Put(buf)
		*buf = AppendTarget(slices.Grow((*buf)[:0], need), target, s.dialect)
		return s.decideNormalized(AsString(*buf))
	}
	var buf [stackSize]byte
	return s.decideNormalized(AsString(AppendTarget(buf[:0], target, s.dialect)))
}

const robotsTxt = "/robots.txt"

// decideNormalized is like decide for a normalized target.
func (s *Set) decideNormalized(target string) (index, steps int) {
	if s.dialect == syntax.Koster1996 {
		return s.decideKoster(target)
	}
	if target == robotsTxt && s.dialect == syntax.RFC9309 {
		return isRobotsTxt, 0
	}
	prefix := prefixKey(target)
	missing := byteSet(0)
	if s.hasWild {
		missing = ^newByteSet(target)
	}
	index = noMatch
	steps = len(s.rules)
	limit := maxWork(len(target))
	best := rank(0)
	for i := range s.rules {
		r := &s.rules[i]
		if r.rank <= best || r.excludes(prefix, missing) {
			continue
		}
		pattern := s.pattern(i)
		if r.rank.has(wildBit) {
			steps += len(pattern) + len(target)/2
			if steps > limit {
				return tooMuchWork, steps
			}
		}
		var matches bool
		if r.rank.has(literalBit) {
			matches = hasPrefix(target, pattern)
		} else {
			matches = matchesWildcard(pattern, target)
		}
		if matches {
			index = i
			best = r.rank
		}
	}
	return index, steps
}

// hasPrefix is strings.HasPrefix for a prefix that is not empty. It compares
// the last byte first, because the patterns of a group often begin alike.
func hasPrefix(s, prefix string) bool {
	last := len(prefix) - 1
	return last < len(s) && s[last] == prefix[last] && strings.HasPrefix(s, prefix)
}

// decideKoster is like decideNormalized for the dialect [syntax.Koster1996], in
// which the first matching rule decides and there are no special bytes.
func (s *Set) decideKoster(target string) (index, steps int) {
	if target == robotsTxt {
		return isRobotsTxt, 0
	}
	for i := range s.rules {
		if strings.HasPrefix(target, s.pattern(i)) {
			return i, i + 1
		}
	}
	return noMatch, len(s.rules)
}

const (
	baseWork    = 1 << 24
	workPerByte = 32
)

// maxWork returns the maximum number of steps for a target of n bytes. A step
// takes about a nanosecond or less. Only files that were made to slow down
// crawlers exceed the maximum. If a target exceeds it, whether the rules allow
// the target is unknown, so the target is disallowed.
func maxWork(n int) int { return baseWork + workPerByte*n }
