package robots

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
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

// Read reads the robots.txt that an argument names.
func Read(ctx context.Context, e command.Env, arg, userAgent string) (*Source, error) {
	if command.IsURL(arg) {
		return fetch(ctx, e, arg, userAgent)
	}
	if command.IsDirectory(arg) {
		return nil, inDirectory(arg)
	}
	text, err := e.ReadFile(arg)
	if err != nil {
		return nil, err
	}
	return New(command.ShownName(arg), text), nil
}

// inDirectory returns an error that names a file of a directory that the user
// may have meant.
func inDirectory(dir string) error {
	files, err := fs.Glob(os.DirFS(dir), "*.txt")
	if err != nil || len(files) == 0 {
		return command.Usagef("%s is a directory: name a file; there is no .txt file in it", dir)
	}
	return command.Usagef("%s is a directory: name files in it, such as %s", dir, filepath.Join(dir, files[0]))
}

func fetch(ctx context.Context, e command.Env, rawURL, userAgent string) (*Source, error) {
	u, err := command.ParseURL(rawURL)
	if err != nil {
		return nil, err
	}
	heard := &Recorder{Base: e.Base}
	t, err := robotsmw.NewTransport(robotsmw.Options{
		UserAgent: userAgent,
		Base:      heard,
		Limiter:   new(politeness.Limiter),
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, UserAgentError(userAgent)
	}
	// The Checker allows /robots.txt without fetching it, so check another
	// path.
	decision, err := t.Checker().Check(ctx, u.ResolveReference(&url.URL{Path: "/"}))
	if err != nil {
		return nil, err
	}
	text, ok := heard.text(decision.SHA256())
	s := New(decision.RobotsURL, text)
	s.From, s.Decision = heard.from, &decision
	if _, none := s.Absent(); !none && !ok {
		return nil, fmt.Errorf("%s comes in a coding that cannot be shown (Content-Encoding: %s)", s.Name, command.Printable(heard.coding))
	}
	return s, nil
}

// A Recorder is a RoundTripper that keeps the bodies of responses, as far as
// they are read. If a robots.txt has no content coding, its body is the text
// that a Checker obeys.
type Recorder struct {
	Base http.RoundTripper

	mu           sync.Mutex
	bodies       []*bytes.Buffer
	from, coding string // the URL and the Content-Encoding of the last response
}

// RoundTrip sends the request through Base and records the response.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.Base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	body := new(bytes.Buffer)
	r.bodies = append(r.bodies, body)
	r.from, r.coding = req.URL.String(), resp.Header.Get("Content-Encoding")
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(resp.Body, body), resp.Body}
	return resp, nil
}

// Doubt says why the robots.txt of a decision is doubtful, or "" if it is not.
func (r *Recorder) Doubt(d *robotsmw.Decision) string {
	text, _ := r.text(d.SHA256())
	return Doubt(text, true)
}

// text returns the body with this SHA-256 (in hexadecimal). It hashes the bytes
// that were sent. So a body with a content coding is not found by the hash of
// its decoded text.
func (r *Recorder) text(hash string) (text []byte, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, body := range r.bodies {
		if sum := sha256.Sum256(body.Bytes()); hex.EncodeToString(sum[:]) == hash {
			return body.Bytes(), true
		}
	}
	return nil, false
}
