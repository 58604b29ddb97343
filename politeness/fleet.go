package politeness

import (
	"context"
	"fmt"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/fleet"
	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

func (p *hold) Host() string { return p.host.Key }

func (p *hold) Settings() string {
	l, s := p.limiter, p.limiter.set.host
	return fmt.Sprintf("Delay=%v Concurrency=%d MaxCrawlDelay=%v MaxRetryAfter=%v BackOff=%v MaxBackOff=%v EndToStart=%t Jitter=%v Adaptive=%v Budget.Requests=%d Budget.Bytes=%d",
		s.Delay, s.Concurrency, s.MaxCrawlDelay, l.set.maxRetryAfter, s.BackOff, s.MaxBackOff, s.EndToStart, s.Jitter, s.Adaptive, l.Budget.Requests, l.Budget.Bytes)
}

func (p *hold) Own(r fleet.Record) {
	l := p.limiter
	l.mu.Lock()
	h, now := p.host, l.now()
	if p.isOver() {
		l.mu.Unlock()
		return
	}
	fresh, waited := !p.ownership.Owned, now.Sub(p.ownership.Requested)
	state, _ := decode(r)
	p.ownership.InFlightElsewhere = int32(r.InFlight)
	if fresh {
		p.ownership.Owned = true
		p.ownership.OwnedSince = now
		p.blockedBy = nil
		l.importState(p, r, now)
		// Hold.Wait does not import this, because the owner may still return a
		// part of the Budget.
		l.accounts.Import(utcDay(), h.Key, state.Day, reserved(state))
		if r.Missing {
			l.countStart(h, schedule.AnyRequest, now.Add(-r.MinAge))
		}
		h.DrawJitter()
	} else {
		h.ImportPause(now, state, r.Age, p.ownership.LastStored) // of a request of others that was in flight
		l.noteImport(h, now)
		l.accounts.Confirm(utcDay(), h.Key, state.Day, reserved(state))
	}
	l.retime(h, now)
	signalFirst(h)
	l.mu.Unlock()
	if o := l.Observer; fresh && o != nil && o.Owned != nil {
		o.Owned(context.Background(), Event{Host: p.host.Key, Wait: waited})
	}
}

func (p *hold) Wait(until time.Time, r fleet.Record, why error) { p.wait(until, r, why, false) }

func (p *hold) Refuse(why error) { p.wait(time.Now().Add(24*time.Hour), fleet.Record{}, why, true) }

func (p *hold) wait(until time.Time, r fleet.Record, why error, isRefused bool) {
	l := p.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	h, now := p.host, l.now()
	if p.isOver() || p.ownership.Owned {
		return
	}
	p.blockedBy = why
	p.ownership.Denied = isRefused
	p.ownership.Earliest = schedule.Never
	if !until.IsZero() {
		p.ownership.Earliest = now.Add(time.Until(until))
		l.lookIn(h, p.ownership.Earliest.Sub(now))
	}
	l.importState(p, r, now)
	l.retime(h, now)
	signalFirst(h)
	l.markIdle(h) // retime may have refused all waiting requests
}

func (p *hold) Lose() {
	l := p.limiter
	l.mu.Lock()
	current := !p.isOver()
	if current {
		l.endOwnership(p.host, false)
	}
	l.mu.Unlock()
	if o := l.Observer; current && p.ownership.Owned && o != nil && o.Lost != nil {
		o.Lost(context.Background(), Event{Host: p.host.Key})
	}
}

func (p *hold) Give(others bool) (r fleet.Record, ok bool) {
	l := p.limiter
	l.mu.Lock()
	h, now := p.host, l.now()
	if p.isOver() {
		l.mu.Unlock()
		return fleet.Record{}, true
	}
	if p.ownership.OthersWait && !others {
		signalFirst(h) // no other member waits any more, so our requests may start again
	}
	p.ownership.OthersWait = others
	l.expireLeases(now, h)
	wait := h.UntilGiven(now)
	ok = wait <= 0
	if p.ownership.Owned && (ok || l.hasChanged(h)) {
		r.State, r.Keep = l.export(h, now, ok)
	}
	if ok {
		r.InFlight = int(h.InFlight)
		l.endOwnership(h, true)
	} else {
		l.lookIn(h, wait)
	}
	l.mu.Unlock()
	if o := l.Observer; ok && p.ownership.Owned && others && o != nil && o.HandedOver != nil {
		o.HandedOver(context.Background(), Event{Host: h.Key})
	}
	return r, ok
}

// requestHost requests the ownership of h from the Fleet. If h is owned or was
// requested already, requestHost does nothing.
func (l *Limiter) requestHost(h *schedule.Host, now schedule.Time) {
	if h.Claim != nil {
		return
	}
	l.hosts.MarkBusy(h)
	p := &hold{limiter: l, host: h}
	p.timer = time.AfterFunc(schedule.Unlimited, func() { l.Fleet.Look(p) })
	p.ownership.Holder = p
	h.BeginClaim(now, &p.ownership)
	l.Fleet.Look(p)
}

// endOwnership ends the ownership of h. If requests are waiting, endOwnership
// requests it anew. If given is true, the Fleet knows what was used of the
// host's Budget, and all members may use the remainder.
func (l *Limiter) endOwnership(h *schedule.Host, given bool) {
	p := holder(h)
	h.Claim = nil
	p.timer.Stop()
	l.accounts.Release(utcDay(), h.Key, given && p.ownership.Owned)
	if h.Waiting() > 0 {
		l.requestHost(h, l.now())
		signalFirst(h) // the first requests must leave the queue of Within
	}
	l.markIdle(h)
}

// waitForOwner returns how long g has to wait, and why, while the Fleet does
// not let this Limiter send requests to g's host.
func (l *Limiter) waitForOwner(g *Grant, now schedule.Time) readiness {
	v := readiness{wait: schedule.Unlimited, until: max(g.request.Estimate, now), why: schedule.ReasonFleet}
	if o := g.host.Claim; !o.Owned && o.Earliest > now {
		v.until = max(v.until, o.Earliest)
		v.wait = o.Earliest.Sub(now)
		if o.Denied || v.until >= g.request.Deadline {
			v.refused, v.wait = true, v.until.Sub(now)
			g.host.ExpectRetry(now, v.until)
		}
	}
	return v
}

// importState takes over what another member has left of p's host.
func (l *Limiter) importState(p *hold, r fleet.Record, now schedule.Time) {
	s, ok := decode(r)
	if !ok {
		return
	}
	p.host.Import(now, s, r.Age, r.MinAge, p.ownership.HasDeclared, p.ownership.LastStored)
	l.noteImport(p.host, now)
	p.ownership.LastStored = p.host.Durable()
}

// noteImport puts h among the paused hosts if an import has paused it.
func (l *Limiter) noteImport(h *schedule.Host, now schedule.Time) {
	if h.IsPaused(now) {
		l.hosts.MarkUnavailable(h)
	}
}
