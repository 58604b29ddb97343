package explain

import (
	"context"
	"flag"
	"fmt"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
)

// Command is the subcommand robotscheck explain.
var Command = command.Command{
	Name:  "explain",
	Usage: "-agent TOKEN [flags] FILE|URL [PATH...]",
	Short: "may a robot fetch a path, and which line says so",
	Setup: func(flags *flag.FlagSet) command.Action {
		agents := robots.TokensFlag(flags, "product `token` of the robot, such as ExampleBot, or \"*\"; required, may be repeated")
		asJSON := flags.Bool("json", false, "print JSON, an object a line")
		around := flags.Int("context", 2, "`lines` of the file to show before and after the rule")
		userAgent := robots.UserAgentFlag(flags)
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			switch {
			case len(*agents) == 0:
				return 0, command.Usagef("whom is it about? Add -agent with the robot's product token, such as -agent ExampleBot")
			case len(args) == 0:
				return 0, command.Usagef("name a robots.txt: a file, \"-\", or a URL")
			case *around < 0:
				return 0, command.Usagef("-context %d: write 0 or more lines", *around)
			}
			targets, err := targetsOf(args)
			if err != nil {
				return 0, err
			}
			s, err := robots.Read(ctx, e, args[0], *userAgent)
			if err != nil {
				return 0, err
			}
			for _, target := range targets {
				if err := s.CheckTarget(target); err != nil {
					return 0, err
				}
			}
			status := command.OK
			var all []explanation
			for _, target := range targets {
				for _, agent := range *agents {
					x := explain(s, agent, target)
					status = max(status, x.status())
					all = append(all, x)
				}
			}
			if *asJSON {
				for enc := command.JSON(e.Stdout); len(all) > 0; all = all[1:] {
					enc.Encode(all[0])
				}
				return status, nil
			}
			printSource(e.Stdout, s)
			for i, x := range all {
				if i > 0 {
					fmt.Fprintln(e.Stdout)
				}
				x.print(e.Stdout, s, *around)
			}
			return status, nil
		}
	},
}

// targetsOf returns the paths and URLs to explain. The first argument names the
// robots.txt, and the others are the targets. If there is only one argument, it
// must be the URL of a page, such as http://example.com/. The URL is then the
// target too.
func targetsOf(args []string) ([]string, error) {
	targets := args[1:]
	if len(targets) == 0 {
		if err := command.CheckScheme(args[0]); err != nil {
			return nil, err
		}
		if command.IsURL(args[0]) {
			u, err := command.ParseURL(args[0])
			if err != nil {
				return nil, err
			}
			if u.Path != "" && u.Path != "/robots.txt" {
				return args, nil
			}
		}
		return nil, command.Usagef("name a PATH, such as /private/a.html")
	}
	return targets, nil
}
