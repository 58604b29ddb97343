package schedule

import "time"

const (
	ownerTerm = 2 * time.Second       // how long an owner keeps a host while others wait
	idleGrace = 50 * time.Millisecond // how long an owner waits for another request after its last one
	maxKept   = 30 * time.Second      // an idle host is kept if it is due again within this time
)

// BeginClaim gives h the Claim c, which is not owned yet.
func (h *Host) BeginClaim(now Time, c *Claim) {
	c.Requested = now
	c.IdleSince = Never
	c.RetryBy = Never
	c.Earliest = Never
	c.LastStored = new(Host).Durable()
	h.Claim = c
}

// IsTermOver reports whether other members wait for h, which is owned, and this
// member has owned it for a term.
func (h *Host) IsTermOver(now Time) bool {
	c := h.Claim
	return c.OthersWait && c.HasStarted && now >= c.OwnedSince.Add(ownerTerm)
}

// ExpectRetry notes that a request to h was refused, which may be retried at
// the time retry. If that time is near, this member keeps h for the request,
// until one term after the time. A Claim that is not owned lasts for a
// moment longer in any case, so that the caller can read from it why the
// request was refused.
func (h *Host) ExpectRetry(now, retry Time) {
	c := h.Claim
	switch {
	case c == nil:
	case retry <= now.Add(maxKept):
		c.RetryBy = max(c.RetryBy, retry.Add(ownerTerm))
	case !c.Owned:
		c.RetryBy = max(c.RetryBy, now.Add(idleGrace))
	}
}

// UntilGiven returns how long it is until h, which has a Claim, may be
// given away. It returns Unlimited if a request has to start or end first, or
// if h is idle and is kept because it is due again soon.
func (h *Host) UntilGiven(now Time) time.Duration {
	c := h.Claim
	termEnd := c.OwnedSince.Add(ownerTerm)
	switch {
	case !c.Owned && h.Waiting() > 0:
		return Unlimited
	case !c.Owned:
		return c.RetryBy.Sub(now)
	case h.mustEndFirst(), h.IsBusy() && !c.OthersWait:
		return Unlimited
	case h.IsBusy() && c.HasStarted:
		return termEnd.Sub(now)
	case h.Waiting() > 0:
		// The owner may keep the host until one request has started. But if the
		// request is due and does not start soon, it is blocked by something
		// else, and other members get the host.
		return max(termEnd, h.Due(h.FirstWaiting()).Add(idleGrace)).Sub(now)
	case c.OthersWait:
		return max(c.IdleSince.Add(idleGrace), min(c.RetryBy, termEnd)).Sub(now)
	}
	untilDue := h.DueForAny().Sub(now)
	isDueSoon := untilDue > 0 && untilDue <= maxKept
	if c.RetryBy > now || isDueSoon {
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
