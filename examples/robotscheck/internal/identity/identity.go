// Package identity implements robotscheck identity: whether servers can
// recognise a crawler by its signatures.
package identity

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/output"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robot"
	"github.com/goodbots/courtesy/robotsmw/webbotauth"
)

// Command is the subcommand robotscheck identity.
var Command = command.Command{
	Name:  "identity",
	Usage: "[flags] URL",
	Short: "whether servers can tell a crawler by its signatures",
	Help: `
Identity fetches the keys by which servers check who signed a request (Web Bot Auth, draft-ietf-webbotauth-httpsig-
protocol-01), and looks at them as a verifier does: a 200 without a redirect, the media type, the keys and their names,
the signatures of the answer, how long they hold, and how long the answer may be cached. URL is that of the key
directory, or of its origin alone.

  robotscheck identity https://bot.example

With -out, it makes the directory instead, out of private keys, so that the web server needs none of them. It writes
three files into DIR, the same each time but for times and signatures:

  http-message-signatures-directory          what to serve, at /.well-known/http-message-signatures-directory
  http-message-signatures-directory.headers  with which header fields
  http-message-signatures-directory.nginx    both, for nginx to include in the server of URL's host

Make them again before half of -validity is over. While keys change, give both: -key new.pem -key old.pem.

  openssl genpkey -algorithm ed25519 -out key.pem
  robotscheck identity -out keys -key key.pem https://bot.example

Exit status: 0 all is well, or the files are written, 1 something is wrong, or there is no answer, 2 it cannot be told.

With -json, one object:
  url       of the directory
  keys      [{"id", "signed_until"}], those that a verifier can use; the time is absent where no signature holds
  problems  sentences
  files     with -out: what was written
  renew     with -out: by when the files are to be made again`,
	Setup: func(flags *flag.FlagSet) command.Action {
		var m maker
		flags.StringVar(&m.dir, "out", "", "make the directory, in `DIR`, instead of looking at it")
		flags.Func("key", "with -out: `file` with a private key, in PEM or as a JWK, which nobody else may read; may be repeated", func(file string) error {
			m.keys = append(m.keys, file)
			return nil
		})
		flags.DurationVar(&m.validity, "validity", 30*24*time.Hour, "with -out: for how much `time` to sign")
		asJSON := flags.Bool("json", false, "print JSON, one object")
		userAgent := robot.UserAgentFlag(flags)
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			if len(args) != 1 {
				return 0, command.Usagef("name one key directory: a URL")
			}
			u, err := directoryURL(args[0])
			if err != nil {
				return 0, err
			}
			r := report{URL: u.String(), Keys: []key{}}
			switch {
			case m.dir == "" && len(m.keys) > 0:
				return 0, command.Usagef("-key is for -out: a directory is looked at without private keys")
			case m.dir != "" && len(m.keys) == 0:
				return 0, command.Usagef("-out needs a -key; openssl genpkey -algorithm ed25519 -out key.pem makes one")
			case m.dir != "":
				err = m.make(&r, u.Host, time.Now())
			default:
				r.look(webbotauth.CheckDirectory(ctx, named{e.Base, *userAgent}, r.URL))
				err = ctx.Err()
			}
			if err != nil {
				return 0, err
			}
			if *asJSON {
				output.JSON(e.Stdout).Encode(r)
			} else {
				r.print(e.Stdout)
			}
			if len(r.Problems) > 0 {
				return command.No, nil
			}
			return command.OK, nil
		}
	},
}

// directoryURL parses the URL of a key directory, or of the origin that has
// one.
func directoryURL(s string) (*url.URL, error) {
	if !command.IsURL(s) {
		s = "https://" + s
	}
	u, err := command.ParseURL(s)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "https" {
		return nil, command.Usagef("%q: write https: keys over plain http could be anybody's", s)
	}
	if strings.Trim(u.Path, "/") == "" && u.RawQuery == "" {
		u.Path = webbotauth.DirectoryPath
	}
	return u, nil
}

// named is a RoundTripper that sets the User-Agent.
type named struct {
	base      http.RoundTripper
	userAgent string
}

func (n named) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("User-Agent", n.userAgent)
	resp, err := n.base.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", output.Printable(req.URL.Host), err)
	}
	return resp, nil
}
