package politeness

import (
	"context"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/headers"
	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// Done frees the slot and reports the outcome of the request to the Limiter.
// Any goroutine may call it. Only the first call counts. Done of a nil Grant
// does nothing.
func (g *Grant) Done(o Outcome) { g.done(context.Background(), o) }

// done is like Done. It passes the request's context to the Observer.
func (g *Grant) done(ctx context.Context, o Outcome) {
	if g == nil || g.limiter == nil {
		return
	}
	l := g.limiter
	a := headers.Read(o.Header, time.Now(), l.set.maxRetryAfter)
	s := classify(&o)
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
	status, now := int(g.status), schedule.Time(0)
	watched := l.Observer != nil
	if watched {
		now = l.now()
	}
	l.mu.Unlock()
	if g.next != nil {
		g.next.Done(Outcome{})
	}
	if watched && o.Status != 0 {
		l.reportAnswer(ctx, g, o, now)
	}
	if event != nil {
		l.reportBackOff(ctx, event)
	}
	if watched {
		l.reportEnd(ctx, g, status, now)
	}
}

// answered reports a response whose body has not been read yet to the Limiter.
func (g *Grant) answered(ctx context.Context, o Outcome) {
	l := g.limiter
	a := headers.Read(o.Header, time.Now(), l.set.maxRetryAfter)
	s := classify(&o)
	l.mu.Lock()
	var event *Event
	if g.state != over {
		event = l.learnFrom(g, &o, s, a)
		if l.Fleet != nil {
			l.inform(g.host)
		}
		g.status, g.bodySince = int16(o.Status), l.now()
		g.host.signalFirst() // now an unread body may be the only thing that holds up the queue
	}
	now := schedule.Time(0)
	if l.Observer != nil {
		now = l.now()
	}
	l.mu.Unlock()
	l.reportAnswer(ctx, g, o, now)
	if event != nil {
		l.reportBackOff(ctx, event)
	}
}
