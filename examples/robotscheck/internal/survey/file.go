package survey

import (
	"regexp"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

// A feature is something that files may have, and how many files have it. The
// result has the features in this order.
type feature struct {
	What  string `json:"what"`
	Files int    `json:"files"`

	has func(*surveyed) bool
}

var features = []feature{
	{What: "a Sitemap line", has: hasField("sitemap")},
	{What: "a Crawl-delay line", has: hasField("crawl-delay")},
	{What: "a Content-Signal line", has: hasField("content-signal")},
	{What: "a Content-Usage line", has: hasField("content-usage")},
	{What: "a Host line", has: hasField("host")},
	{What: "a Clean-param line", has: hasField("clean-param")},
	{What: "a robot with a digit or dot", has: func(f *surveyed) bool { return slices.ContainsFunc(f.agents, hasDigit) }},
	{What: "a robot with more than a name", has: func(f *surveyed) bool { return slices.ContainsFunc(f.agents, hasMore) }},
	{What: "a line above 16,663 bytes", has: func(f *surveyed) bool { return f.longest > 16663 }},
	{What: "no user-agent line", has: func(f *surveyed) bool { return f.groups == 0 }},
	{What: "no rule in any group", has: func(f *surveyed) bool { return len(f.patterns) == 0 }},
	{What: "everything open to all", has: func(f *surveyed) bool { return f.disallows == 0 }},
	{What: "everything shut to others (*)", has: func(f *surveyed) bool { return f.isShut("*") }},
}

func hasField(name string) func(*surveyed) bool {
	return func(f *surveyed) bool { return f.fields[name] }
}

// hasDigit reports whether a robot's name has a digit or a dot. RFC 9309
// allows neither in a name.
func hasDigit(agent string) bool { return strings.ContainsAny(robots.Name(agent), "0123456789.") }

func hasMore(agent string) bool { return agent != robots.Name(agent) }

// A form is a form that the patterns of rules may have, and how many rules, in
// how many files, have it.
type form struct {
	What  string `json:"what"`
	Rules int    `json:"rules"`
	Files int    `json:"files"`

	is func(pattern string) bool
}

// count counts the rules of a file, by their patterns.
func (f *form) count(patterns []string) {
	before := f.Rules
	for _, pattern := range patterns {
		if f.is(pattern) {
			f.Rules++
		}
	}
	if f.Rules > before {
		f.Files++
	}
}

var forms = []form{
	{What: "any pattern", is: func(string) bool { return true }},
	{What: "\"*\"", is: func(p string) bool { return strings.Contains(p, "*") }},
	{What: "\"*\" not at the end alone", is: func(p string) bool { return strings.Contains(strings.TrimRight(p, "*"), "*") }},
	{What: "a final \"$\"", is: func(p string) bool { return strings.HasSuffix(p, "$") }},
	{What: "an escape such as %20", is: regexp.MustCompile(`%[0-9A-Fa-f]{2}`).MatchString},
	{What: "a query", is: func(p string) bool { return strings.Contains(p, "?") }},
}

// maxRobots is the maximum number of robots that are counted for each file.
const maxRobots = 1000

type surveyed struct {
	file      *robotstxt.File
	others    [len(robots.Dialects)]*robotstxt.File // the same file in robots.Dialects
	groups    int
	agents    []string // the values of the user-agent lines, but for "*"
	patterns  []string // of all rules that have one
	disallows int      // how many of these rules are Disallow lines
	largest   int      // how many rules have a pattern in the group with the most of them
	fields    map[string]bool
	nbytes    int
	lines     int
	longest   int // how many bytes the longest line has

	problems []lint.Problem
	robots   map[string]shutOut // by the robot's name in lower case
}

func examine(text []byte) *surveyed {
	f := &surveyed{
		file: robotstxt.Parse(text), fields: make(map[string]bool), nbytes: len(text),
		problems: lint.Check(text), robots: make(map[string]shutOut),
	}
	for g := range f.file.Groups() {
		f.addGroup(g)
	}
	for field := range f.file.Fields() {
		f.fields[strings.ToLower(field.Name)] = true
	}
	for number, line := range f.file.Lines() {
		f.lines = number
		f.longest = max(f.longest, len(line))
	}
	for i, d := range robots.Dialects {
		f.others[i] = d.Parse(text)
	}
	names := robots.Named(f.file)
	for _, name := range names[:min(len(names), maxRobots)] {
		f.robots[strings.ToLower(name)] = f.shutOut(name)
	}
	return f
}

func (f *surveyed) addGroup(g robotstxt.Group) {
	f.groups++
	for _, agent := range g.UserAgents {
		if agent.Value != "" && robots.Name(agent.Value) != "*" {
			f.agents = append(f.agents, agent.Value)
		}
	}
	before := len(f.patterns)
	for _, rule := range g.Rules {
		if rule.Pattern == "" {
			continue
		}
		f.patterns = append(f.patterns, rule.Pattern)
		if rule.Kind == robotstxt.Disallow {
			f.disallows++
		}
	}
	f.largest = max(f.largest, len(f.patterns)-before)
}

// A shutOut is whether a robot is shut out: by RFC 9309, and by each of
// robots.Dialects.
type shutOut struct {
	rfc9309  bool
	dialects [len(robots.Dialects)]bool
}

func (f *surveyed) shutOut(name string) (s shutOut) {
	s.rfc9309 = f.isShut(name)
	for i, file := range f.others {
		s.dialects[i] = !file.Rules(name).Allowed("/")
	}
	return s
}

// isShut reports whether a robot must not request "/".
func (f *surveyed) isShut(robot string) bool { return !f.file.Rules(robot).Allowed("/") }
