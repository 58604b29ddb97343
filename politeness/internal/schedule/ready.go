package schedule

// Ready returns when r has to be examined again, and what r waits for. r is the
// first request of its lane, or joins the queue while no request waits. If why
// is ReasonNone, r may start now. If at is Forever, r waits for an event and
// not for a time: another request starts or ends, or the fleet changes the
// Claim. While r waits for the fleet, at is the estimated time of such an
// event, if there is an estimate.
//
// The conditions for a start are examined in this order:
//
//  1. The fleet must not have denied the Claim.
//  2. The intervals, the pause and the quota must be over, and so must be the
//     time that pages have after a robots.txt request.
//  3. The lane of r must have the turn.
//  4. A slot must be free.
//  5. In a fleet, this member must own the host, and its term must not be over.
func (h *Host) Ready(now Time, r *Request) (at Time, why Reason) {
	if h.isDenied() {
		return h.nextOwned(now), ReasonFleet
	}
	if ready := h.ReadyAt(r); ready > now {
		return ready, h.whyReady(r, ready)
	}
	if h.Waiting() > 0 && h.Next(now) != r {
		return Forever, ReasonQueue
	}
	if !h.HasSlot(r) {
		return Forever, ReasonSlot
	}
	if c := h.Claim; c != nil {
		if !c.Owned {
			return h.nextOwned(now), ReasonFleet
		}
		if h.IsTermOver(now) {
			return Forever, ReasonFleet
		}
	}
	return now, ReasonNone
}

// whyReady returns the reason for which r may not start before the time ready,
// which is h.ReadyAt(r). The reason is another member of a fleet if it owns h
// for even longer.
func (h *Host) whyReady(r *Request, ready Time) Reason {
	if h.UnownedUntil() > ready {
		return ReasonFleet
	}
	if ready > h.Due(r) {
		return ReasonQueue
	}
	return h.WhyDue(r)
}
