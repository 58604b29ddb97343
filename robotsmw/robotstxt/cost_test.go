package robotstxt

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/match"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// questionCosts asks n questions about the targets in turn: after the last
// target, it begins again with the first one. It replaces each element of the
// slice "targets" by its canonical form. It returns three lists of costs in
// steps.
// The first list is for rules in normal use: they are compiled after some
// questions. The second list is for rules that are never compiled, and the
// third for rules that are compiled before the first question. Element i of a
// list is the cost of the first i+1 questions together. If the rules have been
// compiled by then, the cost includes the price of compiling.
func questionCosts(f *File, token string, targets []string, n int) (both, scanned, compiled []int) {
	rules, made := f.Rules(token), f.Rules(token)
	made.set.Compile()
	_, price, _ := rules.set.Spent()
	var byScan, byIndex []int // the steps for each target
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
			if isDone { // compiled just now: assume that the scan took all steps that it was permitted
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

// worstCost takes the three lists of questionCosts. For each number of
// questions, it divides the cost in the first list by the lower one of the two
// costs in the other lists. It returns the greatest of these quotients, and the
// number of questions that it belongs to.
func worstCost(both, scanned, compiled []int) (worst float64, questions int) {
	for i, steps := range both {
		if part := float64(steps) / float64(max(min(scanned[i], compiled[i]), 1)); part > worst {
			worst, questions = part, i+1
		}
	}
	return worst, questions
}

// mostCost limits the quotient that worstCost returns. It is a little more than
// two, because the question that compiles the rules costs a scan and then a
// search in the index.
const mostCost = 2.05

// TestQuestionsCostAtMostTwice compares the cost of questions with two simpler
// ways: to scan for every question, and to compile before the first one. Any
// number of questions may cost at most mostCost times as much as in the cheaper
// of these ways.
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

// TestSharedCorpusQuestions does the same as TestQuestionsCostAtMostTwice for
// each real file, with the first robot that has a large group there. It logs
// a chart of the mean costs, which is also in integration_test/MEASURED.md.
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
	t.Logf("questions %s", chartLine("|1,000      |10,000     |100,000    |1,000,000"))
	for n := 1; n <= most; n *= 10 {
		for _, k := range []int{1, 2, 5} {
			if i := n*k - 1; i < most {
				line := chartLine("")
				for _, cost := range []struct {
					mark byte
					sum  float64
				}{{'s', sums[1][i]}, {'c', sums[2][i]}, {'*', sums[0][i]}} {
					line[chartColumn(cost.sum/float64(groups))] = cost.mark
				}
				t.Logf("%9d %s", n*k, line)
			}
		}
	}
}

// chartColumn returns the column for a cost in a chart. The columns are
// logarithmic: a cost that is ten times as high is twelve columns further.
func chartColumn(cost float64) int {
	return min(max(chartFrom+int(math.Round(12*math.Log10(cost/1000))), 0), chartWidth-1)
}

const (
	chartFrom  = 6 // the column for a cost of 1,000
	chartWidth = 55
)

// chartLine returns a line of a chart, with text from chartFrom on.
func chartLine(text string) []byte {
	line := bytes.Repeat([]byte{' '}, chartWidth)
	copy(line[chartFrom:], text)
	return line
}
