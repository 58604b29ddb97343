package politeness

import "time"

// unreadAfter is how long a body must lie unread, with somebody waiting for its
// slot and for nothing else, before that is worth a line in the log.
const unreadAfter = 5 * time.Second

// holdUp is what the first in a queue knows of the request that it waits for.
type holdUp struct {
	by    *Grant
	reads uint32
	since time.Duration
}

// heldUp returns when a request that only lacks a slot should look again: when
// the first lease ends, or when the body that it waits for has been left unread
// for long. Everything else wakes it.
func (l *Limiter) heldUp(g *Grant, now time.Duration) look {
	h := g.host
	v := look{wait: forever, until: g.until}
	by := h.flight.first
	for f, n := by, h.inFlight; n > 0; f, n = f.next, n-1 {
		v.wait = min(v.wait, f.expires-now)
	}
	body := by.response.Load()
	if body == nil || by.reported {
		return v
	}
	reads := by.reads.Load()
	switch {
	case g.hold == nil || g.hold.by != by || g.hold.reads != reads:
		g.hold = &holdUp{by, reads, now}
	case now-g.hold.since >= unreadAfter:
		by.reported = true
		v.notice = &notice{unread: body, unreadFor: now - g.hold.since}
		return v
	}
	v.wait = min(v.wait, g.hold.since+unreadAfter-now)
	return v
}
