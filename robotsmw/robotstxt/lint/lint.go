package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// Check returns the problems in a robots.txt file, in the order of their lines.
// A file that does what its author wants has no errors and no warnings, but may
// have infos. If there are more than 1,000 problems, the rest is only counted,
// with the code "too-many".
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
	if r.more > 0 {
		r.problems = append(r.problems, Problem{Code: codeTooMany, Severity: Warning, Message: fmt.Sprintf("%d more problems are not listed", r.more)})
	}
	return r.problems
}
