package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// start puts g into flight. g is in no queue.
func (l *Limiter) start(g *Grant, now schedule.Time) {
	h := g.host
	h.flight.push(g)
	h.InFlight++
	l.stats.InFlight++
	g.state = flying
	g.request.Since = now
	g.leaseEnd = now.Add(l.set.lease)
	g.request.IntervalFollows = h.HasInterval(&g.request)
	l.starts++
	g.number = l.starts
	if l.Observer != nil {
		g.inForce = inForce{h.Delay(), h.CrawlDelay(&g.request), never}
		g.isAdaptive = h.Delay() > h.Settings.Delay
		g.isAgreed = h.Settings.CrawlDelay != 0 && !g.request.Exempt
		if h.Learned != nil {
			g.inForce.pauseEnd = h.Learned.PauseEnd
		}
	}
	l.stamp(h, &g.request, now)
	h.DrawJitter()
	if h.hold != nil {
		h.hold.served = true
	}
	if l.Budget.limits() {
		l.spend(g, amount{requests: 1})
	}
}

// stamp notes that r, a request to h, started (or, with EndToStart, ended) now.
func (l *Limiter) stamp(h *host, r *schedule.Request, now schedule.Time) {
	h.Count(now, r)
	if h.CrawlDelay(r) > h.longCrawl() {
		l.notePause(h)
	}
}

func (g *Grant) countOnItsWay(onItsWay bool) {
	switch {
	case g.request.OnItsWay == onItsWay:
		return
	case onItsWay:
		g.host.onItsWay++
	default:
		g.host.onItsWay--
	}
	g.request.OnItsWay = onItsWay
}

// land takes g out of flight.
func (l *Limiter) land(g *Grant) {
	g.countOnItsWay(false)
	g.host.flight.remove(g)
	g.host.InFlight--
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
		if l.EndToStart || !g.request.IntervalFollows && h.HasInterval(&g.request) {
			now := l.now()
			l.stamp(h, &g.request, now)
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
func (l *Limiter) reap(h *host, now schedule.Time) {
	g, was := h.flight.first, h.InFlight
	for n := was; n > 0; n-- {
		next := g.next
		if g.leaseEnd <= now {
			l.land(g)
			if l.EndToStart || !g.request.IntervalFollows && h.HasInterval(&g.request) {
				l.stamp(h, &g.request, g.leaseEnd)
			}
			g.state = expired
		}
		g = next
	}
	if l.Fleet != nil && h.InFlight < was {
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
			g.leaseEnd = max(g.leaseEnd, g.request.Since.Add(d))
			l.mu.Unlock()
		}
	}
}
