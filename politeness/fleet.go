package politeness

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/fleet"
	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

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
	if h.hold != p {
		l.mu.Unlock()
		return
	}
	fresh, waited := !p.owned, now.Sub(p.since)
	state, _ := decode(r)
	p.flying = int32(r.InFlight)
	if fresh {
		p.owned, p.since, p.why = true, now, nil
		l.inherit(p, r, now)
		l.inheritBudget(h, state.Day, taken(state)) // Hold.Wait does not inherit it: the owner may still give a part of it back
		if r.Missing {
			l.stamp(h, new(schedule.Request), now.Add(-r.MinAge))
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
	h.pokeHeads()
	l.mu.Unlock()
	if o := l.Observer; fresh && o != nil && o.Owned != nil {
		o.Owned(context.Background(), Event{Host: p.host.key, Wait: waited})
	}
}

func (p *hold) Wait(until time.Time, r fleet.Record, why error) { p.wait(until, r, why, false) }

func (p *hold) Refuse(why error) { p.wait(time.Now().Add(24*time.Hour), fleet.Record{}, why, true) }

func (p *hold) wait(until time.Time, r fleet.Record, why error, ever bool) {
	l := p.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	h, now := p.host, l.now()
	if h.hold != p || p.owned {
		return
	}
	p.why, p.until, p.never = why, never, ever
	if !until.IsZero() {
		p.until = now.Add(time.Until(until))
		p.lookAfter(p.until.Sub(now))
	}
	l.inherit(p, r, now)
	l.retime(h, now)
	h.pokeHeads()
	l.settle(h) // retime may have refused all waiting requests
}

func (p *hold) Lose() {
	l := p.limiter
	l.mu.Lock()
	current := p.host.hold == p
	if current {
		l.end(p, false)
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
	if h.hold != p {
		l.mu.Unlock()
		return fleet.Record{}, true
	}
	if p.others && !others {
		h.pokeHeads() // nobody else waits any more, so our requests may start again
	}
	p.others = others
	l.reap(h, now)
	wait := l.mayGive(p, now)
	ok = wait <= 0
	if p.owned && (ok || p.hasNews()) {
		r.State, r.Keep = l.export(h, now, ok)
	}
	if ok {
		r.InFlight = int(h.InFlight)
		l.end(p, true)
	} else {
		p.lookAfter(wait)
	}
	l.mu.Unlock()
	if o := l.Observer; ok && p.owned && others && o != nil && o.HandedOver != nil {
		o.HandedOver(context.Background(), Event{Host: h.key})
	}
	return r, ok
}

// mayGive returns how long it is until p may be given away. It returns the
// constant unlimited if a request has to start or end first, or if an idle host
// is kept because it may be asked again soon.
func (l *Limiter) mayGive(p *hold, now schedule.Time) time.Duration {
	h, expected := p.host, p.expected.Sub(now)
	switch {
	case !p.owned && h.waiting == 0:
		return expected
	case !p.owned, h.onItsWay > 0, h.InFlight > 0 && (l.set.host.Concurrency == 1 || l.EndToStart), h.busy() && !p.others:
		return unlimited
	case h.busy() && p.served:
		return p.since.Add(turn).Sub(now)
	case h.waiting > 0:
		// The owner may keep the host until one request has started. But if the
		// request is due and does not start soon, something else holds it up,
		// and other members get the host.
		head := cmp.Or(h.queue.first, h.robots.first)
		return max(p.since.Add(turn), h.Due(&head.request).Add(linger)).Sub(now)
	case p.others:
		return max(p.idle.Add(linger), min(p.expected, p.since.Add(turn))).Sub(now)
	}
	if rest := h.DueForAny().Sub(now); expected > 0 || rest > 0 && rest <= maxRest {
		return unlimited // the fleet calls Give again now and then
	}
	return 0
}

// lookAfter makes the fleet look at p after a wait. If the wait is unlimited,
// lookAfter does nothing. A new wait replaces an earlier one, because more is
// known now.
func (p *hold) lookAfter(wait time.Duration) {
	if wait <= 0 {
		p.limiter.Fleet.Look(p)
	} else if wait != unlimited {
		p.timer.Reset(wait)
	}
}

// want asks the fleet for h. If h is owned, or the fleet was asked for it
// already, want does nothing.
func (l *Limiter) want(h *host, now schedule.Time) {
	if h.hold != nil {
		return
	}
	l.engage(h)
	p := &hold{limiter: l, host: h, since: now, idle: never, expected: never, until: never, stored: new(schedule.Host).Lasting()}
	p.timer = time.AfterFunc(unlimited, func() { l.Fleet.Look(p) })
	h.hold = p
	l.Fleet.Look(p)
}

// end ends p. If requests are waiting, end asks for the host anew. If given is
// true, the fleet knows what was used of the host's Budget, and all members may
// use the remainder.
func (l *Limiter) end(p *hold, given bool) {
	h := p.host
	h.hold = nil
	p.timer.Stop()
	if a := l.accountOf(h.key); a != nil {
		a.claim = amount{}
		if given && p.owned {
			a.taken, a.left = a.used(), amount{}
		} else {
			a.left = amount{min(a.left.requests, 0), min(a.left.bytes, 0)}
		}
	}
	if h.waiting > 0 {
		l.want(h, l.now())
		h.pokeHeads() // the first requests must leave the queue of Within
	}
	l.settle(h)
}

// owns reports whether the fleet lets a request to h start. It does not once
// this Limiter's turn is over and others wait.
func (l *Limiter) owns(h *host, now schedule.Time) bool {
	p := h.hold
	return p != nil && p.owned && !(p.others && p.served && now >= p.since.Add(turn)) && l.Fleet.Trusted()
}

// unowned returns how long g has to wait, and why, while the fleet does not let
// this Limiter ask g's host.
func (l *Limiter) unowned(g *Grant, now schedule.Time) look {
	v := look{wait: unlimited, until: max(g.estimate, now), why: schedule.ReasonFleet}
	if p := g.host.hold; !p.owned && p.until > now {
		v.until = max(v.until, p.until)
		v.wait = p.until.Sub(now)
		if p.never || v.until >= g.deadline {
			v.refused, v.wait = true, v.until.Sub(now)
			g.host.sentAway(v.until, now)
		}
	}
	return v
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
		p.lookAfter(0)
	}
}

// review makes the fleet look at p when p may be given away.
func (l *Limiter) review(p *hold) {
	now := l.now()
	if !p.host.busy() && p.idle == never {
		p.idle = now
	}
	if p.others || !p.owned {
		p.lookAfter(l.mayGive(p, now))
	}
}
