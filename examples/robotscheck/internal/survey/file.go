package survey

import (
	"regexp"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

// A feature is a property of files, with the number of files that have it. The
// result contains the features in this order.
type feature struct {
	What  string `json:"what"`
	Files int    `json:"files"`

	has func(*examined) bool
}

var features = []feature{
	{What: "a Sitemap line", has: hasField("sitemap")},
	{What: "a Crawl-delay line", has: hasField("crawl-delay")},
	{What: "a Content-Signal line", has: hasField("content-signal")},
	{What: "a Content-Usage line", has: hasField("content-usage")},
	{What: "a Host line", has: hasField("host")},
	{What: "a Clean-param line", has: hasField("clean-param")},
	{What: "a robot with a digit or dot", has: hasAgent(isNameWithDigit)},
	{What: "a robot with more than a name", has: hasAgent(isMoreThanName)},
	{What: "a line above 16,663 bytes", has: func(f *examined) bool { return f.maxLineBytes > 16663 }},
	{What: "no user-agent line", has: func(f *examined) bool { return f.groups == 0 }},
	{What: "no rule in any group", has: func(f *examined) bool { return len(f.patterns) == 0 }},
	{What: "everything open to all", has: func(f *examined) bool { return f.disallows == 0 }},
	{What: "everything shut to others (*)", has: func(f *examined) bool { return f.isShutOut("*") }},
}

func hasField(name string) func(*examined) bool {
	return func(f *examined) bool { return f.fields[name] }
}

func hasAgent(is func(agent string) bool) func(*examined) bool {
	return func(f *examined) bool { return slices.ContainsFunc(f.agents, is) }
}

// isNameWithDigit reports whether a robot's name contains a digit or a dot,
// which RFC 9309 does not allow.
func isNameWithDigit(agent string) bool {
	return strings.ContainsAny(robots.Name(agent), "0123456789.")
}

// isMoreThanName reports whether a user-agent line contains more than a name,
// such as a version.
func isMoreThanName(agent string) bool { return agent != robots.Name(agent) }

// A form is a form of the patterns of rules, with the number of rules that have
// it, and of files with such rules.
type form struct {
	What  string `json:"what"`
	Rules int    `json:"rules"`
	Files int    `json:"files"`

	matches func(pattern string) bool
}

// count counts the rules of a file, by their patterns.
func (f *form) count(patterns []string) {
	before := f.Rules
	for _, pattern := range patterns {
		if f.matches(pattern) {
			f.Rules++
		}
	}
	if f.Rules > before {
		f.Files++
	}
}

var percentEscape = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

var forms = []form{
	{What: "any pattern", matches: func(string) bool { return true }},
	{What: "\"*\"", matches: func(p string) bool { return strings.Contains(p, "*") }},
	{What: "\"*\" not at the end alone", matches: hasInnerWildcard},
	{What: "a final \"$\"", matches: func(p string) bool { return strings.HasSuffix(p, "$") }},
	{What: "an escape such as %20", matches: percentEscape.MatchString},
	{What: "a query", matches: func(p string) bool { return strings.Contains(p, "?") }},
}

func hasInnerWildcard(pattern string) bool {
	return strings.Contains(strings.TrimRight(pattern, "*"), "*")
}

// maxRobots is the maximum number of robots that are counted for each file.
const maxRobots = 1000

// An examined file contains the properties that a survey counts.
type examined struct {
	file          *robotstxt.File
	dialects      [len(robots.Dialects)]*robotstxt.File // as robots.Dialects parse it
	groups        int
	agents        []string // the values of the user-agent lines other than "*"
	patterns      []string // of all rules with one
	disallows     int      // Disallow lines with a pattern
	maxGroupRules int      // rules with a pattern in the largest group
	fields        map[string]bool
	nbytes        int
	lines         int
	maxLineBytes  int

	problems []lint.Problem
	robots   map[string]shutOut // by the robot's name in lower case
}

func examine(text []byte) *examined {
	f := &examined{
		file:     robotstxt.Parse(text),
		fields:   make(map[string]bool),
		nbytes:   len(text),
		problems: lint.Check(text),
		robots:   make(map[string]shutOut),
	}
	for group := range f.file.Groups() {
		f.addGroup(group)
	}
	for field := range f.file.Fields() {
		f.fields[strings.ToLower(field.Name)] = true
	}
	for number, line := range f.file.Lines() {
		f.lines = number
		f.maxLineBytes = max(f.maxLineBytes, len(line))
	}
	for i, dialect := range robots.Dialects {
		f.dialects[i] = dialect.Parse(text)
	}
	names := robots.Named(f.file)
	for _, name := range names[:min(len(names), maxRobots)] {
		f.robots[strings.ToLower(name)] = f.shutOut(name)
	}
	return f
}

func (f *examined) addGroup(group robotstxt.Group) {
	f.groups++
	for _, agent := range group.UserAgents {
		if agent.Value != "" && robots.Name(agent.Value) != "*" {
			f.agents = append(f.agents, agent.Value)
		}
	}
	before := len(f.patterns)
	for _, rule := range group.Rules {
		if rule.Pattern == "" {
			continue
		}
		f.patterns = append(f.patterns, rule.Pattern)
		if rule.Kind == robotstxt.Disallow {
			f.disallows++
		}
	}
	f.maxGroupRules = max(f.maxGroupRules, len(f.patterns)-before)
}

// A shutOut reports whether a robot is shut out: by RFC 9309, and by each of
// robots.Dialects.
type shutOut struct {
	rfc9309  bool
	dialects [len(robots.Dialects)]bool
}

func (f *examined) shutOut(robot string) (s shutOut) {
	s.rfc9309 = f.isShutOut(robot)
	for i, file := range f.dialects {
		s.dialects[i] = !file.Rules(robot).Allowed("/")
	}
	return s
}

// isShutOut reports whether "/" is disallowed for a robot.
func (f *examined) isShutOut(robot string) bool { return !f.file.Rules(robot).Allowed("/") }
