package lint

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

type problemJSON struct {
	File     string    `json:"file"`
	Line     int       `json:"line"`
	Column   int       `json:"column"`
	Code     lint.Code `json:"code"`
	Severity string    `json:"severity"`
	Message  string    `json:"message"`
	Fix      string    `json:"fix,omitempty"`
}

func problemPrinter(w io.Writer, asJSON bool) func(file string, problems []lint.Problem) {
	one := printProblem
	if asJSON {
		enc := command.JSON(w)
		one = func(_ io.Writer, file string, p lint.Problem) {
			enc.Encode(problemJSON{file, p.Line, p.Column, p.Code, p.Severity.String(), p.Message, p.Fix})
		}
	}
	return func(file string, problems []lint.Problem) {
		for _, p := range problems {
			one(w, file, p)
		}
	}
}

func printProblem(w io.Writer, file string, p lint.Problem) {
	fmt.Fprintf(w, "%s:%d:%d: %s: %s [%v]\n", file, cmp.Or(p.Line, 1), cmp.Or(p.Column, 1), p.Code, command.Printable(p.Message), p.Severity)
	if p.Fix == "" {
		return
	}
	lead := "  instead: "
	for line := range strings.SplitSeq(p.Fix, "\n") {
		fmt.Fprintf(w, "%s%s\n", lead, command.Printable(line))
		lead = "           "
	}
}
