package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/fleet"
	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

const (
	ownerTurn = 2 * time.Second       // how long an owner keeps a host while others wait
	idleGrace = 50 * time.Millisecond // how long an owner waits for another request after its last one
	maxKept   = 30 * time.Second      // an idle host is kept if it is due again within this time
)

// expectRetry notes that a request to h was refused, which may be retried at
// the time retry. If that time is at most maxKept away, this Limiter keeps h
// for the request, until one ownerTurn after the time.
func (h *host) expectRetry(retry, now schedule.Time) {
	o := h.ownership
	switch {
	case o == nil:
	case retry <= now.Add(maxKept):
		o.retryBy = max(o.retryBy, retry.Add(ownerTurn))
	case !o.owned:
		// The ownership must not end earlier, because Limiter.refuse still
		// reads blockedBy.
		o.retryBy = max(o.retryBy, now.Add(idleGrace))
	}
}

// unownedUntil returns the earliest time at which this Limiter can own h. It
// returns Never if that time is unknown, if the Limiter owns h already, or if
// it has no Fleet.
func (h *host) unownedUntil() schedule.Time {
	if h.ownership == nil || h.ownership.owned {
		return schedule.Never
	}
	return h.ownership.earliest
}

// owns reports whether the fleet lets a request to h start. It does not once
// the ownerTurn of this Limiter is over and others wait.
func (l *Limiter) owns(h *host, now schedule.Time) bool {
	o := h.ownership
	if o == nil || !o.owned {
		return false
	}
	isTurnOver := o.othersWait && o.hasStarted && now >= o.ownedSince.Add(ownerTurn)
	return !isTurnOver && l.Fleet.Trusted()
}

// untilGiven returns how long it is until h, which has an ownership, may be
// given away. It returns Unlimited if a request has to start or end first, or
// if h is idle and is kept because it is due again soon.
func (h *host) untilGiven(now schedule.Time) time.Duration {
	o := h.ownership
	turnEnd := o.ownedSince.Add(ownerTurn)
	switch {
	case !o.owned && h.Waiting() > 0:
		return schedule.Unlimited
	case !o.owned:
		return o.retryBy.Sub(now)
	case h.mustEndFirst(), h.busy() && !o.othersWait:
		return schedule.Unlimited
	case h.busy() && o.hasStarted:
		return turnEnd.Sub(now)
	case h.Waiting() > 0:
		// The owner may keep the host until one request has started. But if the
		// request is due and does not start soon, it is blocked by something
		// else, and other members get the host.
		return max(turnEnd, h.Due(h.FirstWaiting()).Add(idleGrace)).Sub(now)
	case o.othersWait:
		return max(o.idleSince.Add(idleGrace), min(o.retryBy, turnEnd)).Sub(now)
	}
	untilDue := h.DueForAny().Sub(now)
	isDueSoon := untilDue > 0 && untilDue <= maxKept
	if o.retryBy > now || isDueSoon {
		return schedule.Unlimited // the Fleet calls Give again now and then
	}
	return 0
}

// mustEndFirst reports whether a request in flight must end before another
// Limiter can own h.
func (h *host) mustEndFirst() bool {
	oneAtATime := h.Settings.Concurrency == 1 || h.Settings.EndToStart
	return h.OnItsWay > 0 || h.InFlight > 0 && oneAtATime
}

// lookIn makes the Fleet look at o after a wait. If the wait is Unlimited,
// lookIn does nothing. A new wait replaces an earlier one, because more is
// known now.
func (l *Limiter) lookIn(o *ownership, wait time.Duration) {
	if wait <= 0 {
		l.Fleet.Look(o.hold)
	} else if wait != schedule.Unlimited {
		o.timer.Reset(wait)
	}
}

// review makes the Fleet look at h, which has an ownership, when h may be given
// away.
func (l *Limiter) review(h *host) {
	now := l.now()
	o := h.ownership
	if !h.busy() && o.idleSince == schedule.Never {
		o.idleSince = now
	}
	if o.othersWait || !o.owned {
		l.lookIn(o, h.untilGiven(now))
	}
}

// inform reports a new pause of h to the fleet immediately, and requests to h
// that have ended after h was given away. l must have a Fleet.
func (l *Limiter) inform(h *host) {
	now := l.now()
	paused := h.Learned != nil && h.Learned.PauseEnd > now
	if o := h.ownership; o == nil || !o.owned {
		r := fleet.Record{InFlight: int(h.InFlight)}
		if paused {
			r.State, r.Keep = l.export(h, now, false)
		}
		l.Fleet.Landed(h.key, r)
	} else if paused && h.Learned.PauseEnd > o.stored.PauseEnd {
		l.lookIn(o, 0)
	}
}
