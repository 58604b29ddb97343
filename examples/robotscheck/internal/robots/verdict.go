package robots

import (
	"fmt"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A Verdict is what a robots.txt says about one target. Its fields are part of
// the JSON of several commands.
type Verdict struct {
	Allowed bool            `json:"allowed"`
	Reason  robotsmw.Reason `json:"reason"`
	Rule    string          `json:"rule,omitempty"` // the rule that decided, such as "Disallow: /a"
	Line    int             `json:"line,omitempty"` // the number of the rule's line, counted from 1

	// Resolved is set if servers may treat the target like another path that is
	// disallowed (see robotsmw.Decision). Resolved is then the other path, with
	// the query. "" means that the target was judged as it is written.
	Resolved string `json:"resolved,omitempty"`
}

// reasons maps each reason of robotstxt to the same reason of robotsmw.
var reasons = [...]robotsmw.Reason{
	robotstxt.NoGroup:     robotsmw.NoGroup,
	robotstxt.EmptyGroup:  robotsmw.EmptyGroup,
	robotstxt.NoMatch:     robotsmw.NoMatch,
	robotstxt.ByRule:      robotsmw.ByRule,
	robotstxt.IsRobotsTxt: robotsmw.IsRobotsTxt,
	robotstxt.TooMuchWork: robotsmw.TooMuchWork,
}

// Judge returns the same verdict on a target as a robotsmw.Checker. If servers
// may treat an allowed target like another path that is disallowed, Judge
// returns the verdict on that path.
func Judge(rules *robotstxt.Rules, target string) Verdict {
	m, resolved := rules.MatchResolved(target)
	v := verdictOf(m)
	v.Resolved = resolved
	return v
}

// verdictOf turns the parser's answer into a Verdict.
func verdictOf(m robotstxt.Match) Verdict {
	v := Verdict{Allowed: m.Allowed, Reason: reasons[m.Reason], Line: m.Line}
	if m.Reason == robotstxt.ByRule {
		v.Rule = m.Kind.String() + ": " + m.Pattern
	}
	return v
}

// Word returns the verdict in one word.
func (v Verdict) Word() string {
	if v.Allowed {
		return "allowed"
	}
	return "disallowed"
}

// Why returns the reason for the verdict in a few words.
func (v Verdict) Why() string {
	why := v.reason()
	if v.Resolved != "" {
		why += ", as " + command.Printable(v.Resolved)
	}
	return why
}

func (v Verdict) reason() string {
	switch v.Reason {
	case robotsmw.ByRule:
		return fmt.Sprintf("line %d: %s", v.Line, command.Printable(v.Rule))
	case robotsmw.NoMatch:
		return "no rule of its group matches"
	case robotsmw.EmptyGroup:
		return "its group has no rules"
	case robotsmw.NoGroup:
		return "no group is for it"
	case robotsmw.IsRobotsTxt:
		return "robots.txt itself is always allowed"
	case robotsmw.TooMuchWork:
		return "the rules take too much work for one URL"
	case robotsmw.Unavailable:
		return "there is no robots.txt"
	case robotsmw.Unreachable:
		return "robots.txt cannot be had"
	}
	return v.Reason.String()
}
