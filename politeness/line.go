package politeness

import "github.com/goodbots/courtesy/politeness/internal/schedule"

// line returns the queue that g waits in. The fetch of robots.txt has its own
// queue, because it overtakes all other requests.
func (h *host) line(g *Grant) *grantRing {
	if g.request.Overtakes {
		return &h.robots
	}
	return &h.queue
}

// count updates h when g joins its line (n is 1) or leaves it (n is -1).
func (h *host) count(g *Grant, n int32) {
	h.waiting += n
	switch {
	case g.request.Overtakes:
		h.overtaking += n
	case g.needsEstimate():
		h.estimates += n
	}
}

// needsEstimate reports whether g needs its estimate. If g has a trace, the
// trace is told when the estimate changes. If g has a limit, g is refused when
// the estimate is too late.
func (g *Grant) needsEstimate() bool { return g.deadline != forever || g.trace != nil }

// ahead returns how many requests would be before g if g joined its line now.
func (h *host) ahead(g *Grant) int {
	if g.request.Overtakes {
		return int(h.overtaking)
	}
	return int(h.waiting - h.overtaking)
}

// poke wakes g to look again.
func (g *Grant) poke() {
	if g.wake == nil {
		return // g is being tried now, or has not had to wait
	}
	select {
	case g.wake <- struct{}{}:
	default: // it is woken already
	}
}

func (h *host) pokeHeads() {
	if g := h.queue.first; g != nil {
		g.poke()
	}
	if g := h.robots.first; g != nil {
		g.poke()
	}
}

// dequeue removes g from its host's queue. The requests behind it move up, and
// a new first one is woken.
func (l *Limiter) dequeue(g *Grant) {
	h := g.host
	line := h.line(g)
	first := line.first == g
	line.remove(g)
	h.count(g, -1)
	l.stats.Waiting--
	g.state = asking
	if l.token != nil && l.token.holder == &g.request {
		// Once the token is valid, CancelAt of the present gives nothing back.
		l.token.CancelAt(l.time(min(l.now(), l.token.valid)))
		l.token = nil
	}
	if first {
		h.pokeHeads()
	}
}

// estimate returns when g can start if nothing changes. The first request of
// g's queue can start at the time firstStart, and ahead requests are before g.
// The true time is never earlier, but may be later: the estimate leaves out how
// long the requests ahead take.
func (h *host) estimate(g *Grant, firstStart schedule.Time, ahead int) schedule.Time {
	return max(firstStart.AddTimes(h.Interval(&g.request), ahead), h.Due(&g.request))
}

// estimateAtEnd returns the earliest time at which g could start if it joined
// the end of its line now.
func (h *host) estimateAtEnd(g *Grant, now schedule.Time) schedule.Time {
	head := h.line(g).first
	if head == nil {
		return max(now, h.Due(&g.request), h.unownedUntil())
	}
	return h.estimate(g, max(now, h.Due(&head.request), h.unownedUntil()), h.ahead(g))
}

// refuses reports whether g should be refused instead of waiting. The earliest
// time at which g can start is est, and ahead requests are before g.
func (h *host) refuses(g *Grant, est schedule.Time, ahead int, now schedule.Time) bool {
	if est > now && est >= g.deadline {
		return true
	}
	return h.CrawlDelay(&g.request) > h.Settings.MaxCrawlDelay && (ahead > 0 || h.CrawlDelayDue(&g.request) > now)
}

// retime tells the requests that wait for h that h's times have changed.
// Requests that can no longer start in time are refused. The first request of
// each queue gets its new estimate, and so does each request with a Trace.
func (l *Limiter) retime(h *host, now schedule.Time) {
	l.retimeLine(h, &h.queue, now)
	l.retimeLine(h, &h.robots, now)
}

func (l *Limiter) retimeLine(h *host, line *grantRing, now schedule.Time) {
	// Usually only the first request needs a new estimate. There are three
	// cases in which the loop visits the others too: the queue is that of the
	// Exempt requests, some request needs its estimate, or the Crawl-delay is
	// so long that requests are refused.
	all := line == &h.robots || h.estimates > 0 || h.Learned != nil && h.Learned.CrawlDelay > h.Settings.MaxCrawlDelay
	g := line.first
	if g == nil {
		return
	}
	first := max(now, h.Due(&g.request), h.unownedUntil())
	ahead := 0
	for last := g.prev; ; {
		this, next := g, g.next
		est := h.estimate(this, first, ahead)
		switch {
		case h.refuses(this, est, ahead, now):
			l.dequeue(this)
			h.sentAway(est, now)
			this.state, this.estimate = refused, est
			this.poke()
		case ahead == 0 || this.trace != nil && this.estimate != est:
			this.estimate = est
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

// learnCrawlDelay stores the Crawl-delay that g declares.
func (l *Limiter) learnCrawlDelay(h *host, g *Grant, now schedule.Time) {
	if !g.request.Declared {
		return
	}
	if h.hold != nil && !h.hold.owned {
		h.hold.told = true // so that Limiter.inherit does not set the last owner's Crawl-delay
	}
	if !h.Declare(&g.request) {
		return
	}
	l.retimeLine(h, &h.queue, now)
	h.pokeHeads() // an Exempt request may now overtake the pages that wait for the Crawl-delay
}
