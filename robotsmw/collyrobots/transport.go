package collyrobots

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// RoundTrip enforces everything, below every callback, because a collector and
// its clones share the client, but not the callbacks. A request passes four
// transports of ours: the guard, the robotsmw.Transport, the
// politeness.Transport and the networkTransport.
func (g *guard) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	defer closeBody(req, &err)
	x := g.x
	b, unsealed := req.Body.(*repeatMark)
	if unsealed {
		b.restore(req)
		*req = *req.WithContext(b.restoreContext(req.Context()))
	}
	if s := sealOf(req.Context()); s != nil {
		if s.refused != nil {
			return nil, s.refused
		}
		b = s.repeated
	}
	if b != nil && req.Response == nil { // a redirect is not a repeat
		x.regain(b)
	}
	if _, _, err := g.now(); err != nil {
		return nil, err
	}
	own := unseal(req.Context())
	p := &page{Context: own, values: req.Context(), guard: g, since: time.Now(), attempt: own}
	p.trace.Queued = func(until time.Time, why politeness.Reason) { x.pause(req.URL, time.Now(), until, why) }
	out := req.WithContext(politeness.WithTrace(p, &p.trace))
	if req.Header.Get("User-Agent") == collyAgent() { // of a clone that was made before Attach
		out.Header = req.Header.Clone()
		out.Header.Del("User-Agent")
	}
	resp, err = x.inner.RoundTrip(out)
	// While this request was in flight, other requests may have read the
	// guard's client. Later, callbacks of this request may write to it. Each
	// request takes the guard's lock in now, so the earlier reads happen before
	// the later writes.
	g.now()
	if err != nil {
		return nil, x.refusal(req, err)
	}
	sayUnchanged(resp)
	resp.Request = req
	if p.proxy != "" { // colly looks for the proxy in its own request
		*req = *req.WithContext(context.WithValue(req.Context(), colly.ProxyURLKey, p.proxy))
	}
	x.tally(&x.counts.Fetched, 1)
	if resp.StatusCode < 300 || resp.StatusCode > 399 || resp.Header.Get("Location") == "" {
		x.tally(&x.counts.Pages, 1)
	}
	if resp.Body != nil && resp.Body != http.NoBody {
		resp.Body = hold(resp.Body, p.attempt)
	}
	return resp, nil
}

// refusal gets the error of a request. It counts refusals, ends loops of them,
// and returns the error that colly's users expect.
func (x *Extension) refusal(req *http.Request, err error) error {
	switch {
	case errors.Is(err, robotsmw.ErrAddressRefused):
		x.tally(&x.counts.AddressRefused, 1)
	case errors.Is(err, robotsmw.ErrUnreachable):
		x.tally(&x.counts.Unreachable, 1)
	case errors.Is(err, robotsmw.ErrDisallowed):
		x.tally(&x.counts.Disallowed, 1)
	}
	if blocked, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
		own := *blocked // with a copy of the URL, because the request's URL may still change
		u := *own.Decision.URL
		own.Decision.URL = &u
		err = &blockedError{&own}
	} else if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
		checked, _ := req.Context().Value(colly.CheckRevisitKey).(bool)
		err = &notDue{delay, req.Response != nil, checked}
	} else {
		return err
	}
	turn := max(cmp.Or(x.opts.Limiter.Delay, politeness.DefaultDelay), atOnce)
	if x.loops.note(req.URL.Hostname(), req.URL.String(), turn) {
		sleepUntil(unseal(req.Context()), time.Now().Add(turn))
	}
	return err
}

// notDue is the refusal of a request by the Limiter.
type notDue struct {
	*politeness.DelayError
	hop     bool // the request follows a redirect
	checked bool // colly checks redirects for visited URLs, as it does unless it is a Retry
}

func (e *notDue) Unwrap() error { return e.DelayError }

// sayUnchanged writes into the header of a 304 what the page that it stands for
// says to robots. colly hands on no more of a response than its header.
func sayUnchanged(resp *http.Response) {
	if resp.StatusCode != http.StatusNotModified {
		return
	}
	for rule := range robotsmw.PageDirectives(resp).Rules() {
		if rule.Known {
			resp.Header.Add("X-Robots-Tag", strings.TrimSuffix(rule.Name+": "+rule.Value, ": "))
		}
	}
}

// collyAgent returns colly's default User-Agent.
var collyAgent = sync.OnceValue(func() string {
	var c colly.Collector
	c.Init()
	return c.UserAgent
})
