package schedule

import "time"

const (
	// ownerTerm is how long a member keeps a host that others wait for, counted
	// from the time when it became the owner.
	ownerTerm = 2 * time.Second

	// idleGrace is how long an owner waits for another request after its last.
	idleGrace = 50 * time.Millisecond

	// An idle host is kept if it becomes due, or a retry is expected, within
	// maxKept.
	maxKept = 30 * time.Second
)

// A member of a fleet has a Claim to each host that it needs, and sends
// requests once it owns the host. The owner starts no further request when
// IsTermOver reports true, and gives the host away when untilGiven is over.

// BeginClaim gives h the Claim c, which is not owned yet.
func (h *Host) BeginClaim(now Time, c *Claim) {
	c.Requested = now
	c.IdleSince = Never
	c.RetryBy = Never
	c.Earliest = Anytime
	c.LastStored = new(Host).Durable()
	h.Claim = c
}

// IsTermOver reports whether h, which is owned, must be given away: other
// members wait, a request of this member has started, and the term is over.
// Until a request has started, the owner may keep h: see untilGiven.
func (h *Host) IsTermOver(now Time) bool {
	c := h.Claim
	return c.OthersWait && c.HasStarted && now >= c.OwnedSince.Add(ownerTerm)
}

// ExpectRetry notes that a request to h was rejected, which may be retried at
// the time retry. If that time is at most maxKept away, this member keeps h for
// the request, until one term after the time. If other members wait, it keeps h
// only until its own term is over: see untilIdleGiven.
//
// A Claim that is not owned lasts for a moment longer in any case, so that the
// caller can read from it why the request was rejected.
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

// IsOwned reports whether this member of a fleet owns h.
func (h *Host) IsOwned() bool { return h.Claim != nil && h.Claim.Owned }

// UnownedUntil returns the earliest time at which this member can own h. It
// returns Anytime if that time is unknown, if the member owns h already, or if
// there is no fleet.
func (h *Host) UnownedUntil() Time {
	if h.Claim == nil || h.Claim.Owned {
		return Anytime
	}
	return h.Claim.Earliest
}

// nextOwned returns the next time at which this member can own h, which it does
// not own, or Forever if that is unknown.
func (h *Host) nextOwned(now Time) Time {
	if h.Claim.Earliest > now {
		return h.Claim.Earliest
	}
	return Forever
}

// isDenied reports whether this member can never own h.
func (h *Host) isDenied() bool { return h.Claim != nil && h.Claim.Denied && !h.Claim.Owned }

// UntilClaimEnds returns how long it is until the Claim to h may end. Unlimited
// means that this is unknown: a request has to start or end first, or h is idle
// and is kept because it is needed again soon.
func (h *Host) UntilClaimEnds(now Time) time.Duration {
	if h.Claim.Owned {
		return h.untilGiven(now)
	}
	return h.untilWithdrawn(now)
}

// untilWithdrawn returns how long it is until the Claim to h, which is not
// owned, may be withdrawn.
func (h *Host) untilWithdrawn(now Time) time.Duration {
	if h.Waiting() > 0 {
		return Unlimited
	}
	return h.Claim.RetryBy.Sub(now)
}

// untilGiven returns how long it is until h, which is owned, may be given away.
func (h *Host) untilGiven(now Time) time.Duration {
	c := h.Claim
	termEnd := c.OwnedSince.Add(ownerTerm)
	switch {
	case h.mustEndFirst():
		return Unlimited
	// This member still needs h, and no other does.
	case h.IsBusy() && !c.OthersWait:
		return Unlimited
	// A request has started, so the owner keeps h only until its term is over.
	case h.IsBusy() && c.HasStarted:
		return termEnd.Sub(now)
	// The owner may keep h until one request has started. But if the request is
	// due and does not start soon, it is blocked by something else, and other
	// members get h.
	case h.Waiting() > 0:
		startBy := h.Due(h.FirstWaiting()).Add(idleGrace)
		return max(termEnd, startBy).Sub(now)
	}
	if c.OthersWait {
		return h.untilIdleGiven(now, termEnd)
	}
	untilDue := h.DueForAny().Sub(now)
	isDueSoon := untilDue > 0 && untilDue <= maxKept
	if c.RetryBy > now || isDueSoon {
		return Unlimited // the fleet calls Give again by its own timer
	}
	return 0
}

// untilIdleGiven is untilGiven for a host that no request of this member waits
// for, and that other members wait for. The owner keeps it for another request
// that follows at once, or for one that is to be retried within the term.
func (h *Host) untilIdleGiven(now, termEnd Time) time.Duration {
	graceEnd := h.Claim.IdleSince.Add(idleGrace)
	retryEnd := min(h.Claim.RetryBy, termEnd)
	return max(graceEnd, retryEnd).Sub(now)
}

// mustEndFirst reports whether a request in flight must end before another
// member can own h.
func (h *Host) mustEndFirst() bool {
	oneAtATime := h.Settings.Concurrency == 1 || h.Settings.EndToStart
	return h.OnItsWay > 0 || h.InFlight > 0 && oneAtATime
}
