package collyrobots

import (
	"cmp"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/goodbots/courtesy/internal/httputil"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/address"
)

// maxAttemptTime is the timeout of attempts whose duration the program does not
// limit. The politeness.Transport has it for all attempts, because the
// networkTransport limits them. It is not negative, because a Limiter frees the
// slot of a request without a timeout after Limiter.Lease, even if the request
// is still in flight.
const maxAttemptTime = 24 * time.Hour

// A guard handles the requests of a collector and of all its clones, which
// share one of colly's backends. It is the transport of the client in that
// backend. If another transport is set on any of the collectors later, the
// guard sends its requests through that transport, unless resolveTransport
// refuses it.
type guard struct {
	x       *Extension
	backend backend // contains the client and the LimitRules

	// refusalLoops contains the loops of the collector and its clones. A
	// request of another collector for the same URL is not part of a loop.
	refusalLoops refusalLoops

	mu             sync.Mutex
	client         *http.Client                               // the guard's own client, which colly uses
	programsClient *http.Client                               // the program's client, of which the guard's own is a copy
	lastSeen       http.Client                                // an earlier copy of *programsClient, to notice changes
	redirect       func(*http.Request, []*http.Request) error // the program's CheckRedirect, which release restores
	checkRedirect  func(*http.Request, []*http.Request) error // the CheckRedirect of the guard's own client; see unsealRedirect
	base           http.RoundTripper                          // the transport through which requests are sent
	timeout        time.Duration                              // the timeout of an attempt; negative means no limit
	refused        error                                      // why the transport that was set last cannot be used; nil if it can
	warned         sync.Once

	// followsTransport is whether base and refused are those of the main guard.
	// This is so on an added collector on which no transport has been set.
	followsTransport bool
}

// attemptTimeout returns how long an attempt of a collector with this client
// may take if it is sent through t; negative means no limit. An AttemptTimeout
// takes precedence over the request timeout of the collector.
func (x *Extension) attemptTimeout(client *http.Client, t http.RoundTripper) time.Duration {
	var ofTransport time.Duration
	if paced, ok := t.(*politeness.Transport); ok && paced.Limiter == x.opts.Limiter {
		ofTransport = paced.AttemptTimeout // resolveTransport replaces t with its Base
	}
	return cmp.Or(ofTransport, x.opts.AttemptTimeout, client.Timeout, -1)
}

// setTransport makes the guard send its requests through t, unless
// resolveTransport refuses t.
func (g *guard) setTransport(t http.RoundTripper) {
	g.followsTransport = false
	if g.x.failed != nil { // no request is sent; release sets the transport again
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
		warn(fmt.Sprintf("collyrobots: requests are now sent through a transport that was set after Attach (a %T), "+
			"instead of the one in Options", t))
	}
	g.base = base
}

// withProxy returns a copy of the guard's transport with the proxy of t, if
// colly's SetProxy or SetProxyFunc made t, and otherwise nil. In plain colly,
// these methods change the proxy of the client's transport. Because the
// client's transport is the guard, they instead make a new transport with only
// a proxy.
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

// resolveTransport returns the transport that a guard uses for t, which may be
// t itself. It returns ErrBypassed if t would hide addresses from
// Options.RefuseAddress. If t has a method Validate() error that returns an
// error, resolveTransport returns that error, because robots.txt could not be
// fetched through t and would be treated as unreachable.
func (x *Extension) resolveTransport(t http.RoundTripper) (http.RoundTripper, error) {
	if err := httputil.Validate(t); err != nil {
		return nil, fmt.Errorf("collyrobots: the collector's transport: %w", err)
	}
	if paced, ok := t.(*politeness.Transport); ok && paced.Limiter == x.opts.Limiter {
		// The request already holds a slot of its Limiter when it is sent
		// through t. A second Acquire could wait for that slot forever.
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
	if t != http.DefaultTransport && hasDialer(own) { // the default transport has a dial function of net/http
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
	//lint:ignore SA1019 a transport that still uses these must be detected
	return t.DialContext != nil || t.DialTLSContext != nil || t.Dial != nil || t.DialTLS != nil
}
