package collyrobots

import (
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
)

// An Extension is what Attach adds to a collector. Its fields are options: set
// them before the first request. All methods are safe for concurrent use.
type Extension struct {
	// ObeyRelNoFollow makes the extension count links with rel="nofollow"
	// instead of following them. A link is followed after all if the page also
	// links to the same URL without rel="nofollow". If Request.Visit makes a
	// request for a link that must not be followed, the extension aborts the
	// request in OnRequest. By then colly counts the URL as visited, so another
	// page's link to the URL is not followed either. For such a link,
	// Extension.Follow makes no request and leaves the URL unvisited. If
	// ObeyRelNoFollow is false, links with rel="nofollow" are followed like any
	// other. Google reads rel="nofollow" as a hint, not as a rule.
	ObeyRelNoFollow bool

	// RetryThrottled is how many times the extension repeats a GET or HEAD that
	// was answered 429, 430, 503 or 529. Each repeat waits until the
	// Retry-After is over, or for the Limiter's back-off if the answer has no
	// Retry-After. OnError is called each time, but as long as the extension
	// repeats the request, a Retry of it sends nothing and returns the error.
	// As with Retry, a redirect of the repeat may lead to a page that was
	// visited, which is then fetched again. 0 or negative means never.
	RetryThrottled int

	// PutBack makes the extension repeat a request that the Limiter refused
	// with a *politeness.DelayError. It repeats the request at the time that
	// the error names. Until then, the thread of a synchronous collector does
	// other work. Then the first goroutine that visits with a collector of this
	// Extension, or calls Wait, makes the repeat and calls its callbacks.
	// OnError gets the error each time, but need not do anything: a Retry of
	// the request sends nothing and returns the error. On an asynchronous
	// collector, handlers that were registered after Attach get the error when
	// the time has come. Together with Limiter.MaxWait, PutBack prevents a slow
	// host from holding all threads of a colly/queue: see the package doc. What
	// is put back is in the memory of this process, so it is lost if the
	// process dies, and no other process that shares a queue can take it. A
	// request that the Limiter refuses after a redirect for the fifth time is
	// given up: a host that redirects to itself may have a Crawl-delay that no
	// request waits for. Each try counts for colly's MaxRequests, although a
	// request that is refused is not sent: so with a negative Limiter.MaxWait,
	// allow several for each page. False means that the URL is not fetched,
	// unless an OnError handler calls Retry.
	PutBack bool

	opts      robotsmw.Options  // what Attach was given, with a Limiter and a Logger
	first     *colly.Collector  // the collector that Attach was given
	mainGuard sender            // its guard, which also fetches robots.txt
	inner     http.RoundTripper // the robots transport, or Options.Wrap around it
	failed    error             // of Attach, so that nothing may be sent; otherwise nil
	released  atomic.Bool       // failed, and a later Attach has taken over
	checker   *robotsmw.Checker
	tokens    []string // the checker's

	collectors   sync.Map // weak.Pointer[colly.Collector] → struct{}
	pageMarks    pageMarks
	refusalLoops refusalLoops
	putBackQueue putBackQueue // of synchronous collectors
	hostQueues   sync.Map     // host → chan struct{}, of asynchronous collectors: see awaitHost

	newGuardMu sync.Mutex // held while a backend gets a guard

	mu        sync.Mutex // guards what follows
	counts    Counts
	paused    map[string]time.Time // the ends of the pauses that were logged, by host
	onBlocked []func(*colly.Request, robotsmw.Decision)
}

// A sender is a guard. Requests for robots.txt are sent through it.
type sender interface {
	// current returns the transport that was set last, and how long an attempt
	// may take. The error is the reason why no request can be sent.
	current() (base http.RoundTripper, timeout time.Duration, err error)

	// lastBase returns the transport by which requests were sent last. Unlike
	// current, it does not look at colly's client, so it may be called while
	// the program sets another one.
	lastBase() http.RoundTripper
}

// liveCollectors returns the collectors that are still in use.
func (x *Extension) liveCollectors() (list []*colly.Collector) {
	for p := range x.collectors.Range {
		if c := p.(weak.Pointer[colly.Collector]).Value(); c != nil {
			list = append(list, c)
		}
	}
	return list
}

// Checker returns the Checker that decides for the extension. A crawler that
// plans ahead may ask it.
func (x *Extension) Checker() *robotsmw.Checker { return x.checker }

// OnBlocked registers a function for requests that are refused because of
// robots.txt, also after a redirect. After a redirect, Request.URL is where the
// redirects began, and Decision.URL is what was refused. OnError handlers are
// called too.
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

// waited adds the wait of a request to the counts.
func (x *Extension) countWait(d time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.counts.Waited += d
	x.counts.LongestWait = max(x.counts.LongestWait, d)
}

// Wait waits for the requests that were put back and, like Collector.Wait, for
// those under way. With PutBack on a synchronous collector, call Wait after
// Queue.Run or the last Visit: it makes the requests that are still put back.
// On an asynchronous collector, Wait does the same as Collector.Wait.
func (x *Extension) Wait() {
	for again := true; again; {
		again = x.putBackQueue.finish()
		for _, c := range x.liveCollectors() {
			c.Wait()
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

// named reports whether the options name a transport or a proxy.
func (x *Extension) hasOwnTransport() bool { return x.opts.Base != nil || x.opts.Proxy != nil }
