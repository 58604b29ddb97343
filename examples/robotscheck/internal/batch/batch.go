package batch

import (
	"context"
	"flag"
	"io"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
)

// Command is the subcommand robotscheck batch.
var Command = command.Command{
	Name:  "batch",
	Usage: "[flags] [FILE]",
	Short: "answer many questions: JSON lines in, verdicts out",
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
