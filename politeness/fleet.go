package politeness

import (
	"context"
	"fmt"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/fleet"
	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// A hold is the fleet.Hold of an ownership.
type hold struct {
	limiter *Limiter
	host    *host
	ownership
}

// isOver reports whether p is over. The Fleet may call p for a while after
// that. The Limiter must be locked.
func (p *hold) isOver() bool { return p.host.ownership != &p.ownership }

func (p *hold) Host() string { return p.host.key }

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
	fresh, waited := !p.owned, now.Sub(p.requested)
	state, _ := decode(r)
	p.inFlightElsewhere = int32(r.InFlight)
	if fresh {
		p.owned, p.ownedSince, p.blockedBy = true, now, nil
		l.inherit(p, r, now)
		l.inheritBudget(h, state.Day, taken(state)) // Hold.Wait does not inherit it: the owner may still give a part of it back
		if r.Missing {
			l.countStart(h, new(schedule.Request), now.Add(-r.MinAge))
		}
		h.DrawJitter()
	} else {
		h.ImportPause(now, state, r.Age, p.stored) // of a request of others that was in flight
		l.noteImport(h, now)
		if a := l.accountOf(h.key); a != nil && a.day == state.Day && a.taken.plus(a.claim) == taken(state) {
			// The Fleet has stored the claim of the account. So requests may
			// use the part of the Budget that was claimed.
			a.taken, a.left, a.claim = a.taken.plus(a.claim), a.left.plus(a.claim), amount{}
		}
	}
	l.retime(h, now)
	h.signalFirst()
	l.mu.Unlock()
	if o := l.Observer; fresh && o != nil && o.Owned != nil {
		o.Owned(context.Background(), Event{Host: p.host.key, Wait: waited})
	}
}

func (p *hold) Wait(until time.Time, r fleet.Record, why error) { p.wait(until, r, why, false) }

func (p *hold) Refuse(why error) { p.wait(time.Now().Add(24*time.Hour), fleet.Record{}, why, true) }

func (p *hold) wait(until time.Time, r fleet.Record, why error, isRefused bool) {
	l := p.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	h, now := p.host, l.now()
	if p.isOver() || p.owned {
		return
	}
	p.blockedBy = why
	p.isRefused = isRefused
	p.earliest = never
	if !until.IsZero() {
		p.earliest = now.Add(time.Until(until))
		l.lookIn(&p.ownership, p.earliest.Sub(now))
	}
	l.inherit(p, r, now)
	l.retime(h, now)
	h.signalFirst()
	l.markIdle(h) // retime may have refused all waiting requests
}

func (p *hold) Lose() {
	l := p.limiter
	l.mu.Lock()
	current := !p.isOver()
	if current {
		l.end(p.host, false)
	}
	l.mu.Unlock()
	if o := l.Observer; current && p.owned && o != nil && o.Lost != nil {
		o.Lost(context.Background(), Event{Host: p.host.key})
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
	if p.othersWait && !others {
		h.signalFirst() // no other member waits any more, so our requests may start again
	}
	p.othersWait = others
	l.expireLeases(h, now)
	wait := h.untilGiven(now)
	ok = wait <= 0
	if p.owned && (ok || l.hasChanged(h)) {
		r.State, r.Keep = l.export(h, now, ok)
	}
	if ok {
		r.InFlight = int(h.InFlight)
		l.end(h, true)
	} else {
		l.lookIn(&p.ownership, wait)
	}
	l.mu.Unlock()
	if o := l.Observer; ok && p.owned && others && o != nil && o.HandedOver != nil {
		o.HandedOver(context.Background(), Event{Host: h.key})
	}
	return r, ok
}

// request requests the ownership of h from the Fleet. If h is owned or was
// requested already, request does nothing.
func (l *Limiter) request(h *host, now schedule.Time) {
	if h.ownership != nil {
		return
	}
	l.markBusy(h)
	p := &hold{limiter: l, host: h}
	p.ownership = ownership{hold: p, requested: now, idleSince: never, retryBy: never, earliest: never, stored: new(schedule.Host).Lasting()}
	p.timer = time.AfterFunc(unlimited, func() { l.Fleet.Look(p) })
	h.ownership = &p.ownership
	l.Fleet.Look(p)
}

// end ends the ownership of h. If requests are waiting, end requests it anew.
// If given is true, the Fleet knows what was used of the host's Budget, and all
// members may use the remainder.
func (l *Limiter) end(h *host, given bool) {
	o := h.ownership
	h.ownership = nil
	o.timer.Stop()
	if a := l.accountOf(h.key); a != nil {
		a.claim = amount{}
		if given && o.owned {
			a.taken, a.left = a.used(), amount{}
		} else {
			a.left = amount{min(a.left.requests, 0), min(a.left.bytes, 0)}
		}
	}
	if h.Waiting() > 0 {
		l.request(h, l.now())
		h.signalFirst() // the first requests must leave the queue of Within
	}
	l.markIdle(h)
}

// unowned returns how long g has to wait, and why, while the fleet does not let
// this Limiter send requests to g's host.
func (l *Limiter) unowned(g *Grant, now schedule.Time) readiness {
	v := readiness{wait: unlimited, until: max(g.request.Estimate, now), why: schedule.ReasonFleet}
	if o := g.host.ownership; !o.owned && o.earliest > now {
		v.until = max(v.until, o.earliest)
		v.wait = o.earliest.Sub(now)
		if o.isRefused || v.until >= g.request.Deadline {
			v.refused, v.wait = true, v.until.Sub(now)
			g.host.expectRetry(v.until, now)
		}
	}
	return v
}

// inherit takes over what another member has left of p's host.
func (l *Limiter) inherit(p *hold, r fleet.Record, now schedule.Time) {
	s, ok := decode(r)
	if !ok {
		return
	}
	p.host.Import(now, s, r.Age, r.MinAge, p.hasDeclared, p.stored)
	l.noteImport(p.host, now)
	p.stored = p.host.Lasting()
}

// noteImport puts h among the paused hosts if an import has paused it.
func (l *Limiter) noteImport(h *host, now schedule.Time) {
	if h.IsPaused(now) {
		l.notePause(h)
	}
}

// inheritBudget takes over what other members have taken from h's Budget on the
// given day. If h's account is of that day, the larger numbers count. If the
// given day is later, because another clock is ahead, a new account replaces
// h's account. But a day later than tomorrow is ignored.
func (l *Limiter) inheritBudget(h *host, day int64, taken amount) {
	if !l.Budget.limits() || taken == (amount{}) {
		return
	}
	a := l.openAccount(h.key)
	switch {
	case day > l.day+1: // too far ahead for any clock
	case day > a.day:
		*a = account{day: day, taken: taken}
	case day == a.day:
		a.taken = amount{max(a.taken.requests, taken.requests), max(a.taken.bytes, taken.bytes)}
	}
}
