package match

import (
	"iter"
	"slices"
	"unsafe"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// A Set is the rules of a group, compiled. The zero value has none. It does not
// change: any number of goroutines may use it. It must not be copied once it is
// in use.
type Set struct {
	text    packed         // the rules
	second  byteSet        // if they are few: the bytes after "/" with which a target is worth a look
	index   *index         // nil for a group so small that its rules are tried one by one
	dialect syntax.Dialect // of the file
	some    bool           // whether there is any rule
	few     bool           // whether the rules are tried one by one, and all are literal and longer than "/"
	eager   bool           // whether targets must be in the form of escape.go before they are compared
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
	s.ready()
	if !s.some {
		return true
	}
	switch decides := s.decide(target); decides {
	case None, Itself:
		return true
	case TooMuch:
		return false
	default:
		return s.text.allows(decides)
	}
}

// Decide returns the place of the rule that decides about a target, or [None],
// [TooMuch] or [Itself].
func (s *Set) Decide(target string) int {
	s.ready()
	return s.decide(target)
}

// DecideForm is Decide for a target in the form of [AppendTarget]. It also
// returns how many steps it took.
func (s *Set) DecideForm(target string) (decides, steps int) {
	s.ready()
	return s.decideForm(target)
}

// A Rule is a rule of a [Set].
type Rule struct {
	Allow   bool
	Line    int    // in the file, counted from 1
	Written string // the pattern as it stands in the file
	Form    string // the pattern in the form of [AppendPattern]
}

// Rule returns the rule at a place that Decide has returned.
func (s *Set) Rule(at int) Rule {
	p := s.text.rule(at)
	return Rule{p.allows(), p.line(), s.text.asWritten(at), p.pattern}
}

// All yields the rules, but for those that another one has made useless.
func (s *Set) All() iter.Seq[Rule] {
	return func(yield func(Rule) bool) {
		s.ready()
		for at, end := 0, s.text.end(); at < end; at = s.text.rule(at).next {
			if !yield(s.Rule(at)) {
				return
			}
		}
	}
}

// Size returns how many bytes of memory the Set keeps, itself among them.
func (s *Set) Size() int {
	s.ready()
	size := s.fixedSize() + len(s.text)
	if s.index != nil {
		size += wordSize * cap(s.index.table)
	}
	return size
}

// fixedSize is the part of Size that does not depend on the rules.
func (s *Set) fixedSize() int {
	size := int(unsafe.Sizeof(*s))
	if s.index != nil {
		size += int(unsafe.Sizeof(*s.index))
	}
	return size
}

// ready makes the index, when the Set is asked for the first time: who wants a
// file's sitemaps, or another robot's rules, need not wait for it.
func (s *Set) ready() {
	if s.index != nil && !s.index.done.Load() {
		s.makeIndex()
	}
}

func (s *Set) makeIndex() {
	x := s.index
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.done.Load() {
		return
	}
	f := filers.Get().(*filer)
	s.text = f.file(x, s.text, s.fixedSize()+int(x.besides))
	filers.Put(f)
	x.done.Store(true)
}

const robotsTxt = "/robots.txt"

// decide returns the number of the rule that decides, or one of the above.
func (s *Set) decide(target string) int {
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
		return Itself
	}
	if s.eager && !arePlain(target) || len(target) > len(robotsTxt) && (target[1] == 'r' || target[1] == '%') && mayBeRobotsTxt(target) {
		return s.decideEscaped(target)
	}
	if s.index == nil && !s.eager {
		if best, sure := s.text.tryLiterals(target); sure {
			return best
		}
		return s.decideEscaped(target)
	}
	best := None
	if x := s.index; x != nil && (x.prefixes != 0 || !s.eager) {
		var sure bool
		if best, sure = x.longestPrefix(s.text, target); !sure {
			return s.decideEscaped(target)
		}
		if x.apart == 0 && x.grams == 0 {
			return best
		}
	}
	best, _ = s.tryRest(target, best)
	return best
}

// mayBeRobotsTxt reports whether a path is perhaps /robots.txt in another
// spelling, such as "/robots%2Etxt".
func mayBeRobotsTxt(path string) bool { return !arePlain(path[:min(len(path), 3*len(robotsTxt))]) }

// decideEscaped is decide for a target that has to be brought into the form of
// escape.go, or of the dialect.
func (s *Set) decideEscaped(target string) int {
	if need := 1 + 3*len(target); need > stackBuffer {
		buf := buffers.Get().(*[]byte)
		defer buffers.Put(buf)
		*buf = AppendTarget(slices.Grow((*buf)[:0], need), target, s.dialect)
		return s.decideCanonical(asString(*buf))
	}
	var buf [stackBuffer]byte
	return s.decideCanonical(asString(AppendTarget(buf[:0], target, s.dialect)))
}

func (s *Set) decideCanonical(target string) int {
	if target == robotsTxt && s.dialect != syntax.Google {
		return Itself
	}
	if s.dialect == syntax.Koster1996 {
		return s.text.firstPrefix(target)
	}
	best, _ := s.decideForm(target)
	return best
}

// decideForm is decide for a target in the form of escape.go, or of the
// dialect. It also returns how many steps it took.
func (s *Set) decideForm(target string) (decides, steps int) {
	best := None
	if s.index != nil {
		best, _ = s.index.longestPrefix(s.text, target)
	}
	return s.tryRest(target, best)
}

// tryRest returns the rule that decides among best and all rules that
// longestPrefix does not look at, or TooMuch, and in how many steps it was
// found.
func (s *Set) tryRest(target string, best int) (decides, steps int) {
	var one search // filled in by field: a literal would be copied, which is felt
	one.rules, one.target, one.left = s.text, target, dear
	if decides = s.tryAll(&one, best); decides == TooMuch {
		return s.tryDear(target, best)
	}
	return decides, dear - one.left
}

// tryDear is tryRest with all that helps where much has to be tried.
func (s *Set) tryDear(target string, best int) (decides, steps int) {
	var seen occurrences
	seen.find(target)
	most := maxWork(len(target))
	one := search{s.text, target, most, &seen}
	decides = s.tryAll(&one, best)
	return decides, most - one.left
}

func (s *Set) tryAll(one *search, best int) int {
	if s.index == nil {
		return one.tryEach(s.text.end(), best)
	}
	best = one.tryEach(int(s.index.apart), best)
	if s.index.grams == 0 || best == TooMuch {
		return best
	}
	return s.index.tryGrams(one, best)
}
