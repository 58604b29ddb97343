package collyrobots

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/gocolly/colly/v2"
)

// How the guard stays the transport of colly's client:
//
// A program may set a client, a transport, a cookie jar, a proxy or a timeout
// at any time, and colly gives no notice. Therefore the guard checks colly's
// client whenever a request is about to read it, applies the settings that have
// changed, and sets its own client and transport again. Three hooks call
// syncClient at these times:
//
//  1. the ruleHook, for each request of all collectors that share the backend,
//     before the OnRequestHeaders handlers run;
//  2. the last OnRequestHeaders handler of an attached collector, because a
//     handler before it may have set a client;
//  3. the cookie jar, just before an http.Client reads its transport, because
//     an OnRequestHeaders handler of a clone that was not added, or a redirect
//     handler, may have set a transport.
//
// All other code calls current, which also applies the latest settings. The
// hooks do not make a new main guard, because they run while the lock of the
// LimitRules is held, which newGuard takes too.

// newGuard makes a guard the transport of a backend. The guard sends the
// requests of all collectors of the backend through base, or fails them with
// refused, until another transport is set on one of them. If the backend is
// that of the first collector, the guard becomes the main guard. Otherwise, it
// follows the main guard until then.
func (x *Extension) newGuard(b backend, base http.RoundTripper, refused error, timeout time.Duration) *guard {
	g := &guard{x: x, backend: b, base: base, timeout: timeout, refused: refused}
	g.refusalLoops.hosts = make(map[string]map[string]repeatedRefusal)
	g.replaceClient()
	isMain := b.address == *x.firstBackend
	g.followsTransport = !isMain
	// If there is already a main guard, the backend belongs to an added
	// collector or is from Collector.Init (see guardFor), and its client may
	// have a transport. The transport of the guard that is made first is chosen
	// by chooseTransport.
	if set := g.client.Transport; set != nil && x.mainGuard() != nil {
		g.setTransport(set)
	}
	g.client.Transport = g
	g.client.Timeout = 0 // it would include the time for which requests wait
	b.installHook(g)
	if isMain {
		x.setMainGuard(g)
	}
	return g
}

// syncMainGuard applies the settings of the first collector that have changed,
// so that requests of other collectors and for robots.txt use them before the
// first collector makes a request. After Collector.Init, it makes a new main
// guard.
func (x *Extension) syncMainGuard() {
	if x.mainGuard().isStale() && !x.released.Load() {
		x.guardFor(x.first)
	}
	x.mainGuard().latest()
}

// guardFor returns the guard of a collector. After Collector.Init, the
// collector has another backend, which gets another guard.
func (x *Extension) guardFor(c *colly.Collector) (*guard, error) {
	x.newGuardMu.Lock()
	defer x.newGuardMu.Unlock()
	b, err := findBackend(c) // reads the client, which newGuard sets
	if err != nil {
		return nil, err
	}
	g, ok := b.firstMatcher().(*guard)
	if !ok {
		base, _, refused := x.mainGuard().latest()
		client := *b.client
		return x.newGuard(b, base, refused, x.attemptTimeout(client, client.Transport)), nil
	}
	if g.x != x {
		return nil, errors.New("collyrobots: the collector has another Extension: use that one, or a new collector")
	}
	return g, nil
}

// replaceClient replaces colly's client with a copy, because the program may
// also use that client elsewhere.
func (g *guard) replaceClient() {
	g.programsClient = *g.backend.client
	g.lastSeen = *g.programsClient
	own := *g.programsClient
	g.client = &own
	*g.backend.client = g.client
}

// syncClient applies the settings of colly's client that have changed, and
// makes sure that the client is the guard's own and that its transport is the
// guard. It returns g.refused. Each request calls syncClient before it reads
// the client, so the writes of syncClient happen before these reads.
func (g *guard) syncClient() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.syncClientLocked()
}

// syncClientLocked is syncClient for a caller that holds g.mu.
func (g *guard) syncClientLocked() error {
	g.follow() // before setTransport, which adds a proxy to the current transport
	if *g.backend.client != g.client {
		g.replaceClient()
	}
	client := g.client
	copyChange(&g.programsClient.Transport, &g.lastSeen.Transport, &client.Transport)
	copyChange(&g.programsClient.CheckRedirect, &g.lastSeen.CheckRedirect, &client.CheckRedirect)
	copyChange(&g.programsClient.Jar, &g.lastSeen.Jar, &client.Jar)
	copyChange(&g.programsClient.Timeout, &g.lastSeen.Timeout, &client.Timeout)
	if client.Jar != nil { // SetStorage and SetCookieJar set another jar
		if _, ok := client.Jar.(*jar); !ok {
			client.Jar = &jar{client.Jar, g}
		}
	}
	if client.CheckRedirect != nil && !bytes.Equal(rawBytes(&client.CheckRedirect), rawBytes(&g.checkRedirect)) {
		g.redirect = client.CheckRedirect
		g.checkRedirect = unsealRedirect(g.redirect)
		client.CheckRedirect = g.checkRedirect
	}
	if client.Transport != g {
		g.setTransport(client.Transport)
		client.Transport = g
	}
	if client.Timeout != 0 { // it would include the time for which requests wait
		g.timeout = client.Timeout
		client.Timeout = 0
	}
	return g.refused
}

// follow applies the transport of the main guard, if g follows it. The caller
// holds g.mu while follow locks the main guard. The main guard follows no other
// guard, so it never locks g.
func (g *guard) follow() {
	if g.followsTransport {
		g.base, _, g.refused = g.x.mainGuard().latest()
	}
}

// copyChange copies a field of the program's client to the guard's own client
// if it has changed. It compares the bytes in memory, because fields such as
// CheckRedirect are not comparable.
func copyChange[T any](programs, lastSeen, own *T) {
	if !bytes.Equal(rawBytes(programs), rawBytes(lastSeen)) {
		*lastSeen = *programs
		*own = *programs
	}
}

// Match implements ruleHook. It calls syncClient and returns true.
func (g *guard) Match(string) bool {
	g.syncClient()
	return true
}

// A jar wraps the client's cookie jar and calls syncClient. An http.Client
// calls Cookies for each request and for each redirect.
type jar struct {
	http.CookieJar
	guard *guard
}

func (j *jar) Cookies(u *url.URL) []*http.Cookie {
	cookies := j.CookieJar.Cookies(u)
	j.guard.syncClient()
	return cookies
}

// current returns the transport that was set last, and the timeout of an
// attempt. It returns an error if no request can be sent.
func (g *guard) current() (base http.RoundTripper, timeout time.Duration, err error) {
	g.x.syncMainGuard()
	return g.latest()
}

// latest implements sender.
func (g *guard) latest() (base http.RoundTripper, timeout time.Duration, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	err = g.syncClientLocked()
	if g.timeout < 0 {
		return g.base, maxAttemptTime, err
	}
	return g.base, g.timeout, err
}

// isStale implements sender. The lock orders its read: see guard.RoundTrip.
func (g *guard) isStale() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.backend.address != *g.x.firstBackend
}

// last implements sender.
func (g *guard) last() (base http.RoundTripper, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.base, g.refused
}
