package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// A hold is the fleet.Hold of a Limiter.
type hold struct {
	limiter *Limiter
	host    *host

	// Guarded by limiter.mu.
	owned    bool
	others   bool             // other members wait for the host
	served   bool             // a request has started after the host became owned
	told     bool             // this Limiter was told a Crawl-delay after it asked for the host
	never    bool             // the Fleet will never own the host: see Refuse
	flying   int32            // requests in flight of other members, which take up slots
	since    schedule.Time    // when the host was asked for or, if it is owned, when it became owned
	idle     schedule.Time    // when the host ran out of requests; the constant never while it has some
	expected schedule.Time    // a request that was refused is expected to come again before this time
	until    schedule.Time    // while the host is not owned: the earliest time at which it can be owned
	why      error            // while the host is not owned: the error that says why
	stored   schedule.Learned // the latest result of Lasting that the fleet knows
	timer    *time.Timer      // for the next call of Look
}

const (
	turn    = 2 * time.Second       // how long an owner keeps a host while others wait
	linger  = 50 * time.Millisecond // how long an owner waits for another request after its last one
	maxRest = 30 * time.Second      // an idle host is kept if it may be asked again within this time
)

// sentAway notes that a request to h was refused, which may come back at the
// time again. If that time is at most maxRest away, the Hold expects the
// request. It stops expecting it when that time and one turn more are over.
func (h *host) sentAway(again, now schedule.Time) {
	if p := h.hold; p != nil && again <= now.Add(maxRest) {
		p.expected = max(p.expected, again.Add(turn))
	} else if p != nil && !p.owned {
		p.expected = max(p.expected, now.Add(linger)) // p must not end earlier, because Limiter.refuse still reads p.why
	}
}

// unownedUntil returns the earliest time at which this Limiter can own h. If
// the Limiter owns h already or has no Fleet, it returns the constant never.
func (h *host) unownedUntil() schedule.Time {
	if h.hold == nil || h.hold.owned {
		return never
	}
	return h.hold.until
}
