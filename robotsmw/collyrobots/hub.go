package collyrobots

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/internal/httputil"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/address"
)

// longest is how long an attempt may take at most.
const longest = 24 * time.Hour

// A hub handles the requests of a collector and of all its clones, which share
// one of colly's backends. It is the transport of the client in that backend.
// If another transport is set on any of the collectors later, the hub sends its
// requests through that transport, unless admit refuses it.
type hub struct {
	x       *Extension
	backend backend

	mu      sync.Mutex
	client  *http.Client      // the hub's own client, which colly uses
	users   *http.Client      // the user's client, of which the hub's own is a copy
	was     http.Client       // an earlier copy of *users, to notice changes
	base    http.RoundTripper // the transport that sends
	timeout time.Duration     // how long an attempt may take; negative means no limit
	refused error             // why the transport that was set last cannot be used; nil if it can
	warned  sync.Once
}

// newHub takes over a backend. From now on, the requests of its collectors go
// through the hub, which sends them through base and notices what is set on the
// collectors.
func (x *Extension) newHub(b backend, base http.RoundTripper, timeout time.Duration) *hub {
	h := &hub{x: x, backend: b, base: base, timeout: timeout, refused: x.failed}
	h.copy()
	if set := h.client.Transport; set != nil && x.main != nil { // it was set after Collector.Init
		h.take(set)
	}
	h.client.Transport, h.client.Timeout = h, 0
	openGate(b, h)
	return h
}

// hubOf returns the hub of a collector. After Collector.Init, the collector has
// another backend, which gets another hub.
func (x *Extension) hubOf(c *colly.Collector) (*hub, error) {
	b, err := backendOf(c)
	if err != nil {
		return nil, err
	}
	x.opening.Lock()
	defer x.opening.Unlock()
	h, ok := gateOf(b).(*hub)
	if !ok {
		base, timeout, _ := x.main.now()
		return x.newHub(b, base, timeout), nil
	}
	if h.x != x {
		return nil, errors.New("collyrobots: the collector has another Extension: use that one, or a new collector")
	}
	return h, nil
}

// copy replaces colly's client with a copy, because the program may also use
// that client elsewhere.
func (h *hub) copy() {
	users := *h.backend.client
	own := *users
	h.users, h.was, h.client = users, *users, &own
	*h.backend.client = h.client
}

// sync makes sure that colly's client is the hub's own and that its transport
// is the hub. sync is called for each request before colly reads the client,
// and again after every wait. So a request reads the client only after sync has
// written it.
func (h *hub) sync() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if *h.backend.client != h.client {
		h.copy()
	}
	client := h.client
	heed(&h.users.Transport, &h.was.Transport, &client.Transport)
	heed(&h.users.CheckRedirect, &h.was.CheckRedirect, &client.CheckRedirect)
	heed(&h.users.Jar, &h.was.Jar, &client.Jar)
	heed(&h.users.Timeout, &h.was.Timeout, &client.Timeout)
	if client.Jar != nil { // SetStorage and SetCookieJar set another jar
		if own, ok := client.Jar.(*jar); !ok || own.hub != h {
			client.Jar = &jar{client.Jar, h}
		}
	}
	if client.Transport != h {
		h.take(client.Transport)
		client.Transport = h
	}
	if client.Timeout != 0 { // this timeout would include the waits
		h.timeout, client.Timeout = client.Timeout, 0
	}
	return h.refused
}

// heed copies a field of the user's client to the hub's own client if it has
// changed. It compares memory, because not all values can be compared.
func heed[T any](users, was, own *T) {
	if !bytes.Equal(memoryOf(users), memoryOf(was)) {
		*was, *own = *users, *users
	}
}

// Match makes the hub the gate of its backend: colly asks it before it takes
// the client.
func (h *hub) Match(string) bool {
	h.sync()
	return true
}

// jar wraps the client's cookie jar. For each request, an http.Client gets the
// cookies just before it reads its transport, so the wrapper can call sync
// there.
type jar struct {
	http.CookieJar
	hub *hub
}

func (j *jar) Cookies(u *url.URL) []*http.Cookie {
	cookies := j.CookieJar.Cookies(u)
	j.hub.sync()
	return cookies
}

// now implements sender.
func (h *hub) now() (base http.RoundTripper, timeout time.Duration, err error) {
	err = h.sync()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timeout < 0 {
		return h.base, longest, err
	}
	return h.base, h.timeout, err
}

// take makes the hub send its requests through t, unless admit refuses t.
func (h *hub) take(t http.RoundTripper) {
	if h.x.failed != nil {
		h.base = t
		return
	}
	defer func() {
		if h.x.sharing != nil && h == h.x.main { // robots.txt is fetched through the transport of the main hub
			h.x.sharing.use(recordsFor(h.x.opts, h.base))
		}
	}()
	if own := h.withProxyOf(t); own != nil {
		h.base, h.refused = own, nil
		return
	}
	base, err := h.x.admit(t)
	h.refused = err
	warn := func(message string) { h.warned.Do(func() { h.x.opts.Logger.Warn(message) }) }
	if err != nil {
		warn(err.Error())
		return
	}
	if h.x.named() {
		warn(fmt.Sprintf("collyrobots: a transport that was set after Attach (a %T) carries the requests from now on, "+
			"in place of what Options said", t))
	}
	h.base = base
}

// withProxyOf returns a copy of the hub's transport with the proxy of t, if t
// is what colly's SetProxy or SetProxyFunc has just made. In plain colly, these
// methods change the transport at hand. They cannot see the hub's, so they make
// a transport that has nothing but the proxy.
func (h *hub) withProxyOf(t http.RoundTripper) http.RoundTripper {
	own, ok := h.base.(*http.Transport)
	made, isMade := t.(*http.Transport)
	if !ok || !isMade || own == http.DefaultTransport || made.Proxy == nil || !made.DisableKeepAlives {
		return nil
	}
	if dials(made) || made.TLSClientConfig != nil || made.ForceAttemptHTTP2 || made.DisableCompression || made.ProxyConnectHeader != nil ||
		made.TLSHandshakeTimeout+made.ResponseHeaderTimeout+made.ExpectContinueTimeout != 0 || made.MaxConnsPerHost != 0 ||
		made.MaxResponseHeaderBytes != 0 {
		return nil // the program has made it
	}
	own = own.Clone() // requests that are under way use it
	own.Proxy, own.DisableKeepAlives = made.Proxy, true
	return own
}

// admit returns the transport that a hub uses for t: t itself, or another one
// in its place. It returns ErrBypassed if t would hide addresses from
// Options.RefuseAddress. If t reports that it is set up wrongly, admit returns
// that error. Otherwise robots.txt could not be fetched through t, and would
// count as unreachable.
func (x *Extension) admit(t http.RoundTripper) (http.RoundTripper, error) {
	if err := httputil.Validate(t); err != nil {
		return nil, fmt.Errorf("collyrobots: the collector's transport: %w", err)
	}
	if paced, ok := t.(*politeness.Transport); ok && paced.Limiter == x.opts.Limiter {
		t = paced.Base
	}
	if t == nil && x.opts.RefuseAddress == nil && x.opts.Proxy == nil {
		return defaultTransport{}, nil
	}
	if t == nil {
		t = http.DefaultTransport
	}
	if x.opts.RefuseAddress == nil {
		return t, nil
	}
	own, ok := t.(*http.Transport)
	if !ok || t != http.DefaultTransport && dials(own) {
		return nil, errHidden
	}
	own = own.Clone()
	own.DialContext = address.Dialer(x.opts.RefuseAddress).DialContext
	return own, nil
}

func dials(t *http.Transport) bool {
	//lint:ignore SA1019 a transport that still uses these has to be noticed
	return t.DialContext != nil || t.DialTLSContext != nil || t.Dial != nil || t.DialTLS != nil
}
