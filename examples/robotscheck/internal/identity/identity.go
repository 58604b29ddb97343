package identity

import (
	"context"
	"crypto/ed25519"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/internal/cli"
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
		flags.StringVar(&m.dir, "out", "", "create the directory in `DIR` instead of checking one")
		command.ListVar(flags, &m.keys, "key",
			"with -out: `file` with a private key, in PEM or as a JWK, which only its owner may be able to read; may be repeated")
		flags.DurationVar(&m.validity, "validity", 30*24*time.Hour,
			"with -out: the `time` for which the signatures are valid")
		asJSON := flags.Bool("json", false, "print JSON, one object")
		userAgent := robots.UserAgentFlag(flags)
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			if len(args) != 1 {
				return 0, command.Usagef("specify one key directory: a URL")
			}
			u, err := directoryURL(args[0])
			if err != nil {
				return 0, err
			}
			r := &report{URL: u.String(), Keys: []key{}}
			switch {
			case m.dir == "" && len(m.keys) > 0:
				return 0, command.Usagef("-key requires -out; a directory is checked without private keys")
			case m.dir != "" && len(m.keys) == 0:
				return 0, command.Usagef("-out requires -key; openssl genpkey -algorithm ed25519 -out key.pem generates a key")
			case m.dir != "":
				err = m.writeDirectory(r, u.Host, time.Now())
			default:
				t := agentTransport{base: e.Base, userAgent: *userAgent}
				keys, problems := webbotauth.CheckDirectory(ctx, &t, r.URL)
				for _, k := range keys {
					r.Keys = append(r.Keys, key{k.ID, k.Until.UTC()})
				}
				r.Problems, err = problems, t.err
			}
			if err != nil {
				return 0, err
			}
			e.Print(r, *asJSON)
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
		if meant := command.GuessURL(s); meant != "" {
			return nil, command.Usagef("%q is not a URL; did you mean %s?", s, meant)
		}
		s = "https://" + s
	}
	u, err := command.ParseURL(s)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "https" {
		return nil, command.Usagef("%q: must be an https URL, because keys over plain http are not authenticated", s)
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
		t.err = fmt.Errorf("no response from %s: %w", command.Printable(req.URL.Host), err)
	}
	return resp, t.err
}

// A maker makes a key directory that a server can serve without the private
// keys.
type maker struct {
	dir      string
	keys     []string // the files with the private keys
	validity time.Duration
}

// writeDirectory writes the key directory of a host. It adds the keys, the
// files and the time of the next renewal to the report.
func (m *maker) writeDirectory(r *report, host string, now time.Time) error {
	d := webbotauth.Directory{Authority: host, Validity: m.validity}
	for _, file := range m.keys {
		private, err := webbotauth.ReadKey(file)
		if err != nil {
			return err
		}
		d.Keys = append(d.Keys, private)
		id := webbotauth.KeyID(private.Public().(ed25519.PublicKey))
		r.Keys = append(r.Keys, key{id, now.Add(m.validity).UTC().Truncate(time.Second)})
	}
	header, body, err := d.Response(now)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(m.dir)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, path.Base(webbotauth.DirectoryPath))
	config, err := nginxConfig(name, header)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, file := range []struct{ name, text string }{
		{name, string(body)},
		{name + ".headers", headerLines(header)},
		{name + ".nginx", config},
	} {
		if err := cli.WriteFile(file.name, []byte(file.text), 0o644); err != nil {
			return err // a server may read the file at any time
		}
		r.Files = append(r.Files, file.name)
	}
	r.Renew = now.Add(m.validity / 2).UTC().Truncate(time.Second)
	return nil
}

func headerLines(header http.Header) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(header)) {
		fmt.Fprintf(&b, "%s: %s\n", name, header.Get(name))
	}
	return b.String()
}

// nginxConfig returns configuration for a server block of nginx. With this
// configuration, nginx serves the file with these header fields. If the name of
// the file has a "$", nginxConfig returns an error: for nginx, a "$" begins a
// variable, and has no escape for it. The header fields never
// have a "$".
func nginxConfig(file string, header http.Header) (string, error) {
	if strings.Contains(file, "$") {
		return "", fmt.Errorf("-out %s: nginx would expand a variable after the \"$\"; use a directory without \"$\"", filepath.Dir(file))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "location = %s {\n\talias %s;\n\ttypes {}\n\tdefault_type %s;\n", webbotauth.DirectoryPath, quote(file), header.Get("Content-Type"))
	b.WriteString("\tgzip off; # Content-Digest is of the file as it is\n\tmax_ranges 0;\n\tetag off;\n\tif_modified_since off;\n")
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if name != "Content-Type" {
			fmt.Fprintf(&b, "\tadd_header %s %s;\n", name, quote(header.Get(name)))
		}
	}
	b.WriteString("}\n")
	return b.String(), nil
}

func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// A report is the result, as -json prints it.
type report struct {
	URL      string    `json:"url"`
	Keys     []key     `json:"keys"`
	Problems []string  `json:"problems,omitempty"`
	Files    []string  `json:"files,omitempty"`
	Renew    time.Time `json:"renew,omitzero"`
}

type key struct {
	ID          string    `json:"id"`
	SignedUntil time.Time `json:"signed_until,omitzero"`
}

func (r *report) Print(w io.Writer) {
	fmt.Fprintln(w, command.Printable(r.URL))
	for _, k := range r.Keys {
		signed := "not signed"
		if !k.SignedUntil.IsZero() {
			signed = "signed until " + k.SignedUntil.Format(time.RFC3339)
		}
		fmt.Fprintf(w, "  key %s, %s\n", k.ID, signed)
	}
	for _, problem := range r.Problems {
		fmt.Fprintf(w, "  problem: %s\n", command.Printable(problem))
	}
	for _, file := range r.Files {
		fmt.Fprintf(w, "  wrote %s\n", command.Printable(file))
	}
	switch {
	case !r.Renew.IsZero():
		fmt.Fprintf(w, "  renew it by %s\n", r.Renew.Format(time.RFC3339))
	case len(r.Problems) == 0:
		fmt.Fprintln(w, "  no problems")
	}
}
