package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// signal wakes g, so that it checks again whether it may start.
func (g *Grant) signal() {
	if g.wake == nil {
		return // g is being tried now, or has not had to wait
	}
	select {
	case g.wake <- struct{}{}:
	default: // it is woken already
	}
}

func (h *host) signalFirst() {
	for r := range h.Heads {
		owner(r).signal()
	}
}

// dequeue removes g from its host's queue. The requests behind it move up, and
// a new first one is woken.
func (l *Limiter) dequeue(g *Grant) {
	h := g.host
	wasFirst := h.Dequeue(&g.request, &l.spare)
	l.stats.Waiting--
	g.state = unqueued
	if l.token != nil && l.token.holder == &g.request {
		// Once the token is valid, CancelAt of the present gives nothing back.
		l.token.CancelAt(l.time(min(l.now(), l.token.valid)))
		l.token = nil
	}
	if wasFirst {
		h.signalFirst()
	}
}

// retime updates the requests that wait for h after h's times have changed.
// Requests that can no longer start in time are refused. The first request of
// each line gets its new estimate, and so does each request with a Trace. If
// many requests wait, retime examines only a few of them. The first request of
// each line examines the others: see continueRetiming.
func (l *Limiter) retime(h *host, now schedule.Time) {
	h.Retime(now, h.unownedUntil(), func(r *schedule.Request, v schedule.Verdict) { l.apply(r, v, now) })
	h.signalFirst()
}

// continueRetiming does what is left of retime in the line of g, the first in
// it. The result is how long g may wait before it calls continueRetiming again.
func (l *Limiter) continueRetiming(g *Grant, now schedule.Time) time.Duration {
	h := g.host
	return h.ContinueRetiming(now, h.unownedUntil(), &g.request, func(r *schedule.Request, v schedule.Verdict) { l.apply(r, v, now) })
}

// apply applies the verdict of a retiming to the request r.
func (l *Limiter) apply(r *schedule.Request, v schedule.Verdict, now schedule.Time) {
	if v == schedule.Unchanged {
		return
	}
	g := owner(r)
	if v == schedule.Rejected {
		l.dequeue(g)
		g.host.expectRetry(r.Estimate, now)
		g.state = refused
	}
	g.signal()
}

// learnCrawlDelay stores the Crawl-delay that g declares.
func (l *Limiter) learnCrawlDelay(h *host, g *Grant, now schedule.Time) {
	if !g.request.Declared {
		return
	}
	if h.ownership != nil && !h.ownership.owned {
		h.ownership.hasDeclared = true // so that Limiter.inherit does not set the last owner's Crawl-delay
	}
	if !h.Declare(&g.request) {
		return
	}
	l.retime(h, now)
}
