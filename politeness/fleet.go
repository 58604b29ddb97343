package politeness

import (
	"cmp"
	"context"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/fleet"
)

func (p *hold) Host() string { return p.host.key }

func (p *hold) Own(r fleet.Record) {
	l := p.limiter
	l.mu.Lock()
	h, now := p.host, l.now()
	if h.hold != p {
		l.mu.Unlock()
		return
	}
	fresh, waited, v := !p.owned, now-p.since, decode(r.State)
	p.flying = int32(r.InFlight)
	if fresh {
		p.owned, p.since, p.why = true, now, nil
		l.inherit(p, r, now)
		l.inheritBudget(h, v[budgetDay], v.taken()) // Hold.Wait does not inherit it: the owner may still give a part of it back
		if r.Missing {
			l.stamp(h, anyone, now-r.MinAge)
		}
		l.drawJitter(h)
	} else {
		l.inheritPause(p, v, r.Age, now) // of a request of others that was in flight
		if a := l.accountOf(h.key); a != nil && a.day == v[budgetDay] && a.taken.plus(a.claim) == v.taken() {
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
		p.until = later(now, time.Until(until))
		p.lookAfter(p.until - now)
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
	if p.owned && (ok || p.news()) {
		r.State, r.Keep = l.legacyOf(h, now, ok)
	}
	if ok {
		r.InFlight = int(h.inFlight)
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
// constant forever if a request has to start or end first, or if an idle host
// is kept because it may be asked again soon.
func (l *Limiter) mayGive(p *hold, now time.Duration) time.Duration {
	h, expected := p.host, p.expected-now
	switch {
	case !p.owned && h.waiting == 0:
		return expected
	case !p.owned, h.onItsWay > 0, h.inFlight > 0 && (l.set.concurrency == 1 || l.EndToStart), h.busy() && !p.others:
		return forever
	case h.busy() && p.served:
		return p.since + turn - now
	case h.waiting > 0:
		// The owner may keep the host until one request has started. But if the
		// request is due and does not start soon, something else holds it up,
		// and other members get the host.
		head := cmp.Or(h.queue.first, h.robots.first)
		return max(p.since+turn, later(l.due(h, head), linger)) - now
	case p.others:
		return max(p.idle+linger, min(p.expected, p.since+turn)) - now
	}
	if rest := l.due(h, anyone) - now; expected > 0 || rest > 0 && rest <= maxRest {
		return forever // the fleet calls Give again now and then
	}
	return 0
}

// lookAfter makes the fleet look at p after a wait. If the wait is forever,
// lookAfter does nothing. A new wait replaces an earlier one, because more is
// known now.
func (p *hold) lookAfter(wait time.Duration) {
	if wait <= 0 {
		p.limiter.Fleet.Look(p)
	} else if wait != forever {
		p.timer.Reset(wait)
	}
}

// want asks the fleet for h. If h is owned, or the fleet was asked for it
// already, want does nothing.
func (l *Limiter) want(h *host, now time.Duration) {
	if h.hold != nil {
		return
	}
	l.engage(h)
	p := &hold{limiter: l, host: h, since: now, idle: never, expected: never, until: never, kept: new(host).lesson()}
	p.timer = time.AfterFunc(forever, func() { l.Fleet.Look(p) })
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
func (l *Limiter) owns(h *host, now time.Duration) bool {
	p := h.hold
	return p != nil && p.owned && !(p.others && p.served && now >= p.since+turn) && l.Fleet.Trusted()
}

// unowned returns how long g has to wait, and why, while the fleet does not let
// this Limiter ask g's host.
func (l *Limiter) unowned(g *Grant, now time.Duration) look {
	v := look{wait: forever, until: max(g.until, now), why: whyFleet}
	if p := g.host.hold; !p.owned && p.until > now {
		v.until = max(v.until, p.until)
		v.wait = p.until - now
		if p.never || v.until >= g.limit {
			v.refused, v.wait = true, v.until-now
			g.host.sentAway(v.until, now)
		}
	}
	return v
}

// inform tells the fleet at once about a new pause of h, and about requests to
// h that have ended after h was given away. l must have a Fleet.
func (l *Limiter) inform(h *host) {
	now := l.now()
	paused := h.learnt != nil && h.learnt.until > now
	if p := h.hold; p == nil || !p.owned {
		r := fleet.Record{InFlight: int(h.inFlight)}
		if paused {
			r.State, r.Keep = l.legacyOf(h, now, false)
		}
		l.Fleet.Landed(h.key, r)
	} else if paused && h.learnt.until > p.kept.until {
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
