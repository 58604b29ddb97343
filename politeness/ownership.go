package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/fleet"
	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// A hold is the fleet.Hold of a Limiter. The Limiter's mutex guards it.
type hold struct {
	limiter   *Limiter
	host      *schedule.Host
	ownership schedule.Claim
	timer     *time.Timer // for the next call of Fleet.Look
	blockedBy error       // while the host is not owned: the reason
}

// holder returns the hold of h, which has a Claim.
func holder(h *schedule.Host) *hold { return h.Claim.Holder.(*hold) }

// isOver reports whether p is over. The Fleet may call p for a while after
// that. The Limiter must be locked.
func (p *hold) isOver() bool { return p.host.Claim != &p.ownership }

// owns reports whether the Fleet lets a request to h start. It does not once
// the term of this Limiter is over and others wait.
func (l *Limiter) owns(h *schedule.Host, now schedule.Time) bool {
	return h.IsOwned() && !h.IsTermOver(now) && l.Fleet.Trusted()
}

// markIdle is called when a request to h has ended or left the queue. In a
// fleet, the ownership of h must end before h can be evicted: until then,
// markIdle only lets the Fleet check whether h can be given away.
func (l *Limiter) markIdle(h *schedule.Host) {
	if h.Claim != nil {
		l.review(h)
		return
	}
	l.hosts.MarkIdle(h)
}

// review makes the Fleet look at h, which has a Claim, when h may be given
// away.
func (l *Limiter) review(h *schedule.Host) {
	now := l.now()
	o := h.Claim
	if !h.IsBusy() && o.IdleSince == schedule.Never {
		o.IdleSince = now
	}
	if o.OthersWait || !o.Owned {
		l.lookIn(h, h.UntilGiven(now))
	}
}

// lookIn makes the Fleet look at h, which has a Claim, after a wait. If
// the wait is Unlimited, lookIn does nothing. A new wait replaces an earlier
// one, because more is known now.
func (l *Limiter) lookIn(h *schedule.Host, wait time.Duration) {
	if wait <= 0 {
		l.Fleet.Look(holder(h))
	} else if wait != schedule.Unlimited {
		holder(h).timer.Reset(wait)
	}
}

// inform passes a new pause of h to the Fleet at once, and the end of requests
// to h that were in flight when h was given away. l must have a Fleet.
func (l *Limiter) inform(h *schedule.Host) {
	now := l.now()
	paused := h.Learned != nil && h.Learned.PauseEnd > now
	if !h.IsOwned() {
		r := fleet.Record{InFlight: int(h.InFlight)}
		if paused {
			r.State, r.Keep = l.export(h, now, false)
		}
		l.Fleet.Landed(h.Key, r)
	} else if paused && h.Learned.PauseEnd > h.Claim.LastStored.PauseEnd {
		l.lookIn(h, 0)
	}
}
