package politeness

import (
	"context"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// A Grant is the right to make one request. It holds a slot of its host until
// Done is called or the Limiter's Lease is over.
//
// A Grant is first a place in the host's queue, then one of the requests in
// flight. With several Limiters it is a chain, with one Grant for each Limiter.
type Grant struct {
	limiter *Limiter
	key     string
	url     *url.URL // the request's URL; only the first Grant of the chain has it
	then    *Grant   // the Grant of the next Limiter; nil means none

	// Except for wake, the fields of this block are set before the Grant is
	// queued, and do not change after that. The small fields stand next to the
	// small fields of the block below, so that a Grant takes less memory.
	crawl        time.Duration // the Crawl-delay from the request's context; 0 means none
	limit        time.Duration // the request must start before this time
	trace        *Trace
	wake         chan struct{} // a signal on it wakes the request; nil means the request has not had to wait
	told, exempt bool          // what the context said about Crawl-delay
	timed        bool          // MaxWait limits its wait, which only try() checks: no context has this limit
	ends         bool          // whether the context has a Done channel; if not, its deadline is ignored

	reads atomic.Uint32 // how often the response's body was read

	// Guarded by limiter.mu.
	status     int16 // the response's status; 0 means none
	overtakes  bool  // it is Exempt and does not wait its turn; set before the Grant is queued
	state      state
	paced      bool // set at the start: an interval follows, so the time of sending matters
	leaving    bool // it was granted, and is not sent yet
	unread     bool // a response with a body has come, and the log has not called the body unread
	host       *host
	prev, next *Grant
	number     uint64        // its number in the order of queuing; after its start: in the order of starts
	since      time.Duration // when it queued; after its start: when it started
	until      time.Duration // its estimated start; after its start: the end of its lease
	token      *token
	hold       *holdUp
	keeps      kept // set at its start, only if there is an Observer
}

// kept has the pace, Crawl-delay and pause that were in force when a request
// started.
type kept struct {
	pace, crawl time.Duration
	paused      time.Duration // the end of the host's latest pause; if there was none, the constant "never"
}

type state uint8

const (
	asking  state = iota // in no queue yet
	queued               // in host.queue
	flying               // in host.flight
	expired              // was in flight until its lease was over
	refused              // was queued until it could not start in time
	over                 // Done was called
)

// An Outcome is the result of a request. The zero value only frees the slot.
type Outcome struct {
	Status  int           // the response's status; 0 means no response. 429 and 503 pause the host
	Header  http.Header   // the response's header, for Retry-After, Date, quotas and signs of bot walls
	Latency time.Duration // from the start to the response's header; 0 means unknown
	Err     error         // why there was no response
}

// Done frees the slot and tells the Limiter how the request went. Any goroutine
// may call it. Only the first call counts. Done of a nil Grant does nothing.
func (g *Grant) Done(o Outcome) { g.done(context.Background(), o) }

// done is like Done. It passes the request's context to the Observer.
func (g *Grant) done(ctx context.Context, o Outcome) {
	if g == nil || g.limiter == nil {
		return
	}
	l := g.limiter
	a := askedBy(o.Header, time.Now(), l.set.maxRetryAfter)
	s, _ := signOf(&o)
	l.mu.Lock()
	if g.state == over {
		l.mu.Unlock()
		return
	}
	event := l.learnFrom(g, &o, s, a)
	l.release(g)
	if o.Status != 0 {
		g.status = int16(o.Status)
	}
	status, now := int(g.status), time.Duration(0)
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

// answered tells the Limiter about a response whose body has not been read yet.
// clean reports whether signOf examined its status and header and found no
// refusal.
func (g *Grant) answered(ctx context.Context, o Outcome) (clean bool) {
	l := g.limiter
	a := askedBy(o.Header, time.Now(), l.set.maxRetryAfter)
	s, clean := signOf(&o)
	l.mu.Lock()
	var event *Event
	if g.state != over {
		event = l.learnFrom(g, &o, s, a)
		if l.Fleet != nil {
			l.inform(g.host)
		}
		g.status, g.unread = int16(o.Status), true
		g.host.pokeHeads() // now an unread body may be the only thing that holds up the queue
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
	return clean
}

// leaves tells the Limiters that the request is on its way. After the grant, a
// busy scheduler, a dial and a handshake may delay the request for an unknown
// time. Such a delay could make two requests reach the host at one moment,
// however far apart they were granted. To prevent that, no other request starts
// until this one is sent.
func (g *Grant) leaves() { g.moves(true) }

// sent tells the Limiters that the request has reached the host.
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
				h.pokeHeads() // the next requests may have waited for nothing else
			}
			l.settle(h) // a fleet may have waited for the sending
		case expired: // its slot is free again, but the request reaches the host nevertheless
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

// paces reports whether, as far as is known now, the next request has to keep
// an interval after g.
func (l *Limiter) paces(h *host, g *Grant) bool {
	return l.pace(h) > 0 || l.crawlDelay(h, g) > 0 || l.Adaptive > 0 || h.learnt != nil && h.learnt.spread > 0
}

// keep makes each lease of the chain at least d long. d is the request's own
// timeout.
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
	g.until = max(g.until, later(g.since, d))
}

// begin moves g from the queue into flight.
func (l *Limiter) begin(g *Grant, now time.Duration) {
	g.token = nil // it is spent, so dequeue must not give it back
	l.dequeue(g)
	l.start(g, now)
}

// start puts g into flight. g is in no queue.
func (l *Limiter) start(g *Grant, now time.Duration) {
	h := g.host
	h.flight.push(g)
	h.inFlight++
	l.stats.InFlight++
	g.state = flying
	g.hold = nil
	g.since = now
	g.until = later(now, l.set.lease)
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

// release ends g and wakes the first request of each queue of g's host.
func (l *Limiter) release(g *Grant) {
	h := g.host
	if g.state == flying {
		l.land(g)
		// With EndToStart, the interval counts from now. An interval that was
		// not known at the start counts from now too, because the time of
		// sending was not noted.
		if l.EndToStart || !g.paced && l.paces(h, g) {
			now := l.now()
			h.stamp(now, g.exempt)
			l.retime(h, now)
		}
	}
	g.state = over
	h.pokeHeads()
	if l.Fleet != nil {
		l.inform(h)
	}
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
	g, was := h.flight.first, h.inFlight
	for n := was; n > 0; n-- {
		next := g.next
		if g.until <= now {
			l.land(g)
			if l.EndToStart || !g.paced && l.paces(h, g) {
				h.stamp(g.until, g.exempt)
			}
			g.state = expired
		}
		g = next
	}
	if l.Fleet != nil && h.inFlight < was {
		l.inform(h)
	}
	l.settle(h)
}
