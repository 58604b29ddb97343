package politeness

import "github.com/goodbots/courtesy/politeness/internal/schedule"

// expireLeases frees the slots of h whose leases are over.
func (l *Limiter) expireLeases(now schedule.Time, h *schedule.Host) {
	was := h.InFlight
	h.Expire(now, func(r *schedule.Request, isCounted bool) {
		l.stats.InFlight--
		if isCounted {
			l.hosts.MarkIntervalStart(h, r)
		}
		owner(r).state = expired
	})
	if l.Fleet != nil && h.InFlight < was {
		l.inform(h)
	}
	l.markIdle(h)
}
