package robotstxt

import (
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/match"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// checkGroups looks at groups, and at rules among each other.
func (l *linter) checkGroups() {
	l.checkOutside()
	first := map[string]uint32{} // by robot: the line that names it first
	var groups []lintGroup
	for reader := l.file.syntax.Groups(); reader.Next(); {
		records := reader.Group
		g := l.newLintGroup(records)
		groups = append(groups, g)
		l.checkRun(g)
		for _, a := range g.agents {
			name := strings.ToLower(l.file.syntax.Value(a))
			if line, ok := first[name]; ok && line < records[0].Line {
				l.report(a.Line, 1, CodeRepeatedAgent, Warning, "", "%q has a group on line %d already; robots put them together, or obey only one", clip(name), line)
			} else if !ok {
				first[name] = a.Line
			}
		}
		l.checkRules(g)
	}
	l.checkAccess(groups)
}

// checkOutside looks for rules before the first user-agent line.
func (l *linter) checkOutside() {
	for i := range l.file.syntax.Records {
		switch r := &l.file.syntax.Records[i]; r.Field {
		case syntax.UserAgent:
			return
		case syntax.Allow, syntax.Disallow:
			l.report(r.Line, 1, CodeRuleOutside, Error, "", "no user-agent line comes before this rule, so it is for nobody")
		}
	}
}

// A lintGroup is a group as the linter looks at it.
type lintGroup struct {
	records       []syntax.Record
	agents, rules []*syntax.Record // the rules are those with a pattern that can match
	compiled      *match.Set
}

func (l *linter) newLintGroup(records []syntax.Record) lintGroup {
	g := lintGroup{records: records, compiled: new(match.Set)}
	c := match.NewCompiler(syntax.RFC9309)
	for i := range records {
		switch r := &records[i]; r.Field {
		case syntax.UserAgent:
			g.agents = append(g.agents, r)
		case syntax.Allow, syntax.Disallow:
			if match.CanMatch(l.file.syntax.Value(r)) {
				g.rules = append(g.rules, r)
			}
			c.Add(l.file.syntax.Value(r), r.Line, r.Field == syntax.Allow)
		}
	}
	c.Finish(g.compiled, 0)
	return g
}

// checkRun looks at a group's user-agent lines and at what is between them.
func (l *linter) checkRun(g lintGroup) {
	var between *syntax.Record // the last line that parts user-agent lines
	hasRule, hasField := false, false
	for i := range g.records {
		switch r := &g.records[i]; r.Field {
		case syntax.UserAgent:
			if between != nil {
				l.report(r.Line, 1, CodeMergedGroups, Warning, "",
					"no rule comes before this line, so that %q shares one group with %q of line %d: all rules of the group are for both; only a rule ends a group, not %s",
					clip(l.file.syntax.Value(r)), clip(l.file.syntax.Value(g.agents[0])), g.agents[0].Line, clip(l.file.syntax.Name(between)))
				between = nil
			}
		case syntax.Allow, syntax.Disallow:
			hasRule = true
		default:
			between, hasField = r, true
		}
	}
	if !hasRule && !hasField {
		l.report(g.agents[0].Line, 1, CodeGroupWithoutRules, Warning, "", "the group has no rules: everything is allowed")
	}
}

// checkRules looks at the rules of a group among each other.
func (l *linter) checkRules(g lintGroup) {
	type same struct {
		pattern string
		kind    syntax.Field
	}
	seen := map[same]uint32{}
	files := map[string][]*syntax.Record{} // by directory
	for _, r := range g.rules {
		pattern := string(match.AppendPattern(nil, l.file.syntax.Value(r), syntax.RFC9309))
		key := same{pattern, r.Field}
		if line, ok := seen[key]; ok {
			l.report(r.Line, 1, CodeDuplicate, Warning, "", "line %d says the same", line)
			continue
		}
		seen[key] = r.Line
		l.checkDecides(g, r, pattern)
		if i := strings.LastIndexByte(pattern, '/'); r.Field == syntax.Disallow && i > 0 && i < len(pattern)-1 && !strings.ContainsAny(pattern, "*?") {
			files[pattern[:i+1]] = append(files[pattern[:i+1]], r)
		}
	}
	for directory, rules := range files {
		if len(rules) >= manyFiles && g.compiled.Allowed(directory) {
			l.report(rules[0].Line, 1, CodeEveryFile, Info, "",
				"%d rules name a file of %s each; one rule for the directory would do, if nothing else is in it", len(rules), directory)
		}
	}
}

// manyFiles is from how many files of one directory the rest of them is probably meant as well.
const manyFiles = 10

// checkDecides looks whether a rule decides what it says itself.
func (l *linter) checkDecides(g lintGroup, r *syntax.Record, pattern string) {
	if l.work > maxLintWork {
		return
	}
	example := exampleOf(l.file.syntax.Value(r))
	target := string(match.AppendTarget(nil, example, syntax.RFC9309))
	winner, steps := g.compiled.DecideForm(target)
	l.work += steps + len(target)
	kind := Disallow
	if r.Field == syntax.Allow {
		kind = Allow
	}
	if winner < 0 {
		return
	}
	rule := g.compiled.Rule(winner)
	if rule.Allow == (kind == Allow) {
		return
	}
	form, written, line := rule.Form, clip(rule.Written), rule.Line
	switch {
	case form == pattern+"$":
		// An exception of the page from its directory, or the other way round, is meant.
	case strings.TrimRight(form, "*") == strings.TrimRight(pattern, "*"):
		l.report(r.Line, 1, CodeOverridden, Warning, "", "the rule never decides anything: line %d, %s, matches the same and is preferred", line, written)
	case kind == Allow:
		l.report(r.Line, 1, CodeAllowLoses, Warning, "", "%s is disallowed: %s of line %d is longer, and the longest rule is preferred", clip(example), written, line)
	default:
		l.report(r.Line, 1, CodeAllowWins, Warning, "", "%s is allowed: %s of line %d is as long or longer, and so preferred", clip(example), written, line)
	}
}

// maxLintWork is how much work, as [Rules] count it, the linter spends on rules among each other. Only files that
// are made to be expensive need more, and of these it does not say everything.
const maxLintWork = 1 << 24

// exampleOf returns a target that a pattern matches.
func exampleOf(pattern string) string {
	example := strings.ReplaceAll(strings.TrimSuffix(pattern, "$"), "*", "")
	if !strings.HasPrefix(example, "/") {
		example = "/" + example
	}
	return example
}

// checkAccess tells when a robot is let in by name, or shut out.
func (l *linter) checkAccess(groups []lintGroup) {
	shut := func(g lintGroup) bool {
		at := g.compiled.Decide("/")
		return at >= 0 && !g.compiled.Rule(at).Allow && !hasAllow(g)
	}
	var all *lintGroup
	for i := range groups {
		for _, a := range groups[i].agents {
			if syntax.Everyone.IsIn(l.file.syntax.Value(a)) && all == nil {
				all = &groups[i]
			}
		}
	}
	if all == nil {
		return
	}
	for _, g := range groups {
		for _, a := range g.agents {
			name := l.file.syntax.Value(a)
			switch {
			case syntax.Everyone.IsIn(name):
			case shut(*all) && !shut(g):
				l.report(a.Line, 1, CodeNamedExempt, Info, "", "all robots are shut out, and %s is let in", clip(name))
			case !shut(*all) && shut(g):
				l.report(a.Line, 1, CodeNamedShut, Info, "", "robots are let in, and %s is shut out", clip(name))
			}
		}
	}
}

func hasAllow(g lintGroup) bool {
	for _, r := range g.rules {
		if r.Field == syntax.Allow {
			return true
		}
	}
	return false
}
