// Package lint implements robotscheck lint, which lists what is wrong with
// robots.txt files.
package lint

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

// Command is the subcommand robotscheck lint.
var Command = command.Command{
	Name:  "lint",
	Usage: "[flags] FILE|URL...",
	Short: "what is wrong with robots.txt files",
	Help: `
Lint lists the problems in each file, a line for each: errors, lines that are not read as their author seems to expect,
and what is worth knowing:

  FILE:LINE:COLUMN: CODE: MESSAGE [SEVERITY]

If lint knows what the line should be, that follows below it. A problem of the whole file is shown at 1:1. An error is a
line that has no effect, or an effect that nobody can want. A warning is a line that robots read differently than its author
seems to expect, or that not all robots read alike. Info is worth knowing; perhaps nothing is wrong. Package robotstxt/lint
explains the codes, which do not change.

If more than three problems of a file have the same message, only the first is shown, and then the lines of the others.
Messages that differ only in one short place, such as a name, count as the same, and that place follows the line:

  robots.txt:3:1: unknown-field: no known robot reads a field "Foo" [warning]
    and 4 more in lines 4, 9 ("Bar"), 10 ("Baz"), 11 ("Qux") (-all shows each)

Exit status: 0 there is at most info, 1 there is a warning or an error, 2 a file could not be read or does not exist.

With -json, one object for each problem:
  file      the file, or the URL of the robots.txt
  line      counted from 1; 0 for the file as a whole
  column    in bytes, counted from 1; 0 for the line as a whole
  code      such as "no-leading-slash"
  severity  "info", "warning" or "error"
  message   a sentence
  fix       what the line should be, with "\n" between several; absent if only the author can say`,
	Setup: func(flags *flag.FlagSet) command.Action {
		least := lint.Info
		flags.Func("severity", "leave out what is less than `info`, warning or error, also from the exit status", func(s string) error {
			for _, severity := range []lint.Severity{lint.Info, lint.Warning, lint.Error} {
				if severity.String() == s {
					least = severity
					return nil
				}
			}
			return errors.New("write info, warning or error")
		})
		all := flags.Bool("all", false, "show each problem in full, even if a file has it many times")
		asJSON := flags.Bool("json", false, "print JSON, an object a line, and all of them")
		userAgent := robots.UserAgentFlag(flags)
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			if len(args) == 0 {
				return 0, command.Usagef("name a robots.txt: a file, \"-\", or a URL")
			}
			var failed error
			var found [lint.Error + 1]int
			print := problemPrinter(e.Stdout, *asJSON)
			if !*all && !*asJSON {
				print = func(file string, problems []lint.Problem) { printFolded(e.Stdout, file, problems) }
			}
			for _, arg := range args {
				s, err := robots.Read(ctx, e, arg, *userAgent)
				if err == nil {
					err = lacksFile(s)
				}
				if err != nil {
					failed = errors.Join(failed, err)
					continue
				}
				var problems []lint.Problem
				for _, p := range lint.Check(s.Text) {
					if p.Code == "too-large" && s.Decision != nil {
						p.Message = strings.Replace(p.Message, "the file has", "the file has at least", 1) // the end of the file was not fetched
					}
					if p.Severity >= least {
						found[p.Severity]++
						problems = append(problems, p)
					}
				}
				print(s.Name, problems)
			}
			if !*asJSON && failed == nil {
				e.Stdout.Flush()
				fmt.Fprintf(e.Stderr, "%s: %s\n", command.Count(len(args), "file"), findings(found[:], least))
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
	if _, none := s.Absent(); none {
		return fmt.Errorf("%s: status %d, so that there is no file and everything is allowed", s.Name, s.Decision.Status)
	}
	return nil
}

// findings() returns the counts of problems in words, by severity, as in "1
// error, 2 warnings, 21 info". If there are none, it says which severities were
// looked for, because the file may have problems of other severities.
func findings(found []int, least lint.Severity) string {
	var parts []string
	for severity := lint.Error; ; severity-- {
		n := found[severity]
		if severity == lint.Info { // "info" has no plural
			if n > 0 {
				parts = append(parts, command.Thousands(n)+" info")
			}
			break
		}
		if n > 0 {
			parts = append(parts, command.Count(n, severity.String()))
		}
	}
	switch {
	case parts != nil:
		return strings.Join(parts, ", ")
	case least == lint.Error:
		return "no errors"
	case least == lint.Warning:
		return "no warnings or errors"
	}
	return "no problems"
}
