package match

import (
	"iter"
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// A Set has the rules of a group. The zero value has no rules. The answers of a
// Set never change. Any number of goroutines may use it. A Set must not be
// copied after its first use.
type Set struct {
	text    packed                // the rules, if they are few
	second  byteSet               // the second bytes of targets that may match a rule; valid if s.few is true
	index   atomic.Pointer[index] // the rules, if they are many; compile replaces it once
	dialect syntax.Dialect
	some    bool // whether there are any rules
	few     bool // whether s.text has all rules, each literal, with a plain byte after "/"
	eager   bool // whether targets must be compared in canonical form
}

// IsEmpty reports whether there is no rule.
func (s *Set) IsEmpty() bool { return !s.some }

// Allowed reports whether a robot that obeys the rules may fetch a target.
func (s *Set) Allowed(target string) bool {
	if s.few && len(target) > 1 && target[0] == '/' && target[1] < 0x80 {
		// For most targets, the byte after the "/" shows that no rule of a
		// small group matches.
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

// Decide returns the rule that decides about a target. If no rule decides, the
// second result says why: it is [None], [TooMuch] or [Itself]. If a rule
// decides, the second result is 0.
func (s *Set) Decide(target string) (r Rule, without int) {
	rules, decides := s.decide(target)
	if decides < 0 {
		return r, decides
	}
	return rules.public(decides), 0
}

// DecideForm does the same as Decide, for a target in the form of
// [AppendTarget]. It compiles the rules first. It also returns how many steps
// the decision took. The steps of compiling do not count. If the first search
// takes too many steps, a second search begins, and only its steps count.
func (s *Set) DecideForm(target string) (r Rule, without, steps int) {
	s.Compile()
	rules, decides, steps := s.decideForm(target)
	if decides < 0 {
		return r, decides, steps
	}
	return rules.public(decides), 0, steps
}

// ScanForm does the same as DecideForm, but does not compile. If the rules are
// many and not compiled yet, it scans them.
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
	Line    int    // line number in the file, counted from 1
	Written string // the pattern as written in the file
	Form    string // the pattern in the form of [AppendPattern]
}

func (t packed) public(at int) Rule {
	p := t.rule(at)
	return Rule{p.allows(), p.line(), t.asWritten(at), p.pattern}
}

// All compiles the rules and yields them. It does not yield the duplicates that
// an index drops.
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

// Size returns how many bytes of memory the Set may take, including the Set
// itself. Calls of Allowed and Decide do not change this number.
func (s *Set) Size() int {
	if x := s.index.Load(); x != nil {
		return int(x.most)
	}
	return int(unsafe.Sizeof(*s)) + len(s.text)
}

// Kept returns how many bytes of memory the Set takes now.
func (s *Set) Kept() int {
	if x := s.index.Load(); x != nil {
		return fixedSize + len(x.rules) + wordSize*cap(x.table)
	}
	return s.Size()
}

// fixedSize is the size of a Set with an index, without the parts that depend
// on the rules.
const fixedSize = int(unsafe.Sizeof(Set{}) + unsafe.Sizeof(index{}))

// Compile makes the index of a large group now. If nobody calls Compile, the
// Set makes the index when the questions have cost as much as making it.
func (s *Set) Compile() {
	if x := s.index.Load(); x != nil && !x.isMade() {
		s.compile(x)
	}
}

// Spent returns how many steps were spent on questions so far, the number of
// steps after which the rules are compiled, and whether they are compiled. For
// compiled rules, the first result is 0. A small group is never compiled: the
// results are 0, 0 and true.
func (s *Set) Spent() (steps, price int, done bool) {
	x := s.index.Load()
	if x == nil {
		return 0, 0, true
	}
	return int(x.spent.Load()), x.price(), x.isMade()
}

// compile makes the index for x, which has only the rules so far, and replaces
// x by it. If several goroutines call compile at the same time, all get the
// index that first replaced x.
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

// decide returns the place of the rule that decides, and the packed rules in
// which this place is. If no rule decides, it returns None, TooMuch or Itself
// instead of a place.
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

// mayBeRobotsTxt reports whether a path may be /robots.txt in another spelling,
// such as "/robots%2Etxt".
func mayBeRobotsTxt(path string) bool { return !arePlain(path[:min(len(path), 3*len(robotsTxt))]) }

// decideEscaped does the same as decide, for a target that must first be
// brought into the form that the dialect compares.
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

// decideForm decides about a target in the form that the dialect compares. It
// also returns how many steps it took.
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

// decideIndexed does the same as decideForm, for an index that has been made
// already.
func (s *Set) decideIndexed(x *index, target string) (rules packed, decides, steps int) {
	best, _ := x.longestPrefix(target)
	return s.tryRest(x, target, best)
}

// decideMany does the same as decideForm, for an index that has not been made
// yet. It scans the rules until all questions together have cost as much as
// making the index. After that, it makes the index. There are two simpler ways:
// to scan for every question, or to make the index for the first one. With
// decideMany, n questions cost at most twice as much as in the cheaper way,
// plus the cost of one question.
//
// A scan may decide where an index would return TooMuch. But the answer must
// not depend on which of the two is used. So if an index might take more than
// maxWork steps for a target, decideMany makes the index and lets it decide.
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

// tryRest tries all rules that longestPrefix does not try. The argument best is
// the result of longestPrefix: a rule, or None. tryRest returns the rule that
// decides: best, or one of the rules that it tries. If the work is too much, it
// returns TooMuch. It also returns how many steps it took. If tryDear begins a
// second search, the steps of the first one do not count. x is nil for a group
// without an index. In this case, best is None.
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

// tryDear does the same as tryRest, for a target that takes many steps. It
// first finds the occurrences of bytes and grams in the target.
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
