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
	Without  map[string]int `json:"without,omitempty"` // responses without a file, by class such as "4xx"
	Have     []feature      `json:"have"`
	Rules    []form         `json:"rules"`
	Sizes    []sizeRow      `json:"sizes"`
	Worst    map[string]int `json:"worst"` // files, by the severity of their worst problem
	Problems []*problemRow  `json:"problems"`
	Robots   []*robotRow    `json:"robots"`

	sizes    [len(sizeNames)][]int        // of each file
	problems map[lint.Problem]*problemRow // by code and severity
	robots   map[string]*robotRow
	nbytes   int // of robots
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
	lastFile int // the number of the last file with the problem
}

type robotRow struct {
	Name    string `json:"name"`
	Files   int    `json:"files"`
	ShutOut int    `json:"shut_out"`

	// Dialects contains the number of files that shut the robot out by other
	// dialects, by their names.
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

// add counts the properties of a file.
func (t *tally) add(f *examined) {
	t.Files++
	t.Bytes += f.nbytes
	sizes := [len(sizeNames)]int{f.nbytes, f.lines, f.groups, len(f.patterns), f.maxGroupRules}
	for i, n := range sizes {
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
	for name, isShutOut := range f.robots {
		if row := t.robot(name); row != nil {
			row.add(isShutOut)
		}
	}
}

func (r *robotRow) add(isShutOut shutOut) {
	r.Files++
	if isShutOut.rfc9309 {
		r.ShutOut++
	}
	for i, dialect := range robots.Dialects {
		if isShutOut.dialects[i] {
			r.Dialects[dialect.Name]++
		}
	}
}

const (
	// maxRobotBytes limits the memory of the robots' rows. Each file may name
	// 1,000 robots that no other file names. Once the limit is reached, new
	// robots are not counted.
	maxRobotBytes = 256 << 20
	rowBytes      = 600 // of a row, without its name
)

// robot returns the row of a robot, or nil if there is no space for another
// one. The row has a copy of the name, because the name may be a part of the
// text of a file.
func (t *tally) robot(name string) *robotRow {
	if row := t.robots[name]; row != nil {
		return row
	}
	size := len(name) + rowBytes
	if t.nbytes+size > maxRobotBytes {
		return nil
	}
	t.nbytes += size
	name = strings.Clone(name)
	row := &robotRow{Name: name, Dialects: make(map[string]int)}
	for _, dialect := range robots.Dialects {
		row.Dialects[dialect.Name] = 0 // so that the output contains each dialect
	}
	t.robots[name] = row
	return row
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
		if row.lastFile != t.Files {
			row.Files++
			row.lastFile = t.Files
		}
		worst = max(worst, p.Severity)
	}
	t.Worst[worst.String()]++
}

// finish sorts the counts for the output. It keeps at most maxRobots robots:
// those that the most files name.
func (t *tally) finish(maxRobots int) {
	for i, sizes := range t.sizes {
		if len(sizes) > 0 {
			slices.Sort(sizes)
			t.Sizes = append(t.Sizes, newSizeRow(sizeNames[i], sizes))
		}
	}
	t.Problems = slices.AppendSeq(t.Problems, maps.Values(t.problems))
	slices.SortFunc(t.Problems, func(a, b *problemRow) int {
		return cmp.Or(
			cmp.Compare(b.severity, a.severity),
			cmp.Compare(b.Files, a.Files),
			cmp.Compare(a.Code, b.Code))
	})
	t.Robots = slices.AppendSeq(t.Robots, maps.Values(t.robots))
	slices.SortFunc(t.Robots, func(a, b *robotRow) int {
		return cmp.Or(cmp.Compare(b.Files, a.Files), cmp.Compare(a.Name, b.Name))
	})
	t.Robots = t.Robots[:min(len(t.Robots), maxRobots)]
}

// newSizeRow returns the percentiles of sorted sizes, by the nearest-rank
// method.
func newSizeRow(name string, sizes []int) sizeRow {
	percentile := func(percent int) int {
		rank := (len(sizes)*percent + 99) / 100 // rounded up
		return sizes[rank-1]
	}
	return sizeRow{
		What:   name,
		Median: percentile(50),
		P90:    percentile(90),
		P99:    percentile(99),
		Max:    percentile(100),
	}
}

func (t *tally) Print(w io.Writer) {
	fmt.Fprintf(w, "%s, %s\n", cli.Count(t.Files, "file"), cli.Count(t.Bytes, "byte"))
	for _, class := range slices.Sorted(maps.Keys(t.Without)) {
		fmt.Fprintf(w, "%s: %s, no file\n", class, cli.Count(t.Without[class], "response"))
	}
	command.Table(w, t.featureRows())
	command.Table(w, t.ruleRows())
	command.Table(w, t.sizeRows())
	command.Table(w, t.worstRows())
	command.Table(w, t.problemRows())
	command.Table(w, t.robotRows())
}

func percent(n, total int) string {
	return fmt.Sprintf("%.2f%%", 100*float64(n)/float64(max(total, 1)))
}

// share returns which percentage of all files n files are.
func (t *tally) share(n int) string { return percent(n, t.Files) }

func (t *tally) featureRows() [][]string {
	rows := [][]string{{"files with", "files", "share"}}
	for _, f := range t.Have {
		rows = append(rows, []string{f.What, cli.Thousands(f.Files), t.share(f.Files)})
	}
	return rows
}

func (t *tally) ruleRows() [][]string {
	rows := [][]string{{"rules with", "rules", "share", "files", "share"}}
	allRules := t.Rules[0].Rules
	for _, f := range t.Rules {
		rows = append(rows, []string{
			f.What,
			cli.Thousands(f.Rules),
			percent(f.Rules, allRules),
			cli.Thousands(f.Files),
			t.share(f.Files),
		})
	}
	return rows
}

func (t *tally) sizeRows() [][]string {
	rows := [][]string{{"sizes", "median", "90%", "99%", "most"}}
	for _, s := range t.Sizes {
		rows = append(rows, []string{
			s.What,
			cli.Thousands(s.Median),
			cli.Thousands(s.P90),
			cli.Thousands(s.P99),
			cli.Thousands(s.Max),
		})
	}
	return rows
}

func (t *tally) worstRows() [][]string {
	rows := [][]string{{"worst problem", "files", "share"}}
	for _, severity := range []string{"error", "warning", "info", "none"} {
		n := t.Worst[severity]
		rows = append(rows, []string{severity, cli.Thousands(n), t.share(n)})
	}
	return rows
}

func (t *tally) problemRows() [][]string {
	rows := [][]string{{"problem", "severity", "files", "share", "times"}}
	for _, p := range t.Problems {
		rows = append(rows, []string{
			p.Code,
			p.Severity,
			cli.Thousands(p.Files),
			t.share(p.Files),
			cli.Thousands(p.Times),
		})
	}
	return rows
}

func (t *tally) robotRows() [][]string {
	heading := []string{"robot", "files", "share", "shut out"}
	for _, dialect := range robots.Dialects {
		heading = append(heading, dialect.Title)
	}
	rows := [][]string{heading}
	for _, robot := range t.Robots {
		row := []string{
			command.Printable(robot.Name),
			cli.Thousands(robot.Files),
			t.share(robot.Files),
			cli.Thousands(robot.ShutOut),
		}
		for _, dialect := range robots.Dialects {
			row = append(row, cli.Thousands(robot.Dialects[dialect.Name]))
		}
		rows = append(rows, row)
	}
	return rows
}
