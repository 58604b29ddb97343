package preference

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// policyTokens returns what the groups for the policy tokens say. The "*" group
// can deny, but not allow.
func (in Input) policyTokens() (all []Statement) {
	if in.Robots == nil {
		return nil
	}
	for _, use := range slices.Sorted(maps.Keys(in.PolicyTokens)) {
		if unread := in.endOfRobots(policyToken); unread != nil {
			unread.Raw = "cannot be read: " + unread.Raw
			all = append(all, unread.about(use, Unknown))
		}
		for _, token := range in.PolicyTokens[use] {
			m := in.Robots.Rules(token).Match(in.target())
			named := slices.IndexFunc(m.Group, func(agent robotstxt.UserAgent) bool { return !strings.HasPrefix(agent.Value, "*") })
			if m.Allowed && named < 0 {
				continue
			}
			s := Statement{Use: use, Answer: Deny, Signal: policyToken, Where: "robots.txt", Line: m.Line, Path: m.Pattern}
			if m.Allowed {
				s.Answer = Allow
			}
			if m.Line > 0 {
				s.Raw = fmt.Sprintf("%s: %s for %s", m.Kind, m.Pattern, token)
			} else {
				s.Raw, s.Line = "User-agent: "+token, m.Group[max(named, 0)].Line
			}
			all = append(all, s)
		}
	}
	return all
}
