package politeness

import (
	"math/rand/v2"
	"time"
)

// later returns t + d, or the constant forever if this sum overflows. It can
// overflow, because a Crawl-delay may have any length. If t is the constant
// never, so is the result.
func later(t, d time.Duration) time.Duration {
	switch {
	case t == never:
		return never
	case d > 0 && t > forever-d:
		return forever
	}
	return t + d
}

// lengthen returns the interval with h's present jitter added.
func (h *host) lengthen(interval time.Duration) time.Duration {
	if h.jitter == 0 {
		return interval
	}
	more := float64(interval) * float64(h.jitter)
	if more >= float64(forever) {
		return forever
	}
	return later(interval, time.Duration(more))
}

// pace returns the interval that every request to h keeps: the delay or the
// adaptive delay, whichever is longer.
func (l *Limiter) pace(h *host) time.Duration {
	if h.learnt == nil {
		return l.set.delay
	}
	return max(l.set.delay, h.learnt.adaptive)
}

// crawlDelay returns the Crawl-delay in force for g. This is the one that g's
// context gave, or the latest one known for h, whichever is longer. So a
// request that queued before robots.txt was read also keeps the host's
// Crawl-delay. For an Exempt request, the Crawl-delay in force is 0.
func (l *Limiter) crawlDelay(h *host, g *Grant) time.Duration {
	if g.exempt {
		return 0
	}
	if h.learnt == nil {
		return g.crawl
	}
	return max(g.crawl, h.learnt.crawl)
}

// due returns the time at which pace, Crawl-delay, back-off and quota all allow
// g to start.
func (l *Limiter) due(h *host, g *Grant) time.Duration {
	t := later(h.last, h.lengthen(l.pace(h)))
	t = max(t, l.crawlDue(h, g))
	if h.learnt != nil {
		t = max(t, h.learnt.until, h.quotaDue())
	}
	return t
}

// crawlDue returns the time at which the Crawl-delay allows g to start.
func (l *Limiter) crawlDue(h *host, g *Grant) time.Duration {
	if crawl := l.crawlDelay(h, g); crawl > 0 {
		return later(h.counted, h.lengthen(crawl))
	}
	return never
}

// quotaDue returns the time at which h's quota lets the next request start. The
// quota is spread over the time until it is renewed. If h has no quota to
// spread, the result is the constant never.
func (h *host) quotaDue() time.Duration {
	if h.learnt == nil || h.learnt.spread == 0 {
		return never
	}
	return min(later(h.last, h.learnt.spread), h.learnt.spreadUntil)
}

// whyDue returns the reason why g may not start before l.due(h, g).
func (l *Limiter) whyDue(h *host, g *Grant) why {
	due := l.due(h, g)
	switch {
	case h.unownedUntil() > due:
		return whyFleet
	case h.learnt != nil && h.learnt.until == due && h.learnt.limited != due:
		return whyBackOff
	case h.learnt != nil && (h.learnt.limited == due || h.quotaDue() == due):
		return whyRateLimit
	case l.crawlDue(h, g) == due:
		return whyCrawlDelay
	case l.pace(h) > l.set.delay:
		return whyAdaptive
	}
	return whyDelay
}

// slots returns how many requests to h may be in flight. It returns 0 while a
// request is granted but not sent yet, because no other may start before that
// one is sent.
func (l *Limiter) slots(h *host, g *Grant) int32 {
	if h.leaving > 0 {
		return 0
	}
	n := l.set.concurrency
	if g.crawl > 0 || h.learnt != nil && h.learnt.crawl > 0 {
		n = 1
	}
	if h.hold != nil {
		n -= h.hold.flying
	}
	return n
}

// stamp notes that a request to h started (or, with EndToStart, ended) now.
func (h *host) stamp(now time.Duration, exempt bool) {
	h.last = max(h.last, now)
	if !exempt {
		h.counted = max(h.counted, now)
	}
}

// drawJitter draws the jitter of the interval after the latest start.
func (l *Limiter) drawJitter(h *host) {
	if l.Jitter > 0 {
		h.jitter = float32(l.Jitter * rand.Float64())
	}
}

// tell stores the Crawl-delay that g was told. When ClampCrawlDelay cuts a
// Crawl-delay of this host for the first time, tell returns a notice.
func (l *Limiter) tell(h *host, g *Grant, now time.Duration) (cut *notice) {
	if !g.told || g.exempt {
		return nil
	}
	if h.hold != nil && !h.hold.owned {
		h.hold.told = true // so that Limiter.inherit does not set the last owner's Crawl-delay
	}
	if g.crawl > l.set.maxCrawl && l.ClampCrawlDelay {
		if !h.learn().clamped {
			h.learnt.clamped = true
			cut = &notice{cut: g.crawl}
		}
		g.crawl = l.set.maxCrawl
	}
	if h.learnt == nil && g.crawl == 0 || h.learnt != nil && h.learnt.crawl == g.crawl {
		return cut
	}
	h.learn().crawl = g.crawl
	l.retimeLine(h, &h.queue, now)
	h.pokeHeads() // an Exempt request may now overtake the pages that wait for the Crawl-delay
	return cut
}

// estimate returns when g can start if nothing changes. The last two arguments
// are the time at which the first request of g's queue can start, and the
// number of requests before g. The true time is never earlier, but may be
// later: the estimate leaves out how long the requests ahead take.
func (l *Limiter) estimate(h *host, g *Grant, first time.Duration, ahead int) time.Duration {
	interval := max(l.pace(h), l.crawlDelay(h, g))
	return max(later(first, times(interval, ahead)), l.due(h, g))
}

func times(d time.Duration, n int) time.Duration {
	if n > 0 && d > forever/time.Duration(n) {
		return forever
	}
	return d * time.Duration(n)
}

// joining returns the earliest time at which g could start if it queued for h
// now.
func (l *Limiter) joining(h *host, g *Grant, now time.Duration) time.Duration {
	head := h.line(g).first
	if head == nil {
		return max(now, l.due(h, g), h.unownedUntil())
	}
	return l.estimate(h, g, max(now, l.due(h, head), h.unownedUntil()), h.ahead(g))
}

// refuses reports whether g should be refused instead of waiting. The argument
// "est" is the earliest time at which g can start. The argument "ahead" is the
// number of requests before g.
func (l *Limiter) refuses(h *host, g *Grant, est time.Duration, ahead int, now time.Duration) bool {
	if est > now && est >= g.limit {
		return true
	}
	return l.crawlDelay(h, g) > l.set.maxCrawl && (ahead > 0 || l.crawlDue(h, g) > now)
}

// retime tells the requests that wait for h that h's times have changed.
// Requests that can no longer start in time are refused. The first request of
// each queue gets its new estimate, and so does each request with a Trace.
func (l *Limiter) retime(h *host, now time.Duration) {
	l.retimeLine(h, &h.queue, now)
	l.retimeLine(h, &h.robots, now)
}

func (l *Limiter) retimeLine(h *host, line *grantRing, now time.Duration) {
	// Usually only the first request needs a new estimate. There are three
	// cases in which the loop visits the others too: the queue is that of the
	// Exempt requests, some request needs its estimate (see Grant.heeds), or
	// the Crawl-delay is so long that requests are refused.
	all := line == &h.robots || h.heeding > 0 || h.learnt != nil && h.learnt.crawl > l.set.maxCrawl
	g := line.first
	if g == nil {
		return
	}
	first := max(now, l.due(h, g), h.unownedUntil())
	ahead := 0
	for last := g.prev; ; {
		this, next := g, g.next
		est := l.estimate(h, this, first, ahead)
		switch {
		case l.refuses(h, this, est, ahead, now):
			l.dequeue(this)
			h.sentAway(est, now)
			this.state, this.until = refused, est
			this.poke()
		case ahead == 0 || this.trace != nil && this.until != est:
			this.until = est
			this.poke()
			fallthrough
		default:
			ahead++
		}
		if this == last || !all {
			return
		}
		g = next
	}
}
