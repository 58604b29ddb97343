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

// ErrBypassed is what requests fail with, and nothing is sent, once a transport
// has been set after Attach that cannot be put under the extension: it dials by
// itself, where Options.RefuseAddress is to see each address.
var ErrBypassed = errors.New("collyrobots: refused, because the transport that was set after Attach (SetProxy, SetProxyFunc, " +
	"SetClient, WithTransport or Appengine) dials addresses that Options.RefuseAddress would not see: give it a " +
	"net.Dialer{Control: robotsmw.DialControl(f)} and Attach the transport as Options.Base, or the proxy as Options.Proxy")

// A hub stands where the requests of a collector and of all its clones meet:
// they share one of colly's backends. It keeps the client there its own, and
// whatever is set on the collectors later, by whomever and when, becomes what
// the extension sends by.
type hub struct {
	backend backend
	guard   http.RoundTripper // what colly's client gets
	opts    hubOptions
	limits  limits

	mu      sync.Mutex
	client  *http.Client  // ours: what colly sends by
	users   *http.Client  // what it was copied from
	was     http.Client   // users, when that was looked at last
	timeout time.Duration // of an attempt
	refused error         // why the transport that was set last cannot be used
	warned  bool

	limited atomic.Bool                       // there are LimitRules; written under mu
	base    atomic.Pointer[http.RoundTripper] // what sends
	paced   atomic.Pointer[politeness.Transport]
}

type hubOptions struct {
	limiter *politeness.Limiter
	refuse  func(netip.Addr) error
	logger  *slog.Logger
	named   bool // the user named what to send by, in the Options
}

// newHub takes over a backend: from now on its requests go through the guard,
// and by base.
func newHub(b backend, opts hubOptions, base http.RoundTripper, timeout time.Duration) *hub {
	h := &hub{backend: b, opts: opts, timeout: timeout}
	h.base.Store(&base)
	h.build()
	return h
}

// open begins to take over what is set on the collectors.
func (h *hub) open(guard http.RoundTripper) {
	h.guard = guard
	h.mu.Lock()
	h.copy()
	h.client.Transport, h.client.Timeout = guard, 0
	h.mu.Unlock()
	openGate(h.backend, h)
}

// copy gives colly a copy of its client, which may be in use elsewhere.
func (h *hub) copy() {
	users := *h.backend.client
	own := *users
	h.users, h.was, h.client = users, *users, &own
	*h.backend.client = h.client
}

// sync sees to it that colly's client is ours, and its transport the guard.
// Each request does so before it comes to the client and after every wait, so
// what it writes is written before any other request reads it.
func (h *hub) sync() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if *h.backend.client != h.client {
		h.copy()
	}
	client := h.client
	if client.Jar != nil { // SetStorage and SetCookieJar set another
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
	if client.Timeout != 0 { // it would count the time spent waiting
		h.timeout = client.Timeout
		client.Timeout = 0
		h.build()
	}
	return h.refused
}

// take makes t what sends.
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

// warn logs once.
func (h *hub) warn(message string) {
	if !h.warned {
		h.warned = true
		h.opts.logger.Warn(message)
	}
}

// admit returns what to send by, with t.
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

// dials reports whether a transport dials by itself.
func dials(t *http.Transport) bool {
	//lint:ignore SA1019 who still uses these is to be noticed
	return t.DialContext != nil || t.DialTLSContext != nil || t.Dial != nil || t.DialTLS != nil
}

// build makes what paces, for the timeout and the base as they are now.
func (h *hub) build() {
	var base http.RoundTripper = (*outlet)(h)
	if own := h.base.Load(); own != nil {
		if t, ok := (*own).(*http.Transport); ok && t.Protocols != nil {
			base = t // the pace of what is sent again depends on its protocols
		}
	}
	paced := &politeness.Transport{Base: base, Limiter: h.opts.limiter, AttemptTimeout: h.timeout}
	if h.limited.Load() {
		// The wait for a LimitRule's slot comes after that for the host, and
		// is no part of the attempt either.
		paced.Base, paced.AttemptTimeout = &limited{base, &h.limits, cmp.Or(h.timeout, 30*time.Second)}, -1
	}
	h.paced.Store(paced)
}

// timeOf is how long an attempt may take.
func (h *hub) timeOf() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.timeout
}

// pass is called for each request before colly takes the client.
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

// outlet is where a hub's requests leave, after every wait.
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
	if p != nil { // colly's switchers tell there which proxy they chose
		p.proxy, _ = req.Context().Value(colly.ProxyURLKey).(string)
	}
	return resp, err
}

func (o *outlet) CloseIdleConnections() {
	if c, ok := (*(*hub)(o).base.Load()).(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// jar is the client's cookie jar. An http.Client asks it for each request just
// before it takes its transport.
type jar struct {
	http.CookieJar
	hub *hub
}

func (j *jar) Cookies(u *url.URL) []*http.Cookie {
	j.hub.sync()
	return j.CookieJar.Cookies(u)
}

// same reports whether two transports are, of which any may be of a type that
// cannot be compared.
func same(a, b http.RoundTripper) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
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
