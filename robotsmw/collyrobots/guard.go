package collyrobots

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/goodbots/courtesy/internal/httputil"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/address"
)

// maxAttempt is how long an attempt may take at most.
const maxAttempt = 24 * time.Hour

// A guard handles the requests of a collector and of all its clones, which
// share one of colly's backends. It is the transport of the client in that
// backend. If another transport is set on any of the collectors later, the
// guard sends its requests through that transport, unless resolveTransport
// refuses it.
type guard struct {
	x       *Extension
	backend backend // whose LimitRules and client the guard has taken over

	// The loops of a collector and its clones. Other collectors may request the
	// same URLs, and that is no loop.
	refusalLoops refusalLoops

	mu             sync.Mutex
	client         *http.Client                               // the guard's own client, which colly uses
	programsClient *http.Client                               // the program's client, of which the guard's own is a copy
	lastSeen       http.Client                                // an earlier copy of *programsClient, to notice changes
	redirect       func(*http.Request, []*http.Request) error // what checkRedirect calls
	checkRedirect  func(*http.Request, []*http.Request) error // that of the guard's own client, from unsealRedirect
	base           http.RoundTripper                          // the transport that sends
	timeout        time.Duration                              // how long an attempt may take; negative means no limit
	refused        error                                      // why the transport that was set last cannot be used; nil if it can
	warned         sync.Once
}

// setTransport makes the guard send its requests through t, unless
// resolveTransport refuses t.
func (g *guard) setTransport(t http.RoundTripper) {
	if g.x.failed != nil { // no request is sent; release gives the transport back
		g.base = t
		return
	}
	if own := g.withProxy(t); own != nil {
		g.base = own
		g.refused = nil
		return
	}
	base, err := g.x.resolveTransport(t)
	g.refused = err
	warn := func(message string) { g.warned.Do(func() { g.x.opts.Logger.Warn(message) }) }
	if err != nil {
		warn(err.Error())
		return
	}
	if g.x.hasOwnTransport() {
		warn(fmt.Sprintf("collyrobots: a transport that was set after Attach (a %T) carries the requests from now on, "+
			"instead of the one that Options named", t))
	}
	g.base = base
}

// withProxy returns a copy of the guard's transport with the proxy of t, if t
// is what colly's SetProxy or SetProxyFunc has just made. In plain colly, these
// methods change the transport at hand. They cannot see the guard's, so they
// make a transport that has nothing but the proxy.
func (g *guard) withProxy(t http.RoundTripper) http.RoundTripper {
	own, ok := g.base.(*http.Transport)
	if !ok || own == http.DefaultTransport {
		return nil
	}
	made, ok := t.(*http.Transport)
	if !ok || !isFromSetProxy(made) {
		return nil // the program has made it
	}
	own = own.Clone() // requests that are under way use it
	own.Proxy = made.Proxy
	own.DisableKeepAlives = true
	return own
}

// resolveTransport returns the transport that a guard uses for t: t itself, or
// another one instead. It returns ErrBypassed if t would hide addresses from
// Options.RefuseAddress. If t has a method Validate() error that returns an
// error, resolveTransport returns that error: otherwise robots.txt could not be
// fetched through t, and would count as unreachable.
func (x *Extension) resolveTransport(t http.RoundTripper) (http.RoundTripper, error) {
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
	if !ok {
		return nil, errHidden
	}
	if t != http.DefaultTransport && hasDialer(own) { // the dial function of the default one is Go's
		return nil, errHidden
	}
	own = own.Clone()
	own.DialContext = address.Dialer(x.opts.RefuseAddress).DialContext
	return own, nil
}

// isFromSetProxy reports whether t has only the settings of a transport that
// colly's SetProxyFunc makes.
func isFromSetProxy(t *http.Transport) bool {
	hasTimeouts := t.TLSHandshakeTimeout != 0 || t.ResponseHeaderTimeout != 0 || t.ExpectContinueTimeout != 0
	hasLimits := t.MaxConnsPerHost != 0 || t.MaxResponseHeaderBytes != 0
	hasProtocols := t.TLSClientConfig != nil || t.ForceAttemptHTTP2
	hasHeaders := t.DisableCompression || t.ProxyConnectHeader != nil
	isConfigured := hasDialer(t) || hasTimeouts || hasLimits || hasProtocols || hasHeaders
	return t.Proxy != nil && t.DisableKeepAlives && !isConfigured
}

// hasDialer reports whether t has a dial function of its own.
func hasDialer(t *http.Transport) bool {
	//lint:ignore SA1019 a transport that still uses these must be noticed
	return t.DialContext != nil || t.DialTLSContext != nil || t.Dial != nil || t.DialTLS != nil
}
