package politeness

import "time"

// start puts g into flight. g is in no queue.
func (l *Limiter) start(g *Grant, now time.Duration) {
	h := g.host
	h.flight.push(g)
	h.inFlight++
	l.stats.InFlight++
	g.state = flying
	g.holdUp = nil
	g.since = now
	g.until = later(now, l.set.lease)
	g.paced = l.paces(h, g)
	l.starts++
	g.number = l.starts
	if l.Observer != nil {
		g.keeps = inForce{l.pace(h), l.crawlDelay(h, g), never}
		if h.learnt != nil {
			g.keeps.paused = h.learnt.until
		}
	}
	l.stamp(h, g, now)
	l.drawJitter(h)
	if h.hold != nil {
		h.hold.served = true
	}
	if l.Budget.limits() {
		l.spend(g, amount{requests: 1})
	}
}

// stamp notes that g, a request to h, started (or, with EndToStart, ended) now.
func (l *Limiter) stamp(h *host, g *Grant, now time.Duration) {
	h.last = max(h.last, now)
	if g.exempt {
		return
	}
	h.counted = max(h.counted, now)
	if crawl := l.crawlDelay(h, g); crawl > 0 {
		h.learn().crawlEnd = max(h.learnt.crawlEnd, later(now, crawl))
		if crawl > l.longCrawl() {
			l.notePause(h)
		}
	}
}

func (g *Grant) countOnItsWay(onItsWay bool) {
	switch {
	case g.onItsWay == onItsWay:
		return
	case onItsWay:
		g.host.onItsWay++
	default:
		g.host.onItsWay--
	}
	g.onItsWay = onItsWay
}

// land takes g out of flight.
func (l *Limiter) land(g *Grant) {
	g.countOnItsWay(false)
	g.host.flight.remove(g)
	g.host.inFlight--
	l.stats.InFlight--
}

// release ends g and wakes the first request of each queue of g's host.
func (l *Limiter) release(g *Grant) {
	h := g.host
	if g.state == flying {
		l.land(g)
		// With EndToStart, the interval counts from now. An interval that was
		// not known at the start counts from now too, because the time of
		// sending was not noted.
		if l.EndToStart || !g.paced && l.paces(h, g) {
			now := l.now()
			l.stamp(h, g, now)
			l.retime(h, now)
		}
	}
	g.state = over
	h.pokeHeads()
	if l.Fleet != nil {
		l.inform(h)
	}
	l.settle(h)
}

// reap frees the slots of h whose leases are over.
func (l *Limiter) reap(h *host, now time.Duration) {
	g, was := h.flight.first, h.inFlight
	for n := was; n > 0; n-- {
		next := g.next
		if g.until <= now {
			l.land(g)
			if l.EndToStart || !g.paced && l.paces(h, g) {
				l.stamp(h, g, g.until)
			}
			g.state = expired
		}
		g = next
	}
	if l.Fleet != nil && h.inFlight < was {
		l.inform(h)
	}
	l.settle(h)
}

// prolong makes each lease of the chain at least d long. d is the request's own
// timeout.
func (g *Grant) prolong(d time.Duration) {
	for ; g != nil; g = g.then {
		if l := g.limiter; d > l.set.lease {
			l.mu.Lock()
			g.until = max(g.until, later(g.since, d))
			l.mu.Unlock()
		}
	}
}
