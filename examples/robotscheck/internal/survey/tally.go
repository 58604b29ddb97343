package survey

import (
	"strings"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/robot"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

type tally struct {
	files, nbytes int
	without       map[string]int // how many answers had no file, by class of status, such as "4xx"
	have          map[string]int // how many files have a feature, by the feature's name
	patterns      [][2]int       // for each pattern feature: how many rules and how many files have it
	sizes         [len(sizeNames)][]int
	worst         map[string]int // how many files there are, by the severity of their worst problem
	problems      map[problemKind]problemCount
	robots        map[string]robotCount
}

var sizeNames = [...]string{"bytes", "lines", "groups", "rules", "rules of the largest group"}

type problemKind struct {
	code     lint.Code
	severity lint.Severity
}

type problemCount struct{ files, times int }

type robotCount struct{ files, shut int }

// mostRobots is how many robots of each file are counted at most.
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

func (t *tally) add(text []byte) {
	f := examine(text)
	t.files++
	t.nbytes += len(text)
	for i, n := range []int{len(text), f.lines, len(f.groups), f.rules, f.largest} {
		t.sizes[i] = append(t.sizes[i], n)
	}
	for _, feature := range features {
		if feature.has(f) {
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
	for _, name := range firstOf(robot.Named(f.file), mostRobots) {
		lower := strings.ToLower(name)
		r := t.robots[lower]
		r.files++
		if f.front.isShut(name) {
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

// severityOf returns the severity whose String is s. For any other text, it
// returns Info.
func severityOf(s string) lint.Severity {
	for _, severity := range []lint.Severity{lint.Warning, lint.Error} {
		if severity.String() == s {
			return severity
		}
	}
	return lint.Info
}

// merge adds the counts of another tally. It ignores other.without.
func (t *tally) merge(other *tally) {
	t.files += other.files
	t.nbytes += other.nbytes
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

func firstOf(s []string, n int) []string { return s[:min(len(s), n)] }
