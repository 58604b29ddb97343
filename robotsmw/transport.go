package robotsmw

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/origin"
)

// A Transport is an http.RoundTripper that obeys robots.txt: a request for a
// disallowed URL fails with a *DisallowedError before anything is sent. It
// checks every method and, since an http.Client sends each redirect hop
// through it, every hop. What a page says about itself is read on the way
// and told by PageDirectives; it never blocks.
//
// Make one with NewTransport. It is safe for concurrent use; there is
// nothing to close.
type Transport struct {
	cfg     *config
	checker *Checker
	foreign sync.Once // logs the first request with a foreign User-Agent
}

// NewTransport checks the options and makes a Transport of them. The error
// says which option is wrong and what to write instead.
func NewTransport(opts Options) (*Transport, error) {
	cfg, err := opts.config()
	if err != nil {
		return nil, err
	}
	return &Transport{cfg: cfg, checker: newChecker(cfg)}, nil
}

// NewClient is an http.Client that obeys robots.txt and paces its requests:
// NewTransport, with a zero politeness.Limiter if opts has none (one request
// a second and one at a time for each host, Crawl-delay and Retry-After
// obeyed). The client has no Timeout, because that would count the time
// spent waiting; Options.AttemptTimeout limits each attempt instead.
func NewClient(opts Options) (*http.Client, error) {
	if opts.Limiter == nil {
		opts.Limiter = new(politeness.Limiter)
	}
	t, err := NewTransport(opts)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: t}, nil
}

// Checker is what decides for this Transport.
func (t *Transport) Checker() *Checker { return t.checker }

// RoundTrip sends the request if robots.txt allows it. The errors of its own
// are *DisallowedError, *IdentityError, and those of Checker.Check; a redirect
// to a host longer than a name can be is one too.
//
// What is sent is what was judged: the Host is written as the robots.txt was
// asked for with, whatever its spelling in the request, and there is one
// User-Agent.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	out, s, err := t.prepare(req)
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	resp, err := t.cfg.Base.RoundTrip(out)
	if err != nil {
		return resp, err
	}
	if resp.StatusCode >= 300 && resp.StatusCode <= 399 {
		if err := checkRedirect(resp); err != nil {
			return nil, err
		}
	}
	_, paced := t.cfg.Base.(*politeness.Transport)
	s.look(resp, out, paced)
	return resp, nil
}

// checkRedirect reports a redirect to a host longer than any name, and closes
// the response: http.Client would convert that host before it asks for it,
// which takes half a minute where it is long enough and hears no deadline.
func checkRedirect(resp *http.Response) error {
	location := resp.Header.Get("Location")
	if len(location) <= 253 {
		return nil
	}
	u, err := url.Parse(location)
	if err != nil || len(u.Host) <= 253 {
		return nil
	}
	if _, err = origin.Of(u, ""); err != nil && resp.Body != nil {
		resp.Body.Close()
	}
	return err
}

// prepare decides about a request and makes the one to send.
func (t *Transport) prepare(req *http.Request) (*http.Request, *sent, error) {
	agent, plain := userAgentOf(req.Header)
	if agent != "" && agent != t.cfg.UserAgent {
		if err := t.identify(agent); err != nil {
			return nil, nil, err
		}
	}
	var buf [128]byte
	name, err := appendOrigin(buf[:0], req.URL, req.Host)
	if err != nil {
		return nil, nil, err
	}
	var d Decision
	if err := t.checker.checkAt(req.Context(), name, req.URL, &d); err != nil {
		return nil, nil, err
	}
	if d.DryRun {
		t.cfg.Logger.Info("robotsmw: dry run: sent although disallowed", "decision", d.String())
	}
	if !d.Allowed {
		if t.cfg.Logger.Enabled(req.Context(), slog.LevelDebug) {
			t.cfg.Logger.DebugContext(req.Context(), "robotsmw: not sent", "decision", d.String())
		}
		return nil, nil, &DisallowedError{Decision: d}
	}
	// That there is no Crawl-delay is said too: the limiter keeps what it was
	// last told.
	s := &sent{Context: req.Context(), opts: &t.cfg.page, tells: d.Reason.knowsGroup(), crawlDelay: d.CrawlDelay}
	if o := t.cfg.Observer; o != nil && o.Decided != nil {
		s.decision = new(d)
	}
	out := req.WithContext(s)
	if !plain {
		out.Header = withUserAgent(req.Header, cmp.Or(agent, t.cfg.UserAgent))
	}
	if d.Reason != NotApplicable {
		if host := origin.SentHost(name, req.URL, req.Host); host != "" {
			out.Host = host
		}
		if !origin.HasPlainTarget(req.URL) {
			out.URL = origin.SentURL(req.URL)
		}
	}
	return out, s, nil
}

// identify reports a User-Agent under which robots.txt was not read.
func (t *Transport) identify(agent string) error {
	for _, token := range t.cfg.tokens {
		if names(agent, token) {
			return nil
		}
	}
	err := &IdentityError{UserAgent: agent, Tokens: t.checker.Tokens()}
	if t.cfg.StrictIdentity {
		return err
	}
	t.foreign.Do(func() { t.cfg.Logger.Warn(strings.TrimPrefix(err.Error(), "robotsmw: "), "user_agent", agent) })
	return nil
}

// CloseIdleConnections closes those of Base, if it can.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.cfg.Base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

var _ http.RoundTripper = (*Transport)(nil)
