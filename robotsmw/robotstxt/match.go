package robotstxt

import "github.com/goodbots/courtesy/robotsmw/robotstxt/internal/match"

// A Match tells whether a robot may fetch a target, and why.
type Match struct {
	Allowed bool
	Reason  Reason
	Kind    Kind        // the deciding rule's kind; NoRule if no rule decided
	Pattern string      // the deciding rule's pattern as written in the file; "" if no rule decided
	Line    int         // the deciding rule's line, counted from 1; 0 if no rule decided
	Group   []UserAgent // the user-agent lines that name the robot; do not change this slice
}

// A Reason says why a target is allowed or disallowed.
type Reason uint8

const (
	NoGroup     Reason = iota // no group is for this robot, and none is for "*": allowed
	EmptyGroup                // the robot's group has no rule that can match: allowed
	NoMatch                   // no rule in the robot's group matches: allowed
	ByRule                    // a rule decides; Match.Kind says whether it is an Allow
	IsRobotsTxt               // the target is /robots.txt (RFC 9309 §2.2.2; Google has no such rule): allowed
	TooMuchWork               // the rules take too much work (see [Rules]): disallowed
)

// String returns a short text, such as "no rule matches".
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

// Allowed reports whether the robot may fetch a target: "/path?query" or an
// absolute URL, escaped or not. Allowed ignores the host in a URL: the caller
// chooses the file that applies to it.
func (r *Rules) Allowed(target string) bool { return r.set.Allowed(target) }

// Match decides as Allowed does, and also says why.
//
// The same path can be written in many ways. So patterns and targets are
// compared in one form. In this form, a printable ASCII byte is written as
// itself, and any other byte as an escape: /%7Ejoe is /~joe, and /ツ is
// /%E3%83%84. "%2A" and "%24" in a pattern are a literal "*" and "$". Four
// escapes of printable bytes stay as they are, because the byte itself means
// something else: "%2F", "%3F", "%23" and "%25". For example, an escaped "/" is
// not a separator, so a rule for /a%2Fb does not match /a/b. In the query
// nothing is a separator. So in the query, "/" and "%2F" are the same, and "?"
// and "%3F" are the same. The longest pattern is the one that is longest in
// this form, in which an escape counts as three bytes.
func (r *Rules) Match(target string) Match {
	m := Match{Allowed: true, Group: r.agents}
	switch rule, without, _ := r.set.Decide(target); {
	case without == match.Itself:
		m.Reason = IsRobotsTxt
	case r.agents == nil:
		m.Reason = NoGroup
	case r.set.IsEmpty():
		m.Reason = EmptyGroup
	case without == match.None:
		m.Reason = NoMatch
	case without == match.TooMuch:
		m.Reason, m.Allowed = TooMuchWork, false
	default:
		m.Reason, m.Kind, m.Pattern, m.Line = ByRule, Allow, rule.Written, rule.Line
		if m.Allowed = rule.Allow; !m.Allowed {
			m.Kind = Disallow
		}
	}
	return m
}
