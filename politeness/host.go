package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// A host is what a Limiter knows about one key. Limiter.mu guards it. A crawl
// meets millions of hosts, so this struct is small. The rules of package
// schedule keep their state in Host.
type host struct {
	schedule.Host
	key string

	prev, next *host // in Limiter.idle; nil if not in it
	paused     int32 // 1 + index in Limiter.paused; 0 if not in it
	gone       bool  // the Limiter has forgotten this host
	hold       *hold // in a fleet: this Limiter's claim to the host; nil means none
}

func (h *host) busy() bool { return h.InFlight > 0 || h.Waiting() > 0 }

// A hold is the fleet.Hold of a Limiter.
type hold struct {
	limiter *Limiter
	host    *host

	// Guarded by limiter.mu.
	owned             bool
	others            bool             // other members wait for the host
	served            bool             // a request has started after the host became owned
	told              bool             // this Limiter received a Crawl-delay after it requested the host
	never             bool             // the Fleet will never own the host: see Refuse
	inFlightElsewhere int32            // requests in flight of other members, which take up slots
	since             schedule.Time    // when the host was requested or, if it is owned, when it became owned
	idle              schedule.Time    // when the host ran out of requests; the constant never while it has some
	expected          schedule.Time    // a request that was refused is expected to be retried before this time
	until             schedule.Time    // while the host is not owned: the earliest time at which it can be owned
	why               error            // while the host is not owned: the reason
	stored            schedule.Learned // the latest result of Lasting that the fleet knows
	timer             *time.Timer      // for the next call of Look
}

// hostRing is a circular list through host.prev and host.next.
type hostRing struct{ first *host }

func (r *hostRing) push(h *host) {
	if r.first == nil {
		h.prev, h.next = h, h
		r.first = h
		return
	}
	h.prev, h.next = r.first.prev, r.first
	h.prev.next, h.next.prev = h, h
}

func (r *hostRing) remove(h *host) {
	if h.next == h {
		r.first = nil
	} else {
		h.prev.next, h.next.prev = h.next, h.prev
		if r.first == h {
			r.first = h.next
		}
	}
	h.prev, h.next = nil, nil
}
