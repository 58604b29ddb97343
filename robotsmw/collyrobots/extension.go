package collyrobots

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
	"weak"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
)

// An Extension makes the collectors that it is attached to obey robots.txt and
// nofollow. Its fields are options, which must be set before the first request.
// All methods are safe for concurrent use, but see Wait for a restriction on
// asynchronous collectors.
type Extension struct {
	// ObeyRelNoFollow makes the extension refuse links with rel="nofollow" and
	// count them in Counts.LinksRefused. A link is followed nevertheless if the
	// page also links to the same URL without rel="nofollow".
	//
	// A request that Request.Visit makes for such a link is aborted in
	// OnRequest. Like any request that is aborted there, it is not sent,
	// Request.Visit returns nil, and neither OnResponse nor OnError is called.
	// By then, colly has counted the URL as visited, so a link to the URL on
	// another page is not followed either. Extension.Follow returns ErrNoFollow
	// for such a link, makes no request, and leaves the URL unvisited. Use it
	// in a program that reports what became of each URL.
	//
	// If ObeyRelNoFollow is false, links with rel="nofollow" are followed like
	// any other. Google treats rel="nofollow" as a hint and not as a rule.
	ObeyRelNoFollow bool

	// RetryThrottled is the maximum number of times that the extension repeats
	// a GET or HEAD whose response has the status 429, 430, 503 or 529. Each
	// repeat waits until the time in Retry-After has passed or, if the response
	// has no Retry-After, for the back-off of the Limiter. OnError is called
	// each time. As long as the extension repeats the request, a Retry in
	// OnError sends no request and returns the error.
	//
	// On a synchronous collector without PutBack, the repeat is made before an
	// OnError handler that was registered after Attach receives the 429. Such a
	// handler should ignore an error for which WillRepeat returns true.
	//
	// As with Retry, after a redirect the repeat requests the target of the
	// redirect and not the URL that was visited, and a redirect of the repeat
	// may lead to a page that was visited, which is then fetched again.
	//
	// Colly stores a 429 in CacheDir, and would return it for each repeat.
	// Therefore the extension removes it, so that the page is requested and
	// stored. After a redirect, it cannot remove the 429, so the response to
	// the repeat is not stored.
	//
	// If RetryThrottled is zero or negative, no request is repeated.
	RetryThrottled int

	// PutBack makes the extension repeat a request that the Limiter refused
	// with a *politeness.DelayError, at the time in that error.
	//
	// Until then, a synchronous collector continues with other requests. The
	// repeat is made, with its callbacks, by the first goroutine that visits a
	// page with a collector of this Extension, or that calls Wait, after that
	// time. On an asynchronous collector, the repeat has a goroutine of its
	// own, like a Retry, and waits there. If the collector's Context ends
	// before that time, the repeat fails immediately.
	//
	// OnError receives the error each time, but need not do anything: a Retry
	// of the request sends no request and returns the error. When the Limiter
	// has refused a request after a redirect for the fifth time, the request is
	// not repeated again: each repeat begins with the redirect, and if a host
	// with a long Crawl-delay redirects to itself, the redirect is the reason
	// for the refusal.
	//
	// With Limiter.MaxWait, PutBack prevents a slow host from occupying all
	// threads of a colly queue: see the package doc. Each attempt counts toward
	// colly's MaxRequests, although a request that is refused is not sent. On
	// an asynchronous collector, a repeat counts when the request is put back.
	// With a MaxWait that is shorter than the delay of a host, MaxRequests
	// should allow several attempts for each page. A page that it ends is
	// counted in Counts.GivenUp, and OnError is not called for it again.
	//
	// Requests that are put back are stored in the memory of this process. They
	// are lost if the process ends, and cannot be made by other processes that
	// share a queue.
	//
	// If PutBack is false, such a URL is not fetched unless an OnError handler
	// calls Retry.
	PutBack bool

	opts     robotsmw.Options  // of Attach, changed by chooseTransport and with a Logger
	first    *colly.Collector  // the collector that was passed to Attach
	inner    http.RoundTripper // the robots transport, or Options.Wrap around it
	failed   error             // the error of Attach, with which all requests fail; otherwise nil
	released atomic.Bool       // whether a later Attach has replaced this failed one
	checker  *robotsmw.Checker
	tokens   []string // the product tokens of checker

	collectors   sync.Map     // weak.Pointer[colly.Collector] → int64, numbered in the order of attachment
	attached     atomic.Int64 // the number of the collector that was attached last
	pageMarks    pageMarks
	putBackQueue putBackQueue // of synchronous collectors
	hostQueues   sync.Map     // host → chan struct{}, of asynchronous collectors: see awaitHost

	firstBackend *unsafe.Pointer // points to first.backend, which Collector.Init replaces
	newGuardMu   sync.Mutex      // held while a backend gets a guard

	mu        sync.Mutex // guards the fields below
	counts    Counts
	paused    map[string]time.Time // the ends of the pauses that were logged, by host
	onBlocked []func(*colly.Request, robotsmw.Decision)
	main      sender // what mainGuard returns
}

// A sender is the part of a guard that an Extension uses.
type sender interface {
	// latest returns the transport that was set last, and the timeout of an
	// attempt. It returns an error if no request can be sent. It may be called
	// while newGuardMu or the lock of another guard is held.
	latest() (base http.RoundTripper, timeout time.Duration, err error)

	// last returns what latest returned last. It does not read colly's client,
	// so it may be called while the program sets another client.
	last() (base http.RoundTripper, err error)

	// isStale reports whether the first collector has another backend than the
	// guard.
	isStale() bool
}

// mainGuard returns the guard of the first collector, whose transport is also
// used for robots.txt. It returns nil only while the first guard is made. After
// Collector.Init, call syncMainGuard first.
func (x *Extension) mainGuard() sender {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.main
}

func (x *Extension) setMainGuard(g sender) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.main = g
}

// liveCollectors returns the collectors that are still in use, in the order in
// which the extension was attached to them.
func (x *Extension) liveCollectors() []*colly.Collector {
	byNumber := make(map[int64]*colly.Collector)
	for p, number := range x.collectors.Range {
		if c := p.(weak.Pointer[colly.Collector]).Value(); c != nil {
			byNumber[number.(int64)] = c
		}
	}
	var list []*colly.Collector
	for _, number := range slices.Sorted(maps.Keys(byNumber)) {
		list = append(list, byNumber[number])
	}
	return list
}

// OnBlocked registers a function that is called for each request that is
// refused because of robots.txt, including redirects. After a redirect,
// Request.URL is the URL of the first request, and Decision.URL is the one that
// was refused. OnError handlers are called too.
func (x *Extension) OnBlocked(f func(*colly.Request, robotsmw.Decision)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.onBlocked = append(x.onBlocked, f)
}

// Counts returns the counts so far.
func (x *Extension) Counts() Counts {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.counts
}

// tally adds n to one of the counts.
func (x *Extension) tally(count *int64, n int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	*count += n
}

// countResponse counts a response in Fetched and, unless it is a redirect, in
// Pages.
func (x *Extension) countResponse(isRedirect bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.counts.Fetched++
	if !isRedirect {
		x.counts.Pages++
	}
}

// isRedirect reports whether a response has a 3xx status and a Location.
func isRedirect(resp *http.Response) bool {
	return resp.StatusCode >= 300 && resp.StatusCode <= 399 && resp.Header.Get("Location") != ""
}

// countWait adds the wait of a request to the counts.
func (x *Extension) countWait(d time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.counts.Waited += d
	x.counts.LongestWait = max(x.counts.LongestWait, d)
}

// Wait waits until the requests of all collectors of the Extension are done,
// including those that were put back and those that callbacks make.
//
//   - On synchronous collectors with PutBack, call Wait after Queue.Run or the
//     last Visit. Wait makes the requests that are still put back, and waits
//     for those that other goroutines make. It does not wait for a Visit that
//     another goroutine has called, and which returns when its page is done.
//   - On asynchronous collectors, Wait calls Collector.Wait, which waits for
//     requests that were put back too. Wait waits for the collector that was
//     passed to Attach, and then for the others in the order of Add. Therefore,
//     add a collector before those with which its callbacks visit pages.
//
// Several goroutines may call Wait at the same time. As with Collector.Wait,
// while Wait waits, only callbacks may make requests with an asynchronous
// collector.
//
// To wait for the pages of one collector only, make that collector asynchronous
// and call its Collector.Wait: see "A collector per job" in the package doc.
func (x *Extension) Wait() {
	for again := true; again; again = x.putBackQueue.isBusy() {
		x.putBackQueue.finish()
		for _, c := range x.liveCollectors() {
			if c.Async { // other goroutines may be using the WaitGroup of a synchronous one
				c.Wait()
			}
		}
	}
}

// decide returns nil if u is allowed. If robots.txt disallows u, it returns the
// error that OnError would receive for a request of c. If u could not be
// checked, it returns the error of the check.
func (x *Extension) decide(c *colly.Collector, u *url.URL) error {
	d, err := x.checker.Check(c.Context, u)
	if err == nil && !d.Allowed {
		// OnError receives errors that an http.Client has wrapped like this.
		err = &url.Error{Op: "Get", URL: u.Redacted(), Err: &blockedError{&robotsmw.DisallowedError{Decision: d}}}
	}
	return err
}

// hasOwnTransport reports whether the options contain a transport or a proxy.
func (x *Extension) hasOwnTransport() bool { return x.opts.Base != nil || x.opts.Proxy != nil }
