package lint

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

// If a file has at most maxInFull problems of one kind, all of them are shown
// in full. If it has more, only the first is shown in full. For the others, at
// most maxLines line numbers are shown. If only one number would then be left
// out, it is shown too.
const maxInFull, maxLines = 3, 12

// A kind is a set of problems that are shown together. Each message is equal to
// the message of the first problem, or differs from it in one place.
type kind struct {
	problems []lint.Problem
	differs  []string // what each message has in that place; "" for a message that is equal
}

// printFolded prints the problems of a file in order. If a file has many
// problems of one kind, printFolded prints only the first of them. For the
// others, it prints the line numbers.
func printFolded(w io.Writer, file string, problems []lint.Problem) {
	kinds, kindOf := kindsOf(problems)
	shown := make([]bool, len(kinds))
	for i, p := range problems {
		k := kinds[kindOf[i]]
		if len(k.problems) <= maxInFull {
			printProblem(w, file, p)
		} else if !shown[kindOf[i]] {
			shown[kindOf[i]] = true
			printProblem(w, file, p)
			fmt.Fprintf(w, "  and %s more %s (-all shows each%s)\n", command.Thousands(len(k.problems)-1), k.lines(), k.fixes())
		}
	}
}

// kindsOf divides problems into kinds. The second result has the index of each
// problem's kind.
func kindsOf(problems []lint.Problem) (kinds []*kind, kindOf []int) {
	for _, p := range problems {
		differs, ok := "", false
		i := slices.IndexFunc(kinds, func(k *kind) bool {
			first := k.problems[0]
			if first.Code == p.Code && first.Severity == p.Severity {
				differs, ok = difference(first.Message, p.Message)
			}
			return ok
		})
		if i < 0 {
			i, differs = len(kinds), ""
			kinds = append(kinds, new(kind))
		}
		kinds[i].problems = append(kinds[i].problems, p)
		kinds[i].differs = append(kinds[i].differs, differs)
		kindOf = append(kindOf, i)
	}
	return kinds, kindOf
}

// difference compares a message with the first message of a kind. It returns
// true if the message is of this kind. That is the case if the two messages are
// equal, or if they differ in one place only and at least two thirds of the
// words are outside this place. If fewer words are equal, they may be equal by
// chance, or the place may be too long to show. The first result has the words
// of the message in this place, or "" if the messages are equal.
func difference(first, message string) (words string, ok bool) {
	if first == message {
		return "", true
	}
	a, b := strings.Split(first, " "), strings.Split(message, " ")
	begin, end, least := 0, 0, min(len(a), len(b))
	for begin < least && a[begin] == b[begin] {
		begin++
	}
	for end < least-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	place := b[begin : len(b)-end]
	if len(place) == 0 || 3*(begin+end) < 2*max(len(a), len(b)) {
		return "", false
	}
	if begin > 0 && b[begin-1] == "line" {
		place = b[begin-1 : len(b)-end] // show the word "line" before the number
	}
	return strings.TrimRight(strings.Join(place, " "), ",;:"), true
}

// lines() returns a text with the line numbers of the problems, such as "in
// lines 3, 7". The first problem is left out, because it is shown in full. If a
// message differs from the first message, the different words are in
// parentheses: "in line 3 (CCBot)".
func (k *kind) lines() string {
	var list []string
	for i, p := range k.problems[1:] {
		one := fmt.Sprint(p.Line)
		if differs := k.differs[i+1]; differs != "" {
			one += " (" + command.Printable(differs) + ")"
		}
		if !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	if more := len(list) - maxLines; more > 1 {
		list = append(list[:maxLines], "…")
	}
	if len(list) == 1 {
		return "in line " + list[0]
	}
	return "in lines " + strings.Join(list, ", ")
}

// fixes() returns a text that says that -all shows fixes too. It returns "" if
// no problem after the first has a fix.
func (k *kind) fixes() string {
	if slices.ContainsFunc(k.problems[1:], func(p lint.Problem) bool { return p.Fix != "" }) {
		return ", and what it should be"
	}
	return ""
}

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
