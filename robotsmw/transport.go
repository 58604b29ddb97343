package robotsmw

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goodbots/courtesy/internal/httputil"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/load"
	"github.com/goodbots/courtesy/robotsmw/internal/origin"
)

// A Transport is an http.RoundTripper that obeys robots.txt. A request for a
// disallowed URL fails with a *DisallowedError before it is sent. The Transport
// checks every method. It also checks every redirect hop, because an
// http.Client sends each hop through its transport. While the caller reads a
// page, the Transport collects the page's directives for PageDirectives. No
// request is blocked because of such directives.
//
// A Transport must be created with NewTransport. It is safe for concurrent use,
// and does not need to be closed.
type Transport struct {
	cfg     *config
	checker *Checker
	foreign sync.Once // logs the first request with a foreign User-Agent
}

// NewTransport returns a Transport with these options. Unlike NewClient, it
// delays no requests unless Options.Limiter is set. If an option is invalid,
// the error contains its name and the valid values.
func NewTransport(opts Options) (*Transport, error) {
	if opts.Wrap != nil {
		return nil, errors.New("robotsmw: Options.Wrap is set, but NewTransport does not use it: wrap the result of NewTransport instead")
	}
	cfg, err := opts.config()
	if err != nil {
		return nil, err
	}
	return &Transport{cfg: cfg, checker: newChecker(cfg)}, nil
}

// NewClient returns an http.Client that obeys robots.txt and delays the
// requests to each host. Its Transport comes from NewTransport. If opts has no
// Limiter, NewClient uses a zero politeness.Limiter, which obeys Crawl-delay
// and Retry-After. It allows each host one request a second, and one request at
// a time. The client has no Timeout, because a Timeout would include the time
// spent waiting. Options.AttemptTimeout limits each attempt instead.
func NewClient(opts Options) (*http.Client, error) {
	if opts.Limiter == nil {
		opts.Limiter = new(politeness.Limiter)
	}
	wrap := opts.Wrap
	opts.Wrap = nil
	t, err := NewTransport(opts)
	if err != nil {
		return nil, err
	}
	if wrap == nil {
		return &http.Client{Transport: t}, nil
	}
	wrapped := wrap(t)
	if wrapped == nil { // the client would use http.DefaultTransport, which ignores robots.txt
		return nil, errors.New("robotsmw: Options.Wrap returned nil: it must return its argument, or a transport around it")
	}
	return &http.Client{Transport: wrapped}, nil
}

// Checker returns the Checker that decides for this Transport.
func (t *Transport) Checker() *Checker { return t.checker }

// RoundTrip sends the request if robots.txt allows it. Besides the errors of
// Base, it returns *DisallowedError, *IdentityError, and the errors of
// Checker.Check. If a response redirects to a host that is longer than a name
// in the DNS can be, RoundTrip returns an error too.
//
// A request is checked before it waits for its host, and again when the host is
// due, because a wait can outlast the robots.txt that allowed the request. If
// that file has expired, it is fetched first. If its Crawl-delay has changed,
// the request waits for the new delay. In both cases, RoundTrip returns an
// error if the request has a body but no GetBody. If a robots.txt that was read
// meanwhile disallows the request, it is not sent and uses up no slot.
//
// RoundTrip sends what it has checked. The Host is spelled as in the request
// for robots.txt, even if the caller spells it differently. A request has
// exactly one User-Agent.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	var resp *http.Response
	out, s, err := t.admit(req, func(out *http.Request) (err error) {
		resp, err = t.cfg.sender.RoundTrip(out)
		return err
	})
	if err != nil {
		return resp, err
	}
	return t.receive(s, out, resp)
}

// admit decides about req, and calls start with the request that prepare
// returns. If there is a Limiter, start waits for it, and the Limiter calls
// recheck when the host is due. If robots.txt has expired by then, or has
// another Crawl-delay, start fails before the request is sent, and admit begins
// a new turn. It returns the request of the last call of start, and that
// request's context.
func (t *Transport) admit(req *http.Request, start func(out *http.Request) error) (*http.Request, *sent, error) {
	for turn := 1; ; turn++ { // see maxTurns
		out, s, err := t.prepare(req, turn)
		if err != nil {
			if req.Body != nil {
				req.Body.Close()
			}
			return nil, nil, err
		}
		err = callStart(start, out, s)
		if !s.isOutdated(err) {
			if disallowed, ok := errors.AsType[*DisallowedError](err); ok {
				err = disallowed // without the errors that wrap it
			}
			return out, s, err
		}
		if req, err = withNewBody(req); err != nil {
			return nil, nil, err
		}
	}
}

// callStart calls start once for what prepare has returned, and ends s, even if
// start panics.
func callStart(start func(out *http.Request) error, out *http.Request, s *sent) error {
	defer s.end()
	return start(out)
}

// prepare decides about req and returns the request to send, which differs from
// req in its context, its User-Agent, and the spelling of its host. The context
// is the returned *sent, whose end must be called. turn counts the calls of
// prepare for one call of admit, from 1: see maxTurns.
func (t *Transport) prepare(req *http.Request, turn int) (*http.Request, *sent, error) {
	agent, plain := headerUserAgent(req.Header)
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
	var pin load.Pin
	isPrepared := false
	defer func() {
		if !isPrepared {
			pin.Release(time.Now())
		}
	}()
	rec, err := t.checker.decideFor(req, name, &d, &pin)
	if err != nil {
		return nil, nil, err
	}
	if !d.Allowed {
		if t.cfg.Logger.Enabled(req.Context(), slog.LevelDebug) {
			t.cfg.Logger.DebugContext(req.Context(), "robotsmw: request not sent", "decision", d.String())
		}
		return nil, nil, &DisallowedError{Decision: d}
	}
	s := &sent{
		Context: req.Context(), examined: examined{opts: &t.cfg.page},
		hasCrawlDelay: d.Reason.determinesCrawlDelay(), // otherwise the Limiter keeps the previous Crawl-delay
		permit:        permit{checker: t.checker, origin: string(name), url: *req.URL, crawlDelay: d.CrawlDelay, time: d.Time, turn: turn, pin: pin},
	}
	if rec != nil {
		s.record.Store(rec)
		s.Context = politeness.WithCheck(req.Context(), s.recheck)
	}
	out := req.WithContext(s)
	if !plain {
		out.Header = withUserAgent(req.Header, cmp.Or(agent, t.cfg.UserAgent))
	}
	if d.Reason != NotApplicable {
		out.Host, out.URL = origin.Host(s.origin), origin.SentURL(req.URL)
	}
	isPrepared = true
	return out, s, nil
}

// identify checks a User-Agent that differs from Options.UserAgent. If the
// User-Agent contains none of this robot's product tokens, identify returns an
// error under StrictIdentity. Without StrictIdentity, identify logs the first
// such User-Agent.
func (t *Transport) identify(agent string) error {
	if slices.ContainsFunc(t.cfg.tokens, func(token string) bool { return names(agent, token) }) {
		return nil
	}
	err := &IdentityError{agent, t.cfg.tokens}
	if t.cfg.StrictIdentity {
		return err
	}
	t.foreign.Do(func() { t.cfg.Logger.Warn(strings.TrimPrefix(err.Error(), "robotsmw: "), "user_agent", agent) })
	return nil
}

// receive returns what RoundTrip returns for a response of sender. It arranges
// that the response is examined for PageDirectives.
func (t *Transport) receive(s *sent, out *http.Request, resp *http.Response) (*http.Response, error) {
	if resp == nil {
		return nil, errors.New("robotsmw: Base returned neither a response nor an error")
	}
	if resp.StatusCode >= 300 && resp.StatusCode <= 399 {
		if err := checkRedirect(resp); err != nil {
			return nil, err
		}
	}
	s.examine(s.Context, resp, out)
	return resp, nil
}

// CloseIdleConnections closes the idle connections of Base, if Base has a
// method for that.
func (t *Transport) CloseIdleConnections() {
	httputil.CloseIdleConnections(t.cfg.sender)
}

var _ http.RoundTripper = (*Transport)(nil)
