package survey

import (
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

func newTally() *tally {
	return &tally{
		have:     make(map[string]int),
		patterns: make([][2]int, len(patterns)),
		worst:    make(map[string]int),
		problems: make(map[problemKind]problemCount),
		robots:   make(map[string]robotCount),
	}
}

func (t *tally) add(f *surveyed) {
	t.files++
	t.nbytes += f.nbytes
	for i, n := range []int{f.nbytes, f.lines, len(f.groups), f.rules, f.largest} {
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
	t.addProblems(f.problems)
	for name, isShut := range f.robots {
		r := t.robots[name]
		r.files++
		if isShut {
			r.shut++
		}
		t.robots[name] = r
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
