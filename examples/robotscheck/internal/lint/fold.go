package lint

import (
	"fmt"
	"io"
	"strings"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/output"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

// few is the greatest number of problems of one kind that are all shown in
// full. If a file has more, only the first is shown in full, and the others as
// line numbers. mostLines is the greatest number of line numbers that are
// shown. If there is only one more, it is shown too.
const few, mostLines = 3, 12

// A kind identifies the problems that are shown together.
type kind struct {
	code     lint.Code
	severity lint.Severity
}

// foldingPrinter returns a function that prints the problems of a file in
// order. If a file has many problems of one kind, the function prints only the
// first of them. For the others, it prints the line numbers.
func foldingPrinter(w io.Writer) func(file string, problems []lint.Problem) {
	return func(file string, problems []lint.Problem) {
		all := make(map[kind][]lint.Problem)
		for _, p := range problems {
			k := kind{p.Code, p.Severity}
			all[k] = append(all[k], p)
		}
		for _, p := range problems {
			k := kind{p.Code, p.Severity}
			same := all[k]
			if len(same) == 0 {
				continue // already shown, as a line number below the first problem of its kind
			}
			printProblem(w, file, p)
			if len(same) > few {
				fmt.Fprintf(w, "  and %s more %s (-all shows each)\n", output.Thousands(len(same)-1), linesOf(same[1:]))
				all[k] = nil
			}
		}
	}
}

// linesOf returns the line numbers of the problems in words, such as "in lines
// 3, 7".
func linesOf(problems []lint.Problem) string {
	var numbers []string
	last := 0
	for _, p := range problems {
		if p.Line != last {
			numbers = append(numbers, fmt.Sprint(p.Line))
		}
		last = p.Line
	}
	if more := len(numbers) - mostLines; more > 1 {
		numbers = append(numbers[:mostLines], "…")
	}
	if len(numbers) == 1 {
		return "in line " + numbers[0]
	}
	return "in lines " + strings.Join(numbers, ", ")
}
