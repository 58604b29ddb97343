package lint

import (
	"testing"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

// linesOf names each line once, and cuts a long list.
func TestLinesOf(t *testing.T) {
	at := func(lines ...int) (problems []lint.Problem) {
		for _, line := range lines {
			problems = append(problems, lint.Problem{Line: line})
		}
		return problems
	}
	for _, tt := range []struct {
		problems []lint.Problem
		want     string
	}{
		{at(7), "in line 7"},
		{at(7, 7, 7), "in line 7"},
		{at(7, 7, 9), "in lines 7, 9"},
		{at(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13), "in lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13"},
		{at(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14), "in lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, …"},
	} {
		if got := linesOf(tt.problems); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
