package lint

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

// Command is the subcommand robotscheck lint.
var Command = command.Command{
	Name:  "lint",
	Usage: "[flags] FILE|URL...",
	Short: "what is wrong with robots.txt files",
	Setup: func(flags *flag.FlagSet) command.Action {
		o := declare(flags)
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			if len(args) == 0 {
				return 0, command.Usagef("specify a robots.txt: a file, \"-\", or a URL")
			}
			if command.StdinTwice(args...) {
				return 0, command.Usagef("only one FILE can be standard input")
			}
			return o.run(ctx, e, args)
		}
	},
}

// options are the values of the flags.
type options struct {
	minSeverity lint.Severity
	all         *bool
	asJSON      *bool
	userAgent   *string
}

func declare(flags *flag.FlagSet) *options {
	o := &options{
		minSeverity: lint.Info,
		all: flags.Bool("all", false,
			"show each problem in full, even if it occurs many times in a file"),
		asJSON:    flags.Bool("json", false, "print JSON, one object per line, with all problems"),
		userAgent: robots.UserAgentFlag(flags),
	}
	flags.Func("severity",
		"ignore problems below this severity (`info`, warning or error), also in the exit status",
		o.setMinSeverity)
	return o
}

// setMinSeverity parses the value of -severity.
func (o *options) setMinSeverity(value string) error {
	for _, severity := range []lint.Severity{lint.Info, lint.Warning, lint.Error} {
		if severity.String() == value {
			o.minSeverity = severity
			return nil
		}
	}
	return errors.New("must be info, warning or error")
}

// run lints each file. The error joins those of the files that could not be
// read.
func (o *options) run(ctx context.Context, e command.Env, args []string) (command.Status, error) {
	var errs error
	var counts [lint.Error + 1]int // by severity
	for _, arg := range args {
		source, err := readExisting(ctx, e, arg, *o.userAgent)
		if err != nil {
			errs = errors.Join(errs, err)
			continue
		}
		var problems []problem
		for _, p := range robots.Problems(source.Text, source.Decision != nil) {
			if p.Severity >= o.minSeverity {
				counts[p.Severity]++
				problems = append(problems, newProblem(source.Name, p))
			}
		}
		o.print(e, problems)
	}
	if !*o.asJSON && errs == nil {
		e.Stdout.Flush()
		fmt.Fprintf(e.Stderr, "%s: %s\n", cli.Count(len(args), "file"), summary(counts[:], o.minSeverity))
	}
	if counts[lint.Error]+counts[lint.Warning] > 0 {
		return command.No, errs
	}
	return command.OK, errs
}

// print prints the problems of a file.
func (o *options) print(e command.Env, problems []problem) {
	if !*o.all && !*o.asJSON {
		printFolded(e.Stdout, problems)
		return
	}
	for _, p := range problems {
		e.Print(p, *o.asJSON)
	}
}

// readExisting reads a robots.txt. It returns an error if there is no file at
// the URL.
func readExisting(
	ctx context.Context, e command.Env, arg, userAgent string,
) (*robots.Source, error) {
	source, err := robots.Read(ctx, e, arg, userAgent)
	if err != nil {
		return nil, err
	}
	if err := source.Unreachable(); err != nil {
		return nil, err
	}
	if source.Absent != "" {
		return nil, fmt.Errorf("%s: status %d; there is no file, and everything is allowed",
			source.Name, source.Decision.Status)
	}
	return source, nil
}

// summary returns the counts of problems by severity, such as "1 error, 2
// warnings, 21 info". If there are none, the summary contains the severities
// that were requested, because the file may have problems of other severities.
func summary(counts []int, minSeverity lint.Severity) string {
	var parts []string
	for _, severity := range []lint.Severity{lint.Error, lint.Warning} {
		if n := counts[severity]; n > 0 {
			parts = append(parts, cli.Count(n, severity.String()))
		}
	}
	if n := counts[lint.Info]; n > 0 {
		parts = append(parts, cli.Thousands(n)+" info") // has no plural
	}
	switch {
	case parts != nil:
		return strings.Join(parts, ", ")
	case minSeverity == lint.Error:
		return "no errors"
	case minSeverity == lint.Warning:
		return "no warnings or errors"
	}
	return "no problems"
}

const (
	// maxInFull is the maximum number of problems of one kind that are printed
	// in full. If a file has more, only the first is printed in full.
	maxInFull = 3
	// maxLines is the maximum number of line numbers that are printed for the
	// others. If only one more would be omitted, it is printed too.
	maxLines = 12
)

// printFolded prints the problems of a file in order. Of many problems of one
// kind, it prints the first in full, and only the line numbers of the others.
func printFolded(w io.Writer, problems []problem) {
	lines := make(map[string][]int) // by kind; removed when they are printed
	for _, p := range problems {
		lines[p.kind()] = append(lines[p.kind()], p.Line)
	}
	for _, p := range problems {
		same, ok := lines[p.kind()]
		if !ok {
			continue
		}
		p.Print(w)
		if len(same) > maxInFull {
			others := same[1:]
			fmt.Fprintf(w, "  and %s more %s (-all shows each)\n",
				cli.Thousands(len(others)), lineNumbers(others))
			delete(lines, p.kind())
		}
	}
}

// lineNumbers returns a text such as "in lines 3, 7".
func lineNumbers(lines []int) string {
	var all []string
	for _, line := range slices.Compact(lines) {
		all = append(all, strconv.Itoa(line))
	}
	if more := len(all) - maxLines; more > 1 {
		all = append(all[:maxLines], "…")
	}
	return "in " + cli.Noun(len(all), "line") + " " + strings.Join(all, ", ")
}

// A problem is a problem of a file, as -json prints it.
type problem struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Fix      string `json:"fix,omitempty"`
}

func newProblem(file string, p lint.Problem) problem {
	return problem{
		File:     file,
		Line:     p.Line,
		Column:   p.Column,
		Code:     p.Code,
		Severity: p.Severity.String(),
		Message:  p.Message,
		Fix:      p.Fix,
	}
}

// kind returns what problems of one kind have in common: the code, for info, or
// else the message.
func (p problem) kind() string {
	if p.Severity == lint.Info.String() {
		return p.Code
	}
	return p.Message
}

// Print prints a problem in the format of compilers.
func (p problem) Print(w io.Writer) {
	fmt.Fprintf(w, "%s:%d:%d: %s: %s [%s]\n",
		command.Printable(p.File), cmp.Or(p.Line, 1), cmp.Or(p.Column, 1),
		p.Code, command.Printable(p.Message), p.Severity)
	if p.Fix == "" {
		return
	}
	label := "instead:"
	for line := range strings.SplitSeq(p.Fix, "\n") {
		fmt.Fprintf(w, "  %8s %s\n", label, command.Printable(line))
		label = ""
	}
}
