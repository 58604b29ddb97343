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
		minSeverity := lint.Info
		flags.Func("severity", "ignore problems below this severity (`info`, warning or error), also in the exit status", func(s string) error {
			for _, severity := range []lint.Severity{lint.Info, lint.Warning, lint.Error} {
				if severity.String() == s {
					minSeverity = severity
					return nil
				}
			}
			return errors.New("must be info, warning or error")
		})
		all := flags.Bool("all", false, "show each problem in full, even if it occurs many times in a file")
		asJSON := flags.Bool("json", false, "print JSON, one object per line, with all problems")
		userAgent := robots.UserAgentFlag(flags)
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			if len(args) == 0 {
				return 0, command.Usagef("specify a robots.txt: a file, \"-\", or a URL")
			}
			if command.StdinTwice(args...) {
				return 0, command.Usagef("only one FILE can be standard input")
			}
			var failed error
			var found [lint.Error + 1]int
			for _, arg := range args {
				s, err := robots.Read(ctx, e, arg, *userAgent)
				if err == nil {
					err = lacksFile(s)
				}
				if err != nil {
					failed = errors.Join(failed, err)
					continue
				}
				var problems []problem
				for _, p := range robots.Problems(s.Text, s.Decision != nil) {
					if p.Severity >= minSeverity {
						found[p.Severity]++
						problems = append(problems, problem{s.Name, p.Line, p.Column, p.Code, p.Severity.String(), p.Message, p.Fix})
					}
				}
				if !*all && !*asJSON {
					printFolded(e.Stdout, problems)
					continue
				}
				for _, p := range problems {
					e.Print(p, *asJSON)
				}
			}
			if !*asJSON && failed == nil {
				e.Stdout.Flush()
				fmt.Fprintf(e.Stderr, "%s: %s\n", cli.Count(len(args), "file"), findings(found[:], minSeverity))
			}
			if found[lint.Error]+found[lint.Warning] > 0 {
				return command.No, failed
			}
			return command.OK, failed
		}
	},
}

func lacksFile(s *robots.Source) error {
	if err := s.Unreachable(); err != nil {
		return err
	}
	if s.Absent != "" {
		return fmt.Errorf("%s: status %d; there is no file, and everything is allowed", s.Name, s.Decision.Status)
	}
	return nil
}

// findings returns the counts of problems in words, by severity, as in "1
// error, 2 warnings, 21 info". If there are none, it lists the severities that
// were looked for, because the file may have problems of other severities.
func findings(found []int, minSeverity lint.Severity) string {
	var parts []string
	for _, severity := range []lint.Severity{lint.Error, lint.Warning} {
		if n := found[severity]; n > 0 {
			parts = append(parts, cli.Count(n, severity.String()))
		}
	}
	if n := found[lint.Info]; n > 0 {
		parts = append(parts, cli.Thousands(n)+" info") // which has no plural
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

// If a file has at most maxInFull problems of one kind, all of them are shown
// in full. If it has more, only the first is shown in full. For the others, at
// most maxLines line numbers are shown. If only one number would then be left
// out, it is shown too.
const maxInFull, maxLines = 3, 12

// printFolded prints the problems of a file in order. If a file has many
// problems of one kind, printFolded prints only the first of them. For the
// others, it prints the line numbers. Problems are of one kind if they have the
// same message or, if they are info, the same code.
func printFolded(w io.Writer, problems []problem) {
	kindOf := func(p problem) string {
		if p.Severity == lint.Info.String() {
			return p.Code
		}
		return p.Message
	}
	lines := make(map[string][]int) // by kind; nil if they have been printed
	for _, p := range problems {
		lines[kindOf(p)] = append(lines[kindOf(p)], p.Line)
	}
	for _, p := range problems {
		same := lines[kindOf(p)]
		if same == nil {
			continue
		}
		p.Print(w)
		if len(same) > maxInFull {
			fmt.Fprintf(w, "  and %s more %s (-all shows each)\n", cli.Thousands(len(same)-1), list(same[1:]))
			lines[kindOf(p)] = nil
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

// Print prints a problem in the format of compilers.
func (p problem) Print(w io.Writer) {
	fmt.Fprintf(w, "%s:%d:%d: %s: %s [%s]\n",
		command.Printable(p.File), cmp.Or(p.Line, 1), cmp.Or(p.Column, 1),
		p.Code, command.Printable(p.Message), p.Severity)
	if p.Fix == "" {
		return
	}
	lead := "  instead: "
	for line := range strings.SplitSeq(p.Fix, "\n") {
		fmt.Fprintf(w, "%s%s\n", lead, command.Printable(line))
		lead = "           "
	}
}
