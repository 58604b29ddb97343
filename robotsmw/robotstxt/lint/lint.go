package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// Check returns the problems in a robots.txt file, ordered by line. Files
// without mistakes rarely have errors or warnings, but may have problems of
// severity Info.
//
// Check returns at most 1,000 problems, followed by one with the code
// "too-many" that contains the number of the others. If comparing the rules of
// a file with each other takes too long, another problem with this code
// contains the number of rules that were not compared.
func Check(body []byte) []Problem {
	var r report
	if checkFile(&r, body) {
		file := syntax.Parse(body, syntax.RFC9309)
		checkLines(&r, &file)
		checkGroups(&r, &file)
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if r.omitted > 0 {
		r.problems = append(r.problems, Problem{
			Code:     codeTooMany,
			Severity: Warning,
			Message:  fmt.Sprintf("%d more problems are not listed", r.omitted),
		})
	}
	if r.skipped > 0 {
		r.problems = append(r.problems, Problem{
			Code:     codeTooMany,
			Severity: Warning,
			Message: fmt.Sprintf("%d rules were not compared with the others, because the file has too many",
				r.skipped),
		})
	}
	return r.problems
}
