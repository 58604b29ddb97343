// Package page implements robotscheck page, which lists what a page says about
// itself, and where the page says so.
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
	Help: `
Page lists what an HTML page and its response header tell robots (noindex, nofollow and the like), what the owner says
about uses of the page (search, AI), and where each of these is said. A URL is fetched if its robots.txt allows that to the
robot of -agent or, without -agent, of -user-agent. What that robots.txt says about uses counts, too, and so do the RSL
files that its License lines and the header's Link name. They are fetched only if their robots.txt allows it, too. For
a FILE, -header gives the header and -rsl the RSL files.

  robotscheck page -agent ExampleBot -header 'X-Robots-Tag: noarchive' page.html
  robotscheck page -links https://example.com/

Exit status: 0 the page restricts nothing, 1 it does, or robots.txt disallows it, 2 there is no answer, 3 there is
an answer, but the page is not text, or the robots.txt is cut at 500 KiB, binary, or an HTML page.

With -json, one object:
  source       the file, or the URL after redirects
  agent        the robot that it is said to; absent for what a FILE says to everybody
  status       of the response, for a URL
  examined     "complete", "partial" (the page is longer than the 256 KiB that are examined), "header only" (no HTML)
  refusal      {"by", "kind", "sure", "evidence"}, if it has the marks of a bot wall's page
  restrictions the result: "noindex", "nofollow", "noarchive", "nosnippet", "max-snippet: 20", ...
  directives   [{"name", "value", "known", "source", "scope", "line", "raw"}]: all that was said
  uses         [{"use", "answer", "evidence"}]: "search", "train-ai", "train-ai-images", "ai-input" are "allow", "deny"
               or "unknown", by [{"use", "answer", "signal", "where", "line", "path", "raw", "policy", "draft"}]
  reuse        the least "use" of Content-Signal ("use=immediate", "use=reference" or "use=full", in raw), as above
  licenses     [{"url", "where", "line", "error"}]; if there is an error, the terms could not be read
  links        with -links: [{"url", "element", "rel", "follow", "why"}]
  doubt        why the page is not text, or, for a URL, why its robots.txt may not be meant for robots; absent if there is
               no doubt
  decision     for a URL, what its robots.txt says: url, allowed, reason, rule, line, robots_url, status, ...`,
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
