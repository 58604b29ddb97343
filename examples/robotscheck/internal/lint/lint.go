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
				for _, p := range robots.Problems(s.Text, s.Decision != nil) {
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
	for _, severity := range []lint.Severity{lint.Error, lint.Warning} {
		if n := found[severity]; n > 0 {
			parts = append(parts, command.Count(n, severity.String()))
		}
	}
	if n := found[lint.Info]; n > 0 {
		parts = append(parts, command.Thousands(n)+" info") // which has no plural
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
