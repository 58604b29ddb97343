package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/fleet"
	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// hasNews reports whether the fleet lacks something that this member knows of
// the host: what it has learned, or a claim to more of the Budget.
func (p *hold) hasNews() bool {
	stored, a := p.stored, p.limiter.accountOf(p.host.key)
	p.stored = p.host.Lasting()
	return p.stored != stored || a != nil && a.claim != (amount{})
}

// export returns the state that h leaves to its next owner, and how long the
// state matters. If final is false, this Limiter keeps the host, and the state
// holds only what the host has taught and what is taken of its Budget.
func (l *Limiter) export(h *host, now schedule.Time, final bool) (state []byte, keep time.Duration) {
	s, keep := h.Export(now, final)
	if a := l.accountOf(h.key); a != nil {
		taken := a.taken.plus(a.claim)
		if final { // others may use what this member has not used
			taken = a.used()
		}
		if taken != (amount{}) {
			s.Day, s.Requests, s.Bytes = a.day, taken.requests, taken.bytes
			keep = max(keep, a.untilEnd())
		}
	}
	return s.Encode(), keep
}

// decode returns the state of a record. ok is false if the record has none.
func decode(r fleet.Record) (s schedule.State, ok bool) {
	if r.State == nil {
		return s, false
	}
	return schedule.DecodeState(r.State)
}

// taken returns what is taken of the Budget.
func taken(s schedule.State) amount { return amount{s.Requests, s.Bytes} }

// inherit takes over what another member has left of p's host.
func (l *Limiter) inherit(p *hold, r fleet.Record, now schedule.Time) {
	s, ok := decode(r)
	if !ok {
		return
	}
	p.host.Import(now, s, r.Age, r.MinAge, p.told, p.stored)
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
