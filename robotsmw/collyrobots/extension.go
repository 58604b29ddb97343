package collyrobots

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
)

// An Extension is what Attach adds to a collector. Its fields are options: set
// them before the first request. All methods are safe for concurrent use. Wait
// states what else may run at the same time.
type Extension struct {
	// ObeyRelNoFollow makes the extension refuse links with rel="nofollow" and
	// count them in Counts.LinksRefused. A link is followed nevertheless if the
	// page also links to the same URL without rel="nofollow".
	//
	// A request that Request.Visit makes for such a link is aborted in
	// OnRequest. By then, colly has counted the URL as visited, so a link of
	// another page to the URL is not followed either. Extension.Follow makes no
	// request for such a link, and leaves the URL unvisited.
	//
	// False means that links with rel="nofollow" are followed like any other.
	// Google treats rel="nofollow" as a hint and not as a rule.
	ObeyRelNoFollow bool

	// RetryThrottled is how many times the extension repeats a GET or HEAD that
	// was answered with 429, 430, 503 or 529. Each repeat waits until the
	// Retry-After is over or, if the response has none, for the back-off of the
	// Limiter. OnError is called each time. As long as the extension repeats
	// the request, a Retry in OnError sends no request and returns the error.
	//
	// As with Retry, a redirect of the repeat may lead to a page that was
	// visited, which is then fetched again.
	//
	// Colly keeps a 429 in CacheDir, and would use it instead of each repeat.
	// The extension removes it, so that the page is requested, and kept. A
	// repeat after a redirect is not kept.
	//
	// 0 or negative means never.
	RetryThrottled int

	// PutBack makes the extension repeat a request that the Limiter refused
	// with a *politeness.DelayError, at the time in that error.
	//
	// Until then, a synchronous collector continues with other requests. The
	// repeat is made, with its callbacks, by the first goroutine that visits a
	// page with a collector of this Extension, or that calls Wait, when the
	// time has come. On an asynchronous collector, the repeat is made by the
	// goroutine of the request, so that OnError handlers that were registered
	// after Attach receive the error only when the time has come. If the
	// collector's Context ends before, the repeat fails at once.
	//
	// OnError receives the error each time, but need not do anything: a Retry
	// of the request sends no request and returns the error. A request that the
	// Limiter refuses after a redirect for the fifth time is not repeated any
	// more, because a host that redirects to itself may have a Crawl-delay that
	// no request waits for.
	//
	// With Limiter.MaxWait, PutBack prevents a slow host from occupying all
	// threads of a colly queue: see the package doc. Each try counts for
	// colly's MaxRequests, although a request that is refused is not sent. With
	// a negative MaxWait, allow several tries for each page.
	//
	// Requests that are put back are kept in the memory of this process. They
	// are lost if the process ends, and other processes that share a queue
	// cannot make them.
	//
	// False means that the URL is not fetched, unless an OnError handler calls
	// Retry.
	PutBack bool

	opts      robotsmw.Options  // what Attach was given, with a Limiter and a Logger
	first     *colly.Collector  // the collector that Attach was given
	mainGuard sender            // its guard, which also fetches robots.txt
	inner     http.RoundTripper // the robots transport, or Options.Wrap around it
	failed    error             // of Attach, so that nothing may be sent; otherwise nil
	released  atomic.Bool       // failed, and a later Attach has taken over
	checker   *robotsmw.Checker
	tokens    []string // the checker's

	collectors   sync.Map     // weak.Pointer[colly.Collector] → int64, its number
	attached     atomic.Int64 // the number of the last one
	pageMarks    pageMarks
	putBackQueue putBackQueue // of synchronous collectors
	hostQueues   sync.Map     // host → chan struct{}, of asynchronous collectors: see awaitHost

	newGuardMu sync.Mutex // held while a backend gets a guard

	mu        sync.Mutex // guards what follows
	counts    Counts
	paused    map[string]time.Time // the ends of the pauses that were logged, by host
	onBlocked []func(*colly.Request, robotsmw.Decision)
}

// A sender is a guard, as far as an Extension needs to know it.
type sender interface {
	// current returns the transport that was set last, and how long an attempt
	// may take. The error is the reason why no request can be sent.
	current() (base http.RoundTripper, timeout time.Duration, err error)

	// lastBase returns the transport by which requests were sent last. Unlike
	// current, it does not look at colly's client, so it may be called while
	// the program sets another one.
	lastBase() http.RoundTripper
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

// Checker returns the Checker that decides for the extension. A crawler may use
// it to check URLs before it visits them.
func (x *Extension) Checker() *robotsmw.Checker { return x.checker }

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

// countResponse counts a response.
func (x *Extension) countResponse(isRedirect bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.counts.Fetched++
	if !isRedirect {
		x.counts.Pages++
	}
}

// isRedirect reports whether a response leads to another URL.
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
//     requests that were put back too. Wait waits for the collector that Attach
//     was given first, and for the others in the order of Add. Therefore, add a
//     collector before those with which its callbacks visit pages.
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

// decide returns the error with which robots.txt would refuse a request of c
// for u, or the error that prevented the check. It returns nil if u is allowed.
func (x *Extension) decide(c *colly.Collector, u *url.URL) error {
	d, err := x.checker.Check(c.Context, u)
	if err == nil && !d.Allowed {
		// An http.Client wraps it like this for OnError.
		err = &url.Error{Op: "Get", URL: u.Redacted(), Err: &blockedError{&robotsmw.DisallowedError{Decision: d}}}
	}
	return err
}

// hasOwnTransport reports whether the options name a transport or a proxy.
func (x *Extension) hasOwnTransport() bool { return x.opts.Base != nil || x.opts.Proxy != nil }
