package politeness

import (
	"context"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// A Grant is the right to make one request. It holds a slot of its host until
// Done, or until the Limiter's Lease is over.
//
// It begins as a place in the host's queue and goes on as a place among the
// requests in flight. With several limiters there is a place for each.
type Grant struct {
	limiter *Limiter
	key     string
	url     *url.URL // that was asked for; of the first in the chain
	then    *Grant   // its place with the next limiter; nil: none

	// Set before it is queued, then constant.
	told, exempt bool          // what the context said of Crawl-delay
	timed        bool          // MaxWait, which no context ends, is in force
	ends         bool          // its context may end; else that is taken to have no deadline either
	crawl        time.Duration // as told; 0: none
	limit        time.Duration // what starts then or later is too late
	trace        *Trace
	wake         chan struct{} // made when there is somebody to wake

	// Guarded by limiter.mu.
	host       *host
	prev, next *Grant
	state      state
	ticket     uint64        // its place among those of all hosts
	since      time.Duration // when it queued, and when it started after that
	until      time.Duration // while queued: the estimated start
	expires    time.Duration // when the lease is over
	token      *rate.Reservation
	hold       *holdUp
	paced      bool   // once it has started: an interval follows, so that it matters when
	leaving    bool   // it is on its way to the host
	number     uint64 // among those of the limiter that have started
	keeps      kept   // when it started, for an Observer
	status     int    // of its response; 0: none

	// What the Transport tells of the response.
	response atomic.Pointer[url.URL] // set while its body is open
	reads    atomic.Uint32           // how often the body was read
	reported bool                    // guarded by limiter.mu
}

// kept is what a request kept to when it started.
type kept struct {
	pace, crawl time.Duration
	paused      time.Duration // the end of the host's latest pause, or never
}

type state uint8

const (
	asking  state = iota // in no queue yet
	queued               // in host.queue
	flying               // in host.flight
	expired              // was flying until its lease was over
	refused              // was queued until that became hopeless
	over                 // Done
)

// An Outcome is what became of a request. Its zero value only frees the slot.
type Outcome struct {
	Status  int           // of the response; 0: none came. 429 and 503 pause the host
	Header  http.Header   // of the response; Retry-After, Date, RateLimit and its like, and the signs of walls are read
	Latency time.Duration // from the start to the response's header; 0: unknown
	Err     error         // why there was no response
	Bytes   int64         // of the body that were read, for Limiter.Budget. A Transport counts them itself
}

// Done frees the slot and tells the limiter how the request went. Only the
// first call counts, from whatever goroutine; further calls, and calls of a nil
// Grant, do nothing.
func (g *Grant) Done(o Outcome) { g.done(context.Background(), o) }

// done is Done for a caller that knows the request's context.
func (g *Grant) done(ctx context.Context, o Outcome) {
	if g == nil || g.limiter == nil {
		return
	}
	l, s, limited := g.limiter, signOf(o), tellsQuota(o.Header)
	l.mu.Lock()
	if g.state == over {
		l.mu.Unlock()
		return
	}
	event := l.learnFrom(g, o, s, limited)
	if o.Bytes > 0 && g.host != nil && l.Budget.limits() {
		l.spend(g, purse{bytes: o.Bytes})
	}
	l.release(g)
	if o.Status != 0 {
		g.status = o.Status
	}
	status, now := g.status, time.Duration(0)
	watched := l.Observer != nil
	if watched {
		now = l.now()
	}
	l.mu.Unlock()
	if g.then != nil {
		g.then.Done(Outcome{})
	}
	if watched && o.Status != 0 {
		l.tellAnswer(ctx, g, o, now)
	}
	if event != nil {
		l.tellBackOff(ctx, event)
	}
	if watched {
		l.tellEnd(ctx, g, status, now)
	}
}

// answered tells the limiter of a response whose body is still to come.
func (g *Grant) answered(ctx context.Context, o Outcome, u *url.URL) {
	g.response.Store(u)
	l, s, limited := g.limiter, signOf(o), tellsQuota(o.Header)
	l.mu.Lock()
	var event *Event
	if g.state != over {
		event = l.learnFrom(g, o, s, limited)
		g.status = o.Status
		g.host.pokeHeads() // it may now be held up by an unread body alone
	}
	now := time.Duration(0)
	if l.Observer != nil {
		now = l.now()
	}
	l.mu.Unlock()
	l.tellAnswer(ctx, g, o, now)
	if event != nil {
		l.tellBackOff(ctx, event)
	}
}

// leaves notes that the request sets out only now. Between the grant and the
// moment that the host feels there may be a busy scheduler, a dial and a
// handshake. Nobody can tell how long these take, so until the request is sent
// no other starts: else both might reach the host in one moment, however long
// after each other they were granted.
func (g *Grant) leaves() { g.moves(true) }

// sent notes that the request has reached the host.
func (g *Grant) sent() { g.moves(false) }

func (g *Grant) moves(leaving bool) {
	for ; g != nil; g = g.then {
		if !g.paced {
			continue
		}
		l := g.limiter
		l.mu.Lock()
		switch h := g.host; g.state {
		case flying:
			h.stamp(l.now(), g.exempt)
			g.setLeaving(leaving)
			if !leaving && h.inFlight < l.slots(h, anyone) {
				h.pokeHeads() // it is all that they may have waited for
			}
		case expired: // it holds up nobody any more, but the host feels it
			now := l.now()
			l.recall(g, now)
			g.host.stamp(now, g.exempt)
		}
		l.mu.Unlock()
	}
}

func (g *Grant) setLeaving(leaving bool) {
	switch {
	case g.leaving == leaving:
		return
	case leaving:
		g.host.leaving++
	default:
		g.host.leaving--
	}
	g.leaving = leaving
}

// paces reports whether an interval follows g, as far as is known.
func (l *Limiter) paces(h *host, g *Grant) bool {
	return l.pace(h) > 0 || l.crawlDelay(h, g) > 0 || l.Adaptive.Factor > 0 || h.learnt != nil && h.learnt.spread > 0
}

// isPaced reports whether anybody wants to know when the request leaves.
func (g *Grant) isPaced() bool {
	for ; g != nil; g = g.then {
		if g.paced {
			return true
		}
	}
	return false
}

// keep prolongs the lease, for a request with a longer timeout of its own.
func (g *Grant) keep(d time.Duration) {
	for ; g != nil; g = g.then {
		if d > g.limiter.set.lease {
			g.prolong(d)
		}
	}
}

func (g *Grant) prolong(d time.Duration) {
	l := g.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	g.expires = max(g.expires, later(g.since, d))
}

// begin takes g from the queue into flight.
func (l *Limiter) begin(g *Grant, now time.Duration) {
	g.token = nil // spent: dequeue must not give it back
	l.dequeue(g)
	l.start(g, now)
}

// start puts g, which is in no queue any more, into flight.
func (l *Limiter) start(g *Grant, now time.Duration) {
	h := g.host
	h.flight.push(g)
	h.inFlight++
	l.stats.InFlight++
	g.state = flying
	g.hold = nil
	g.since = now
	g.expires = later(now, l.set.lease)
	g.paced = l.paces(h, g)
	l.starts++
	g.number = l.starts
	if l.Observer != nil {
		g.keeps = kept{l.pace(h), l.crawlDelay(h, g), never}
		if h.learnt != nil {
			g.keeps.paused = h.learnt.until
		}
	}
	h.stamp(now, g.exempt)
	l.drawJitter(h)
	if h.hold != nil {
		h.hold.served = true
	}
	if l.Budget.limits() {
		l.spend(g, purse{requests: 1})
	}
}

// release ends g, and wakes the first of those who waited for its slot.
func (l *Limiter) release(g *Grant) {
	h := g.host
	if g.state == flying {
		l.land(g)
		// Nobody asked when it left, if the interval is news: for all that is
		// known, just now.
		if l.EndToStart || !g.paced && l.paces(h, g) {
			now := l.now()
			h.stamp(now, g.exempt)
			l.retime(h, now)
		}
	}
	g.state = over
	h.pokeHeads()
	l.settle(h)
}

// land takes g out of flight.
func (l *Limiter) land(g *Grant) {
	g.setLeaving(false)
	g.host.flight.remove(g)
	g.host.inFlight--
	l.stats.InFlight--
}

// reap frees the slots of h whose leases are over.
func (l *Limiter) reap(h *host, now time.Duration) {
	g := h.flight.first
	for n := h.inFlight; n > 0; n-- {
		next := g.next
		if g.expires <= now {
			l.land(g)
			if l.EndToStart || !g.paced && l.paces(h, g) {
				h.stamp(g.expires, g.exempt)
			}
			g.state = expired
		}
		g = next
	}
	l.settle(h)
}
