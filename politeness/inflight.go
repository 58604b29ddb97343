package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// start puts g into flight. g is in no queue.
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
	h.Start(now, &g.request, l.set.lease)
	l.stats.InFlight++
	g.state = inFlight
	l.hosts.MarkIntervalStart(h, &g.request)
	if l.accounts.HasLimit() {
		l.spend(g, schedule.Amount{Requests: 1})
	}
	return f
}

// countStart notes that r, a request to h, started (or, with EndToStart, ended)
// now.
func (l *Limiter) countStart(h *schedule.Host, r *schedule.Request, now schedule.Time) {
	h.RestartIntervals(now, r)
	l.hosts.MarkIntervalStart(h, r)
}

// release ends g and wakes the first request of each queue of g's host.
func (l *Limiter) release(g *Grant) {
	h := g.host
	if g.state == inFlight {
		end := schedule.Never
		if h.NeedsEnd(&g.request) {
			end = l.now()
		}
		l.stats.InFlight--
		if h.Finish(end, &g.request) {
			l.hosts.MarkIntervalStart(h, &g.request)
			l.retime(h, end)
		}
	}
	g.state = over
	signalFirst(h)
	if l.Fleet != nil {
		l.inform(h)
	}
	l.markIdle(h)
}

// prolong makes each lease of the chain at least d long. d is the request's own
// timeout.
func (g *Grant) prolong(d time.Duration) {
	for ; g != nil; g = g.next {
		if l := g.limiter; d > l.set.lease {
			l.mu.Lock()
			g.request.LeaseEnd = max(g.request.LeaseEnd, g.request.PhaseStart.Add(d))
			l.mu.Unlock()
		}
	}
}
