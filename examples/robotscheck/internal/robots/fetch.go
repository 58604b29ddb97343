package robots

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// Read reads the robots.txt that arg names: a file, "-" or a URL.
func Read(ctx context.Context, e command.Env, arg, userAgent string) (*Source, error) {
	if command.IsURL(arg) {
		return fetch(ctx, e, arg, userAgent)
	}
	if command.IsDirectory(arg) {
		return nil, directoryError(arg)
	}
	text, err := e.ReadFile(arg)
	if err != nil {
		return nil, err
	}
	return New(command.DisplayName(arg), text), nil
}

// directoryError returns an error that names a file in dir, which the user
// should specify instead of the directory.
func directoryError(dir string) error {
	files, err := fs.Glob(os.DirFS(dir), "*.txt")
	if err != nil || len(files) == 0 {
		return command.Usagef("%s is a directory without .txt files; specify a file", dir)
	}
	example := filepath.Join(dir, files[0])
	return command.Usagef("%s is a directory; specify files in it, such as %s", dir, example)
}

func fetch(ctx context.Context, e command.Env, rawURL, userAgent string) (*Source, error) {
	u, err := command.ParseURL(rawURL)
	if err != nil {
		return nil, err
	}
	v, err := NewVisitor(e, userAgent)
	if err != nil {
		return nil, err
	}
	// The Checker allows /robots.txt without fetching it, so check another
	// path.
	decision, err := v.Checker().Check(ctx, u.ResolveReference(&url.URL{Path: "/"}))
	if err != nil {
		return nil, err
	}
	s := New(decision.RobotsURL, v.text(&decision))
	s.Decision = &decision
	s.From = v.from
	if reason := decision.Reason; reason == robotsmw.Unavailable || reason == robotsmw.Unreachable {
		s.Absent = reason
	}
	return s, nil
}

// A Visitor is a polite RoundTripper that keeps the text of each robots.txt
// that it obeys.
type Visitor struct {
	*robotsmw.Transport

	mu    sync.Mutex
	texts map[string][]byte // by their SHA-256, in hexadecimal
	from  string            // the URL of the last response to a request for a robots.txt
}

// NewVisitor returns a Visitor that sends its requests through e.Base. tokens
// are the robot's product tokens; if there are none, the token is that of
// userAgent.
func NewVisitor(e command.Env, userAgent string, tokens ...string) (*Visitor, error) {
	v := &Visitor{texts: make(map[string][]byte)}
	transport, err := robotsmw.NewTransport(robotsmw.Options{
		UserAgent:     userAgent,
		ProductTokens: tokens,
		Base:          e.Base,
		Limiter:       new(politeness.Limiter),
		KeepFiles:     true,
		Logger:        slog.New(slog.DiscardHandler),
		Observer:      v.observer(),
	})
	if err != nil { // the caller has checked the tokens
		return nil, command.Usagef("-user-agent %q: must begin with the name of your crawler, "+
			"one word that is not the name of a library, "+
			"as in ExampleBot/1.0 (+https://example.com/bot)", userAgent)
	}
	v.Transport = transport
	return v, nil
}

// observer returns an Observer that sets v.texts and v.from.
func (v *Visitor) observer() *robotsmw.Observer {
	return &robotsmw.Observer{
		Asked: func(_ context.Context, _ string, resp *http.Response, _ []byte, _ error) {
			v.mu.Lock()
			defer v.mu.Unlock()
			if resp.StatusCode != 0 {
				v.from = resp.Request.URL.String()
			}
		},
		Read: func(_ context.Context, sha256 string, text []byte) {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.texts[sha256] = bytes.Clone(text)
		},
	}
}

// Doubt returns why the robots.txt of a decision is doubtful, or "" if it is
// not.
func (v *Visitor) Doubt(d *robotsmw.Decision) string { return Doubt(v.text(d), true) }

func (v *Visitor) text(d *robotsmw.Decision) []byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.texts[d.SHA256()]
}
