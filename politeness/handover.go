package politeness

import (
	"cmp"
	"encoding/binary"
	"math"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/fleet"
)

// news reports whether this member has something about the host to tell the
// fleet: a new lesson, or a claim to more of the Budget.
func (p *hold) news() bool {
	was, a := p.kept, p.limiter.accountOf(p.host.key)
	p.kept = p.host.lesson()
	return p.kept != was || a != nil && a.claim != (amount{})
}

// lesson returns the part of h.learnt that must not be lost if the owner dies.
func (h *host) lesson() learnt {
	k := cmp.Or(h.learnt, &learnt{until: never})
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
	levelAndSign  // 4 × the back-off level + the latest sign (see sign)
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
func (v legacy) taken() amount { return amount{v[requestsTaken], v[bytesTaken]} }

// micros returns d in whole microseconds; 0 if d is negative.
func micros(d time.Duration) int64 { return int64(max(d, 0) / time.Microsecond) }

// legacyOf returns the state that h leaves to its next owner, and how long the
// state matters. The state is empty if there is nothing to leave. If over is
// false, this Limiter keeps the host, and the state holds only what the host
// has taught and what is taken of its Budget.
func (l *Limiter) legacyOf(h *host, now time.Duration, over bool) (state []byte, keep time.Duration) {
	var v legacy
	if over {
		keep = max(l.free(h)-now, 0)
		interval := h.lengthen(max(l.pace(h), l.crawlDelay(h, anyone)))
		if since := now - h.last; h.last != never && since < interval {
			v[sinceLast] = 1 + micros(since)
		}
		if since := now - h.counted; h.counted != never && (since < interval || h.learnt != nil && now < h.learnt.crawlEnd) {
			v[sinceCounted] = 1 + micros(since)
		}
	}
	if k := h.learnt; k != nil {
		v[pauseLeft], v[crawlDelay], v[adaptiveDelay] = micros(k.until-now+time.Microsecond), micros(k.crawl+time.Microsecond-1), micros(k.adaptive)
		if k.level > 0 || k.latest >= doubtful {
			v[levelAndSign], v[sinceIncident] = int64(k.level)*4+int64(k.latest), micros(now-k.incident)
		}
		keep = max(keep, k.until-now, k.crawl, memory) // a state of zeros matters too: it says that there is no longer a Crawl-delay
	}
	if a := l.accountOf(h.key); a != nil {
		taken := a.taken.plus(a.claim)
		if over { // others may use what this member has not used
			taken = a.used()
		}
		if taken != (amount{}) {
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
	l.inheritPause(p, v, r.Age, now)
	p.kept = h.lesson()
}

// inheritPause takes over a pause and the back-off's level, unless this member
// knows of a later incident, or has stored that level itself: then it may have
// learnt something since. A pause that ends less than a second later than the
// known one is the same pause, told by others with a delay: so a pause does not
// grow on its way from member to member.
func (l *Limiter) inheritPause(p *hold, v legacy, age, now time.Duration) {
	h, own := p.host, int64(p.kept.level)*4+int64(p.kept.latest)
	if end := later(now-age, v.span(pauseLeft)); end > now && (h.learnt == nil || end-time.Second > h.learnt.until) {
		h.learn().until = end
		l.notePause(h)
	}
	incident := now - age - v.span(sinceIncident)
	if n := v[levelAndSign]; n > 0 && n != own && (h.learnt == nil || incident+time.Second > h.learnt.incident) {
		h.learn().level, h.learnt.latest = uint8(min(n/4, math.MaxUint8)), sign(n%4)
		h.learnt.incident = max(h.learnt.incident, incident)
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
