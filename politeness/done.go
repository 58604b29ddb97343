package politeness

import (
	"context"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/headers"
)

// Done frees the slot and tells the Limiter how the request went. Any goroutine
// may call it. Only the first call counts. Done of a nil Grant does nothing.
func (g *Grant) Done(o Outcome) { g.done(context.Background(), o) }

// done is like Done. It passes the request's context to the Observer.
func (g *Grant) done(ctx context.Context, o Outcome) {
	if g == nil || g.limiter == nil {
		return
	}
	l := g.limiter
	a := headers.Read(o.Header, time.Now(), l.set.maxRetryAfter)
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
	a := headers.Read(o.Header, time.Now(), l.set.maxRetryAfter)
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

// read counts n bytes that were read from a response's body.
func (g *Grant) read(n int) {
	g.reads.Add(1)
	if l := g.limiter; n > 0 && l.Budget.Bytes > 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.spend(g, amount{bytes: int64(n)})
	}
}
