package lint

import (
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/match"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// checkGroups checks the groups of a file, and compares the rules of each group
// with each other. It also reports rules that are not in a group.
func checkGroups(r *report, file *syntax.File) {
	c := groupChecker{report: r, file: file}
	c.checkRulesOutside()
	firstLines := map[string]uint32{} // the first line that names a robot; keys are in lower case
	var groups []group
	reader := file.Groups()
	for reader.Next() {
		g := c.newGroup(reader.Group)
		groups = append(groups, g)
		c.checkFields(g)
		c.checkRepeatedAgents(g, firstLines)
		c.checkRules(g)
	}
	c.checkAccess(groups)
}

type groupChecker struct {
	report *report
	file   *syntax.File
	work   int // the work of comparing rules so far; see maxWork
}

// checkRulesOutside reports rules before the first user-agent line.
func (c *groupChecker) checkRulesOutside() {
	for i := range c.file.Records {
		r := &c.file.Records[i]
		switch r.Field {
		case syntax.UserAgent:
			return
		case syntax.Allow, syntax.Disallow:
			c.report.add(r.Line, 1, codeRuleOutside, Error, "",
				"there is no user-agent line before this rule, so it does not apply to any robot")
		}
	}
}

type group struct {
	records      []syntax.Record
	agents       []*syntax.Record
	rules        []*syntax.Record // the rules that can match a target
	hasBothKinds bool             // whether there are rules that allow and rules that disallow
	set          match.Set
}

func (c *groupChecker) newGroup(records []syntax.Record) group {
	g := group{records: records}
	builder := match.NewBuilder(syntax.RFC9309)
	for i := range records {
		r := &records[i]
		switch r.Field {
		case syntax.UserAgent:
			g.agents = append(g.agents, r)
		case syntax.Allow, syntax.Disallow:
			if match.CanMatch(c.file.Value(r)) {
				g.rules = append(g.rules, r)
				g.hasBothKinds = g.hasBothKinds || r.Field != g.rules[0].Field
			}
			builder.Add(c.file.Value(r), r.Line, r.Field == syntax.Allow)
		}
	}
	g.set = builder.Set()
	return g
}

// checkRepeatedAgents reports robots that an earlier group names, and adds the
// robots of g to firstLines.
func (c *groupChecker) checkRepeatedAgents(g group, firstLines map[string]uint32) {
	for _, a := range g.agents {
		name := strings.ToLower(c.file.Value(a))
		line, ok := firstLines[name]
		if !ok {
			firstLines[name] = a.Line
			continue
		}
		if isEarlierGroup := line < g.records[0].Line; isEarlierGroup {
			c.report.add(a.Line, 1, codeRepeatedAgent, Warning, "",
				"%q already has a group on line %d; robots combine the groups or use only one of them",
				clip(name), line)
		}
	}
}

// checkFields checks the fields between the user-agent lines of a group. It
// also reports a group that has only user-agent lines.
func (c *groupChecker) checkFields(g group) {
	var between *syntax.Record // the latest other field since the latest user-agent line
	isEmpty := true
	for i := range g.records {
		r := &g.records[i]
		switch r.Field {
		case syntax.UserAgent:
			if between != nil {
				c.addMergedGroups(g, r, between)
				between = nil
			}
		case syntax.Allow, syntax.Disallow:
			isEmpty = false
		default:
			isEmpty = false
			between = r
		}
	}
	if isEmpty {
		c.report.add(g.agents[0].Line, 1, codeGroupWithoutRules, Warning, "",
			"the group has no rules, so everything is allowed")
	}
}

// addMergedGroups adds the problem of a field between the user-agent lines of a
// group, because its author probably expects that the field ends the group.
func (c *groupChecker) addMergedGroups(g group, agent, between *syntax.Record) {
	scope := ""
	if c.file.Scope(between) != syntax.ScopeGroup {
		scope = ", which applies only to the robots above it"
	}
	first := g.agents[0]
	c.report.add(agent.Line, 1, codeMergedGroups, Warning, "",
		"%q shares a group with %q of line %d, and all rules of the group apply to both: "+
			"only a rule ends a group, not %s%s",
		clip(c.file.Value(agent)), clip(c.file.Value(first)), first.Line,
		clip(c.file.Name(between)), scope)
}

// checkRules reports duplicate rules, and compares the rules of a group with
// each other.
func (c *groupChecker) checkRules(g group) {
	if len(g.rules) < 2 {
		return
	}
	type ruleKey struct {
		pattern string
		kind    syntax.Field
	}
	lines := make(map[ruleKey]uint32, len(g.rules))
	var buf []byte
	for _, r := range g.rules {
		buf = match.AppendPattern(buf[:0], c.file.Value(r), syntax.RFC9309)
		key := ruleKey{string(buf), r.Field}
		if line, ok := lines[key]; ok {
			c.report.add(r.Line, 1, codeDuplicate, Warning, "",
				"the rule is the same as in line %d", line)
			continue
		}
		lines[key] = r.Line
		if g.hasBothKinds {
			c.checkEffect(g, r, key.pattern)
		}
	}
}

// checkEffect adds a problem if a rule does not decide about an example of the
// targets that it matches. The group must have both kinds of rules. pattern is
// the normalized pattern of the rule.
func (c *groupChecker) checkEffect(g group, r *syntax.Record, pattern string) {
	if c.work > maxWork {
		c.report.skipped++
		return
	}
	target := exampleTarget(c.file.Value(r))
	decisive, outcome, steps := g.set.Decide(target)
	c.work += steps + len(target)
	if outcome != match.ByRule || decisive.Allow == (r.Field == syntax.Allow) {
		return
	}
	raw := clip(decisive.Pattern)
	trimmed := strings.TrimRight(pattern, "*")
	switch {
	case decisive.Normalized == trimmed+"$":
		// The deciding rule is an intended exception for a single page, such as
		// "Allow: /a/$" with "Disallow: /a/".
	case strings.TrimRight(decisive.Normalized, "*") == trimmed:
		c.report.add(r.Line, 1, codeOverridden, Warning, "",
			"the rule has no effect: line %d, %s, matches the same paths and takes precedence",
			decisive.Line, raw)
	case r.Field == syntax.Allow:
		c.report.add(r.Line, 1, codeAllowLoses, Warning, "",
			"%s is disallowed: %s of line %d is longer, and takes precedence",
			clip(target), raw, decisive.Line)
	default:
		c.report.add(r.Line, 1, codeAllowWins, Warning, "",
			"%s is allowed: %s of line %d is at least as long, and takes precedence",
			clip(target), raw, decisive.Line)
	}
}

// maxWork is the maximum work of comparing rules, which is the number of steps
// of [match.Set.Decide] plus the number of bytes of the targets. Only malicious
// files exceed it. Rules that exceed it are counted in report.skipped and not
// compared.
const maxWork = 1 << 28

// exampleTarget returns a target that a pattern matches.
func exampleTarget(pattern string) string {
	target := strings.ReplaceAll(strings.TrimSuffix(pattern, "$"), "*", "")
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	return target
}

// disallowsAll returns the line of the rule by which a group disallows the
// whole site. It returns 0 if there is no such rule, or if the group has an
// Allow.
func (g *group) disallowsAll() (line int) {
	for _, r := range g.rules {
		if r.Field == syntax.Allow {
			return 0
		}
	}
	rule, outcome, _ := g.set.Decide("/")
	if outcome != match.ByRule {
		return 0
	}
	return rule.Line
}

// findWildcardGroup returns the first group for "*", or nil if there is none.
func (c *groupChecker) findWildcardGroup(groups []group) *group {
	for i := range groups {
		for _, a := range groups[i].agents {
			if syntax.Wildcard.IsIn(c.file.Value(a)) {
				return &groups[i]
			}
		}
	}
	return nil
}

// checkAccess adds problems if the group for "*" disallows the whole site, and
// for each robot for which another group does the opposite.
func (c *groupChecker) checkAccess(groups []group) {
	wildcard := c.findWildcardGroup(groups)
	if wildcard == nil {
		return
	}
	line := wildcard.disallowsAll()
	isDisallowed := line > 0
	if isDisallowed {
		c.report.add(uint32(line), 1, codeAllShut, Info, "",
			"all robots are disallowed, except those that another group names")
	}
	for i := range groups {
		g := &groups[i]
		isGroupDisallowed := g.disallowsAll() > 0
		if isGroupDisallowed == isDisallowed {
			continue
		}
		for _, a := range g.agents {
			name := productToken(c.file.Value(a))
			if name == "" {
				continue
			}
			if isDisallowed {
				c.report.add(a.Line, 1, codeNamedExempt, Info, "",
					"all robots are disallowed, but %s is allowed", clip(name))
			} else {
				c.report.add(a.Line, 1, codeNamedShut, Info, "",
					"robots are allowed, but %s is disallowed", clip(name))
			}
		}
	}
}
