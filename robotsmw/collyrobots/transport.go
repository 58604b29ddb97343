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

// guard is what colly's client gets: all enforcement is here, below every
// callback, because clones have the client and not the callbacks. It says
// colly's words for what robotsmw.Transport decides.
type guard struct {
	*sender
	hub *hub
}

// sender is what the guards of an Extension share.
type sender struct {
	inner  *robotsmw.Transport
	agent  string // Options.UserAgent
	main   *hub   // of the collector that Attach was given: robots.txt goes by it
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
	if agent := first(req.Header, "User-Agent"); agent != g.agent && agent == collyAgent() { // of a clone made before Attach
		out.Header = req.Header.Clone()
		out.Header.Del("User-Agent")
	}
	g.unread.clear(req.URL, g.hub.limited.Load())
	resp, err := g.inner.RoundTrip(out)
	// What the requests that came to a hub meanwhile have read of its client
	// comes before what this one's callbacks set there.
	g.hub.sync()
	if err != nil {
		return nil, g.fail(root, p.left, err)
	}
	g.tries.succeeded(root)
	resp.Request = req
	if p.proxy != "" { // colly looks for it in its own request
		*root = *root.WithContext(context.WithValue(root.Context(), colly.ProxyURLKey, p.proxy))
	}
	g.count.fetched.Add(1)
	if !redirects(resp) {
		g.count.pages.Add(1)
	}
	g.unread.keep(resp)
	return resp, nil
}

// fail counts what a request failed with, and returns it as colly's users know
// it. Root is what colly sent; sent, whether its last hop left.
func (g *guard) fail(root *http.Request, sent bool, err error) error {
	if blocked, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
		if errors.Is(err, robotsmw.ErrUnreachable) {
			g.count.unreachable.Add(1)
		} else {
			g.count.disallowed.Add(1)
		}
		own := *blocked // its URL is the request's, which does not stay as it is
		u := *own.Decision.URL
		own.Decision.URL = &u
		err = &blockedError{&own}
	}
	g.tries.failed(root, sent, err)
	return err
}

func (g *guard) CloseIdleConnections() { g.inner.CloseIdleConnections() }

// collyAgent is the User-Agent of a collector that nobody has named.
var collyAgent = sync.OnceValue(func() string {
	var c colly.Collector
	c.Init()
	return c.UserAgent
})

// rootOf returns the request that colly made, of which req may be a redirect.
func rootOf(req *http.Request) *http.Request {
	for req.Response != nil && req.Response.Request != nil {
		req = req.Response.Request
	}
	return req
}

func redirects(resp *http.Response) bool {
	return resp.StatusCode >= 300 && resp.StatusCode <= 399 && resp.Header.Get("Location") != ""
}

// underlay is the Base of robotsmw.Transport: it sends a page by the hub that
// it came from.
type underlay struct{ *sender }

func (u underlay) RoundTrip(req *http.Request) (*http.Response, error) {
	by := &u.main.paced
	if p := pageOf(req.Context()); p != nil {
		by = p.by
	}
	return by.Load().RoundTrip(req)
}

func (u underlay) CloseIdleConnections() { u.main.paced.Load().CloseIdleConnections() }

// blockedError is a *robotsmw.DisallowedError that colly's users know as
// colly.ErrRobotsTxtBlocked.
type blockedError struct{ *robotsmw.DisallowedError }

func (e *blockedError) Unwrap() error { return e.DisallowedError }

func (e *blockedError) Is(target error) bool { return target == colly.ErrRobotsTxtBlocked }
