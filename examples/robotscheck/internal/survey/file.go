package survey

import (
	"regexp"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

// The survey counts the files with each of these features, and shows the counts
// in this order.
var features = []struct {
	name string
	has  func(*surveyed) bool
}{
	{"a Sitemap line", func(f *surveyed) bool { return f.fields["sitemap"] }},
	{"a Crawl-delay line", func(f *surveyed) bool { return f.fields["crawl-delay"] }},
	{"a Content-Signal line", func(f *surveyed) bool { return f.fields["content-signal"] }},
	{"a Content-Usage line", func(f *surveyed) bool { return f.fields["content-usage"] }},
	{"a Host line", func(f *surveyed) bool { return f.fields["host"] }},
	{"a Clean-param line", func(f *surveyed) bool { return f.fields["clean-param"] }},
	{"a robot with a digit or dot", func(f *surveyed) bool { return f.robot(hasDigit) }},
	{"a robot with more than a name", func(f *surveyed) bool { return f.robot(func(v string) bool { return v != robots.Name(v) }) }},
	{"a line above 16,663 bytes", func(f *surveyed) bool { return f.longest > 16663 }},
	{"no user-agent line", func(f *surveyed) bool { return len(f.groups) == 0 }},
	{"no rule in any group", func(f *surveyed) bool { return f.rules == 0 }},
	{"everything open to all", func(f *surveyed) bool { return f.countRules(anyPattern, robotstxt.Disallow) == 0 }},
	{"everything shut to others (*)", func(f *surveyed) bool { return f.isShut("*") }},
}

// patterns are the features that the survey counts in the patterns of rules.
var patterns = []struct {
	name string
	is   func(pattern string) bool
}{
	{"any pattern", anyPattern},
	{"\"*\"", func(p string) bool { return strings.Contains(p, "*") }},
	{"\"*\" not at the end alone", func(p string) bool { return strings.Contains(strings.TrimRight(p, "*"), "*") }},
	{"a final \"$\"", func(p string) bool { return strings.HasSuffix(p, "$") }},
	{"an escape such as %20", escape.MatchString},
	{"a query", func(p string) bool { return strings.Contains(p, "?") }},
}

var escape = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// mostRobots is how many robots of each file are counted at most.
const mostRobots = 1000

type surveyed struct {
	file    *robotstxt.File
	groups  []robotstxt.Group
	rules   int // how many rules have a pattern
	largest int // how many rules have a pattern in the group with the most of them
	fields  map[string]bool
	nbytes  int
	lines   int
	longest int // how many bytes the longest line has

	problems []lint.Problem
	robots   map[string]bool // whether a robot is shut out, by its name in lower case
}

func examine(text []byte) *surveyed {
	f := &surveyed{
		file: robotstxt.Parse(text), fields: make(map[string]bool), nbytes: len(text),
		problems: lint.Check(text), robots: make(map[string]bool),
	}
	for g := range f.file.Groups() {
		f.groups = append(f.groups, g)
		rules := 0
		for _, r := range g.Rules {
			if r.Pattern != "" {
				rules++
			}
		}
		f.rules += rules
		f.largest = max(f.largest, rules)
	}
	for field := range f.file.Fields() {
		if !f.fields[field.Name] { // a spelling that is known already needs no ToLower
			f.fields[field.Name], f.fields[strings.ToLower(field.Name)] = true, true
		}
	}
	for number, line := range f.file.Lines() {
		f.lines = number
		f.longest = max(f.longest, len(line))
	}
	names := robots.Named(f.file)
	for _, name := range names[:min(len(names), mostRobots)] {
		f.robots[strings.ToLower(name)] = f.isShut(name)
	}
	return f
}

// countRules returns how many rules have a pattern that the given function
// accepts. If kinds are given, it counts only rules of these kinds.
func (f *surveyed) countRules(is func(pattern string) bool, kinds ...robotstxt.Kind) (n int) {
	for _, g := range f.groups {
		for _, r := range g.Rules {
			if r.Pattern != "" && (len(kinds) == 0 || slices.Contains(kinds, r.Kind)) && is(r.Pattern) {
				n++
			}
		}
	}
	return n
}

// robot() reports whether the given function accepts the value of at least one
// user-agent line. It skips empty values and "*".
func (f *surveyed) robot(is func(value string) bool) bool {
	for _, g := range f.groups {
		for _, a := range g.UserAgents {
			if robots.Name(a.Value) != "*" && a.Value != "" && is(a.Value) {
				return true
			}
		}
	}
	return false
}

// isShut reports whether a robot must not ask for "/".
func (f *surveyed) isShut(robot string) bool { return !f.file.Rules(robot).Allowed("/") }

func anyPattern(string) bool { return true }

// hasDigit reports whether a robot's name has a digit or a dot. RFC 9309
// allows neither in a name.
func hasDigit(value string) bool { return strings.ContainsAny(robots.Name(value), "0123456789.") }
