package collyrobots

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// ErrBypassed is the error of every request after somebody has set a transport
// that hides addresses from Options.RefuseAddress. These requests are not sent.
// A transport hides addresses if it has a dial function of its own, or is not
// an *http.Transport.
var ErrBypassed = errors.New("collyrobots: refused, because the transport that was set after Attach (SetProxy, SetProxyFunc, " +
	"SetClient, WithTransport or Appengine) dials addresses that Options.RefuseAddress would not see: give it a " +
	"net.Dialer{Control: robotsmw.DialControl(f)} and Attach the transport as Options.Base, or the proxy as Options.Proxy")

// A hub handles the requests of a collector and of all its clones, which share
// one of colly's backends. The hub keeps its own client in that backend. If a
// transport is set on any of the collectors later, the hub sends its requests
// through that transport, unless admit refuses it.
type hub struct {
	backend backend
	guard   http.RoundTripper // the transport that colly's client gets
	opts    hubOptions
	limits  limits

	mu      sync.Mutex
	client  *http.Client  // the hub's own client, which colly uses
	users   *http.Client  // the user's client, of which the hub's own is a copy
	was     http.Client   // an earlier copy of *users, to notice changes
	timeout time.Duration // how long an attempt may take
	refused error         // why the transport that was set last cannot be used; nil if it can
	warned  bool

	limited atomic.Bool                       // whether there are LimitRules; written under mu
	base    atomic.Pointer[http.RoundTripper] // the transport that sends
	paced   atomic.Pointer[politeness.Transport]
}

type hubOptions struct {
	limiter *politeness.Limiter
	refuse  func(netip.Addr) error
	logger  *slog.Logger
	named   bool // Options has a Base or a Proxy
}

// newHub returns a hub for a backend. The hub sends its requests through base.
func newHub(b backend, opts hubOptions, base http.RoundTripper, timeout time.Duration) *hub {
	h := &hub{backend: b, opts: opts, timeout: timeout}
	h.base.Store(&base)
	h.build()
	return h
}

// open takes over the backend. From now on, the requests of its collectors go
// through guard, and the hub notices what is set on these collectors.
func (h *hub) open(guard http.RoundTripper) {
	h.guard = guard
	h.mu.Lock()
	h.copy()
	h.client.Transport, h.client.Timeout = guard, 0
	h.mu.Unlock()
	openGate(h.backend, h)
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
// is the guard. sync is called for each request before colly reads the client,
// and again after every wait. So a request reads the client only after sync has
// written it.
func (h *hub) sync() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if *h.backend.client != h.client {
		h.copy()
	}
	client := h.client
	if client.Jar != nil { // SetStorage and SetCookieJar set another jar
		if own, ok := client.Jar.(*jar); !ok || own.hub != h {
			client.Jar = &jar{client.Jar, h}
		}
	}
	if h.users.Timeout != h.was.Timeout || !same(h.users.Transport, h.was.Transport) {
		h.was = *h.users
		client.Transport, client.Timeout = h.was.Transport, h.was.Timeout
	}
	if client.Transport != h.guard {
		h.take(client.Transport)
		client.Transport = h.guard
	}
	if client.Timeout != 0 { // this timeout would include the waits
		h.timeout = client.Timeout
		client.Timeout = 0
		h.build()
	}
	return h.refused
}

// take makes the hub send its requests through t, unless admit refuses t.
func (h *hub) take(t http.RoundTripper) {
	before := h.base.Load()
	base, err := admit(t, h.opts.limiter, h.opts.refuse)
	h.refused = err
	switch {
	case err != nil:
		h.warn(err.Error())
		return
	case before != nil && h.opts.named:
		h.warn(fmt.Sprintf("collyrobots: a transport that was set after Attach (a %T) carries the requests from now on, "+
			"in place of what Options said", t))
	}
	h.base.Store(&base)
	h.build()
}

// warn logs the first message that it gets.
func (h *hub) warn(message string) {
	if !h.warned {
		h.warned = true
		h.opts.logger.Warn(message)
	}
}

// admit returns the transport that the hub uses for t: t itself, or another one
// in its place. It returns ErrBypassed if t would hide addresses from
// Options.RefuseAddress.
func admit(t http.RoundTripper, limiter *politeness.Limiter, refuse func(netip.Addr) error) (http.RoundTripper, error) {
	if t == nil {
		t = http.DefaultTransport
	}
	if paced, ok := t.(*politeness.Transport); ok && paced.Limiter == limiter {
		if t = paced.Base; t == nil {
			t = http.DefaultTransport
		}
	}
	if refuse == nil {
		return t, nil
	}
	own, ok := t.(*http.Transport)
	if !ok || t != http.DefaultTransport && dials(own) {
		return nil, ErrBypassed
	}
	own = own.Clone()
	dialer := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Control: robotsmw.DialControl(refuse)}
	own.DialContext = dialer.DialContext
	return own, nil
}

func dials(t *http.Transport) bool {
	//lint:ignore SA1019 a transport that still uses these has to be noticed
	return t.DialContext != nil || t.DialTLSContext != nil || t.Dial != nil || t.DialTLS != nil
}

// build makes the politeness.Transport for the current timeout and base.
func (h *hub) build() {
	base := (*outlet)(h)
	paced := &politeness.Transport{Base: base, Limiter: h.opts.limiter, AttemptTimeout: h.timeout}
	if h.limited.Load() {
		// After its wait for the host, a request waits for the slot of a
		// LimitRule. That wait must not count for the timeout either. So it is
		// limited.RoundTrip that applies the timeout, and not the
		// politeness.Transport.
		paced.Base, paced.AttemptTimeout = &limited{base, &h.limits, cmp.Or(h.timeout, 30*time.Second)}, -1
	}
	h.paced.Store(paced)
}

func (h *hub) timeOf() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.timeout
}

// pass is called for each request before colly takes the client. It reports
// whether one of the rules applies to the domain.
func (h *hub) pass(g *gate, domain string, rules []*colly.LimitRule) bool {
	h.sync()
	if len(rules) == 0 {
		return false
	}
	h.limits.learn(rules)
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.limited.Load() {
		g.widen()
		h.limited.Store(true)
		h.build()
	}
	return matching(rules, domain) != nil
}

// outlet is the transport by which a hub's requests leave, after all waits.
type outlet hub

func (o *outlet) RoundTrip(req *http.Request) (*http.Response, error) {
	h := (*hub)(o)
	if err := h.sync(); err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	p := pageOf(req.Context())
	if p != nil {
		p.leaves()
	}
	resp, err := (*h.base.Load()).RoundTrip(req)
	if p != nil { // colly's proxy switchers note their choice in the context
		p.proxy, _ = req.Context().Value(colly.ProxyURLKey).(string)
	}
	return resp, err
}

// Unwrap returns the transport that sends. politeness.Transport looks at the
// protocols of that transport, to know how to treat requests that net/http
// sends again.
func (o *outlet) Unwrap() http.RoundTripper {
	if base := (*hub)(o).base.Load(); base != nil {
		return *base
	}
	return nil
}

func (o *outlet) CloseIdleConnections() {
	if c, ok := (*(*hub)(o).base.Load()).(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// jar wraps the client's cookie jar. For each request, an http.Client asks its
// jar just before it reads its transport. So the wrapper can call sync there.
type jar struct {
	http.CookieJar
	hub *hub
}

func (j *jar) Cookies(u *url.URL) []*http.Cookie {
	j.hub.sync()
	return j.CookieJar.Cookies(u)
}

// The function "same" reports whether two transports are the same. Values of
// some types cannot be compared: two transports of one such type count as the
// same.
func same(a, b http.RoundTripper) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	if t, ok := a.(*http.Transport); ok { // the usual case, without reflection
		u, ok := b.(*http.Transport)
		return ok && t == u
	}
	v, w := reflect.ValueOf(a), reflect.ValueOf(b)
	if v.Type() != w.Type() {
		return false
	}
	if v.Kind() == reflect.Func {
		return v.Pointer() == w.Pointer()
	}
	return !v.Comparable() || v.Equal(w)
}
