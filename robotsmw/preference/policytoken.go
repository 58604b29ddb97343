package preference

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// policyTokens returns the statements of the groups that apply to policy
// tokens.
func (in Input) policyTokens() []Statement {
	if in.Robots == nil {
		return nil
	}
	var all []Statement
	for _, use := range slices.Sorted(maps.Keys(in.PolicyTokens)) {
		if s, ok := in.truncatedRobots(policyToken); ok {
			s.Raw = unreadablePrefix + s.Raw
			all = append(all, s.withAnswer(use, Unknown))
		}
		for _, token := range in.PolicyTokens[use] {
			if s, ok := in.policyToken(token); ok {
				s.Use = use
				all = append(all, s)
			}
		}
	}
	return all
}

// policyToken returns the statement of the groups that apply to a policy token,
// without a use. ok is false if there is none.
func (in Input) policyToken(token string) (s Statement, ok bool) {
	m := in.Robots.Rules(token).Match(in.target())
	named := slices.IndexFunc(m.Group, namesToken)
	if m.Allowed && named < 0 {
		return Statement{}, false // the rules for "*" cannot allow a use
	}
	s = Statement{
		Answer: Deny,
		Signal: policyToken,
		Where:  "robots.txt",
		Line:   m.Line,
		Path:   m.Pattern,
	}
	if m.Allowed {
		s.Answer = Allow
	}
	if m.Line > 0 {
		s.Raw = fmt.Sprintf("%s: %s for %s", m.Kind, m.Pattern, token)
	} else {
		s.Raw = "User-agent: " + token
		s.Line = m.Group[max(named, 0)].Line
	}
	return s, true
}

// namesToken reports whether a user-agent line is not for "*".
func namesToken(agent robotstxt.UserAgent) bool { return !strings.HasPrefix(agent.Value, "*") }
