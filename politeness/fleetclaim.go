package politeness

import (
	"context"
	"fmt"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/fleet"
	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// The Fleet calls the methods of a fleetClaim, in the order of this file: first
// it compares the settings, then the host is owned or not, and in the end it is
// lost or given away. The methods are documented at fleet.Claim.

func (c *fleetClaim) Host() string { return c.host.Key }

func (c *fleetClaim) Settings() string {
	l := c.limiter
	s := &l.effective.host
	return fmt.Sprintf("Delay=%v Concurrency=%d MaxCrawlDelay=%v MaxRetryAfter=%v BackOff=%v MaxBackOff=%v EndToStart=%t Jitter=%v Adaptive=%v Budget.Requests=%d Budget.Bytes=%d",
		s.Delay, s.Concurrency, s.MaxCrawlDelay, l.effective.maxRetryAfter, s.BackOff, s.MaxBackOff, s.EndToStart, s.Jitter, s.Adaptive, l.Budget.Requests, l.Budget.Bytes)
}

func (c *fleetClaim) Own(r fleet.Record) {
	l := c.limiter
	l.mu.Lock()
	h := c.host
	now := l.now()
	if c.hasEnded() {
		l.mu.Unlock()
		return
	}
	isNew := !c.state.Owned
	waited := now.Sub(c.state.Requested)
	state, _ := decode(r)
	c.state.InFlightElsewhere = int32(r.InFlight)
	if isNew {
		c.state.Owned = true
		c.state.OwnedSince = now
		c.blockedBy = nil
		c.importState(r, now)
		// Wait does not import this, because the owner may still return a part
		// of the Budget.
		l.budgets.Import(utcDay(), h.Key, state.Day, reserved(state))
		if r.Missing {
			l.restartIntervals(h, schedule.AnyRequest, now.Add(-r.MinAge))
		}
		h.DrawJitter()
		if c.mustStore {
			l.lookIn(h, 0)
		}
	} else {
		// What this member has stored itself has nothing new. Its age may be
		// too low: the time while the member was cut off may not count.
		if r.Late {
			h.ImportBackOff(now, state, r.Age, c.state.LastStored)
		}
		l.budgets.Confirm(utcDay(), h.Key, state.Day, reserved(state))
	}
	l.retime(h, now)
	l.mu.Unlock()
	if o := l.Observer; isNew && o != nil && o.Owned != nil {
		o.Owned(context.Background(), Event{Host: h.Key, Wait: waited})
	}
}

func (c *fleetClaim) Wait(until time.Time, r fleet.Record, why error) { c.wait(until, r, why, false) }

func (c *fleetClaim) Deny(why error) {
	c.wait(time.Now().Add(24*time.Hour), fleet.Record{}, why, true)
}

func (c *fleetClaim) wait(until time.Time, r fleet.Record, why error, isDenied bool) {
	l := c.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	h := c.host
	now := l.now()
	if c.hasEnded() || c.state.Owned {
		return
	}
	c.blockedBy = why
	c.state.Denied = isDenied
	c.state.Earliest = schedule.Anytime
	if !until.IsZero() {
		c.state.Earliest = now.Add(time.Until(until))
		l.lookIn(h, c.state.Earliest.Sub(now))
	}
	c.importState(r, now)
	l.retime(h, now)
	l.checkIdle(h, now) // retime may have rejected all waiting requests
}

func (c *fleetClaim) Lose() {
	l := c.limiter
	l.mu.Lock()
	isCurrent := !c.hasEnded()
	if isCurrent {
		c.end(false)
	}
	if c.host.IsPaused(l.now()) {
		l.informFleet(c.host) // the Fleet may not have stored the pause
	}
	l.mu.Unlock()
	isLost := isCurrent && c.state.Owned
	if o := l.Observer; isLost && o != nil && o.Lost != nil {
		o.Lost(context.Background(), Event{Host: c.host.Key})
	}
}

func (c *fleetClaim) Give(others bool) (r fleet.Record, ok bool) {
	l := c.limiter
	l.mu.Lock()
	h := c.host
	now := l.now()
	if c.hasEnded() {
		l.mu.Unlock()
		return fleet.Record{}, true
	}
	if c.state.OthersWait && !others {
		signalFirst(h) // no other member waits any more, so our requests may start again
	}
	c.state.OthersWait = others
	l.expireLeases(now, h)
	wait := h.UntilClaimEnds(now)
	ok = wait <= 0
	if c.state.Owned && (ok || l.noteChange(h) || c.mustStore) {
		c.mustStore = false
		r.State, r.Keep = l.export(h, now, ok)
	}
	if ok {
		r.InFlight = int(h.InFlight)
		l.startLeaseTimer(h, now)
		c.end(true)
	} else {
		l.lookIn(h, wait)
	}
	l.mu.Unlock()
	isHandedOver := ok && c.state.Owned && others
	if o := l.Observer; isHandedOver && o != nil && o.HandedOver != nil {
		o.HandedOver(context.Background(), Event{Host: h.Key})
	}
	return r, ok
}

// startLeaseTimer is called when h was given away. The requests to h that are
// still in flight take up slots of the next owner until the Fleet learns of
// their ends. This Limiter may not need h again, so no other call would notice
// that a lease ends.
func (l *Limiter) startLeaseTimer(h *schedule.Host, now schedule.Time) {
	leaseEnd := h.FirstLeaseEnd()
	if leaseEnd == schedule.Forever || l.leaseTimers[h] != nil {
		return
	}
	if l.leaseTimers == nil {
		l.leaseTimers = make(map[*schedule.Host]*time.Timer)
	}
	var timer *time.Timer
	timer = time.AfterFunc(leaseEnd.Sub(now), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		wasStopped := l.leaseTimers[h] != timer
		if !wasStopped {
			l.leaseTimerFired(h)
		}
	})
	l.leaseTimers[h] = timer
}

// leaseTimerFired informs the Fleet of the leases to h that have ended. If this
// Limiter owns h again, startLeaseTimer is called when it gives h away. The
// Limiter must be locked.
func (l *Limiter) leaseTimerFired(h *schedule.Host) {
	delete(l.leaseTimers, h)
	if h.IsOwned() {
		return
	}
	now := l.now()
	l.expireLeases(now, h)
	l.startLeaseTimer(h, now)
}

// end ends the claim. If requests are waiting, end makes a new claim. If
// isGiven is true, the Fleet knows what was used of the host's Budget, and all
// members may use the remainder.
func (c *fleetClaim) end(isGiven bool) {
	l := c.limiter
	h := c.host
	h.Claim = nil
	c.timer.Stop()
	l.budgets.Release(utcDay(), h.Key, isGiven && c.state.Owned)
	now := l.now()
	if h.Waiting() > 0 {
		l.requestHost(h, now)
		signalFirst(h) // the first requests must leave the queue of Within
	}
	l.checkIdle(h, now)
}

// importState imports the state of the host that another member has stored.
func (c *fleetClaim) importState(r fleet.Record, now schedule.Time) {
	s, ok := decode(r)
	if !ok {
		return
	}
	hasUnstoredPause := c.hasLaterPause(s, r.Age, now)
	c.host.Import(now, s, r.Age, r.MinAge, c.state.HasDeclared, c.state.LastStored)
	c.host.NoteImported(s)
	// Import has kept a Crawl-delay that was declared since the host was
	// requested, or a back-off, and the Fleet stores others.
	hasUnstored := hasUnstoredPause || c.host.Durable() != c.state.LastStored
	c.mustStore = c.mustStore || r.Late || hasUnstored
}

// hasLaterPause reports whether the host is paused for longer than a state of
// the given age contains. The state is what the Fleet stores, so the Fleet does
// not know such a pause. The pause was begun by a request that was in flight
// while the Fleet replied. As in schedule.Host.ImportBackOff, a difference of
// less than a second is attributed to the delay of reports.
func (c *fleetClaim) hasLaterPause(s schedule.State, age time.Duration, now schedule.Time) bool {
	pauseEnd := c.host.Durable().PauseEnd
	storedEnd := now.Add(-age).Add(s.PauseLeft)
	return pauseEnd > now && pauseEnd.Add(-time.Second) > storedEnd
}

// decode returns the state of a record. ok is false if the record has none.
func decode(r fleet.Record) (s schedule.State, ok bool) {
	if r.State == nil {
		return s, false
	}
	return schedule.DecodeState(r.State)
}

// reserved returns what is reserved of the Budget.
func reserved(s schedule.State) schedule.Amount {
	return schedule.Amount{Requests: s.Requests, Bytes: s.Bytes}
}
