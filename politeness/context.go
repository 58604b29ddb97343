package politeness

import (
	"context"
	"time"
)

// Exempt, passed to [WithCrawlDelay], marks the fetch of robots.txt itself. The
// fetch waits for Delay, but not for a Crawl-delay, and the Crawl-delay of
// later requests does not count from it: after the fetch, the first page of a
// host waits for Delay alone. The fetch holds its slot until its body is
// closed, so the caller should close the body when the rules are in force.
//
// An Exempt request has a queue of its own. If another request to its host is
// due too, they take turns: at most every second request that starts is Exempt.
// If other requests wait after an Exempt request, due or not, the next Exempt
// one does not start for as much time as that one took, rounded down to whole
// Delays. Otherwise links to many ports of a host, each of which has a
// robots.txt, would stop the crawl of the host. An Exempt request starts first
// if its URL has the scheme and host of the other request that is due, because
// that request may need the file to start. If the check of a request fails (see
// [WithCheck]) and other requests wait, the next Exempt request for its scheme
// and host usually starts before all other Exempt ones.
//
// ExemptInTurn is like Exempt, for a robots.txt to which another host
// redirects. It always waits its turn, so that redirects cannot delay the pages
// of another host.
const (
	Exempt       time.Duration = -1
	ExemptInTurn time.Duration = -2
)

// CrawlDelayKey is the context key of the value that [WithCrawlDelay] sets, a
// *time.Duration. The duration must not change. A nil pointer is the same as no
// value. If a middleware has a context type of its own, the type's method Value
// can return this value. Package robotsmw does so.
type CrawlDelayKey struct{}

// WithCrawlDelay returns a context for the requests to an origin. The origin's
// Crawl-delay is d: a positive duration, 0 if robots.txt has none, [Exempt] or
// [ExemptInTurn]. If the context of a request has no Crawl-delay, the latest
// one of another request to the host applies.
//
// An http.Client uses the context of a request for its redirects too. If a
// redirect leads to another origin, a RoundTripper should replace the value,
// because it would apply to the other host. That of package robotsmw does so.
func WithCrawlDelay(ctx context.Context, d time.Duration) context.Context {
	return &crawlDelayContext{ctx, d}
}

// crawlDelayContext is like context.WithValue, but costs only one allocation.
type crawlDelayContext struct {
	context.Context
	crawlDelay time.Duration
}

func (c *crawlDelayContext) Value(key any) any {
	if key == (CrawlDelayKey{}) {
		return &c.crawlDelay
	}
	return c.Context.Value(key)
}

func declaredCrawlDelay(ctx context.Context) *time.Duration {
	d, _ := ctx.Value(CrawlDelayKey{}).(*time.Duration)
	return d
}

// A Trace is a set of functions that the Limiter calls during a request. It is
// like an httptrace.ClientTrace, whose functions concern the connection. The
// goroutine that makes the request calls the functions, with no lock held. Nil
// functions are skipped.
type Trace struct {
	// Queued is called if the request has to wait. Its arguments are the
	// earliest time at which the request can start, and what it waits for now.
	// Queued is called again when one of them changes. If the end of the wait
	// is unknown, as with a wait for a slot, the time may be in the past.
	Queued func(until time.Time, why Reason)

	// Granted is called when the request may start.
	Granted func(at time.Time)
}

type traceKey struct{}

// WithTrace returns a context whose requests report to t.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

func contextTrace(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

type checkKey struct{}

// WithCheck returns a context for requests that may become unwanted while they
// wait. The Limiter calls check with the request's context each time the
// request may start. If check returns an error, [Limiter.Acquire] returns it,
// wrapped. The request has then used up no slot, interval, token or budget, and
// the next request of its host may start immediately.
//
// If ctx has a check already, the earlier one is called first. check is called
// with no lock held. It must not block, because the requests behind it wait
// too. A nil check does nothing.
func WithCheck(ctx context.Context, check func(context.Context) error) context.Context {
	if check == nil {
		return ctx
	}
	if earlier := contextCheck(ctx); earlier != nil {
		later := check
		check = func(ctx context.Context) error {
			if err := earlier(ctx); err != nil {
				return err
			}
			return later(ctx)
		}
	}
	return context.WithValue(ctx, checkKey{}, check)
}

func contextCheck(ctx context.Context) func(context.Context) error {
	check, _ := ctx.Value(checkKey{}).(func(context.Context) error)
	return check
}
