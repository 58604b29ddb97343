package match

import (
	"iter"
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// A Set is the rules of a group. The zero value has none. What it answers does
// not change: any number of goroutines may use it. It must not be copied once
// it is in use.
type Set struct {
	text    packed                // the rules, if they are few
	second  byteSet               // and then, the bytes after "/" with which a target is worth a look
	index   atomic.Pointer[index] // the rules, if they are many; it is replaced once
	dialect syntax.Dialect        // of the file
	some    bool                  // whether there is any rule
	few     bool                  // whether the rules are tried one by one, and all are literal and longer than "/"
	eager   bool                  // whether targets must be in the form of escape.go before they are compared
}

// IsEmpty reports whether there is no rule.
func (s *Set) IsEmpty() bool { return !s.some }

// Allowed reports whether a robot that obeys the rules may fetch a target.
func (s *Set) Allowed(target string) bool {
	if s.few && len(target) > 1 && target[0] == '/' && target[1] < 0x80 {
		// In a group of a few paths most targets are told at first sight to
		// match none.
		if !s.second.has(target[1]) {
			return true
		}
		if target[1] != robotsTxt[1] && isPlain(target[1]) {
			if decides, sure := s.text.tryLiterals(target); sure {
				return decides == None || s.text.allows(decides)
			}
		}
	}
	if !s.some {
		return true
	}
	switch rules, decides := s.decide(target); decides {
	case None, Itself:
		return true
	case TooMuch:
		return false
	default:
		return rules.allows(decides)
	}
}

// Decide returns the rule that decides about a target. Where none does, without
// tells why: it is [None], [TooMuch] or [Itself]; else 0.
func (s *Set) Decide(target string) (r Rule, without int) {
	rules, decides := s.decide(target)
	if decides < 0 {
		return r, decides
	}
	return rules.public(decides), 0
}

// DecideForm is Decide for a target in the form of [AppendTarget]. It also
// returns how many steps it took, once the rules are compiled.
func (s *Set) DecideForm(target string) (r Rule, without, steps int) {
	s.Compile()
	rules, decides, steps := s.decideForm(target)
	if decides < 0 {
		return r, decides, steps
	}
	return rules.public(decides), 0, steps
}

// ScanForm is DecideForm by a scan, if the rules are many and not compiled yet.
func (s *Set) ScanForm(target string) (r Rule, without, steps int) {
	x := s.index.Load()
	if x == nil || x.isMade() {
		return s.DecideForm(target)
	}
	const most = math.MaxInt32
	var one search
	one.rules, one.target, one.block, one.left = x.rules, target, blockOf(target), most
	decides, _ := one.scan()
	if decides < 0 {
		return r, decides, most - one.left
	}
	return x.rules.public(decides), 0, most - one.left
}

// A Rule is a rule of a [Set].
type Rule struct {
	Allow   bool
	Line    int    // in the file, counted from 1
	Written string // the pattern as it stands in the file
	Form    string // the pattern in the form of [AppendPattern]
}

// public returns the rule at a place as a Rule.
func (t packed) public(at int) Rule {
	p := t.rule(at)
	return Rule{p.allows(), p.line(), t.asWritten(at), p.pattern}
}

// All yields the rules, but for those that another one has made useless. It
// compiles them.
func (s *Set) All() iter.Seq[Rule] {
	return func(yield func(Rule) bool) {
		s.Compile()
		rules := s.text
		if x := s.index.Load(); x != nil {
			rules = x.rules
		}
		for at, end := 0, rules.end(); at < end; at = rules.rule(at).next {
			if !yield(rules.public(at)) {
				return
			}
		}
	}
}

// Size returns how many bytes of memory the Set keeps at most, itself among
// them, however often it is asked.
func (s *Set) Size() int {
	if x := s.index.Load(); x != nil {
		return int(x.most)
	}
	return int(unsafe.Sizeof(*s)) + len(s.text)
}

// Kept returns how many bytes of memory the Set keeps now.
func (s *Set) Kept() int {
	if x := s.index.Load(); x != nil {
		return fixedSize + len(x.rules) + wordSize*cap(x.table)
	}
	return s.Size()
}

// fixedSize is the part of the Size of a Set with an index that does not depend
// on the rules.
const fixedSize = int(unsafe.Sizeof(Set{}) + unsafe.Sizeof(index{}))

// Compile makes the index of a large group now, rather than when so many have
// asked that it pays.
func (s *Set) Compile() {
	if x := s.index.Load(); x != nil && !x.isMade() {
		s.compile(x)
	}
}

// Spent returns how many steps questions have taken by now, and how many are
// worth compiling the rules, which then is done. A small group needs none.
func (s *Set) Spent() (steps, price int, done bool) {
	x := s.index.Load()
	if x == nil {
		return 0, 0, true
	}
	return int(x.spent.Load()), x.price(), x.isMade()
}

// compile returns an index in the place of one that is not made. If many have
// it made at once, one of them is kept.
func (s *Set) compile(x *index) *index {
	f := filers.Get().(*filer)
	made := f.file(x, fixedSize)
	filers.Put(f)
	if s.index.CompareAndSwap(x, made) {
		return made
	}
	return s.index.Load()
}

const robotsTxt = "/robots.txt"

// decide returns the place of the rule that decides, and the rules among which
// it is; or what stands for a place.
func (s *Set) decide(target string) (rules packed, decides int) {
	if s.dialect != syntax.RFC9309 {
		return s.decideEscaped(target)
	}
	if target == "" || target[0] != '/' {
		target = AfterAuthority(target)
		if target == "" || target[0] != '/' {
			return s.decideEscaped(target)
		}
	}
	if target == robotsTxt {
		return "", Itself
	}
	x := s.index.Load()
	scanned := x != nil && !x.isMade()
	if (s.eager || scanned) && !arePlain(target) || len(target) > len(robotsTxt) && (target[1] == 'r' || target[1] == '%') && mayBeRobotsTxt(target) {
		return s.decideEscaped(target)
	}
	if scanned {
		rules, decides, _ = s.decideMany(x, target)
		return rules, decides
	}
	if x == nil && !s.eager {
		if best, sure := s.text.tryLiterals(target); sure {
			return s.text, best
		}
		return s.decideEscaped(target)
	}
	best := None
	if x != nil && (x.prefixes != 0 || !s.eager) {
		var sure bool
		if best, sure = x.longestPrefix(target); !sure {
			return s.decideEscaped(target)
		}
		if x.apart == 0 && x.grams == 0 {
			return x.rules, best
		}
	}
	rules, decides, _ = s.tryRest(x, target, best)
	return rules, decides
}

// mayBeRobotsTxt reports whether a path is perhaps /robots.txt in another
// spelling, such as "/robots%2Etxt".
func mayBeRobotsTxt(path string) bool { return !arePlain(path[:min(len(path), 3*len(robotsTxt))]) }

// decideEscaped is decide for a target that has to be brought into the form of
// escape.go, or of the dialect.
func (s *Set) decideEscaped(target string) (rules packed, decides int) {
	if need := 1 + 3*len(target); need > stackBuffer {
		buf := buffers.Get().(*[]byte)
		defer buffers.Put(buf)
		*buf = AppendTarget(slices.Grow((*buf)[:0], need), target, s.dialect)
		return s.decideCanonical(asString(*buf))
	}
	var buf [stackBuffer]byte
	return s.decideCanonical(asString(AppendTarget(buf[:0], target, s.dialect)))
}

func (s *Set) decideCanonical(target string) (rules packed, decides int) {
	if target == robotsTxt && s.dialect != syntax.Google {
		return "", Itself
	}
	if s.dialect == syntax.Koster1996 {
		return s.text, s.text.firstPrefix(target)
	}
	rules, decides, _ = s.decideForm(target)
	return rules, decides
}

// decideForm is decide for a target in the form of escape.go, or of the
// dialect. It also returns how many steps it took.
func (s *Set) decideForm(target string) (rules packed, decides, steps int) {
	x := s.index.Load()
	switch {
	case x == nil:
		return s.tryRest(nil, target, None)
	case !x.isMade():
		return s.decideMany(x, target)
	}
	return s.decideIndexed(x, target)
}

// decideIndexed is decideForm by an index that is made.
func (s *Set) decideIndexed(x *index, target string) (rules packed, decides, steps int) {
	best, _ := x.longestPrefix(target)
	return s.tryRest(x, target, best)
}

// decideMany is decideForm by an index that is not made yet. As long as making
// it would cost more than all questions so far have cost together, it is not
// worth it: whoever asks n questions never pays more than twice what the better
// of both ways would have cost, had n been known, and for one question.
//
// That an index takes TooMuch for a target is a verdict, too: where it might,
// it has to tell.
func (s *Set) decideMany(x *index, target string) (rules packed, decides, steps int) {
	if left := x.price() - int(x.spent.Load()); left >= 0 {
		var one search
		one.rules, one.target, one.block, one.left = x.rules, target, blockOf(target), left
		best, most := one.scan()
		x.spent.Add(uint32(left - one.left))
		if one.left >= 0 && most <= maxWork(len(target)) {
			return x.rules, best, left - one.left
		}
	}
	return s.decideIndexed(s.compile(x), target)
}

// tryRest returns the rule that decides among best and all rules that
// longestPrefix does not look at, or TooMuch, and in how many steps it was
// found. x is nil for a group without an index.
func (s *Set) tryRest(x *index, target string, best int) (rules packed, decides, steps int) {
	rules = s.text
	if x != nil {
		rules = x.rules
	}
	var one search
	one.rules, one.target, one.block, one.left = rules, target, blockOf(target), dear
	if decides = tryAll(x, &one, best); decides != TooMuch {
		return rules, decides, dear - one.left
	}
	decides, steps = tryDear(x, rules, target, best)
	return rules, decides, steps
}

// tryDear is tryRest with all that helps where much has to be tried.
func tryDear(x *index, rules packed, target string, best int) (decides, steps int) {
	var seen occurrences
	seen.find(target)
	most := maxWork(len(target))
	var one search
	one.rules, one.target, one.block, one.left, one.seen = rules, target, blockOf(target), most, &seen
	decides = tryAll(x, &one, best)
	return decides, most - one.left
}

func tryAll(x *index, one *search, best int) int {
	if x == nil {
		return one.tryEach(one.rules.end(), best)
	}
	best = one.tryEach(int(x.apart), best)
	if x.grams == 0 || best == TooMuch {
		return best
	}
	return x.tryGrams(one, best)
}
