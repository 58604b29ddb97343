package lint

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

// If a file has at most maxInFull problems of one kind, all of them are shown
// in full. If it has more, only the first is shown in full. For the others, at
// most maxLines line numbers are shown. If only one number would then be left
// out, it is shown too.
const maxInFull, maxLines = 3, 12

// A kind is what problems that are shown together have in common: the message,
// or only the code if they are info.
type kind struct {
	code    string
	message string // "" for info
}

func kindOf(p lint.Problem) kind {
	if p.Severity == lint.Info {
		return kind{code: p.Code}
	}
	return kind{p.Code, p.Message}
}

// printFolded prints the problems of a file in order. If a file has many
// problems of one kind, printFolded prints only the first of them. For the
// others, it prints the line numbers.
func printFolded(w io.Writer, file string, problems []lint.Problem) {
	lines := make(map[kind][]int)
	for _, p := range problems {
		k := kindOf(p)
		lines[k] = append(lines[k], p.Line)
	}
	shown := make(map[kind]bool)
	for _, p := range problems {
		k := kindOf(p)
		if len(lines[k]) <= maxInFull {
			printProblem(w, file, p)
		} else if !shown[k] {
			shown[k] = true
			printProblem(w, file, p)
			fmt.Fprintf(w, "  and %s more %s (-all shows each)\n", command.Thousands(len(lines[k])-1), list(lines[k][1:]))
		}
	}
}

// list returns a text with line numbers, such as "in lines 3, 7".
func list(lines []int) string {
	var all []string
	for _, line := range slices.Compact(lines) {
		all = append(all, strconv.Itoa(line))
	}
	if more := len(all) - maxLines; more > 1 {
		all = append(all[:maxLines], "…")
	}
	return "in " + command.Noun(len(all), "line") + " " + strings.Join(all, ", ")
}

type problemJSON struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Fix      string `json:"fix,omitempty"`
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
