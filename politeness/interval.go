package politeness

import (
	"math/rand/v2"
	"time"
)

// anyone stands for a request that was told no Crawl-delay.
var anyone = new(Grant)

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
// request is on its way, because no other may start before that one is sent.
func (l *Limiter) slots(h *host, g *Grant) int32 {
	if h.onItsWay > 0 {
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

// paces reports whether, as far as is known now, the next request has to keep
// an interval after g.
func (l *Limiter) paces(h *host, g *Grant) bool {
	return l.pace(h) > 0 || l.crawlDelay(h, g) > 0 || l.Adaptive > 0 || h.learnt != nil && h.learnt.spread > 0
}

// drawJitter draws the jitter of the interval after the latest start.
func (l *Limiter) drawJitter(h *host) {
	if l.Jitter > 0 {
		h.jitter = float32(l.Jitter * rand.Float64())
	}
}
