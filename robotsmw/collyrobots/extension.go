package collyrobots

import (
	"context"
	"net/url"
	"sync"
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
	// was answered 429 or 503. Each repeat waits until the Retry-After is over,
	// or for the Limiter's back-off if the answer has no Retry-After. OnError
	// is called each time. 0 or negative means never.
	RetryThrottled int

	// PutBack makes the extension repeat a request that the Limiter refused
	// with a *politeness.DelayError. It repeats the request at the time that
	// the error names. Until then, the thread of a synchronous collector does
	// other work. Together with Limiter.MaxWait, PutBack prevents a slow host
	// from holding all threads of a colly/queue: see the package doc. False
	// means that the error goes to OnError and the URL is not fetched.
	PutBack bool

	*sender
	first   *colly.Collector // the collector that Attach was given
	checker *robotsmw.Checker
	tokens  []string

	mu        sync.RWMutex
	members   map[weak.Pointer[colly.Collector]]struct{}
	onBlocked []func(*colly.Request, robotsmw.Decision)

	marks  marks
	parked parkedRequests
	lines  sync.Map // host → chan struct{}: see awaitTurn
}

func (x *Extension) has(c *colly.Collector) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, ok := x.members[weak.Make(c)]
	return ok
}

func (x *Extension) collectors() (list []*colly.Collector) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for p := range x.members {
		if c := p.Value(); c != nil {
			list = append(list, c)
		}
	}
	return list
}

func (x *Extension) drop(key weak.Pointer[colly.Collector]) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.members, key)
}

// Active reports whether the requests of all collectors can be sent. If a
// collector gets a transport that the extension cannot use, Active returns
// false, and requests of that collector fail with ErrBypassed.
func (x *Extension) Active() bool {
	for _, c := range x.collectors() {
		b, err := backendOf(c)
		if err != nil {
			return false
		}
		if h, ok := keeperOf(b).(*hub); !ok || h.sync() != nil {
			return false
		}
	}
	return true
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

func (x *Extension) blockedHandlers() []func(*colly.Request, robotsmw.Decision) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.onBlocked
}

// Counts returns the counts so far.
func (x *Extension) Counts() Counts {
	c := &x.count
	return Counts{
		Fetched:      c.fetched.Load(),
		Disallowed:   c.disallowed.Load(),
		Unreachable:  c.unreachable.Load(),
		NoIndex:      c.noIndex.Load(),
		NoFollow:     c.noFollow.Load(),
		LinksRefused: c.linksRefused.Load(),
		RelNoFollow:  c.relNoFollow.Load(),
		PutBack:      c.putBack.Load(),
		Retried:      c.retried.Load(),
		GivenUp:      c.givenUp.Load(),
		Pages:        c.pages.Load(),
		Lost:         c.lost.Load(),
		Waited:       time.Duration(c.waited.Load()),
		LongestWait:  time.Duration(c.longest.Load()),
	}
}

// Wait waits for the requests that were put back and, like Collector.Wait, for
// those under way. With PutBack on a synchronous collector, call Wait after
// Queue.Run or the last Visit: it makes the requests that are still put back.
// On an asynchronous collector, Wait does the same as Collector.Wait.
func (x *Extension) Wait() {
	x.parked.finish()
	for _, c := range x.collectors() {
		c.Wait()
	}
}

// decide returns the error with which robots.txt would refuse a request of c
// for u, or the error that prevented the check. It returns nil if u is allowed.
func (x *Extension) decide(c *colly.Collector, u *url.URL) error {
	d, err := x.checker.Check(contextOf(c), u)
	if err == nil && !d.Allowed {
		err = &blockedError{&robotsmw.DisallowedError{Decision: d}}
	}
	return err
}

func contextOf(c *colly.Collector) context.Context {
	if c.Context == nil {
		return context.Background()
	}
	return c.Context
}
