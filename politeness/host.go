package politeness

import "github.com/goodbots/courtesy/politeness/internal/schedule"

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
