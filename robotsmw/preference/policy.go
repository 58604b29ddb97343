package preference

import (
	"fmt"
	"strings"
)

func (in Input) policyTokens(use Use) (all []Statement) {
	if in.Robots == nil {
		return nil
	}
	tokens := in.PolicyTokens[use]
	if g := general(use); g != use {
		tokens = append(tokens[:len(tokens):len(tokens)], in.PolicyTokens[g]...)
	}
	for _, token := range tokens {
		m := in.Robots.Rules(token).Match(in.target())
		named, line := false, 0
		for _, agent := range m.Group {
			if !strings.HasPrefix(agent.Value, "*") {
				named, line = true, agent.Line
				break
			}
		}
		s := Statement{Use: use, Answer: Deny, Signal: PolicyToken, Where: "robots.txt", Line: m.Line, Path: m.Pattern}
		switch {
		case m.Allowed && !named:
			continue
		case m.Allowed:
			s.Answer = Allow
		}
		if m.Line == 0 {
			s.Line = line
			s.Raw = "User-agent: " + token
		} else {
			s.Raw = fmt.Sprintf("%s: %s for %s", m.Kind, m.Pattern, token)
		}
		all = append(all, s)
	}
	return all
}
