package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/fleet"
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

	ownership *ownership // in a fleet: of this Limiter; nil means that it has not requested the host
}

func (h *host) busy() bool { return h.InFlight > 0 || h.Waiting() > 0 }

// An ownership is the right of one Limiter of a fleet to send requests to a
// host. The Limiter requests it from the Fleet before it owns the host.
// Limiter.mu guards it.
type ownership struct {
	hold  fleet.Hold  // represents the ownership to the Fleet
	timer *time.Timer // for the next call of Fleet.Look

	owned       bool             // the Limiter owns the host
	isRefused   bool             // the Limiter can never own the host: see fleet.Hold.Refuse
	othersWait  bool             // other members wait for the host
	hasStarted  bool             // a request has started after the host became owned
	hasDeclared bool             // a request has declared a Crawl-delay before the host became owned
	requested   schedule.Time    // when the Limiter requested the host
	ownedSince  schedule.Time    // when the host became owned
	idleSince   schedule.Time    // when the host ran out of requests; Never while it has some
	retryBy     schedule.Time    // a request that was refused is expected to be retried before this time
	earliest    schedule.Time    // while the host is not owned: when it can be owned; Never means unknown
	blockedBy   error            // while the host is not owned: the reason
	stored      schedule.Learned // the latest result of Host.Lasting that the Fleet has stored

	inFlightElsewhere int32 // requests in flight of other members, which take up slots
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
