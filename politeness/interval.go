package politeness

import "github.com/goodbots/courtesy/politeness/internal/schedule"

// why returns the reason for which g may not start yet: another member of the
// fleet owns h for longer than g's schedule requires, or the schedule itself.
func (h *host) why(g *Grant) schedule.Reason {
	if h.unownedUntil() > h.ReadyAt(&g.request) {
		return schedule.ReasonFleet
	}
	return h.WhyReady(&g.request)
}

// slots returns how many requests to h may be in flight. It returns 0 while a
// request is on its way, because no other may start before that one is sent.
func (l *Limiter) slots(h *host, r *schedule.Request) int32 {
	if h.OnItsWay > 0 {
		return 0
	}
	n := h.Slots(r)
	if h.ownership != nil {
		n -= h.ownership.inFlightElsewhere
	}
	return n
}
