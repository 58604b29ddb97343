package politeness

import (
	"math/rand/v2"
	"time"
)

// later is the time that is d after t. It does not wrap around, for a
// Crawl-delay may be as long as it likes, and what never was is over at once.
func later(t, d time.Duration) time.Duration {
	switch {
	case t == never:
		return never
	case d > 0 && t > forever-d:
		return forever
	}
	return t + d
}

// lengthen adds the jitter to an interval.
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

// pace is the interval that every request to h keeps.
func (l *Limiter) pace(h *host) time.Duration {
	if h.learnt == nil {
		return l.set.delay
	}
	return max(l.set.delay, h.learnt.adaptive)
}

// crawlDelay is the Crawl-delay in force for g: its own, or one that was told
// since and is longer. The one told last also holds for requests that were told
// none, such as those that queued before robots.txt was read.
func (l *Limiter) crawlDelay(h *host, g *Grant) time.Duration {
	if g.exempt {
		return 0
	}
	if h.learnt == nil {
		return g.crawl
	}
	return max(g.crawl, h.learnt.crawl)
}

// due is when g may start, as far as pace, Crawl-delay, back-off and quota go.
func (l *Limiter) due(h *host, g *Grant) time.Duration {
	t := later(h.last, h.lengthen(l.pace(h)))
	t = max(t, l.crawlDue(h, g))
	if h.learnt != nil {
		t = max(t, h.learnt.until, h.quotaDue())
	}
	return t
}

// crawlDue is when g may start as far as Crawl-delay goes.
func (l *Limiter) crawlDue(h *host, g *Grant) time.Duration {
	if crawl := l.crawlDelay(h, g); crawl > 0 {
		return later(h.counted, h.lengthen(crawl))
	}
	return never
}

// quotaDue is when the next request may start, so that h's quota lasts until it
// is renewed.
func (h *host) quotaDue() time.Duration {
	if h.learnt == nil || h.learnt.spread == 0 {
		return never
	}
	return min(later(h.last, h.learnt.spread), h.learnt.spreadUntil)
}

// whyDue returns what due rests on.
func (l *Limiter) whyDue(h *host, g *Grant) why {
	due := l.due(h, g)
	switch {
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

// slots is how many requests may be in flight to h. While one is still on its
// way, no other may set out.
func (l *Limiter) slots(h *host, g *Grant) int32 {
	if h.leaving > 0 {
		return 0
	}
	if g.crawl > 0 || h.learnt != nil && h.learnt.crawl > 0 {
		return 1
	}
	return l.set.concurrency
}

// stamp notes that a request to h started (or, with EndToStart, ended) now.
func (h *host) stamp(now time.Duration, exempt bool) {
	h.last = max(h.last, now)
	if !exempt {
		h.counted = max(h.counted, now)
	}
}

// drawJitter decides how long the interval after the present start will be.
func (l *Limiter) drawJitter(h *host) {
	if l.Jitter > 0 {
		h.jitter = float32(l.Jitter * rand.Float64())
	}
}

// tell takes note of the Crawl-delay that g brought along. If it had to be cut,
// for the first time at this host, it returns a notice of that.
func (l *Limiter) tell(h *host, g *Grant, now time.Duration) (cut *notice) {
	if !g.told || g.exempt {
		return nil
	}
	if h.hold != nil && !h.hold.owned {
		h.hold.told = true // what the owner has been told is older
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
	h.pokeHeads() // the other line does not wait for it, but its first may have let one of this go first
	return cut
}

// estimate is when g can start if as many requests start before it, the first
// of them at first, and nothing changes. It does not count the time that they
// take, so it is not later than that.
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

// joining is when g could start if it queued for h now.
func (l *Limiter) joining(h *host, g *Grant, now time.Duration) time.Duration {
	head := h.line(g).first
	if head == nil {
		return max(now, l.due(h, g), h.unownedUntil())
	}
	return l.estimate(h, g, max(now, l.due(h, head), h.unownedUntil()), h.ahead(g))
}

// refuses reports whether a request that can start at the earliest at est, with
// ahead others before it, is better refused than kept waiting.
func (l *Limiter) refuses(h *host, g *Grant, est time.Duration, ahead int, now time.Duration) bool {
	if est > now && est >= g.limit {
		return true
	}
	return l.crawlDelay(h, g) > l.set.maxCrawl && (ahead > 0 || l.crawlDue(h, g) > now)
}

// retime tells all who wait for h that its times have changed: those who can no
// longer make it are refused, and the others learn their new estimate.
func (l *Limiter) retime(h *host, now time.Duration) {
	l.retimeLine(h, &h.queue, now)
	l.retimeLine(h, &h.robots, now)
}

func (l *Limiter) retimeLine(h *host, line *grantRing, now time.Duration) {
	// A long queue is not walked for nothing: the first alone needs to know.
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
