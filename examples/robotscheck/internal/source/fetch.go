package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/output"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// fetch asks for the robots.txt of a URL's origin.
func fetch(ctx context.Context, e command.Env, rawURL, userAgent string) (*Source, error) {
	u, err := command.ParseURL(rawURL)
	if err != nil {
		return nil, err
	}
	heard := &recorder{base: e.Base}
	t, err := robotsmw.NewTransport(robotsmw.Options{
		UserAgent: userAgent,
		Base:      heard,
		Limiter:   new(politeness.Limiter),
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	// Any path but that of robots.txt itself will do, for which no file need be
	// fetched.
	decision, err := t.Checker().Check(ctx, u.ResolveReference(&url.URL{Path: "/"}))
	if err != nil {
		return nil, err
	}
	s := &Source{Name: decision.RobotsURL, From: heard.url, Decision: &decision}
	if _, none := s.Absent(); none {
		return s, nil
	}
	s.Text = heard.body.Bytes()
	if hash := sha256.Sum256(s.Text); hex.EncodeToString(hash[:]) != decision.SHA256() {
		return nil, fmt.Errorf("%s comes in a coding that cannot be shown (Content-Encoding: %s)", s.Name, output.Printable(heard.coding))
	}
	return s, nil
}

// recorder keeps what the last response had in its body, as far as it was read:
// the text that a Checker obeys.
type recorder struct {
	base http.RoundTripper

	mu     sync.Mutex
	url    string
	coding string
	body   bytes.Buffer
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.url, r.coding = req.URL.String(), resp.Header.Get("Content-Encoding")
	r.body.Reset()
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(resp.Body, &r.body), resp.Body}
	return resp, nil
}
