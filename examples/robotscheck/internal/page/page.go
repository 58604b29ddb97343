package page

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"net/http"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
)

// Command is the subcommand robotscheck page.
var Command = command.Command{
	Name:  "page",
	Usage: "[flags] FILE|URL",
	Short: "what a page says about itself, and where",
	Setup: func(flags *flag.FlagSet) command.Action {
		p := check{header: make(http.Header)}
		flags.Func("agent", "product `token` of the robot; default: everybody for a FILE, the robot of -user-agent for a URL", func(s string) error {
			if p.agent = s; s == "*" {
				return errors.New("leave it out for what is said to everybody")
			}
			return robots.CheckName(s)
		})
		flags.Func("header", "`line` of the response header of a FILE, as in 'X-Robots-Tag: noindex'; may be repeated", p.addHeader)
		command.ListVar(flags, &p.terms, "rsl", "RSL 1.0 `file` with the terms for a FILE, whose URL -base gives; may be repeated")
		flags.BoolVar(&p.links, "links", false, "list the page's links, and which a polite robot follows")
		base := flags.String("base", "", "`URL` of the page in a FILE; -links needs it")
		asJSON := flags.Bool("json", false, "print JSON, one object")
		userAgent := robots.UserAgentFlag(flags)
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			if len(args) != 1 {
				return 0, command.Usagef("name one page: a file, \"-\", or a URL")
			}
			var r *report
			var err error
			switch isPage := command.IsURL(args[0]); {
			case isPage && len(p.header) > 0:
				return 0, command.Usagef("-header is for a FILE: a URL's header is fetched")
			case isPage && len(p.terms) > 0:
				return 0, command.Usagef("-rsl is for a FILE: those of a URL are fetched")
			case isPage && *base != "":
				return 0, command.Usagef("-base is for a FILE: %s has its own", args[0])
			case isPage:
				r, err = p.fetch(ctx, e, args[0], *userAgent)
			case p.links && *base == "":
				return 0, command.Usagef("-links of a FILE needs its address: add -base with a URL")
			case command.MeantURL(args[0]) != "":
				return 0, command.Usagef("%q is no URL: did you mean %s?", args[0], command.MeantURL(args[0]))
			default:
				r, err = p.read(ctx, e, args[0], *base)
				if meant := command.MeantSite(args[0]); meant != "" && errors.Is(err, fs.ErrNotExist) {
					return 0, command.Usagef("%q is neither a file nor a URL: did you mean %s?", args[0], meant)
				}
			}
			if err != nil {
				return 0, err
			}
			if *asJSON {
				command.JSON(e.Stdout).Encode(r)
			} else {
				r.print(e.Stdout)
			}
			return r.status(), nil
		}
	},
}
