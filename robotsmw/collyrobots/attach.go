package collyrobots

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"time"
	"weak"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// Attach makes a collector obey robots.txt and nofollow, and limits its request
// rate per host. It may be called before or after the collector's callbacks,
// limits, storage and queue are set up. The collector may be synchronous or
// asynchronous. The package doc states what Attach changes.
//
// # Transport, Limiter and timeout
//
// If Options.Base and Options.Proxy are nil, requests are sent through the
// transport of the collector, with its proxies. If the collector has no
// transport, they are sent through the value that http.DefaultTransport has at
// the time of each request or, with Options.RefuseAddress, through a copy that
// Attach makes of it.
//
// Base or the transport of the collector may be a politeness.Transport. If
// Options.Limiter is nil, the Limiter and the AttemptTimeout of that
// politeness.Transport are used. Otherwise, all collectors of the process that
// have no Options.Limiter share one Limiter with default settings. In a
// testing/synctest bubble, each collector needs an Options.Limiter, because the
// shared one cannot be used in two bubbles.
//
// If AttemptTimeout is 0, in Options and in a politeness.Transport whose
// Limiter is used, each attempt is limited by the request timeout of the
// collector. That is 10 s, unless SetRequestTimeout sets another time. A
// SetRequestTimeout after Attach replaces an AttemptTimeout too. To remove the
// limit, set a negative AttemptTimeout, or call SetRequestTimeout(0) before
// Attach; with a politeness.Transport, the latter leaves its default limit of
// 30 s. After Attach, a timeout of 0 is indistinguishable from one that was not
// set.
//
// # Sharing
//
// Collectors with equal options, the same Limiter (or none) and the same
// *http.Transport (or none) share robots.txt: each file is fetched once for all
// of them. Their Logger and Observer may differ. A collector with a Store, a
// Proxy, RefuseAddress or another kind of transport shares no robots.txt.
//
// # Concurrency
//
// As in plain colly, setting a client or a transport while requests are under
// way is a data race. The package doc states what may happen to these requests.
//
// # Errors
//
// Attach returns the errors of robotsmw.NewTransport. It also returns an error
//
//   - if the transport of the collector hides addresses from
//     Options.RefuseAddress, or has a method Validate() error that returns an
//     error;
//   - if Options.Wrap returns nil;
//   - if this version of colly is not supported;
//   - if the collector is nil, was not initialized, or has an Extension. That
//     Extension continues to work.
//
// After any error except those in the last item, the collector sends no
// requests: all its requests, and those of its clones, fail with the error
// until an Attach succeeds.
func Attach(c *colly.Collector, opts robotsmw.Options) (*Extension, error) {
	x, err := newExtension(c, opts)
	if err != nil {
		if !errors.Is(err, errAttached) && !errors.Is(err, errUninitialized) {
			failClosed(c, err)
		}
		return nil, err
	}
	return x, nil
}

// What Attach sets up: newGuard (client.go) takes over colly's http.Client and
// installs the ruleHook (layout.go), and registerCallbacks (callbacks.go)
// registers the callbacks.
//
// How a request flows:
//
//  1. Collector.Visit calls the OnRequest handlers (callbacks.go). The first of
//     them, beforeRequest, seals the request (seal.go). If the request repeats
//     one that was refused, beforeRequest waits (repeatmark.go). Later,
//     onRequest aborts requests for nofollow links (nofollow.go).
//  2. Colly reads its http.Client. Before that, hooks make sure that the
//     transport of the client is the guard (client.go).
//  3. The http.Client calls guard.RoundTrip (transport.go), which calls the
//     robotsmw.Transport that Attach has made. The robotsmw.Transport checks
//     robots.txt, and the politeness.Transport in it waits for the host.
//  4. networkTransport.RoundTrip (networktransport.go) waits for the LimitRule
//     (limits.go) and sends the request through the base of the guard
//     (guard.go), which is the transport of the program.
//  5. Colly calls onResponseHeaders and, when it has read the body,
//     beforeResponseHandlers and onResponse. If there is no complete response,
//     or its status is 203 or above and ParseHTTPErrorResponse is false, colly
//     calls afterFailure and onError instead of the last two. All of these
//     except onError refuse the links of nofollow pages. onResponse and onError
//     may repeat the request (repeat.go).

var errAttached = errors.New("collyrobots: the collector already has an Extension: use that one, or a new collector")

func newExtension(c *colly.Collector, opts robotsmw.Options) (*Extension, error) {
	b, err := findBackend(c)
	if err != nil {
		return nil, err
	}
	if isAttached(c) {
		return nil, errAttached
	}
	// A guard is also the matcher of the first LimitRule (see installHook). If
	// c is a clone of an attached collector, it has its backend, but no
	// callbacks.
	if g, ok := b.firstMatcher().(*guard); ok {
		if g.x.failed == nil {
			return nil, errAttached
		}
		g.release() // undoes an Attach that failed
	}
	wrap := opts.Wrap
	opts.Wrap = nil // NewTransport would return an error
	// This checks the options as the program gave them. The transport that is
	// used is made below, from robotsOptions.
	if _, err := robotsmw.NewTransport(opts); err != nil {
		return nil, err
	}
	x := &Extension{first: c, firstBackend: backendPointer(c), opts: opts, paused: make(map[string]time.Time)}
	x.opts.Logger = cmp.Or(opts.Logger, slog.Default())
	x.putBackQueue.hosts = make(map[string][]*putBackRequest)
	base, timeout, err := x.chooseTransport(*b.client)
	if err != nil {
		return nil, err
	}
	robots, err := robotsmw.NewTransport(x.robotsOptions())
	if err != nil {
		return nil, err
	}
	x.checker = robots.Checker()
	x.tokens = x.checker.Tokens()
	x.inner = robots
	if wrap != nil {
		x.inner = wrap(robots)
	}
	if x.inner == nil {
		return nil, errors.New("collyrobots: Options.Wrap returned nil: " +
			"it must return its argument, or a transport around it")
	}
	logLosses(x.opts.Logger)
	x.newGuard(b, base, nil, timeout)
	x.attachTo(c)
	return x, nil
}

// chooseTransport returns the transport that the guard sends requests through,
// and how long an attempt may take; negative means no limit. It sets
// x.opts.Limiter if Options have none, and x.opts.AttemptTimeout if a
// politeness.Transport has one. The client is the collector's.
func (x *Extension) chooseTransport(client *http.Client) (base http.RoundTripper, timeout time.Duration, err error) {
	base = x.opts.Base
	if !x.hasOwnTransport() {
		base = client.Transport
	}
	timeout = x.attemptTimeout(client, base)
	if paced, ok := base.(*politeness.Transport); ok && x.opts.Limiter == nil {
		if err := paced.Validate(); err != nil {
			return nil, 0, fmt.Errorf("collyrobots: the collector's transport: %w", err)
		}
		x.opts.Limiter = cmp.Or(paced.Limiter, new(politeness.Limiter))
		x.opts.AttemptTimeout = cmp.Or(paced.AttemptTimeout, x.opts.AttemptTimeout)
		timeout = cmp.Or(x.opts.AttemptTimeout, client.Timeout, politeness.DefaultAttemptTimeout)
		base = paced.Base
	}
	x.opts.Limiter = cmp.Or(x.opts.Limiter, &processLimiter)
	base, err = x.resolveTransport(base)
	if errors.Is(err, ErrBypassed) {
		return nil, 0, fmt.Errorf("collyrobots: the collector has a transport of its own (a %T) that dials by itself, "+
			"so Options.RefuseAddress cannot check addresses: "+
			"give it a net.Dialer{Control: robotsmw.DialControl(f)} instead", client.Transport)
	}
	if err != nil {
		return nil, 0, err
	}
	if x.opts.Proxy != nil {
		// Base is nil if Proxy is set, so base is http.DefaultTransport, or a
		// copy that refuses addresses. newExtension has already called
		// NewTransport, which checks its type.
		own := base.(*http.Transport).Clone()
		own.Proxy = x.opts.Proxy
		base = own
	}
	return base, timeout, nil
}

// robotsOptions returns the options of the robotsmw.Transport below the guard.
// That transport sends its requests through the networkTransport, which limits
// attempts and uses a transport that applies Proxy and RefuseAddress.
func (x *Extension) robotsOptions() robotsmw.Options {
	opts := x.opts
	if opts.Store == nil && opts.RefuseAddress == nil && opts.Proxy == nil {
		opts.Store = sharedStore{x}
	}
	opts.Base = networkTransport{x}
	opts.AttemptTimeout = maxAttemptTime
	opts.Proxy = nil
	opts.RefuseAddress = nil
	return opts
}

// Add attaches the extension to another collector. The collector then shares
// the extension's robots.txt files, request rate and counts.
//
// A clone of an attached collector obeys robots.txt and the request rate
// without Add, because clones share their client. However, clones do not share
// callbacks, so a clone needs Add for the features that depend on callbacks,
// such as nofollow, OnBlocked, PutBack and the check of cached pages.
//
// An added collector that is not a clone sends requests through its own
// transport if the program has set one, before or after Add, with
// WithTransport, SetProxy, SetProxyFunc or SetClient. Until then, each request
// is sent through the transport that the first collector has at that time, so
// that a SetProxy of the first collector applies to the added one too. (In
// plain colly, only clones share a transport.) Requests for robots.txt are
// always sent through the transport of the first collector. Therefore, setting
// a transport on the first collector, or calling its Init, while requests of
// the added one are under way is a data race.
//
// If AttemptTimeout is 0, as described at Attach, the attempts of such a
// collector are limited by its own request timeout, which is 10 s unless
// SetRequestTimeout sets another time, before or after Add. The request timeout
// of the first collector does not apply to it, because colly gives each
// collector that is not a clone a timeout of its own.
//
// The extension does not prevent the collector from being garbage collected.
//
// Add returns an error if the collector is nil or was not initialized, or if an
// extension is attached to it already.
func (x *Extension) Add(c *colly.Collector) error {
	if _, ok := x.collectors.Load(weak.Make(c)); ok {
		return errors.New("collyrobots: the extension is already attached to this collector")
	}
	if isAttached(c) {
		return errAttached
	}
	if _, err := x.guardFor(c); err != nil {
		return err
	}
	x.attachTo(c)
	return nil
}

// attachTo registers the callbacks of the extension on c.
func (x *Extension) attachTo(c *colly.Collector) {
	c.IgnoreRobotsTxt = true
	if c.UserAgent == collyAgent() {
		c.UserAgent = x.opts.UserAgent
	}
	a := &attachedCollector{
		Extension:      x,
		collector:      c,
		backendField:   backendPointer(c),
		headerHandlers: requestHeadersHandlers(c),
	}
	a.registerCallbacks()
	key := weak.Make(c)
	x.collectors.Store(key, x.attached.Add(1))
	if c != x.first { // the first collector lives as long as the extension
		runtime.AddCleanup(c, x.collectors.Delete, any(key))
	}
}

// Checker returns the Checker that the extension uses. A crawler may use it to
// check URLs before it visits them. It fetches robots.txt through the transport
// that the first collector had when a request was last sent or Checker was last
// called.
func (x *Extension) Checker() *robotsmw.Checker {
	x.syncMainGuard()
	return x.checker
}

// Active reports whether the extension can send requests of all its collectors.
// It returns false if a collector has been given a transport that the extension
// cannot use. Requests of that collector then fail with ErrBypassed or, if the
// transport has a method Validate() error that returns an error, with that
// error.
func (x *Extension) Active() bool {
	for _, c := range x.liveCollectors() {
		g, err := x.guardFor(c)
		if err != nil {
			return false
		}
		if _, _, err := g.current(); err != nil {
			return false
		}
	}
	return true
}
