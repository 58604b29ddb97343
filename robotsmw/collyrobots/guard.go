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
// guard sends its requests through that transport, unless admit refuses it.
type guard struct {
	x       *Extension
	backend backend

	mu            sync.Mutex
	client        *http.Client                               // the guard's own client, which colly uses
	users         *http.Client                               // the user's client, of which the guard's own is a copy
	was           http.Client                                // an earlier copy of *users, to notice changes
	redirect      func(*http.Request, []*http.Request) error // what checkRedirect calls
	checkRedirect func(*http.Request, []*http.Request) error // that of the guard's own client, from unsealRedirect
	base          http.RoundTripper                          // the transport that sends
	timeout       time.Duration                              // how long an attempt may take; negative means no limit
	refused       error                                      // why the transport that was set last cannot be used; nil if it can
	warned        sync.Once
}

// take makes the guard send its requests through t, unless admit refuses t.
func (g *guard) take(t http.RoundTripper) {
	if g.x.failed != nil {
		g.base = t
		return
	}
	if own := g.withProxy(t); own != nil {
		g.base, g.refused = own, nil
		return
	}
	base, err := g.x.admit(t)
	g.refused = err
	warn := func(message string) { g.warned.Do(func() { g.x.opts.Logger.Warn(message) }) }
	if err != nil {
		warn(err.Error())
		return
	}
	if g.x.named() {
		warn(fmt.Sprintf("collyrobots: a transport that was set after Attach (a %T) carries the requests from now on, "+
			"in place of what Options said", t))
	}
	g.base = base
}

// withProxy returns a copy of the guard's transport with the proxy of t, if t
// is what colly's SetProxy or SetProxyFunc has just made. In plain colly, these
// methods change the transport at hand. They cannot see the guard's, so they
// make a transport that has nothing but the proxy.
func (g *guard) withProxy(t http.RoundTripper) http.RoundTripper {
	own, ok := g.base.(*http.Transport)
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

// admit returns the transport that a guard uses for t: t itself, or another one
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
