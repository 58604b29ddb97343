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
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/webbotauth"
)

// Command is the subcommand robotscheck identity.
var Command = command.Command{
	Name:  "identity",
	Usage: "[flags] URL",
	Short: "whether servers can tell a crawler by its signatures",
	Setup: func(flags *flag.FlagSet) command.Action {
		var m maker
		flags.StringVar(&m.dir, "out", "", "make the directory in `DIR` instead of checking one")
		command.ListVar(flags, &m.keys, "key", "with -out: `file` with a private key, in PEM or as a JWK, which only its owner may be able to read; may be repeated")
		flags.DurationVar(&m.validity, "validity", 30*24*time.Hour, "with -out: the `time` for which the signatures hold")
		asJSON := flags.Bool("json", false, "print JSON, one object")
		userAgent := robots.UserAgentFlag(flags)
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
				t := agentTransport{base: e.Base, userAgent: *userAgent}
				r.look(webbotauth.CheckDirectory(ctx, &t, r.URL))
				err = t.err
			}
			if err != nil {
				return 0, err
			}
			if *asJSON {
				command.JSON(e.Stdout).Encode(r)
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

// directoryURL parses the URL of a key directory. If the URL has no path, such
// as https://example.com, directoryURL adds the path of the directory. If the
// scheme is missing, it uses https.
func directoryURL(s string) (*url.URL, error) {
	if !command.IsURL(s) {
		if meant := command.MeantURL(s); meant != "" {
			return nil, command.Usagef("%q is no URL: did you mean %s?", s, meant)
		}
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

// An agentTransport is a RoundTripper that sets the User-Agent. It keeps the
// error if there is no answer, and names the host in it.
type agentTransport struct {
	base      http.RoundTripper
	userAgent string
	err       error
}

func (t *agentTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("User-Agent", t.userAgent)
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		t.err = fmt.Errorf("no answer from %s: %w", command.Printable(req.URL.Host), err)
	}
	return resp, t.err
}
