package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// start puts g into flight. g is in no queue. For the time until its header is
// sent, see setOnItsWay; for the end of its lease, see schedule.Host.Expire.
func (l *Limiter) start(g *Grant, now schedule.Time) (f inForce) {
	h := g.host
	l.starts++
	g.number = l.starts
	if l.Observer != nil {
		f = inForce{delay: h.Delay(), crawlDelay: h.CrawlDelay(&g.request), pauseEnd: schedule.Never}
		f.isAdaptive = h.Delay() > h.Settings.Delay
		f.isAgreed = h.Settings.CrawlDelay != 0 && !g.request.Exempt
		if h.Learned != nil {
			f.pauseEnd = h.Learned.PauseEnd
		}
	}
	g.request.Owner = g
	h.Start(now, &g.request, l.effective.lease)
	l.stats.InFlight++
	g.state = inFlight
	l.hosts.MarkIfUnavailable(now, h)
	if l.budgets.HasLimit() {
		l.spend(g, schedule.Amount{Requests: 1})
	}
	return f
}

// restartIntervals lets the intervals of h count from now because of r, a
// request to h: see [schedule.Host.RestartIntervals].
func (l *Limiter) restartIntervals(h *schedule.Host, r *schedule.Request, now schedule.Time) {
	h.RestartIntervals(now, r)
	l.hosts.MarkIfUnavailable(now, h)
}

// release frees the slot of g, because Done was called at the time now, and
// wakes the first request of each lane of g's host.
func (l *Limiter) release(g *Grant, now schedule.Time) {
	h := g.host
	if g.state == inFlight {
		l.stats.InFlight--
		if h.Finish(now, &g.request) {
			l.retime(h, now)
		}
	}
	g.state = done
	signalFirst(h)
	// If h was evicted, the lease of g had expired, and expireLeases has called
	// informFleet.
	if l.Fleet != nil && !h.IsEvicted() {
		l.informFleet(h)
	}
	l.checkIdle(h, now)
}

// prolong makes each lease of the chain at least d long, counted from the
// start. d is the AttemptTimeout of a Transport. For leases, see
// schedule.Host.Expire.
func (g *Grant) prolong(d time.Duration) {
	for stage := g; stage != nil; stage = stage.next {
		l := stage.limiter
		if d <= l.effective.lease {
			continue
		}
		r := &stage.request
		l.mu.Lock()
		r.LeaseEnd = max(r.LeaseEnd, r.PhaseStart.Add(d))
		l.mu.Unlock()
	}
}

// expireLeases frees the slots of h whose leases have expired. For leases, and
// for when this is called, see schedule.Host.Expire. With EndToStart, an
// interval begins at the end of a lease, so requests that wait may be rejected.
// A Done after that frees no slot, but the Limiter still learns from its
// Outcome.
func (l *Limiter) expireLeases(now schedule.Time, h *schedule.Host) {
	was := h.InFlight
	restarted := false
	h.Expire(now, func(r *schedule.Request, intervalsRestarted bool) {
		l.stats.InFlight--
		restarted = restarted || intervalsRestarted
		owner(r).state = expired
	})
	if restarted {
		l.retime(h, now)
	}
	if l.Fleet != nil && h.InFlight < was {
		l.informFleet(h)
	}
	l.checkIdle(h, now)
}
