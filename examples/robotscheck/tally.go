package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

// A tally is what was counted in some robots.txt files.
type tally struct {
	files, octets int
	have          map[string]int // files, by a name of features
	patterns      [][2]int       // rules, and files with one
	sizes         [len(sizeNames)][]int
	worst         map[string]int // files, by the severity of their worst problem
	problems      map[problemKind]problemCount
	robots        map[string]robotCount
}

// features are what a file may have, in the order in which they are shown.
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
	{"a robot with more than a name", func(f *surveyed) bool { return f.robot(func(v string) bool { return v != agentOf(v) }) }},
	{"a line above 16,663 octets", func(f *surveyed) bool { return f.longest > 16663 }},
	{"no user-agent line", func(f *surveyed) bool { return len(f.groups) == 0 }},
	{"no rule in any group", func(f *surveyed) bool { return f.rules == 0 }},
	{"everything open to all", func(f *surveyed) bool { return f.countRules(anyPattern, robotstxt.Disallow) == 0 }},
	{"everything shut to others (*)", func(f *surveyed) bool { return !f.file.Rules("*").Allowed("/") }},
}

// patterns are what a rule may have.
var patterns = []struct {
	name string
	is   func(pattern string) bool
}{
	{"any pattern", anyPattern},
	{"\"*\"", func(p string) bool { return strings.Contains(p, "*") }},
	{"\"*\" not at the end alone", func(p string) bool { return strings.Contains(strings.TrimRight(p, "*"), "*") }},
	{"a final \"$\"", func(p string) bool { return strings.HasSuffix(p, "$") }},
	{"an escape such as %20", hasEscape},
	{"a query", func(p string) bool { return strings.Contains(p, "?") }},
}

var sizeNames = [...]string{"octets", "lines", "groups", "rules", "rules of the largest group"}

type problemKind struct {
	code     lint.Code
	severity lint.Severity
}

type problemCount struct{ files, times int }

type robotCount struct{ files, shut int }

// mostRobots is how many robots of one file count.
const mostRobots = 1000

func newTally() *tally {
	return &tally{
		have:     make(map[string]int),
		patterns: make([][2]int, len(patterns)),
		worst:    make(map[string]int),
		problems: make(map[problemKind]problemCount),
		robots:   make(map[string]robotCount),
	}
}

// surveyed is a file that is being counted.
type surveyed struct {
	file    *robotstxt.File
	groups  []robotstxt.Group
	rules   int // with a pattern
	fields  map[string]bool
	longest int // line, in octets
}

// countRules counts the rules, of any of these kinds, whose pattern is so; without kinds, of both.
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

// robot reports whether the value of a user-agent line, other than "*", is so.
func (f *surveyed) robot(is func(value string) bool) bool {
	for _, g := range f.groups {
		for _, a := range g.UserAgents {
			if agentOf(a.Value) != "*" && a.Value != "" && is(a.Value) {
				return true
			}
		}
	}
	return false
}

func anyPattern(string) bool { return true }

// hasDigit reports whether a robot's name has what names in RFC 9309 have not.
func hasDigit(value string) bool { return strings.ContainsAny(agentOf(value), "0123456789.") }

func hasEscape(pattern string) bool {
	isHex := func(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }
	for i := 0; i+2 < len(pattern); i++ {
		if pattern[i] == '%' && isHex(pattern[i+1]) && isHex(pattern[i+2]) {
			return true
		}
	}
	return false
}

// add counts a file.
func (t *tally) add(text []byte) {
	f := surveyed{file: robotstxt.Parse(text), fields: make(map[string]bool)}
	largest, lines := 0, 0
	for g := range f.file.Groups() {
		f.groups = append(f.groups, g)
		rules := 0
		for _, r := range g.Rules {
			if r.Pattern != "" {
				rules++
			}
		}
		f.rules += rules
		largest = max(largest, rules)
	}
	for field := range f.file.Fields() {
		f.fields[strings.ToLower(field.Name)] = true
	}
	for number, span := range lineSpans(text) {
		lines = number
		f.longest = max(f.longest, span[1]-span[0])
	}
	if n := len(text); n == 0 || text[n-1] == '\n' || text[n-1] == '\r' {
		lines-- // what follows the last line end is no line
	}
	t.files++
	t.octets += len(text)
	for i, n := range []int{len(text), lines, len(f.groups), f.rules, largest} {
		t.sizes[i] = append(t.sizes[i], n)
	}
	for _, feature := range features {
		if feature.has(&f) {
			t.have[feature.name]++
		}
	}
	for i, p := range patterns {
		if n := f.countRules(p.is); n > 0 {
			t.patterns[i][0] += n
			t.patterns[i][1]++
		}
	}
	t.addProblems(lint.Check(text))
	for _, name := range firstOf(namedIn(f.file), mostRobots) {
		lower := strings.ToLower(name)
		r := t.robots[lower]
		r.files++
		if !f.file.Rules(name).Allowed("/") {
			r.shut++
		}
		t.robots[lower] = r
	}
}

func (t *tally) addProblems(problems []lint.Problem) {
	worst := "none"
	found := make(map[problemKind]bool)
	for i, p := range problems {
		kind := problemKind{p.Code, p.Severity}
		c := t.problems[kind]
		if c.times++; !found[kind] {
			c.files++
			found[kind] = true
		}
		t.problems[kind] = c
		if i == 0 || p.Severity > severityOf(worst) {
			worst = p.Severity.String()
		}
	}
	t.worst[worst]++
}

// severityOf is the inverse of String.
func severityOf(s string) lint.Severity {
	for _, severity := range []lint.Severity{lint.Warning, lint.Error} {
		if severity.String() == s {
			return severity
		}
	}
	return lint.Info
}

// merge adds what another tally counted.
func (t *tally) merge(other *tally) {
	t.files += other.files
	t.octets += other.octets
	for i := range t.sizes {
		t.sizes[i] = append(t.sizes[i], other.sizes[i]...)
	}
	for i, p := range other.patterns {
		t.patterns[i][0] += p[0]
		t.patterns[i][1] += p[1]
	}
	for name, n := range other.have {
		t.have[name] += n
	}
	for name, n := range other.worst {
		t.worst[name] += n
	}
	for kind, p := range other.problems {
		c := t.problems[kind]
		t.problems[kind] = problemCount{c.files + p.files, c.times + p.times}
	}
	for name, r := range other.robots {
		c := t.robots[name]
		t.robots[name] = robotCount{c.files + r.files, c.shut + r.shut}
	}
}

// A surveyResult is what -json prints.
type surveyResult struct {
	Files    int             `json:"files"`
	Octets   int             `json:"octets"`
	Have     []surveyFeature `json:"have"`
	Rules    []surveyPattern `json:"rules"`
	Sizes    []surveySize    `json:"sizes"`
	Worst    map[string]int  `json:"worst"`
	Problems []surveyProblem `json:"problems"`
	Robots   []surveyRobot   `json:"robots"`
}

type surveyFeature struct {
	What  string `json:"what"`
	Files int    `json:"files"`
}

type surveyPattern struct {
	What  string `json:"what"`
	Rules int    `json:"rules"`
	Files int    `json:"files"`
}

type surveySize struct {
	What   string `json:"what"`
	Median int    `json:"median"`
	P90    int    `json:"p90"`
	P99    int    `json:"p99"`
	Max    int    `json:"max"`
}

type surveyProblem struct {
	Code     lint.Code `json:"code"`
	Severity string    `json:"severity"`
	Files    int       `json:"files"`
	Times    int       `json:"times"`
}

type surveyRobot struct {
	Name    string `json:"name"`
	Files   int    `json:"files"`
	ShutOut int    `json:"shut_out"`
}

// result puts everything in order.
func (t *tally) result(top int) surveyResult {
	r := surveyResult{Files: t.files, Octets: t.octets, Worst: t.worst, Problems: []surveyProblem{}, Robots: []surveyRobot{}}
	for _, f := range features {
		r.Have = append(r.Have, surveyFeature{f.name, t.have[f.name]})
	}
	for i, p := range t.patterns {
		r.Rules = append(r.Rules, surveyPattern{patterns[i].name, p[0], p[1]})
	}
	for i, sizes := range t.sizes {
		if slices.Sort(sizes); len(sizes) > 0 {
			at := func(percent int) int { return sizes[(len(sizes)*percent+99)/100-1] } // nearest rank
			r.Sizes = append(r.Sizes, surveySize{sizeNames[i], at(50), at(90), at(99), at(100)})
		}
	}
	for kind, p := range t.problems {
		r.Problems = append(r.Problems, surveyProblem{kind.code, kind.severity.String(), p.files, p.times})
	}
	slices.SortFunc(r.Problems, func(a, b surveyProblem) int {
		return cmp.Or(cmp.Compare(severityOf(b.Severity), severityOf(a.Severity)), cmp.Compare(b.Files, a.Files), cmp.Compare(a.Code, b.Code))
	})
	names := slices.SortedFunc(maps.Keys(t.robots), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.robots[b].files, t.robots[a].files), cmp.Compare(a, b))
	})
	for _, name := range firstOf(names, top) {
		r.Robots = append(r.Robots, surveyRobot{name, t.robots[name].files, t.robots[name].shut})
	}
	return r
}

func firstOf(s []string, n int) []string { return s[:min(len(s), n)] }

// print writes tables.
func (r surveyResult) print(w io.Writer) {
	percent := func(n, of int) string { return fmt.Sprintf("%.2f%%", 100*float64(n)/float64(max(of, 1))) }
	share := func(n int) string { return percent(n, r.Files) }
	fmt.Fprintf(w, "%s, %s\n", count(r.Files, "file"), count(r.Octets, "octet"))

	table := func(headings ...string) (row func(cells ...string), flush func()) {
		// The first column is text, the others are numbers: tabwriter aligns all columns alike.
		var buf bytes.Buffer
		rows := newTable(&buf, tabwriter.AlignRight)
		var names []string
		row = func(cells ...string) {
			names = append(names, cells[0])
			fmt.Fprintf(rows, "%s\t\n", strings.Join(cells[1:], "\t"))
		}
		row(headings...)
		return row, func() {
			if len(names) == 1 {
				return
			}
			rows.Flush()
			width := 0
			for _, name := range names {
				width = max(width, len(name))
			}
			fmt.Fprintln(w)
			for line := range strings.Lines(buf.String()) {
				fmt.Fprintf(w, "%-*s%s\n", width, names[0], strings.TrimRight(line, " \n"))
				names = names[1:]
			}
		}
	}

	row, flush := table("files with", "files", "share")
	for _, f := range r.Have {
		row(f.What, thousands(f.Files), share(f.Files))
	}
	flush()

	row, flush = table("rules with", "rules", "share", "files", "share")
	for _, p := range r.Rules {
		row(p.What, thousands(p.Rules), percent(p.Rules, r.Rules[0].Rules), thousands(p.Files), share(p.Files))
	}
	flush()

	row, flush = table("sizes", "median", "90%", "99%", "most")
	for _, s := range r.Sizes {
		row(s.What, thousands(s.Median), thousands(s.P90), thousands(s.P99), thousands(s.Max))
	}
	flush()

	row, flush = table("worst problem", "files", "share")
	for _, worst := range []string{"error", "warning", "info", "none"} {
		row(worst, thousands(r.Worst[worst]), share(r.Worst[worst]))
	}
	flush()

	row, flush = table("problem", "severity", "files", "share", "times")
	for _, p := range r.Problems {
		row(string(p.Code), p.Severity, thousands(p.Files), share(p.Files), thousands(p.Times))
	}
	flush()

	row, flush = table("robot", "files", "share", "shut out")
	for _, robot := range r.Robots {
		row(printable(robot.Name), thousands(robot.Files), share(robot.Files), thousands(robot.ShutOut))
	}
	flush()
}
