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
	Short: "whether servers can verify a crawler's signatures (Web Bot Auth)",
	Setup: func(flags *flag.FlagSet) command.Action {
		var w directoryWriter
		w.declare(flags)
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
			if err := w.check(); err != nil {
				return 0, err
			}
			var r *report
			if w.dir != "" {
				r, err = w.write(u, time.Now())
			} else {
				r, err = checkDirectory(ctx, e, u, *userAgent)
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

// checkDirectory fetches and checks the key directory at u.
func checkDirectory(
	ctx context.Context, e command.Env, u *url.URL, userAgent string,
) (*report, error) {
	t := agentTransport{base: e.Base, userAgent: userAgent}
	keys, problems := webbotauth.CheckDirectory(ctx, &t, u.String())
	if t.err != nil {
		return nil, t.err
	}
	r := &report{URL: u.String(), Keys: []key{}, Problems: problems}
	for _, k := range keys {
		r.Keys = append(r.Keys, key{ID: k.ID, SignedUntil: k.Until.UTC()})
	}
	return r, nil
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
		return nil, command.Usagef("%q: must be an https URL, "+
			"because keys over plain http are not authenticated", s)
	}
	if strings.Trim(u.Path, "/") == "" && u.RawQuery == "" {
		u.Path = webbotauth.DirectoryPath
	}
	return u, nil
}

// An agentTransport is a RoundTripper that sets the User-Agent. If there is no
// response, it stores the error, with the name of the host.
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
		return nil, t.err
	}
	return resp, nil
}

// A directoryWriter writes a key directory that a server can serve without the
// private keys.
type directoryWriter struct {
	dir      string
	keys     []string // the files with the private keys
	validity time.Duration
}

func (w *directoryWriter) declare(flags *flag.FlagSet) {
	flags.StringVar(&w.dir, "out", "", "create the directory in `DIR` instead of checking one")
	command.ListVar(flags, &w.keys, "key",
		"with -out: `file` with a private key, in PEM or as a JWK, which only its owner may be able "+
			"to read; may be repeated")
	flags.DurationVar(&w.validity, "validity", 30*24*time.Hour,
		"with -out: the `time` for which the signatures are valid")
}

// check returns an error if the flags are inconsistent.
func (w *directoryWriter) check() error {
	if w.dir == "" && len(w.keys) > 0 {
		return command.Usagef("-key requires -out; a directory is checked without private keys")
	}
	if w.dir != "" && len(w.keys) == 0 {
		return command.Usagef("-out requires -key; " +
			"openssl genpkey -algorithm ed25519 -out key.pem generates a key")
	}
	return nil
}

// write writes the key directory for u.
func (w *directoryWriter) write(u *url.URL, now time.Time) (*report, error) {
	r := &report{
		URL:   u.String(),
		Renew: now.Add(w.validity / 2).UTC().Truncate(time.Second),
	}
	directory := webbotauth.Directory{Authority: u.Host, Validity: w.validity}
	signedUntil := now.Add(w.validity).UTC().Truncate(time.Second)
	for _, file := range w.keys {
		private, err := webbotauth.ReadKey(file)
		if err != nil {
			return nil, err
		}
		directory.Keys = append(directory.Keys, private)
		id := webbotauth.KeyID(private.Public().(ed25519.PublicKey))
		r.Keys = append(r.Keys, key{ID: id, SignedUntil: signedUntil})
	}
	header, body, err := directory.Response(now)
	if err != nil {
		return nil, err
	}
	r.Files, err = w.writeFiles(header, body)
	return r, err
}

// writeFiles writes a response and its configuration for nginx, and returns the
// names of the files. It writes each file atomically, because a server may read
// it at any time.
func (w *directoryWriter) writeFiles(header http.Header, body []byte) (names []string, err error) {
	dir, err := filepath.Abs(w.dir)
	if err != nil {
		return nil, err
	}
	name := filepath.Join(dir, path.Base(webbotauth.DirectoryPath))
	config, err := nginxConfig(name, header)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for _, file := range []struct{ name, text string }{
		{name, string(body)},
		{name + ".headers", headerLines(header)},
		{name + ".nginx", config},
	} {
		if err := cli.WriteFile(file.name, []byte(file.text), 0o644); err != nil {
			return nil, err
		}
		names = append(names, file.name)
	}
	return names, nil
}

// headerLines returns the header fields, one per line.
func headerLines(header http.Header) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(header)) {
		fmt.Fprintf(&b, "%s: %s\n", name, header.Get(name))
	}
	return b.String()
}

// nginxConfig returns a location block with which nginx serves the file with
// these header fields. The name of the file must not contain a "$", which
// begins a variable of nginx and cannot be escaped. The header fields never
// contain it.
func nginxConfig(file string, header http.Header) (string, error) {
	if strings.Contains(file, "$") {
		return "", fmt.Errorf("-out %s: nginx would expand a variable after the \"$\"; "+
			"use a directory without \"$\"", filepath.Dir(file))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "location = %s {\n", webbotauth.DirectoryPath)
	fmt.Fprintf(&b, "\talias %s;\n", nginxQuote(file))
	fmt.Fprintf(&b, "\ttypes {}\n\tdefault_type %s;\n", header.Get("Content-Type"))
	b.WriteString("\tgzip off; # Content-Digest applies to the uncompressed file\n")
	b.WriteString("\tmax_ranges 0;\n\tetag off;\n\tif_modified_since off;\n")
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if name != "Content-Type" {
			fmt.Fprintf(&b, "\tadd_header %s %s;\n", name, nginxQuote(header.Get(name)))
		}
	}
	b.WriteString("}\n")
	return b.String(), nil
}

// nginxQuote returns s as a quoted string of nginx.
func nginxQuote(s string) string {
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
