package collyrobots

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// guard is the transport of colly's client. All enforcement is here, below
// every callback, because a collector and its clones share the client, but not
// the callbacks. A request passes four transports of ours: the guard, the
// robotsmw.Transport, the politeness.Transport and the outlet.
type guard struct {
	*sender
	hub *hub
}

// sender has what all guards of an Extension share.
type sender struct {
	inner  http.RoundTripper // the robots transport, or Options.Outer around it
	agent  string            // Options.UserAgent
	opts   *hubOptions
	main   *hub // the hub of Attach's collector, which also fetches robots.txt
	unread unread
	loops  loops
	pauses pauses
	count  counters
}

func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := g.roundTrip(req)
	if err != nil && req.Body != nil {
		req.Body.Close()
	}
	return resp, err
}

func (g *guard) roundTrip(req *http.Request) (*http.Response, error) {
	if b, ok := req.Body.(*failedBody); ok {
		if b.lost {
			b.lost = false
			g.count.lost.Add(-1)
		}
		if err := b.restore(req); err != nil {
			return nil, err
		}
	}
	if err := g.hub.sync(); err != nil {
		return nil, err
	}
	p := &page{Context: req.Context(), hub: g.hub, since: time.Now()}
	p.trace.Queued = func(until time.Time, why politeness.Reason) {
		if isPause(why) {
			g.pause(req.URL, until, why)
		}
	}
	out := req.WithContext(politeness.WithTrace(p, &p.trace))
	if agent := first(req.Header, "User-Agent"); agent != g.agent && agent == collyAgent() { // a clone that was made before Attach has colly's default agent
		out.Header = req.Header.Clone()
		out.Header.Del("User-Agent")
	}
	g.unread.clear(req.URL, g.hub)
	resp, err := g.inner.RoundTrip(out)
	// While this request was in flight, other requests may have read the hub's
	// client. Later, callbacks of this request may write to it. Each request
	// takes the lock in sync(), so the earlier reads happen before the later
	// writes.
	g.hub.sync()
	if err != nil {
		return nil, g.refusal(req, err)
	}
	sayUnchanged(resp)
	resp.Request = req
	if p.proxy != "" { // colly looks for the proxy in its own request
		root := rootOf(req)
		*root = *root.WithContext(context.WithValue(root.Context(), colly.ProxyURLKey, p.proxy))
	}
	g.count.fetched.Add(1)
	if !redirects(resp) {
		g.count.pages.Add(1)
	}
	g.unread.keep(resp, &p.body)
	return resp, nil
}

// refusal gets the error of a request. It counts refusals, ends loops of them,
// and returns the error that colly's users expect.
func (g *guard) refusal(req *http.Request, err error) error {
	blocked, ok := errors.AsType[*robotsmw.DisallowedError](err)
	if ok {
		if errors.Is(err, robotsmw.ErrUnreachable) {
			g.count.unreachable.Add(1)
		} else {
			g.count.disallowed.Add(1)
		}
		own := *blocked // with a copy of the URL, because the request's URL may still change
		u := *own.Decision.URL
		own.Decision.URL = &u
		err = &blockedError{&own}
	} else if _, ok := errors.AsType[*politeness.DelayError](err); !ok {
		return err
	}
	host, target := hostOf(req.URL), req.URL.String()
	if g.loops.note(host, target, false) {
		turn := max(cmp.Or(g.opts.limiter.Delay, time.Second), atOnce)
		sleepUntil(req.Context(), time.Now().Add(turn))
		g.loops.note(host, target, true) // the next time counts from now
	}
	return err
}

// sayUnchanged writes into the header of a 304 what the page that it stands for
// says to robots. colly hands on no more of a response than its header.
func sayUnchanged(resp *http.Response) {
	if resp.StatusCode != http.StatusNotModified {
		return
	}
	for rule := range robotsmw.PageDirectives(resp).Rules() {
		if rule.Known && rule.Value != "" {
			resp.Header.Add("X-Robots-Tag", rule.Name+": "+rule.Value)
		} else if rule.Known {
			resp.Header.Add("X-Robots-Tag", rule.Name)
		}
	}
}

func (g *guard) CloseIdleConnections() {
	if c, ok := g.inner.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// pauses are the ends of the pauses that were logged, by host.
type pauses struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// longPause is how long a pause is that is worth a line in the log.
const longPause = time.Minute

// isPause reports whether a host that makes a request wait for this reason is
// paused, and not just busy.
func isPause(why politeness.Reason) bool {
	switch why {
	case "back-off", "crawl-delay", "rate limit", "budget":
		return true
	}
	return false
}

// pause is called when a request begins to wait for its host. It logs a long
// pause once.
func (s *sender) pause(u *url.URL, until time.Time, why politeness.Reason) {
	now := time.Now()
	if until.Sub(now) <= longPause {
		return
	}
	host := hostOf(u)
	s.pauses.mu.Lock()
	logged := now.Before(s.pauses.until[host])
	if !logged {
		if s.pauses.until == nil {
			s.pauses.until = make(map[string]time.Time)
		}
		maps.DeleteFunc(s.pauses.until, func(_ string, end time.Time) bool { return now.After(end) })
		s.pauses.until[host] = until
	}
	s.pauses.mu.Unlock()
	if !logged {
		s.opts.logger.Info("collyrobots: a host is paused; its requests wait", "host", host, "reason", string(why), "until", until)
	}
}

// sleepUntil returns the error of ctx if ctx ends first.
func sleepUntil(ctx context.Context, t time.Time) error {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// collyAgent returns colly's default User-Agent.
var collyAgent = sync.OnceValue(func() string {
	var c colly.Collector
	c.Init()
	return c.UserAgent
})

// rootOf returns the request that colly made. req is that request or a redirect
// of it.
func rootOf(req *http.Request) *http.Request {
	for req.Response != nil && req.Response.Request != nil {
		req = req.Response.Request
	}
	return req
}

func redirects(resp *http.Response) bool {
	return resp.StatusCode >= 300 && resp.StatusCode <= 399 && resp.Header.Get("Location") != ""
}

// The function "first" is like Header.Get, for a name in canonical form.
func first(h http.Header, name string) string {
	if lines := h[name]; len(lines) > 0 {
		return lines[0]
	}
	return ""
}

// blockedError is a *robotsmw.DisallowedError for which errors.Is(err,
// colly.ErrRobotsTxtBlocked) is true.
type blockedError struct{ *robotsmw.DisallowedError }

func (e *blockedError) Unwrap() error { return e.DisallowedError }

func (e *blockedError) Is(target error) bool { return target == colly.ErrRobotsTxtBlocked }
