package politeness

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/fleet"
)

// A Fleet lets only one of many Limiters at a time ask a host. See
// [Limiter.Fleet]. Package redislimit makes Fleets; its methods are for the
// Limiter alone.
type Fleet = fleet.Fleet

// A hold is the fleet.Hold of a Limiter.
type hold struct {
	limiter *Limiter
	host    *host

	// Guarded by limiter.mu.
	owned  bool
	others bool          // other members wait for the host
	served bool          // a request has started after the host became owned
	told   bool          // this Limiter was told a Crawl-delay after it asked for the host
	never  bool          // the Fleet will never own the host: see Refuse
	flying int32         // requests in flight of other members, which take up slots
	since  time.Duration // when the host was asked for or, if it is owned, when it became owned
	idle   time.Duration // when the host ran out of requests; the constant "never" while it has some
	hope   time.Duration // a request that was refused is expected to come again before this time
	until  time.Duration // while the host is not owned: the earliest time at which it can be owned
	why    error         // while the host is not owned: the error that says why
	kept   learnt        // the latest result of host.lesson that the fleet knows
	timer  *time.Timer   // for the next call of Look
}

const (
	turn    = 2 * time.Second       // how long an owner keeps a host while others wait
	linger  = 50 * time.Millisecond // how long an owner waits for another request after its last one
	maxRest = 30 * time.Second      // an idle host is kept if it may be asked again within this time
	memory  = time.Hour             // how long the fleet remembers what a host has taught
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
	if fresh {
		p.owned, p.since, p.why, p.flying = true, now, nil, int32(r.InFlight)
		l.inherit(p, r, now)
		l.inheritBudget(h, v[budgetDay], v.taken()) // Hold.Wait does not inherit it: the owner may still give a part of it back
		if r.Missing {
			h.stamp(now-r.MinAge, false)
		}
		l.drawJitter(h)
		l.retime(h, now)
	} else if a := l.accountOf(h.key); a != nil && a.day == v[budgetDay] && a.taken.plus(a.claim) == v.taken() {
		// The Fleet has stored the claim of the account. So requests may use
		// the part of the Budget that was claimed.
		a.taken, a.left, a.claim = a.taken.plus(a.claim), a.left.plus(a.claim), purse{}
	}
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

func (p *hold) Tell(r fleet.Record) {
	l := p.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if h, now := p.host, l.now(); h.hold == p {
		p.flying = int32(r.InFlight)
		l.inheritPause(h, decode(r.State), r.Age, now)
		l.retime(h, now)
		h.pokeHeads()
	}
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
		r.State, r.Keep = l.leave(h, now, ok)
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
	h, hope := p.host, p.hope-now
	switch {
	case !p.owned && h.waiting == 0:
		return hope
	case !p.owned, h.leaving > 0, h.inFlight > 0 && (l.set.concurrency == 1 || l.EndToStart), h.busy() && !p.others:
		return forever
	case h.busy() && p.served:
		return p.since + turn - now
	case h.waiting > 0:
		// The owner may keep the host until one request has started. But if the
		// request is due and does not start soon, something else holds it up,
		// and other members get the host.
		head := cmp.Or(h.queue.first, h.robots.first)
		return max(p.since+turn, later(l.due(h, head), linger)) - now
	case p.others && p.served:
		return p.idle + linger - now
	case p.others:
		return max(p.idle+linger, min(p.hope, p.since+turn)) - now
	}
	if rest := l.due(h, anyone) - now; hope > 0 || rest > 0 && rest <= maxRest {
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

func (p *hold) ring() {
	l := p.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.host.hold == p {
		l.Fleet.Look(p)
	}
}

// want asks the fleet for h. If h is owned, or the fleet was asked for it
// already, want does nothing.
func (l *Limiter) want(h *host, now time.Duration) {
	if h.hold != nil {
		return
	}
	l.engage(h)
	p := &hold{limiter: l, host: h, since: now, idle: never, hope: never, until: never, kept: new(host).lesson()}
	p.timer = time.AfterFunc(forever, p.ring)
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
		a.claim = purse{}
		if given && p.owned {
			a.taken, a.left = a.used(), purse{}
		} else {
			a.left = purse{min(a.left.requests, 0), min(a.left.bytes, 0)}
		}
	}
	if h.waiting > 0 {
		l.want(h, l.now())
		h.pokeHeads() // the first requests must leave the queue of Within
	}
	l.settle(h)
}

// owns reports whether the fleet lets a request to h start.
func (l *Limiter) owns(h *host, now time.Duration) bool {
	p := h.hold
	return p != nil && p.owned && !p.yields(now) && l.Fleet.Trusted()
}

// yields reports whether p's turn is over and others wait.
func (p *hold) yields(now time.Duration) bool {
	return p.others && p.served && now >= p.since+turn
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

// sentAway notes that a request to h was refused. The first argument is the
// time at which that request may come back. If that time is at most maxRest
// away, the Hold expects the request. It stops expecting the request when that
// time and one turn more are over.
func (h *host) sentAway(again, now time.Duration) {
	if p := h.hold; p != nil && again <= now+maxRest {
		p.hope = max(p.hope, again+turn)
	} else if p != nil && !p.owned {
		p.hope = max(p.hope, now+linger) // p must not end earlier, because Limiter.refuse still reads p.why
	}
}

// inform tells the fleet at once about a new pause of h, and about requests to
// h that have ended after h was given away. l must have a Fleet.
func (l *Limiter) inform(h *host) {
	now := l.now()
	paused := h.learnt != nil && h.learnt.until > now
	if p := h.hold; p == nil || !p.owned {
		r := fleet.Record{InFlight: int(h.inFlight)}
		if paused {
			r.State, r.Keep = l.leave(h, now, false)
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

// why returns the error, of the Budget or of the fleet, that holds up requests
// to the host with this key. It returns nil if they wait only for their time.
func (l *Limiter) why(key string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.accountOf(key); a != nil && l.bookErr != nil && l.Budget.lacks(a.left) {
		return l.bookErr
	}
	if h := l.hosts[key]; h != nil && h.hold != nil && !h.hold.owned {
		return h.hold.why
	}
	return nil
}

// news reports whether this member has something about the host to tell the
// fleet: a new lesson, or a claim to more of the Budget.
func (p *hold) news() bool {
	was, a := p.kept, p.limiter.accountOf(p.host.key)
	p.kept = p.host.lesson()
	return p.kept != was || a != nil && a.claim != (purse{})
}

// lesson returns the part of h.learnt that must not be lost if the owner dies.
func (h *host) lesson() learnt {
	k := h.learnt
	if k == nil {
		return learnt{until: never, latest: good}
	}
	return learnt{until: k.until, crawl: k.crawl, level: k.level, latest: max(k.latest, good)}
}

// A legacy is what an owner leaves to the next one. Times are in microseconds.
// A zero means none: for example, no pause. The encoded form of a legacy is
// called a state. It is a list of varints, without the zeros at the end of the
// legacy.
type legacy [10]int64

const (
	sinceLast    = iota // 1 + time since the latest start
	sinceCounted        // 1 + time since the latest start that counts for Crawl-delay
	pauseLeft           // how much longer the pause lasts
	crawlDelay
	adaptiveDelay
	levelAndSign  // 4 × the back-off level + the latest sign (see the type "sign")
	sinceIncident // time since the incident; set only with levelAndSign
	budgetDay     // the day of the next two numbers, counted from 1970
	requestsTaken // how many requests were taken from the Budget
	bytesTaken    // how many bytes were taken from the Budget
)

func (v legacy) encode() []byte {
	n := len(v)
	for n > 0 && v[n-1] == 0 {
		n--
	}
	state := make([]byte, 0, 8*n)
	for _, x := range v[:n] {
		state = binary.AppendUvarint(state, uint64(x))
	}
	return state
}

func decode(state []byte) (v legacy) {
	for i := range v {
		x, n := binary.Uvarint(state)
		v[i], state = int64(min(x, math.MaxInt64)), state[max(n, 0):]
	}
	return v
}

// span returns element i as a duration.
func (v legacy) span(i int) time.Duration {
	return time.Duration(min(v[i], int64(forever/time.Microsecond/2))) * time.Microsecond
}

// taken returns what is taken of the Budget.
func (v legacy) taken() purse { return purse{v[requestsTaken], v[bytesTaken]} }

// micros returns d in whole microseconds; 0 if d is negative.
func micros(d time.Duration) int64 { return int64(max(d, 0) / time.Microsecond) }

// microsUp is micros, but rounds up.
func microsUp(d time.Duration) int64 { return micros(later(d, time.Microsecond-1)) }

// leave returns the state that h leaves to its next owner, and how long the
// state matters. The state is empty if there is nothing to leave. If the last
// argument is false, the state holds only what the host has taught and what is
// taken of its Budget.
func (l *Limiter) leave(h *host, now time.Duration, rest bool) (state []byte, keep time.Duration) {
	var v legacy
	if rest {
		keep = max(l.due(h, anyone)-now, 0)
		interval := h.lengthen(max(l.pace(h), l.crawlDelay(h, anyone)))
		if since := now - h.last; h.last != never && since < interval {
			v[sinceLast] = 1 + micros(since)
		}
		if since := now - h.counted; h.counted != never && since < interval {
			v[sinceCounted] = 1 + micros(since)
		}
	}
	if k := h.learnt; k != nil {
		v[pauseLeft], v[crawlDelay], v[adaptiveDelay] = microsUp(k.until-now), microsUp(k.crawl), micros(k.adaptive)
		if k.level > 0 || k.latest >= doubtful {
			v[levelAndSign], v[sinceIncident] = int64(k.level)*4+int64(k.latest), micros(now-k.incident)
		}
		keep = max(keep, k.until-now, k.crawl, memory) // a state of zeros matters too: it says that there is no longer a Crawl-delay
	}
	if a := l.accountOf(h.key); a != nil {
		taken := a.taken.plus(a.claim)
		if rest { // others may use what this member has not used
			taken = a.used()
		}
		if taken != (purse{}) {
			v[budgetDay], v[requestsTaken], v[bytesTaken] = max(a.day, 0), max(taken.requests, 0), max(taken.bytes, 0)
			keep = max(keep, a.untilEnd())
		}
	}
	return v.encode(), keep
}

// inherit takes over what another member has left of p's host. As a rule it
// replaces what this member knows, with three exceptions. If this member knows
// of a later start, pause or incident, the later one counts. If this member was
// told a Crawl-delay after it asked for the host, that Crawl-delay counts. If
// the state has no adaptive delay or no back-off level, this member keeps its
// own.
func (l *Limiter) inherit(p *hold, r fleet.Record, now time.Duration) {
	if r.State == nil {
		return
	}
	h, v := p.host, decode(r.State)
	if v[sinceLast] > 0 {
		h.last = max(h.last, now-r.MinAge-v.span(sinceLast)+time.Microsecond)
	}
	if v[sinceCounted] > 0 {
		h.counted = max(h.counted, now-r.MinAge-v.span(sinceCounted)+time.Microsecond)
	}
	if crawl := v.span(crawlDelay); !p.told && (crawl > 0 || h.learnt != nil) {
		h.learn().crawl = crawl
	}
	if v[adaptiveDelay] > 0 {
		h.learn().adaptive = v.span(adaptiveDelay)
	}
	l.inheritPause(h, v, r.Age, now)
	p.kept = h.lesson()
}

// inheritPause takes over a pause and the back-off's level. A pause that ends
// less than a second later than the known one is the same pause, told by others
// with a delay: so a pause does not grow on its way from member to member.
func (l *Limiter) inheritPause(h *host, v legacy, age, now time.Duration) {
	if end := later(now-age, v.span(pauseLeft)); end > now && (h.learnt == nil || end-time.Second > h.learnt.until) {
		h.learn().until = end
		l.notePause(h)
	}
	if n := v[levelAndSign]; n > 0 {
		h.learn().level, h.learnt.latest = uint8(min(n/4, math.MaxUint8)), sign(n%4)
		h.learnt.incident = max(h.learnt.incident, now-age-v.span(sinceIncident))
	}
}

// unownedUntil returns the earliest time at which this Limiter can own h. If
// the Limiter owns h already or has no Fleet, it returns the constant never.
func (h *host) unownedUntil() time.Duration {
	if h.hold == nil || h.hold.owned {
		return never
	}
	return h.hold.until
}

// inheritBudget takes over what other members have taken from h's Budget on the
// given day. If h's account is of that day, the larger numbers count. If the
// given day is later, because another clock is ahead, a new account replaces
// h's account. But a day later than tomorrow is ignored.
func (l *Limiter) inheritBudget(h *host, day int64, taken purse) {
	if !l.Budget.limits() || taken == (purse{}) {
		return
	}
	a := l.openAccount(h.key)
	switch {
	case day > l.day+1: // too far ahead for any clock
	case day > a.day:
		*a = account{day: day, taken: taken}
	case day == a.day:
		a.taken = purse{max(a.taken.requests, taken.requests), max(a.taken.bytes, taken.bytes)}
	}
}
