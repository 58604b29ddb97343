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

var errOther = errors.New("collyrobots: the collector has another Extension: use that one, or a new collector")

// A hub handles the requests of a collector and of all its clones, which share
// one of colly's backends. The hub keeps its own client in that backend. If a
// transport is set on any of the collectors later, the hub sends its requests
// through that transport, unless admit refuses it.
type hub struct {
	backend backend
	guard   http.RoundTripper // the transport that colly's client gets
	opts    *hubOptions

	mu      sync.Mutex
	client  *http.Client      // the hub's own client, which colly uses
	users   *http.Client      // the user's client, of which the hub's own is a copy
	was     http.Client       // an earlier copy of *users, to notice changes
	base    http.RoundTripper // the transport that sends
	timeout time.Duration     // how long an attempt may take; negative means no limit
	refused error             // why the transport that was set last cannot be used; nil if it can
	warned  bool
	widened bool // the gate has room
}

// hubOptions is what all hubs of an Extension share.
type hubOptions struct {
	limiter *politeness.Limiter
	refuse  func(netip.Addr) error
	logger  *slog.Logger
	named   bool     // Options has a Base or a Proxy
	sharing *sharing // nil means that robots.txt is not shared
}

// newHub returns a hub for a backend. The hub sends its requests through base.
// timeout is how long an attempt may take: 0 means 30 s.
func newHub(b backend, opts *hubOptions, base http.RoundTripper, timeout time.Duration) *hub {
	return &hub{backend: b, opts: opts, base: base, timeout: cmp.Or(timeout, 30*time.Second)}
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
	client, users, was := h.client, h.users, &h.was
	if !same(users.Transport, was.Transport) {
		client.Transport, was.Transport = users.Transport, users.Transport
	}
	if users.Timeout != was.Timeout {
		client.Timeout, was.Timeout = users.Timeout, users.Timeout
	}
	if !same(users.Jar, was.Jar) {
		client.Jar, was.Jar = users.Jar, users.Jar
	}
	if !sameFunc(users.CheckRedirect, was.CheckRedirect) {
		client.CheckRedirect, was.CheckRedirect = users.CheckRedirect, users.CheckRedirect
	}
	if client.Jar != nil { // SetStorage and SetCookieJar set another jar
		if own, ok := client.Jar.(*jar); !ok || own.hub != h {
			client.Jar = &jar{client.Jar, h}
		}
	}
	if client.Transport != h.guard {
		h.take(client.Transport)
		client.Transport = h.guard
	}
	if client.Timeout != 0 { // this timeout would include the waits
		h.timeout, client.Timeout = client.Timeout, 0
	}
	return h.refused
}

// take makes the hub send its requests through t, unless admit refuses t.
func (h *hub) take(t http.RoundTripper) {
	if h.opts.sharing != nil {
		h.opts.sharing.left.Store(true)
	}
	if own := h.withProxyOf(t); own != nil {
		h.base, h.refused = own, nil
		return
	}
	base, err := admit(t, h.opts.limiter, h.opts.refuse)
	h.refused = err
	switch {
	case err != nil:
		h.warn(err.Error())
		return
	case h.opts.named:
		h.warn(fmt.Sprintf("collyrobots: a transport that was set after Attach (a %T) carries the requests from now on, "+
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

// now returns the transport that sends at present, and how long an attempt may
// take.
func (h *hub) now() (base http.RoundTripper, timeout time.Duration, err error) {
	err = h.sync()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.base, h.timeout, err
}

// ruleFor returns the LimitRule for a domain, or nil. It reports whether there
// is any rule.
func (h *hub) ruleFor(domain string) (rule *colly.LimitRule, any bool) {
	h.backend.lock.RLock()
	defer h.backend.lock.RUnlock()
	rules := (*h.backend.rules)[1:] // the first is the gate's
	return matching(rules, domain), len(rules) > 0
}

// pass is called for each request before colly takes the client. It reports
// whether one of the rules applies to the domain.
func (h *hub) pass(g *gate, domain string, rules []*colly.LimitRule) bool {
	h.sync()
	if len(rules) == 0 {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.widened {
		g.widen()
		h.widened = true
	}
	return matching(rules, domain) != nil
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

// The function "same" reports whether two transports or jars are the same.
// Values of some types cannot be compared: two values of one such type count as
// the same.
func same(a, b any) bool {
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
