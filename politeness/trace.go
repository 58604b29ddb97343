package politeness

import (
	"context"
	"time"
)

// Exempt, given to [WithCrawlDelay], marks the fetch of robots.txt itself. It
// pays Delay, but neither waits for a Crawl-delay nor counts as a start for
// one: the first page after it waits for Delay alone.
const Exempt time.Duration = -1

// CrawlDelayKey is the key of what [WithCrawlDelay] puts into a context, as a
// *time.Duration that does not change: nil, or no value, tells nothing. A
// middleware that has a context type of its own can have the value there
// instead, as robotsmw does.
type CrawlDelayKey struct{}

// WithCrawlDelay tells whatever Limiter the request meets the Crawl-delay of
// its origin: a positive duration, 0 if robots.txt has none, or [Exempt]. A
// request that is told nothing keeps the Crawl-delay that its host was last
// told.
func WithCrawlDelay(ctx context.Context, d time.Duration) context.Context {
	return &toldContext{ctx, d}
}

// toldContext is a context.WithValue that costs one allocation.
type toldContext struct {
	context.Context
	crawlDelay time.Duration
}

func (t *toldContext) Value(key any) any {
	if key == (CrawlDelayKey{}) {
		return &t.crawlDelay
	}
	return t.Context.Value(key)
}

func crawlDelayOf(ctx context.Context) (told, exempt bool, d time.Duration) {
	p, _ := ctx.Value(CrawlDelayKey{}).(*time.Duration)
	if p == nil {
		return false, false, 0
	}
	return true, *p == Exempt, max(*p, 0)
}

// A Trace is told how a request fares at the Limiter, as an
// httptrace.ClientTrace is about the connection. The functions are called by
// the goroutine that waits, with no lock held; nil ones are skipped.
type Trace struct {
	// Queued is called if the request has to wait, with the time at which it
	// can start at the earliest and what it waits for now, and again when one
	// of them has changed. The end of a wait for a "slot" is not known: until
	// is then a time that has come already.
	Queued func(until time.Time, why Reason)

	// Granted is called when the request may start.
	Granted func(at time.Time)
}

type traceKey struct{}

// WithTrace returns a context whose requests are traced.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

func traceOf(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}
