package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/fleet"
	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

const (
	ownerTurn = 2 * time.Second       // how long an owner keeps a host while others wait
	idleGrace = 50 * time.Millisecond // how long an owner waits for another request after its last one
	maxRest   = 30 * time.Second      // an idle host is kept if it is due again within this time
)

// expectRetry notes that a request to h was refused, which may be retried at
// the time again. If that time is at most maxRest away, the Hold expects the
// request. It stops expecting it when that time and one ownerTurn more are
// over.
func (h *host) expectRetry(again, now schedule.Time) {
	if p := h.hold; p != nil && again <= now.Add(maxRest) {
		p.expected = max(p.expected, again.Add(ownerTurn))
	} else if p != nil && !p.owned {
		p.expected = max(p.expected, now.Add(idleGrace)) // p must not end earlier, because Limiter.refuse still reads p.why
	}
}

// unownedUntil returns the earliest time at which this Limiter can own h. If
// the Limiter owns h already or has no Fleet, it returns the constant never.
func (h *host) unownedUntil() schedule.Time {
	if h.hold == nil || h.hold.owned {
		return never
	}
	return h.hold.until
}

// owns reports whether the fleet lets a request to h start. It does not once
// the ownerTurn of this Limiter is over and others wait.
func (l *Limiter) owns(h *host, now schedule.Time) bool {
	p := h.hold
	return p != nil && p.owned && !(p.others && p.served && now >= p.since.Add(ownerTurn)) && l.Fleet.Trusted()
}

// mayGive returns how long it is until p may be given away. It returns the
// constant unlimited if a request has to start or end first, or if an idle host
// is kept because it is due again soon.
func (l *Limiter) mayGive(p *hold, now schedule.Time) time.Duration {
	h, expected := p.host, p.expected.Sub(now)
	switch {
	case !p.owned && h.Waiting() == 0:
		return expected
	case !p.owned, h.OnItsWay > 0, h.InFlight > 0 && (h.Settings.Concurrency == 1 || l.EndToStart), h.busy() && !p.others:
		return unlimited
	case h.busy() && p.served:
		return p.since.Add(ownerTurn).Sub(now)
	case h.Waiting() > 0:
		// The owner may keep the host until one request has started. But if the
		// request is due and does not start soon, something else holds it up,
		// and other members get the host.
		return max(p.since.Add(ownerTurn), h.Due(h.FirstWaiting()).Add(idleGrace)).Sub(now)
	case p.others:
		return max(p.idle.Add(idleGrace), min(p.expected, p.since.Add(ownerTurn))).Sub(now)
	}
	if rest := h.DueForAny().Sub(now); expected > 0 || rest > 0 && rest <= maxRest {
		return unlimited // the fleet calls Give again now and then
	}
	return 0
}

// lookIn makes the fleet look at p after a wait. If the wait is unlimited,
// lookIn does nothing. A new wait replaces an earlier one, because more is
// known now.
func (p *hold) lookIn(wait time.Duration) {
	if wait <= 0 {
		p.limiter.Fleet.Look(p)
	} else if wait != unlimited {
		p.timer.Reset(wait)
	}
}

// review makes the fleet look at p when p may be given away.
func (l *Limiter) review(p *hold) {
	now := l.now()
	if !p.host.busy() && p.idle == never {
		p.idle = now
	}
	if p.others || !p.owned {
		p.lookIn(l.mayGive(p, now))
	}
}

// inform tells the fleet at once about a new pause of h, and about requests to
// h that have ended after h was given away. l must have a Fleet.
func (l *Limiter) inform(h *host) {
	now := l.now()
	paused := h.Learned != nil && h.Learned.PauseEnd > now
	if p := h.hold; p == nil || !p.owned {
		r := fleet.Record{InFlight: int(h.InFlight)}
		if paused {
			r.State, r.Keep = l.export(h, now, false)
		}
		l.Fleet.Landed(h.key, r)
	} else if paused && h.Learned.PauseEnd > p.stored.PauseEnd {
		p.lookIn(0)
	}
}
