package diff

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// Command is the subcommand robotscheck diff.
var Command = command.Command{
	Name:  "diff",
	Usage: "[flags] OLD NEW -urls FILE",
	Short: "which URLs an edit opens or closes, for whom",
	Setup: func(flags *flag.FlagSet) command.Action {
		urls := flags.String("urls", "", "`file` with a URL or \"/path?query\" a line, \"-\" for standard input; required")
		named := robots.TokensFlag(flags, "product `token` of a robot, may be repeated; default: all that OLD or NEW names, and \"*\"")
		asJSON := flags.Bool("json", false, "print JSON, an object a line")
		userAgent := robots.UserAgentFlag(flags)
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			switch {
			case len(args) != 2:
				return 0, command.Usagef("name two robots.txt files, OLD and NEW")
			case *urls == "":
				return 0, command.Usagef("which URLs? Add -urls with a file that has one a line")
			}
			if stdins := strings.Count("\n"+strings.Join(append(args, *urls), "\n")+"\n", "\n-\n"); stdins > 1 {
				return 0, command.Usagef("only one of OLD, NEW and -urls can be standard input")
			}
			d := diff{print: changePrinter(e.Stdout, *asJSON)}
			for i, arg := range args {
				s, err := robots.Read(ctx, e, arg, *userAgent)
				if err == nil {
					err = s.Unreachable()
				}
				if err != nil {
					return 0, err
				}
				d.sources[i] = s
			}
			if len(*named) == 0 {
				*named = append(robots.Tokens{"*"}, robots.Named(d.sources[0].File(robotstxt.RFC9309), d.sources[1].File(robotstxt.RFC9309))...)
				*named = slices.Compact(*named) // drop the second "*" if the list from robots.Named also begins with "*"
			}
			d.classify(*named)
			in, err := e.Open(*urls)
			if err != nil {
				return 0, err
			}
			defer in.Close()
			isDoubtful := d.printDoubts(e.Stdout, *asJSON)
			if err := d.compare(command.ShownName(*urls), in); err != nil {
				return 0, err
			}
			if !*asJSON {
				e.Stdout.Flush()
				fmt.Fprintf(e.Stderr, "%s, %s: %s opened, %s closed\n", command.Count(d.urls, "URL"), command.Count(len(*named), "robot"), command.Thousands(d.opened), command.Thousands(d.closed))
			}
			switch {
			case isDoubtful:
				return command.Doubtful, nil
			case d.opened+d.closed > 0:
				return command.No, nil
			}
			return command.OK, nil
		}
	},
}

// printDoubts says which of the files are doubtful, and reports whether any is.
func (d *diff) printDoubts(w io.Writer, asJSON bool) (found bool) {
	for _, s := range d.sources {
		one := robots.Doubtful{Source: s.Name, Doubt: s.Doubt()}
		switch {
		case one.Doubt == "":
			continue
		case asJSON:
			command.JSON(w).Encode(one)
		default:
			fmt.Fprintln(w, one)
		}
		found = true
	}
	return found
}

func changePrinter(w io.Writer, asJSON bool) func(change) {
	if asJSON {
		enc := command.JSON(w)
		return func(c change) { enc.Encode(c) }
	}
	return func(c change) {
		fmt.Fprintf(w, "%s: %s -> %s for %s\n", command.Printable(c.URL), c.Old.Word(), c.New.Word(), strings.Join(c.Agents, ", "))
		fmt.Fprintf(w, "    old: %s\n    new: %s\n", c.Old.Why(), c.New.Why())
	}
}
