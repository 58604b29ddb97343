package lint

import (
	"slices"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/match"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// checkGroups checks the groups of a file, and the rules of each group against
// each other. It also reports rules that are in no group.
func checkGroups(r *report, file *syntax.File) {
	c := groupChecker{report: r, file: file}
	c.checkOutside()
	first := map[string]uint32{} // the first line that names each robot; the keys are in lower case
	var groups []group
	for reader := c.file.Groups(); reader.Next(); {
		records := reader.Group
		g := c.newGroup(records)
		groups = append(groups, g)
		c.checkRun(g)
		for _, a := range g.agents {
			name := strings.ToLower(c.file.Value(a))
			if line, ok := first[name]; ok && line < records[0].Line {
				c.report.add(a.Line, 1, codeRepeatedAgent, Warning, "", "%q has a group on line %d already; robots put them together, or obey only one", clip(name), line)
			} else if !ok {
				first[name] = a.Line
			}
		}
		c.checkRules(g)
	}
	c.checkAccess(groups)
}

type groupChecker struct {
	report *report
	file   *syntax.File
	work   int // how much work checkDecides has done so far
}

// checkOutside checks for rules before the first user-agent line.
func (c *groupChecker) checkOutside() {
	for i := range c.file.Records {
		switch r := &c.file.Records[i]; r.Field {
		case syntax.UserAgent:
			return
		case syntax.Allow, syntax.Disallow:
			c.report.add(r.Line, 1, codeRuleOutside, Error, "", "no user-agent line comes before this rule, so it is for nobody")
		}
	}
}

type group struct {
	records       []syntax.Record
	agents, rules []*syntax.Record // the field rules has only the rules that can match
	mixed         bool             // whether some rules allow and some disallow
	set           match.Set
}

func (c *groupChecker) newGroup(records []syntax.Record) group {
	g := group{records: records}
	builder := match.NewBuilder(syntax.RFC9309)
	for i := range records {
		switch r := &records[i]; r.Field {
		case syntax.UserAgent:
			g.agents = append(g.agents, r)
		case syntax.Allow, syntax.Disallow:
			if match.CanMatch(c.file.Value(r)) {
				g.rules = append(g.rules, r)
				g.mixed = g.mixed || r.Field != g.rules[0].Field
			}
			builder.Add(c.file.Value(r), r.Line, r.Field == syntax.Allow)
		}
	}
	g.set = builder.Set()
	return g
}

// checkRun checks a group's user-agent lines and the fields between them. It
// also reports a group that has only user-agent lines.
func (c *groupChecker) checkRun(g group) {
	var between *syntax.Record // the latest field that is no rule, if it came after the latest user-agent line
	hasRule, hasField := false, false
	for i := range g.records {
		switch r := &g.records[i]; r.Field {
		case syntax.UserAgent:
			if between != nil {
				but := ""
				if c.file.Scope(between) != syntax.ScopeGroup {
					but = ", which is for the robots above it alone"
				}
				c.report.add(r.Line, 1, codeMergedGroups, Warning, "",
					"no rule comes before this line, so that %q shares one group with %q of line %d: all rules of the group are for both; only a rule ends a group, not %s%s",
					clip(c.file.Value(r)), clip(c.file.Value(g.agents[0])), g.agents[0].Line, clip(c.file.Name(between)), but)
				between = nil
			}
		case syntax.Allow, syntax.Disallow:
			hasRule = true
		default:
			between, hasField = r, true
		}
	}
	if !hasRule && !hasField {
		c.report.add(g.agents[0].Line, 1, codeGroupWithoutRules, Warning, "", "the group has no rules: everything is allowed")
	}
}

func (c *groupChecker) checkRules(g group) {
	type same struct {
		pattern string
		kind    syntax.Field
	}
	if len(g.rules) < 2 {
		return
	}
	seen := make(map[same]uint32, len(g.rules))
	var form []byte
	for _, r := range g.rules {
		form = match.AppendPattern(form[:0], c.file.Value(r), syntax.RFC9309)
		pattern := string(form)
		key := same{pattern, r.Field}
		if line, ok := seen[key]; ok {
			c.report.add(r.Line, 1, codeDuplicate, Warning, "", "line %d says the same", line)
			continue
		}
		seen[key] = r.Line
		if g.mixed {
			c.checkDecides(g, r, pattern)
		}
	}
}

// checkDecides checks a rule of a mixed group. (In a group that is not mixed,
// all rules have the same effect.) It takes one target that the rule matches,
// and checks whether this target is allowed or disallowed as the rule says.
func (c *groupChecker) checkDecides(g group, r *syntax.Record, pattern string) {
	if c.work > maxWork {
		c.report.skipped++
		return
	}
	example := exampleOf(c.file.Value(r))
	rule, outcome, steps := g.set.Decide(example)
	c.work += steps + len(example)
	if outcome != match.ByRule || rule.Allow == (r.Field == syntax.Allow) {
		return
	}
	form, written, line := rule.Normalized, clip(rule.Pattern), rule.Line
	switch {
	case form == strings.TrimRight(pattern, "*")+"$":
		// The deciding rule has the same pattern with a "$" added, such as
		// "Allow: /a/$" beside "Disallow: /a/" or "Disallow: /a/*". It is an
		// intended exception for one page.
	case strings.TrimRight(form, "*") == strings.TrimRight(pattern, "*"):
		c.report.add(r.Line, 1, codeOverridden, Warning, "", "the rule never decides anything: line %d, %s, matches the same and is preferred", line, written)
	case r.Field == syntax.Allow:
		c.report.add(r.Line, 1, codeAllowLoses, Warning, "", "%s is disallowed: %s of line %d is longer, and the longest rule is preferred", clip(example), written, line)
	default:
		c.report.add(r.Line, 1, codeAllowWins, Warning, "", "%s is allowed: %s of line %d is as long or longer, and so preferred", clip(example), written, line)
	}
}

// maxWork limits the work of checking rules against each other. The work is the
// number of steps that [match.Set.Decide] takes, plus the number of bytes
// in the targets. Only files that are made to be expensive need more. In such a
// file, some rules are not checked, and a problem counts them.
const maxWork = 1 << 28

func exampleOf(pattern string) string {
	example := strings.ReplaceAll(strings.TrimSuffix(pattern, "$"), "*", "")
	if !strings.HasPrefix(example, "/") {
		example = "/" + example
	}
	return example
}

// checkAccess reports whether all robots are shut out, and which are shut out
// or let in by name.
func (c *groupChecker) checkAccess(groups []group) {
	shutBy := func(g group) (line int) {
		rule, outcome, _ := g.set.Decide("/")
		if outcome != match.ByRule || rule.Allow || slices.ContainsFunc(g.rules, func(r *syntax.Record) bool { return r.Field == syntax.Allow }) {
			return 0
		}
		return rule.Line
	}
	var all *group
	for i := range groups {
		for _, a := range groups[i].agents {
			if syntax.Wildcard.IsIn(c.file.Value(a)) && all == nil {
				all = &groups[i]
			}
		}
	}
	if all == nil {
		return
	}
	allShut := shutBy(*all)
	if allShut > 0 {
		c.report.add(uint32(allShut), 1, codeAllShut, Info, "", "all robots are shut out, but for those that another group names")
	}
	for _, g := range groups {
		isShut := shutBy(g) > 0
		for _, a := range g.agents {
			name := nameIn(c.file.Value(a))
			switch {
			case name == "":
			case allShut > 0 && !isShut:
				c.report.add(a.Line, 1, codeNamedExempt, Info, "", "all robots are shut out, and %s is let in", clip(name))
			case allShut == 0 && isShut:
				c.report.add(a.Line, 1, codeNamedShut, Info, "", "robots are let in, and %s is shut out", clip(name))
			}
		}
	}
}
