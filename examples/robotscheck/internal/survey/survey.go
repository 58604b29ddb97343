package survey

import (
	"context"
	"flag"
	"fmt"
	"path"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
)

// Command is the subcommand robotscheck survey.
var Command = command.Command{
	Name:  "survey",
	Usage: "[flags] DIR|LIST|ARCHIVE",
	Short: "what many robots.txt files have in common",
	Setup: func(flags *flag.FlagSet) command.Action {
		match := flags.String("match", "", "read only the files of a DIR or ARCHIVE whose path in it matches this `pattern`, such as 'robots/*.txt'")
		top := flags.Int("top", 20, "how many robots to name")
		asJSON := flags.Bool("json", false, "print JSON, one object")
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			switch _, err := path.Match(*match, ""); {
			case len(args) != 1:
				return 0, command.Usagef("name one directory, list or archive")
			case *top < 0:
				return 0, command.Usagef("-top %d: write 0 or more", *top)
			case err != nil:
				return 0, command.Usagef("-match %q: %v", *match, err)
			}
			s := survey{stderr: e.Stderr, live: cli.IsTerminal(e.Stderr)}
			total, err := s.run(ctx, func(each visit) error { return eachFile(e, args[0], *match, each) })
			if err != nil {
				return 0, err
			}
			total.finish(*top)
			switch {
			case total.Files == 0 && s.failed == 0:
				return 0, fmt.Errorf("%s: there are no such files", args[0])
			case total.Files == 0:
			case *asJSON:
				command.JSON(e.Stdout).Encode(total)
			default:
				total.print(e.Stdout)
			}
			if s.failed > 0 {
				return 0, fmt.Errorf("%s could not be read", command.Count(s.failed, "file"))
			}
			return command.OK, nil
		}
	},
}
