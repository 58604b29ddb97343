package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// signal wakes g, so that it checks again whether it may start. When g is due,
// the timer of wait (acquire.go) wakes it.
func (g *Grant) signal() {
	if g.wake == nil {
		return // g is being tried now, or has not had to wait
	}
	select {
	case g.wake <- struct{}{}:
	default: // it is woken already
	}
}

// signalFirst wakes the first request of each lane of h. It must be called when
// anything but the time may let one of them start: the first request of a lane
// has left, a slot is free, a header was sent, or an interval, a pause or the
// owner has changed. For a known time, the request has a timer: see wait.
func signalFirst(h *schedule.Host) {
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
	if l.isGlobalStage() {
		l.tokens.giveBack(&g.request)
	}
	if wasFirst {
		signalFirst(h)
	}
}

// retime is called when the interval, pause, quota, owner or settings of h have
// changed, and when a robots.txt request has joined its queue. If h has become
// unavailable, it can be evicted early: see schedule.Table. Waiting requests
// that can no longer start in time are rejected. The first request of each lane
// gets its new estimate, and so does each request with a Trace. If many
// requests wait, retime examines only a few of them. The first request of each
// lane examines the others: see continueRetiming.
func (l *Limiter) retime(h *schedule.Host, now schedule.Time) {
	l.hosts.MarkIfUnavailable(now, h)
	h.Retime(now, l.visit(now))
	signalFirst(h)
}

// continueRetiming does what is left of retime in the lane of g, the first in
// it. The result is how long g may wait before it calls continueRetiming again.
func (l *Limiter) continueRetiming(g *Grant, now schedule.Time) time.Duration {
	h := g.host
	return h.ContinueRetiming(now, &g.request, l.visit(now))
}

// visit returns the function that applies what a retiming has found. A rejected
// request is woken, and its goroutine calls try.
func (l *Limiter) visit(now schedule.Time) schedule.Visit {
	return func(r *schedule.Request, v schedule.Verdict, why schedule.Reason) {
		if v == schedule.Unchanged {
			return
		}
		g := owner(r)
		if v == schedule.Rejected {
			l.dequeue(g)
			g.host.ExpectRetry(now, r.Estimate)
			g.state = rejectedInQueue // instead of unqueued, which dequeue has set
			g.rejectedFor = why
		}
		g.signal()
	}
}

// learnCrawlDelay stores the Crawl-delay that g declares. It applies to the
// requests that already wait too.
func (l *Limiter) learnCrawlDelay(h *schedule.Host, g *Grant, now schedule.Time) {
	if h.Declare(&g.request) {
		l.retime(h, now)
	}
}
