package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

var lintCommand = command{
	name:  "lint",
	usage: "[flags] FILE|URL...",
	short: "what is wrong with robots.txt files",
	help: `
Lint lists what is wrong in each file, is not read as its author seems to expect, or is worth knowing, a line each:

  FILE:LINE:COLUMN: CODE: MESSAGE [SEVERITY]

and below it what the line should be, where that can be told. A problem of the file as a whole is shown at 1:1. An
error has no effect, or one that nobody can want. A warning is read otherwise than it seems to be meant, or not by all
robots alike. An info need not be wrong. The codes are those of package robotstxt and do not change.

Exit status: 0 there is at most info, 1 there is a warning or an error, 2 a file could not be read or does not exist.

With -json, one object for each problem:
  file      the file, or the URL of the robots.txt
  line      counted from 1; 0 for the file as a whole
  column    in octets, counted from 1; 0 for the line as a whole
  code      such as "no-leading-slash"
  severity  "info", "warning" or "error"
  message   a sentence
  fix       what the line should be, with "\n" between several; absent where that is for the author to say`,
	setup: func(flags *flag.FlagSet) func(context.Context, env, []string) (int, error) {
		least := lint.Info
		flags.Func("severity", "leave out what is less than `info`, warning or error; it does not count for the exit status then", func(s string) error {
			for _, severity := range []lint.Severity{lint.Info, lint.Warning, lint.Error} {
				if severity.String() == s {
					least = severity
					return nil
				}
			}
			return errors.New("write info, warning or error")
		})
		asJSON := flags.Bool("json", false, "print JSON, an object a line")
		userAgent := userAgentFlag(flags)
		return func(ctx context.Context, e env, args []string) (int, error) {
			if len(args) == 0 {
				return 0, usagef("name a robots.txt: a file, \"-\", or a URL")
			}
			var failed error
			var found [lint.Error + 1]int
			print := problemPrinter(e.stdout, *asJSON)
			for _, arg := range args {
				s, err := readSource(ctx, e, arg, *userAgent)
				if err == nil {
					err = s.lacksFile()
				}
				if err != nil {
					failed = errors.Join(failed, err)
					continue
				}
				for _, p := range lint.Check(s.text) {
					if p.Code == "too-large" && s.decision != nil {
						p.Message = strings.Replace(p.Message, "the file has", "the file has at least", 1) // no more is fetched
					}
					if p.Severity >= least {
						found[p.Severity]++
						print(s.name, p)
					}
				}
			}
			if !*asJSON && failed == nil {
				e.stdout.Flush()
				fmt.Fprintf(e.stderr, "%s: %s\n", count(len(args), "file"), findings(found[:]))
			}
			if found[lint.Error]+found[lint.Warning] > 0 {
				return exitNo, failed
			}
			return exitOK, failed
		}
	},
}

// lacksFile returns an error if a URL has no robots.txt that could be looked at.
func (s *source) lacksFile() error {
	if err := s.unknown(); err != nil {
		return err
	}
	if _, none := s.absent(); none {
		return fmt.Errorf("%s: status %d, so that there is no file and everything is allowed", s.name, s.decision.Status)
	}
	return nil
}

// findings counts problems by severity.
func findings(found []int) string {
	var parts []string
	for severity := lint.Error; ; severity-- {
		if n := found[severity]; n > 0 {
			parts = append(parts, count(n, severity.String()))
		}
		if severity == lint.Info {
			break
		}
	}
	if parts == nil {
		return "no problems"
	}
	return strings.Join(parts, ", ")
}

// problemJSON is a problem as -json has it.
type problemJSON struct {
	File     string    `json:"file"`
	Line     int       `json:"line"`
	Column   int       `json:"column"`
	Code     lint.Code `json:"code"`
	Severity string    `json:"severity"`
	Message  string    `json:"message"`
	Fix      string    `json:"fix,omitempty"`
}

// problemPrinter returns what prints the problems of a file.
func problemPrinter(w io.Writer, asJSON bool) func(file string, p lint.Problem) {
	if asJSON {
		enc := newJSON(w)
		return func(file string, p lint.Problem) {
			enc.Encode(problemJSON{file, p.Line, p.Column, p.Code, p.Severity.String(), p.Message, p.Fix})
		}
	}
	return func(file string, p lint.Problem) {
		fmt.Fprintf(w, "%s:%d:%d: %s: %s [%v]\n", file, cmp.Or(p.Line, 1), cmp.Or(p.Column, 1), p.Code, printable(p.Message), p.Severity)
		if p.Fix == "" {
			return
		}
		lead := "  instead: "
		for line := range strings.SplitSeq(p.Fix, "\n") {
			fmt.Fprintf(w, "%s%s\n", lead, printable(line))
			lead = "           "
		}
	}
}
