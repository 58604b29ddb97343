package survey

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

// A tally is the whole survey, as -json prints it.
type tally struct {
	Files    int            `json:"files"`
	Bytes    int            `json:"bytes"`
	Without  map[string]int `json:"without,omitempty"` // how many answers had no file, by class of status, such as "4xx"
	Have     []feature      `json:"have"`
	Rules    []form         `json:"rules"`
	Sizes    []sizeRow      `json:"sizes"`
	Worst    map[string]int `json:"worst"` // how many files there are, by the severity of their worst problem
	Problems []*problemRow  `json:"problems"`
	Robots   []*robotRow    `json:"robots"`

	sizes    [len(sizeNames)][]int
	problems map[lint.Problem]*problemRow // by code and severity
	robots   map[string]*robotRow
	names    int // how many bytes robots takes, see maxNames
}

type sizeRow struct {
	What   string `json:"what"`
	Median int    `json:"median"`
	P90    int    `json:"p90"`
	P99    int    `json:"p99"`
	Max    int    `json:"max"`
}

type problemRow struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Files    int    `json:"files"`
	Times    int    `json:"times"`

	severity lint.Severity
	last     int // the number of the last file with the problem
}

type robotRow struct {
	Name    string `json:"name"`
	Files   int    `json:"files"`
	ShutOut int    `json:"shut_out"`

	// Dialects is in how many files the robot is shut out by other dialects,
	// by their names.
	Dialects map[string]int `json:"dialects"`
}

var sizeNames = [...]string{"bytes", "lines", "groups", "rules", "rules of the largest group"}

func newTally() *tally {
	return &tally{
		Without:  make(map[string]int),
		Have:     slices.Clone(features),
		Rules:    slices.Clone(forms),
		Worst:    make(map[string]int),
		Problems: []*problemRow{},
		Robots:   []*robotRow{},
		problems: make(map[lint.Problem]*problemRow),
		robots:   make(map[string]*robotRow),
	}
}

func (t *tally) add(f *surveyed) {
	t.Files++
	t.Bytes += f.nbytes
	for i, n := range []int{f.nbytes, f.lines, f.groups, len(f.patterns), f.largest} {
		t.sizes[i] = append(t.sizes[i], n)
	}
	for i := range t.Have {
		if t.Have[i].has(f) {
			t.Have[i].Files++
		}
	}
	for i := range t.Rules {
		t.Rules[i].count(f.patterns)
	}
	t.addProblems(f.problems)
	for name, shut := range f.robots {
		r := t.robot(name)
		if r == nil {
			continue
		}
		r.Files++
		if shut.rfc9309 {
			r.ShutOut++
		}
		for i, d := range robots.Dialects {
			if shut.dialects[i] {
				r.Dialects[d.Name]++
			} else {
				r.Dialects[d.Name] += 0 // the name is in the output
			}
		}
	}
}

// maxNames limits the memory of the robots' rows, in bytes. A file may name
// 1,000 robots that no other file names. Robots that come after the limit is
// reached are not counted.
const (
	maxNames = 256 << 20
	rowBytes = 600 // of a row, besides its name
)

// robot returns the row of a robot, or nil if there is no room for another one.
// The row has a copy of the name, which may be a part of the text of a file.
func (t *tally) robot(name string) *robotRow {
	if r := t.robots[name]; r != nil {
		return r
	}
	size := len(name) + rowBytes
	if t.names+size > maxNames {
		return nil
	}
	t.names += size
	name = strings.Clone(name)
	r := &robotRow{Name: name, Dialects: make(map[string]int)}
	t.robots[name] = r
	return r
}

// addProblems counts the problems of one file. t.Files already includes the
// file.
func (t *tally) addProblems(problems []lint.Problem) {
	if len(problems) == 0 {
		t.Worst["none"]++
		return
	}
	worst := lint.Info
	for _, p := range problems {
		key := lint.Problem{Code: p.Code, Severity: p.Severity}
		row := t.problems[key]
		if row == nil {
			row = &problemRow{Code: p.Code, Severity: p.Severity.String(), severity: p.Severity}
			t.problems[key] = row
		}
		row.Times++
		if row.last != t.Files {
			row.Files++
			row.last = t.Files
		}
		worst = max(worst, p.Severity)
	}
	t.Worst[worst.String()]++
}

// finish puts the counts into the order of the output. top is how many robots
// the result has at most: those that occur in the most files.
func (t *tally) finish(top int) {
	for i, sizes := range t.sizes {
		if slices.Sort(sizes); len(sizes) > 0 {
			at := func(percent int) int { return sizes[(len(sizes)*percent+99)/100-1] } // by the nearest-rank method
			t.Sizes = append(t.Sizes, sizeRow{sizeNames[i], at(50), at(90), at(99), at(100)})
		}
	}
	t.Problems = slices.AppendSeq(t.Problems, maps.Values(t.problems))
	slices.SortFunc(t.Problems, func(a, b *problemRow) int {
		return cmp.Or(cmp.Compare(b.severity, a.severity), cmp.Compare(b.Files, a.Files), cmp.Compare(a.Code, b.Code))
	})
	t.Robots = slices.AppendSeq(t.Robots, maps.Values(t.robots))
	slices.SortFunc(t.Robots, func(a, b *robotRow) int {
		return cmp.Or(cmp.Compare(b.Files, a.Files), cmp.Compare(a.Name, b.Name))
	})
	t.Robots = t.Robots[:min(len(t.Robots), top)]
}

func (t *tally) Print(w io.Writer) {
	percent := func(n, of int) string { return fmt.Sprintf("%.2f%%", 100*float64(n)/float64(max(of, 1))) }
	share := func(n int) string { return percent(n, t.Files) }
	fmt.Fprintf(w, "%s, %s\n", cli.Count(t.Files, "file"), cli.Count(t.Bytes, "byte"))
	for _, class := range slices.Sorted(maps.Keys(t.Without)) {
		fmt.Fprintf(w, "%s: %s, no file\n", class, cli.Count(t.Without[class], "answer"))
	}

	var rows [][]string
	row := func(cells ...string) { rows = append(rows, cells) }
	begin := func(headings ...string) { // prints the table so far, and begins another
		command.Table(w, rows)
		rows = [][]string{headings}
	}
	begin("files with", "files", "share")
	for _, f := range t.Have {
		row(f.What, cli.Thousands(f.Files), share(f.Files))
	}
	begin("rules with", "rules", "share", "files", "share")
	for _, p := range t.Rules {
		row(p.What, cli.Thousands(p.Rules), percent(p.Rules, t.Rules[0].Rules), cli.Thousands(p.Files), share(p.Files))
	}
	begin("sizes", "median", "90%", "99%", "most")
	for _, s := range t.Sizes {
		row(s.What, cli.Thousands(s.Median), cli.Thousands(s.P90), cli.Thousands(s.P99), cli.Thousands(s.Max))
	}
	begin("worst problem", "files", "share")
	for _, worst := range []string{"error", "warning", "info", "none"} {
		row(worst, cli.Thousands(t.Worst[worst]), share(t.Worst[worst]))
	}
	begin("problem", "severity", "files", "share", "times")
	for _, p := range t.Problems {
		row(string(p.Code), p.Severity, cli.Thousands(p.Files), share(p.Files), cli.Thousands(p.Times))
	}
	headings := []string{"robot", "files", "share", "shut out"}
	for _, d := range robots.Dialects {
		headings = append(headings, d.Title)
	}
	begin(headings...)
	for _, robot := range t.Robots {
		cells := []string{command.Printable(robot.Name), cli.Thousands(robot.Files), share(robot.Files), cli.Thousands(robot.ShutOut)}
		for _, d := range robots.Dialects {
			cells = append(cells, cli.Thousands(robot.Dialects[d.Name]))
		}
		row(cells...)
	}
	command.Table(w, rows)
}
