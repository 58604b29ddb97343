package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/fleet"
	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// hasChanged reports whether this member knows something of h, which it owns,
// that the Fleet has not stored: what it has learned, or that it reserves more
// of the Budget.
func (l *Limiter) hasChanged(h *schedule.Host) bool {
	lasting := h.Durable()
	hasLearned := lasting != h.Claim.LastStored
	h.Claim.LastStored = lasting
	return hasLearned || l.accounts.IsReserving(utcDay(), h.Key)
}

// export returns the state that h leaves to its next owner, and how long the
// state matters. If final is false, this Limiter keeps the host, and the state
// contains only what was learned from the host and what is reserved of its
// Budget.
func (l *Limiter) export(h *schedule.Host, now schedule.Time, final bool) (state []byte, keep time.Duration) {
	s, keep := h.Export(now, final)
	day, reserved := l.accounts.Export(utcDay(), h.Key, final)
	if reserved != (schedule.Amount{}) {
		s.Day = day
		s.Requests = reserved.Requests
		s.Bytes = reserved.Bytes
		keep = max(keep, untilEnd(day))
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

// reserved returns what is reserved of the Budget.
func reserved(s schedule.State) schedule.Amount {
	return schedule.Amount{Requests: s.Requests, Bytes: s.Bytes}
}
