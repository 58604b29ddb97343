package robotstxt

import (
	"slices"
	"sync"
	"unsafe"
)

// A Match tells whether a robot may fetch a target, and why.
type Match struct {
	Allowed bool
	Reason  Reason
	Kind    Kind        // whether the deciding rule is an Allow or a Disallow; NoRule where no rule decided
	Pattern string      // the deciding rule's pattern as written in the file; "" where no rule decided
	Line    int         // the deciding rule's line, counted from 1; 0 where no rule decided
	Group   []UserAgent // the user-agent lines that name the robot; nil for none. Not to be changed
}

// A Reason is what a Match rests on.
type Reason uint8

const (
	NoGroup     Reason = iota // no group is for this robot, nor for "*": allowed
	EmptyGroup                // the robot's group has no rules: allowed
	NoMatch                   // none of the rules in the robot's group matches: allowed
	ByRule                    // the most specific rule that matches decides: Match.Kind
	IsRobotsTxt               // the target is /robots.txt, which is always allowed (RFC 9309 §2.2.2)
	TooMuchWork               // the group was made to take more work than one target is worth (package doc, "Cost"): disallowed
)

// String returns the reason in a few words.
func (r Reason) String() string {
	switch r {
	case NoGroup:
		return "no group for this robot"
	case EmptyGroup:
		return "group without rules"
	case NoMatch:
		return "no rule matches"
	case ByRule:
		return "rule"
	case IsRobotsTxt:
		return "robots.txt itself"
	case TooMuchWork:
		return "rules take too much work"
	}
	return "unknown reason"
}

// Allowed reports whether the robot may fetch a target: "/path?query" or an absolute URL, escaped or not.
// Whatever names the host is not looked at: the caller knows which file governs it. Neither Allowed nor Match
// allocates memory.
func (r *Rules) Allowed(target string) bool {
	if r.few && len(target) > 1 && target[0] == '/' && target[1] < 0x80 {
		// In a group of a few paths most targets are told at first sight to match none.
		if !r.second.has(target[1]) {
			return true
		}
		if target[1] != robotsTxt[1] && isPlain(target[1]) {
			if decides, sure := r.tryLiterals(target); sure {
				return decides == none || r.allows(decides)
			}
		}
	}
	r.ready()
	if !r.some {
		return true
	}
	switch decides := r.decide(target); decides {
	case none, itself:
		return true
	case tooMuch:
		return false
	default:
		return r.allows(decides)
	}
}

// Match is Allowed with the reason.
func (r *Rules) Match(target string) Match {
	r.ready()
	m := Match{Allowed: true, Group: r.agents}
	switch decides := r.decide(target); {
	case decides == itself:
		m.Reason = IsRobotsTxt
	case r.agents == nil:
		m.Reason = NoGroup
	case !r.some:
		m.Reason = EmptyGroup
	case decides == none:
		m.Reason = NoMatch
	case decides == tooMuch:
		m.Reason, m.Allowed = TooMuchWork, false
	default:
		p := r.rule(decides)
		m.Reason, m.Kind, m.Pattern, m.Line = ByRule, Allow, r.asWritten(decides), p.line()
		if m.Allowed = p.allows(); !m.Allowed {
			m.Kind = Disallow
		}
	}
	return m
}

// What decide returns when no rule decides.
const (
	none    = -1 - iota // no rule matches
	tooMuch             // maxWork is used up
	itself              // the target is robots.txt
)

const robotsTxt = "/robots.txt"

// decide returns the number of the rule that decides, or one of the above.
func (r *Rules) decide(target string) int {
	if r.dialect != RFC9309 {
		return r.decideEscaped(target)
	}
	if target == "" || target[0] != '/' {
		target = afterAuthority(target)
		if target == "" || target[0] != '/' {
			return r.decideEscaped(target)
		}
	}
	if target == robotsTxt {
		return itself
	}
	if r.eager && !arePlain(target) || len(target) > len(robotsTxt) && (target[1] == 'r' || target[1] == '%') && mayBeRobotsTxt(target) {
		return r.decideEscaped(target)
	}
	if r.index == nil && !r.eager {
		if best, sure := r.tryLiterals(target); sure {
			return best
		}
		return r.decideEscaped(target)
	}
	best := none
	if x := r.index; x != nil && (x.prefixes != 0 || !r.eager) {
		var sure bool
		if best, sure = r.longestPrefix(target); !sure {
			return r.decideEscaped(target)
		}
		if x.apart == 0 && x.grams == 0 {
			return best
		}
	}
	best, _ = r.tryRest(target, best)
	return best
}

// mayBeRobotsTxt reports whether a path is perhaps /robots.txt in another spelling, such as "/robots%2Etxt".
func mayBeRobotsTxt(path string) bool { return !arePlain(path[:min(len(path), 3*len(robotsTxt))]) }

// decideEscaped is decide for a target that has to be brought into the form of escape.go, or of the dialect.
func (r *Rules) decideEscaped(target string) int {
	if need := 1 + 3*len(target); need > stackBuffer {
		buf := buffers.Get().(*[]byte)
		defer buffers.Put(buf)
		*buf = r.appendTarget(slices.Grow((*buf)[:0], need), target)
		return r.decideCanonical(asString(*buf))
	}
	var buf [stackBuffer]byte
	return r.decideCanonical(asString(r.appendTarget(buf[:0], target)))
}

func (r *Rules) appendTarget(dst []byte, target string) []byte {
	switch r.dialect {
	case Google:
		return appendGoogleTarget(dst, target)
	case Koster1996:
		return appendKosterTarget(dst, target)
	}
	return appendTarget(dst, pathAndQuery(target))
}

func (r *Rules) decideCanonical(target string) int {
	if target == robotsTxt && r.dialect != Google {
		return itself
	}
	if r.dialect == Koster1996 {
		return r.firstPrefix(target)
	}
	best, _ := r.decideForm(target)
	return best
}

// decideForm is decide for a target in the form of escape.go, or of the dialect. It also returns how many steps it took.
func (r *Rules) decideForm(target string) (decides, steps int) {
	best := none
	if r.index != nil {
		best, _ = r.longestPrefix(target)
	}
	return r.tryRest(target, best)
}

// stackBuffer is how long the canonical form of nearly all targets is at most. Longer ones share buffers.
const stackBuffer = 512

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// asString returns the octets of b, which must not change as long as the string is in use, without copying them.
func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
