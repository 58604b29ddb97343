package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// Check returns the problems in a robots.txt file, in the order of their lines.
// A file without mistakes hardly ever has errors or warnings, but may have
// problems of severity Info. Check lists at most 1,000 problems. It counts the
// others in a problem with the code "too-many". Another problem with this code
// counts the rules of an expensive file that were not compared with each other.
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
	if r.skipped > 0 {
		r.problems = append(r.problems, Problem{
			Code: codeTooMany, Severity: Warning,
			Message: fmt.Sprintf("%d rules are not compared with the others: the file has too many", r.skipped),
		})
	}
	return r.problems
}
