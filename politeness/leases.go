package politeness

import "github.com/goodbots/courtesy/politeness/internal/schedule"

// expireLeasesFor frees the slots of h whose leases have expired, if g finds
// no free slot.
func (l *Limiter) expireLeasesFor(g *Grant, h *schedule.Host, now schedule.Time) {
	if !h.HasSlot(&g.request) {
		l.expireLeases(now, h)
	}
}

// expireLeases frees the slots of h whose leases have expired. With EndToStart,
// an interval begins at the end of a lease, so requests that wait may be
// rejected.
func (l *Limiter) expireLeases(now schedule.Time, h *schedule.Host) {
	was := h.InFlight
	restarted := false
	h.Expire(now, func(r *schedule.Request, intervalsRestarted bool) {
		l.stats.InFlight--
		if intervalsRestarted {
			l.hosts.MarkIntervalStart(h, r)
			restarted = true
		}
		owner(r).state = expired
	})
	if restarted {
		l.retime(h, now)
	}
	if l.Fleet != nil && h.InFlight < was {
		l.inform(h)
	}
	l.markIdle(h)
}
