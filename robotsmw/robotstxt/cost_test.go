package robotstxt

import (
	"fmt"
	"slices"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/match"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// questionCosts asks rules that are not compiled yet about n targets, one after
// the other, again and again, and returns how many steps the first n questions
// took together, in which compiling counts as what it is worth; and what they
// would have taken by scans alone, and by rules compiled at once.
func questionCosts(f *File, token string, targets []string, n int) (both, scanned, compiled []int) {
	rules, made := f.Rules(token), f.Rules(token)
	made.set.Compile()
	_, price, _ := rules.set.Spent()
	var byScan, byIndex []int // by target
	for i, target := range targets {
		form := string(match.AppendTarget(nil, target, syntax.RFC9309))
		targets[i] = form
		_, _, steps := rules.set.ScanForm(form)
		byScan = append(byScan, steps)
		_, _, steps = made.set.DecideForm(form)
		byIndex = append(byIndex, steps)
	}
	sum, scan, index := 0, 0, price
	for i := range n {
		scan += byScan[i%len(targets)]
		index += byIndex[i%len(targets)]
		before, _, done := rules.set.Spent()
		if !done {
			rules.Allowed(targets[i%len(targets)])
			after, _, isDone := rules.set.Spent()
			if isDone { // what was left has been spent in vain
				after = max(price, before)
				sum += price
			}
			sum += after - before
			done = isDone
		}
		if done {
			sum += byIndex[i%len(targets)]
		}
		both, scanned, compiled = append(both, sum), append(scanned, scan), append(compiled, index)
	}
	return both, scanned, compiled
}

// worstCost returns the greatest of what some questions take together, as parts
// of what they take the better way.
func worstCost(both, scanned, compiled []int) (worst float64, questions int) {
	for i, steps := range both {
		if part := float64(steps) / float64(max(min(scanned[i], compiled[i]), 1)); part > worst {
			worst, questions = part, i+1
		}
	}
	return worst, questions
}

// mostCost is twice the better way, and a little: the question on which rules
// are compiled is paid for twice.
const mostCost = 2.05

// TestQuestionsCostAtMostTwice holds any number of questions to twice what the
// better of both ways takes, scanning and compiling at once.
func TestQuestionsCostAtMostTwice(t *testing.T) {
	for _, oneWildOf := range []int{0, 4, 1} {
		for _, n := range []int{9, 20, 60, 300, 4000, 14_000} {
			both, scanned, compiled := questionCosts(parse(benchFile(n, oneWildOf)), "", slices.Clone(benchTargets), 10_000)
			worst, at := worstCost(both, scanned, compiled)
			if worst > mostCost {
				t.Errorf("%d rules, wildcards in 1 of %d: %d questions cost %.3f times the better way", n, oneWildOf, at, worst)
			}
		}
	}
}

// TestSharedCorpusQuestions is TestQuestionsCostAtMostTwice on each real file,
// for the first robot that has a large group there. It logs what the questions
// cost together, for a plot.
func TestSharedCorpusQuestions(t *testing.T) {
	const most = 10_000
	c := readCorpus(t)
	groups, worst, worstID, last := 0, 0.0, "", ""
	var sums [3][most]float64
	for _, v := range c.verdicts {
		f := Parse(c.robots[v.id])
		if _, _, done := f.Rules(v.token).set.Spent(); done || len(c.urls[v.id]) == 0 || v.id == last {
			continue
		}
		last = v.id
		groups++
		both, scanned, compiled := questionCosts(f, v.token, slices.Clone(c.urls[v.id]), most)
		if part, at := worstCost(both, scanned, compiled); part > worst {
			worst, worstID = part, fmt.Sprintf("%s for %s after %d questions", v.id, v.token, at)
		}
		for i, costs := range [][]int{both, scanned, compiled} {
			for n, steps := range costs {
				sums[i][n] += float64(steps)
			}
		}
	}
	if worst > mostCost {
		t.Errorf("%s: %.3f times the better way", worstID, worst)
	}
	t.Logf("%d groups; the worst: %.2f times the better way, %s", groups, worst, worstID)
	for n := 1; n <= most; n *= 10 {
		for _, k := range []int{1, 2, 5} {
			if n*k <= most {
				t.Logf("%5d questions: %.3g steps a group; scanned %.3g, compiled at once %.3g", n*k,
					sums[0][n*k-1]/float64(groups), sums[1][n*k-1]/float64(groups), sums[2][n*k-1]/float64(groups))
			}
		}
	}
}
