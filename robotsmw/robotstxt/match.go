package robotstxt

import "github.com/goodbots/courtesy/robotsmw/robotstxt/internal/match"

// A Match reports whether a robot may fetch a target, and why.
type Match struct {
	Allowed bool
	Reason  Reason
	Kind    Kind        // kind of the deciding rule; NoRule if no rule decided
	Pattern string      // pattern of the deciding rule, unchanged; "" if no rule decided
	Line    int         // line number of the deciding rule; 0 if no rule decided
	Group   []UserAgent // the user-agent lines that name the robot; must not be modified
}

// A Reason is the reason that a target is allowed or disallowed.
type Reason uint8

const (
	NoGroup     Reason = iota // allowed: no group applies to the robot
	EmptyGroup                // allowed: the robot's group has no rule that can match
	NoMatch                   // allowed: no rule in the robot's group matches
	ByRule                    // Match.Kind is the kind of the deciding rule
	IsRobotsTxt               // allowed: the target is /robots.txt (RFC 9309 §2.2.2)
	TooMuchWork               // disallowed: matching takes too long, as described at [Rules]
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

// Allowed reports whether the robot may fetch a target. The target is a path
// with an optional query, or an absolute URL, percent-encoded or not. The host
// of a URL is ignored, because the caller chooses the file that applies to it.
func (r *Rules) Allowed(target string) bool { return r.set.Allowed(target) }

// Match is like [Rules.Allowed], but also reports the reason.
//
// Patterns and targets are normalized before they are compared (RFC 9309
// §2.2.2). In the normalized form, printable ASCII bytes are literal, and all
// other bytes are percent-encoded with upper-case digits: /%7Ejoe becomes
// /~joe, and /ツ becomes /%E3%83%84. "%2A" and "%24" in a pattern match a
// literal "*" and "$". There are four exceptions, "%2F", "%3F", "%23" and
// "%25", which are not decoded because the literal byte has a different
// meaning. For example, a rule for /a%2Fb does not match /a/b, because an
// encoded slash does not separate segments. In the query, slashes and question
// marks have no special meaning, so that there "%2F" is the same as "/" and
// "%3F" is the same as "?".
//
// Lengths of patterns are also compared in the normalized form, in which a
// percent-encoded byte counts as three bytes.
func (r *Rules) Match(target string) Match {
	m := Match{Allowed: true, Group: r.agents}
	rule, outcome, _ := r.set.Decide(target)
	if outcome == match.IsRobotsTxt {
		m.Reason = IsRobotsTxt
		return m
	}
	if r.agents == nil {
		m.Reason = NoGroup
		return m
	}
	if r.set.IsEmpty() {
		m.Reason = EmptyGroup
		return m
	}
	switch outcome {
	case match.NoMatch:
		m.Reason = NoMatch
	case match.TooMuchWork:
		m.Reason = TooMuchWork
		m.Allowed = false
	default:
		m.Reason = ByRule
		m.Allowed = rule.Allow
		m.Kind = Disallow
		if rule.Allow {
			m.Kind = Allow
		}
		m.Pattern = rule.Pattern
		m.Line = rule.Line
	}
	return m
}
