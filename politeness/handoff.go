package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/fleet"
	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// hasChanged reports whether this member knows something of h, which it owns,
// that the Fleet has not stored: what it has learned, or that it reserves more
// of the Budget.
func (l *Limiter) hasChanged(h *host) bool {
	a := l.accountOf(h.key)
	lasting := h.Lasting()
	hasLearned := lasting != h.ownership.stored
	h.ownership.stored = lasting
	return hasLearned || a != nil && a.claim != (amount{})
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
