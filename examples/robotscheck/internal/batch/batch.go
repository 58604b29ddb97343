// Package batch implements robotscheck batch. It reads many questions as JSON
// lines and writes a verdict for each, in bounded memory.
//
// Blocks of lines are answered in parallel. The answers come out in the order
// of the questions.
package batch

import (
	"context"
	"flag"
	"io"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
)

// Command is the subcommand robotscheck batch.
var Command = command.Command{
	Name:  "batch",
	Usage: "[flags] [FILE]",
	Short: "answer many questions: JSON lines in, verdicts out",
	Help: `
Batch reads questions from FILE or standard input, one JSON object a line:
  robots    the text of a robots.txt
  file      or instead the path of a robots.txt, which is read once
  agent     the robot's product token, or "*"
  url       a URL or "/path?query"

and writes the verdicts in the same order, one JSON object a line (-json is always on):
  url       as in the question
  agent     as in the question
` + robots.VerdictHelp + `
` + robots.DoubtHelp + `

If a line cannot be answered, an object with input_line (its number) and error takes the verdict's place, and the other
lines are answered. Memory is bounded: -cache limits the files that are kept, and a line has at most 16 MiB.

  {"robots":"User-agent: *\nDisallow: /a\n","agent":"ExampleBot","url":"https://example.com/a/b"}
  {"url":"https://example.com/a/b","agent":"ExampleBot","allowed":false,"reason":"rule","rule":"Disallow: /a","line":2}

Exit status: 0 all are allowed, 1 one is disallowed, 2 a line could not be answered, 3 one was answered by a
robots.txt that is cut at 500 KiB, binary, or an HTML page.`,
	Setup: func(flags *flag.FlagSet) command.Action {
		cache := flags.Int("cache", 256, "`MiB` of robots.txt files to keep after reading them; the process may take twice that")
		flags.Bool("json", true, "always on")
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			switch {
			case len(args) > 1:
				return 0, command.Usagef("name one FILE, or none for standard input")
			case *cache < 1:
				return 0, command.Usagef("-cache %d: write 1 MiB or more", *cache)
			}
			in := io.NopCloser(e.Stdin)
			if len(args) == 1 {
				var err error
				if in, err = e.Open(args[0]); err != nil {
					return 0, err
				}
			}
			defer in.Close()
			b := batch{cache: newRulesCache(*cache << 20), maxLine: 16 << 20}
			return b.run(ctx, in, e.Stdout)
		}
	},
}
