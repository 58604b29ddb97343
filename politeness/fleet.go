package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/fleet"
	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// This file contains what a Limiter requests from its Fleet: the ownership of
// hosts, and calls of Give when a host may be given away. fleetclaim.go
// contains what the Fleet reports to the Limiter. The rules for when a host may
// be given away are in package schedule.

// A fleetClaim is the fleet.Claim of a Limiter. The Limiter's mutex guards it.
type fleetClaim struct {
	limiter   *Limiter
	host      *schedule.Host
	state     schedule.Claim
	timer     *time.Timer // for the next call of Fleet.Look
	blockedBy error       // while the host is not owned: the reason
	mustStore bool        // a late state, a pause or a Crawl-delay is known that no owner has stored yet
}

// claim returns the fleetClaim of h, which has a Claim.
func claim(h *schedule.Host) *fleetClaim { return h.Claim.Holder.(*fleetClaim) }

// hasEnded reports whether the claim has ended. The Fleet may call c for a
// while after that. The Limiter must be locked.
func (c *fleetClaim) hasEnded() bool { return c.host.Claim != &c.state }

// requestHost requests the ownership of h from the Fleet. If h is owned or was
// requested already, requestHost does nothing.
func (l *Limiter) requestHost(h *schedule.Host, now schedule.Time) {
	if h.Claim != nil {
		return
	}
	l.hosts.MarkBusy(h)
	c := &fleetClaim{limiter: l, host: h}
	c.timer = time.AfterFunc(schedule.Unlimited, func() { l.Fleet.Look(c) })
	c.state.Holder = c
	h.BeginClaim(now, &c.state)
	l.Fleet.Look(c)
}

// fleetAllows reports whether the Fleet, if there is one, lets a request start
// to a host that this Limiter owns.
func (l *Limiter) fleetAllows() bool { return l.Fleet == nil || l.Fleet.Trusted() }

// checkIdle is called when h may no longer be needed, or may be given away: for
// example, when a request to h has ended or left the queue, or has been sent.
// If no request needs h, h may be evicted. In a fleet, the claim to h must end
// first: until then, checkIdle only lets the Fleet check whether h can be given
// away.
func (l *Limiter) checkIdle(h *schedule.Host, now schedule.Time) {
	if h.Claim != nil {
		l.scheduleLook(h, now)
		return
	}
	l.hosts.MarkIdle(now, h)
}

// scheduleLook makes the Fleet look at h, which has a Claim, when h may be
// given away.
func (l *Limiter) scheduleLook(h *schedule.Host, now schedule.Time) {
	c := h.Claim
	if !h.IsBusy() && c.IdleSince == schedule.Never {
		c.IdleSince = now
	}
	if c.OthersWait || !c.Owned {
		l.lookIn(h, h.UntilClaimEnds(now))
	}
}

// lookIn makes the Fleet look at h, which has a Claim, after a wait. If the
// wait is Unlimited, lookIn does nothing. A new wait replaces an earlier one,
// because more is known now.
func (l *Limiter) lookIn(h *schedule.Host, wait time.Duration) {
	if wait <= 0 {
		l.Fleet.Look(claim(h))
	} else if wait != schedule.Unlimited {
		claim(h).timer.Reset(wait)
	}
}

// informFleet passes a new pause of h to the Fleet at once, and the end of
// requests to h that were in flight when h was given away. l must have a Fleet.
func (l *Limiter) informFleet(h *schedule.Host) {
	if h.InFlight == 0 {
		l.stopLeaseTimer(h)
	}
	now := l.now()
	isPaused := h.Learned != nil && h.Learned.PauseEnd > now
	if !h.IsOwned() {
		r := fleet.Record{InFlight: int(h.InFlight)}
		if isPaused {
			r.State, r.Keep = l.export(h, now, false)
		}
		l.Fleet.RequestEnded(h.Key, r)
		return
	}
	if isPaused && h.Learned.PauseEnd > h.Claim.LastStored.PauseEnd {
		l.lookIn(h, 0)
	}
}

// stopLeaseTimer is called when no request to h is in flight.
func (l *Limiter) stopLeaseTimer(h *schedule.Host) {
	if timer := l.leaseTimers[h]; timer != nil {
		timer.Stop()
		delete(l.leaseTimers, h)
	}
}

// noteChange reports whether this member knows something of h, which it owns,
// that the Fleet has not stored: what it has learned, or that it reserves more
// of the Budget. What it has learned is not reported again.
func (l *Limiter) noteChange(h *schedule.Host) bool {
	hasLearned := h.NoteStored()
	return hasLearned || l.budgets.IsReserving(utcDay(), h.Key)
}

// export returns the state that h leaves to its next owner, and how long the
// state matters. If final is false, this Limiter keeps the host, and the state
// contains only what was learned from the host and what is reserved of its
// Budget.
func (l *Limiter) export(h *schedule.Host, now schedule.Time, final bool) (state []byte, keep time.Duration) {
	s, keep := h.Export(now, final)
	day, reserved := l.budgets.Export(utcDay(), h.Key, final)
	if reserved != (schedule.Amount{}) {
		s.Day = day
		s.Requests = reserved.Requests
		s.Bytes = reserved.Bytes
		keep = max(keep, untilEnd(day))
	}
	return s.Encode(), keep
}
