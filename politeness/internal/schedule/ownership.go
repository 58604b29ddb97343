package schedule

import "time"

const (
	ownerTurn = 2 * time.Second       // how long an owner keeps a host while others wait
	idleGrace = 50 * time.Millisecond // how long an owner waits for another request after its last one
	maxKept   = 30 * time.Second      // an idle host is kept if it is due again within this time
)

// RequestOwnership gives h an Ownership that is not owned yet.
func (h *Host) RequestOwnership(now Time, o *Ownership) {
	o.Requested = now
	o.IdleSince = Never
	o.RetryBy = Never
	o.Earliest = Never
	o.Stored = new(Host).Lasting()
	h.Ownership = o
}

// IsTurnOver reports whether other members wait for h, which is owned, and this
// member has had it for a turn.
func (h *Host) IsTurnOver(now Time) bool {
	o := h.Ownership
	return o.OthersWait && o.HasStarted && now >= o.OwnedSince.Add(ownerTurn)
}

// ExpectRetry notes that a request to h was refused, which may be retried at
// the time retry. If that time is near, this member keeps h for the request,
// until one turn after the time. An Ownership that is not owned lasts for a
// moment longer in any case, so that the caller can read from it why the
// request was refused.
func (h *Host) ExpectRetry(now, retry Time) {
	o := h.Ownership
	switch {
	case o == nil:
	case retry <= now.Add(maxKept):
		o.RetryBy = max(o.RetryBy, retry.Add(ownerTurn))
	case !o.Owned:
		o.RetryBy = max(o.RetryBy, now.Add(idleGrace))
	}
}

// UntilGiven returns how long it is until h, which has an Ownership, may be
// given away. It returns Unlimited if a request has to start or end first, or
// if h is idle and is kept because it is due again soon.
func (h *Host) UntilGiven(now Time) time.Duration {
	o := h.Ownership
	turnEnd := o.OwnedSince.Add(ownerTurn)
	switch {
	case !o.Owned && h.Waiting() > 0:
		return Unlimited
	case !o.Owned:
		return o.RetryBy.Sub(now)
	case h.mustEndFirst(), h.IsBusy() && !o.OthersWait:
		return Unlimited
	case h.IsBusy() && o.HasStarted:
		return turnEnd.Sub(now)
	case h.Waiting() > 0:
		// The owner may keep the host until one request has started. But if the
		// request is due and does not start soon, it is blocked by something
		// else, and other members get the host.
		return max(turnEnd, h.Due(h.FirstWaiting()).Add(idleGrace)).Sub(now)
	case o.OthersWait:
		return max(o.IdleSince.Add(idleGrace), min(o.RetryBy, turnEnd)).Sub(now)
	}
	untilDue := h.DueForAny().Sub(now)
	isDueSoon := untilDue > 0 && untilDue <= maxKept
	if o.RetryBy > now || isDueSoon {
		return Unlimited // the fleet looks again now and then
	}
	return 0
}

// mustEndFirst reports whether a request in flight must end before another
// member can own h.
func (h *Host) mustEndFirst() bool {
	oneAtATime := h.Settings.Concurrency == 1 || h.Settings.EndToStart
	return h.OnItsWay > 0 || h.InFlight > 0 && oneAtATime
}
