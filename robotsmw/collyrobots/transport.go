package collyrobots

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// RoundTrip enforces robots.txt and the request rate. It does so for the client
// and not in a callback, because a collector and its clones share the client
// but not the callbacks. A request passes four transports of this module: the
// guard, the robotsmw.Transport, the politeness.Transport and the
// networkTransport.
func (g *guard) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	defer closeBody(req, &err)
	x := g.x
	if err := g.finishSeal(req); err != nil {
		return nil, err
	}
	if _, _, err := g.current(); err != nil {
		return nil, err
	}
	own := unseal(req.Context())
	p := &pageRequest{Context: own, values: req.Context(), guard: g, since: time.Now(), attempt: own}
	p.trace.Queued = func(until time.Time, reason politeness.Reason) { x.logPause(req.URL, time.Now(), until, reason) }
	out := req.WithContext(politeness.WithTrace(p, &p.trace))
	if req.Header.Get("User-Agent") == collyAgent() { // of a clone that was made before Attach
		out.Header = req.Header.Clone()
		out.Header.Del("User-Agent")
	}
	resp, err = x.inner.RoundTrip(out)
	// A callback of this request may write to the client of this guard or of
	// the main guard, or to the first collector by Init. Other requests have
	// read these meanwhile, holding the lock of one of these guards. Taking
	// both locks orders these reads before the write; the results are not
	// needed.
	g.last()
	x.mainGuard().last()
	if p.proxy != "" { // colly reads the proxy from its own request
		*req = *req.WithContext(context.WithValue(req.Context(), colly.ProxyURLKey, p.proxy))
	}
	if err != nil {
		return nil, g.refusalError(req, err)
	}
	exposeDirectives(resp) // the context of the present resp.Request has them
	resp.Request = req     // colly compares the URL with that of its own request
	x.countResponse(isRedirect(resp))
	if resp.Body != nil && resp.Body != http.NoBody {
		resp.Body = newReadAheadBody(resp.Body, p.attempt)
	}
	return resp, nil
}

// finishSeal does what remains of seal when a request reaches the guard. It
// restores the body of a repeat that has no seal, and takes a repeat that is
// now sent out of Counts.Lost. If the request must not be sent, finishSeal
// returns sealed.refused.
func (g *guard) finishSeal(req *http.Request) error {
	// If the request has a seal, seal has already done what this block does,
	// and sealed.repeated is the mark.
	mark, hasMark := req.Body.(*repeatMark)
	if hasMark {
		mark.restore(req)
		*req = *req.WithContext(mark.restoreContext(req.Context()))
	}
	if s := sealFrom(req.Context()); s != nil {
		if s.refused != nil {
			return s.refused
		}
		mark = s.repeated
	}
	if mark != nil && req.Response == nil { // a redirect is not a repeat
		g.x.uncountLost(mark)
	}
	return nil
}

// refusalError counts a refused request and returns the error that colly's
// users expect for it. If the same URL is refused again and again without a
// pause, refusalError first sleeps for a delay, which slows down the loop.
// Errors other than a *robotsmw.DisallowedError and a *politeness.DelayError
// are returned unchanged.
func (g *guard) refusalError(req *http.Request, err error) error {
	x := g.x
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
		checksVisited, _ := req.Context().Value(colly.CheckRevisitKey).(bool)
		err = &delayedRequest{
			DelayError:    delay,
			isRedirect:    req.Response != nil,
			checksVisited: checksVisited,
		}
	} else {
		return err
	}
	wait := max(cmp.Or(x.opts.Limiter.Delay, politeness.DefaultDelay), immediateRepeat)
	host := strings.Clone(req.URL.Hostname()) // the loops must not keep a long URL in memory
	if g.refusalLoops.add(host, req.URL.String(), wait) {
		sleepUntil(unseal(req.Context()), time.Now().Add(wait))
	}
	return err
}

// A delayedRequest is the error of a request that the Limiter refused.
type delayedRequest struct {
	*politeness.DelayError
	isRedirect    bool // whether the request follows a redirect
	checksVisited bool // whether colly checks redirects for visited URLs; a Retry skips this check
}

func (e *delayedRequest) Unwrap() error { return e.DelayError }
