package audit

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
)

const (
	maxReported     = 3      // lines of an input that are reported for one problem
	maxFaultTexts   = 10     // faults of records in the text output
	maxPageFaults   = 500    // faults of records on the page
	maxPageProblems = 200    // problems of lines on the page
	maxProblems     = 10_000 // distinct problems; a server can invent more, such as content codings
)

// A reporter reports on standard error which lines and records are broken, and
// how much was read. If many lines of an input have the same problem, it
// reports only the first, and the number of the others.
type reporter struct {
	stderr   io.Writer
	stdout   *bufio.Writer
	progress cli.Progress // on stderr, if that is a terminal
	nbytes   int          // that were read

	repeats map[problem]*repeats
	order   []*repeats // in the order of their first lines

	faultTexts []string // the first faults of records, and problems of -against
	faults     []fault  // the first faults of records
	moreFaults int      // number of the other faults
}

// A fault is a place in a record that was changed, or that is contradicted by
// another place or by the log of -against.
type fault struct {
	Place, Kind, Text string
}

// An unread is a problem of lines that could not be read.
type unread struct {
	Input, Why, Last string
	Times            int
}

// A problem is an error that lines of an input have in common.
type problem struct{ input, text string }

type repeats struct {
	times int
	last  string // the text of the last line with the problem
}

func newReporter(e command.Env) *reporter {
	return &reporter{
		stderr:   e.Stderr,
		stdout:   e.Stdout,
		progress: cli.Progress{Terminal: cli.Terminal(e.Stderr)},
		repeats:  make(map[problem]*repeats),
	}
}

// printf prints a line on standard error.
func (r *reporter) printf(format string, args ...any) {
	r.progress.Clear()
	fmt.Fprintf(r.stderr, "robotscheck audit: "+format+"\n", args...)
}

// addBytes shows how much was read, after n more bytes. It flushes standard
// output first, which may be the same terminal.
func (r *reporter) addBytes(n int) {
	r.nbytes += n
	r.progress.Show(func() string {
		r.stdout.Flush()
		return cli.Thousands(r.nbytes/1e6) + " MB read"
	})
}

// addBroken reports a broken line.
func (r *reporter) addBroken(input string, line int, err error) {
	if n := r.count(input, line, err); n.times <= maxReported {
		r.printf("%s", n.last)
	}
}

// count counts a problem, and returns how often it has occurred.
func (r *reporter) count(input string, line int, err error) *repeats {
	p := problem{input, err.Error()}
	if r.repeats[p] == nil && len(r.repeats) >= maxProblems {
		p = problem{input, "other problems"}
	}
	n := r.repeats[p]
	if n == nil {
		n = new(repeats)
		r.repeats[p] = n
		r.order = append(r.order, n)
	}
	n.last = formatProblem(input, line, err)
	n.times++
	return n
}

// reportMore reports how many broken lines were not reported.
func (r *reporter) reportMore() {
	for _, n := range r.order {
		if more := n.times - maxReported; more > 0 {
			r.printf("… and %s like it, up to %s", linesOrRecords(more, "more "), n.last)
		}
	}
}

// addFault reports a fault of a record. It reports repeated ones too, because
// each may show that the record was changed.
func (r *reporter) addFault(input string, line int, err error) {
	text := formatProblem(input, line, err)
	r.printf("%s", text)
	if len(r.faultTexts) < maxFaultTexts {
		r.faultTexts = append(r.faultTexts, text)
	}
	kind, description, _ := strings.Cut(err.Error(), ": ")
	switch {
	case !slices.Contains(faultKinds, kind):
		r.count(input, line, err) // a line of -against that cannot be read
	case len(r.faults) == maxPageFaults:
		r.moreFaults++
	default:
		r.faults = append(r.faults, fault{fmt.Sprintf("%s:%d", input, line), kind, description})
	}
}

// faultKinds are the first words of the errors that are faults of a record.
var faultKinds = []string{"changed", "contradicts", "cut"}

// unread returns the problems of lines for the page.
func (r *reporter) unread() (all []unread) {
	for p, n := range r.repeats {
		all = append(all, unread{Input: p.input, Why: p.text, Last: n.last, Times: n.times})
	}
	slices.SortFunc(all, func(a, b unread) int {
		return cmp.Or(
			cmp.Compare(b.Times, a.Times),
			cmp.Compare(a.Input, b.Input),
			cmp.Compare(a.Why, b.Why))
	})
	return all[:min(len(all), maxPageProblems)]
}

func formatProblem(input string, line int, err error) string {
	return fmt.Sprintf("%s:%d: %v", input, line, err)
}

// linesOrRecords returns a count of log lines and archive records, such as
// "1 broken line or record". kind is "" or a word with a space after it.
func linesOrRecords(n int, kind string) string {
	return cli.Count(n, kind+"line") + " or " + cli.Noun(n, "record")
}
