package collyrobots

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
)

// guard is the transport of colly's client. All enforcement is here, below
// every callback, because a collector and its clones share the client, but not
// the callbacks. A guard turns errors of robotsmw.Transport into those that
// colly's users expect.
type guard struct {
	*sender
	hub *hub
}

// sender has what all guards of an Extension share.
type sender struct {
	inner  *robotsmw.Transport
	agent  string // Options.UserAgent
	main   *hub   // the hub of Attach's collector, which also fetches robots.txt
	unread unread
	tries  tries
	chains chains
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
	root := rootOf(req)
	if root == req {
		if err := g.tries.begins(req); err != nil {
			return nil, g.fail(root, false, err)
		}
	} else if req.Method == http.MethodGet && root.Method == http.MethodGet {
		g.chains.note(req)
	}
	if err := g.hub.sync(); err != nil {
		return nil, g.fail(root, false, err)
	}
	p := &page{Context: req.Context(), by: &g.hub.paced, count: &g.count, since: time.Now()}
	out := req.WithContext(p)
	if agent := first(req.Header, "User-Agent"); agent != g.agent && agent == collyAgent() { // a clone that was made before Attach has colly's default agent
		out.Header = req.Header.Clone()
		out.Header.Del("User-Agent")
	}
	g.unread.clear(req.URL, g.hub.limited.Load())
	resp, err := g.inner.RoundTrip(out)
	// While this request was in flight, other requests may have read the hub's
	// client. Later, callbacks of this request may write to it. Each request
	// takes the lock in sync(), so the earlier reads happen before the later
	// writes.
	g.hub.sync()
	if err != nil {
		return nil, g.fail(root, p.left, err)
	}
	g.tries.succeeded(root)
	resp.Request = req
	if p.proxy != "" { // colly looks for the proxy in its own request, which is root
		*root = *root.WithContext(context.WithValue(root.Context(), colly.ProxyURLKey, p.proxy))
	}
	g.count.fetched.Add(1)
	if !redirects(resp) {
		g.count.pages.Add(1)
	}
	g.unread.keep(resp, &p.body)
	return resp, nil
}

// fail adds a failed request to the counts, and returns the error that colly's
// users expect. root is the request that colly made. The bool says whether the
// last hop of root was sent.
func (g *guard) fail(root *http.Request, sent bool, err error) error {
	if blocked, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
		if errors.Is(err, robotsmw.ErrUnreachable) {
			g.count.unreachable.Add(1)
		} else {
			g.count.disallowed.Add(1)
		}
		own := *blocked // with a copy of the URL, because the request's URL may still change
		u := *own.Decision.URL
		own.Decision.URL = &u
		err = &blockedError{&own}
	}
	g.tries.failed(root, sent, err)
	return err
}

func (g *guard) CloseIdleConnections() { g.inner.CloseIdleConnections() }

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

// underlay is the Base of robotsmw.Transport. It sends a request for a page
// through the hub that the request came from, and a request for robots.txt
// through the main hub.
type underlay struct{ *sender }

func (u underlay) RoundTrip(req *http.Request) (*http.Response, error) {
	by := &u.main.paced
	if p := pageOf(req.Context()); p != nil {
		by = p.by
	}
	return by.Load().RoundTrip(req)
}

func (u underlay) CloseIdleConnections() { u.main.paced.Load().CloseIdleConnections() }

// blockedError is a *robotsmw.DisallowedError for which errors.Is(err,
// colly.ErrRobotsTxtBlocked) is true.
type blockedError struct{ *robotsmw.DisallowedError }

func (e *blockedError) Unwrap() error { return e.DisallowedError }

func (e *blockedError) Is(target error) bool { return target == colly.ErrRobotsTxtBlocked }
