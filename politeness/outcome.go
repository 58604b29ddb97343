package politeness

import (
	"context"
	"net/http"
	"time"

	"github.com/goodbots/courtesy/internal/httpstatus"
	"github.com/goodbots/courtesy/politeness/internal/headers"
	"github.com/goodbots/courtesy/politeness/internal/schedule"
	"github.com/goodbots/courtesy/politeness/refusal"
)

// An Outcome is the result of a request. The zero value only frees the slot.
type Outcome struct {
	Status  int           // the response's status; 0 means no response. 429 and 503 pause the host
	Header  http.Header   // the response's header, for Retry-After, Date, quotas and signs of bot walls
	Latency time.Duration // from the start to the response's header; 0 means unknown
	Err     error         // why there was no response
}

// Done frees the slot and passes the result of the request to the Limiter. Any
// goroutine may call it. Only the first call counts. Done of a nil Grant does
// nothing.
func (g *Grant) Done(o Outcome) { g.done(context.Background(), o) }

// done is like Done. It passes the request's context to the Observer.
func (g *Grant) done(ctx context.Context, o Outcome) {
	if g == nil || g.limiter == nil {
		return
	}
	l := g.limiter
	a := l.readHeader(o.Header)
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
		l.reportAnswer(ctx, g, o.Status, o.Header, now)
	}
	if event != nil {
		l.reportBackOff(ctx, event)
	}
	if watched {
		l.reportEnd(ctx, g, status, now)
	}
}

// answered is called for a response whose body has not been read yet.
func (g *Grant) answered(ctx context.Context, o Outcome) {
	l := g.limiter
	a := l.readHeader(o.Header)
	s := classify(&o)
	l.mu.Lock()
	var event *Event
	if g.state != over {
		event = l.learnFrom(g, &o, s, a)
		if l.Fleet != nil {
			l.inform(g.host)
		}
		g.status, g.bodySince = int16(o.Status), l.now()
		signalFirst(g.host) // now an unread body may be the only thing that holds up the queue
	}
	now := schedule.Time(0)
	if l.Observer != nil {
		now = l.now()
	}
	l.mu.Unlock()
	l.reportAnswer(ctx, g, o.Status, o.Header, now)
	if event != nil {
		l.reportBackOff(ctx, event)
	}
}

// readHeader returns what a response requires of the Limiter by its header. The
// clock is read only if there is a header: many programs pass none to Done.
func (l *Limiter) readHeader(h http.Header) headers.Demands {
	if len(h) == 0 {
		return headers.Demands{}
	}
	return headers.Read(h, time.Now(), l.set.maxRetryAfter)
}

// learnFrom updates what is known of g's host after a request with outcome o,
// whose class is c and whose header requests a. The event is nil unless a pause
// began or was prolonged.
func (l *Limiter) learnFrom(g *Grant, o *Outcome, c schedule.Class, a headers.Demands) (event *Event) {
	s := schedule.Signals{
		Status: o.Status, Class: c, RetryAfter: a.RetryAfter, Latency: o.Latency, Failed: o.Err != nil,
	}
	if s.IsEmpty() {
		return nil
	}
	now := l.now()
	if g.state == expired {
		l.recall(g, now)
	}
	h := g.host
	if len(a.Quotas) > 0 {
		others := int64(h.InFlight)
		if g.state == inFlight {
			others--
		}
		q := a.Quota(others)
		s.Quota = schedule.Quota{Pause: q.Pause, Spread: q.Spread, RenewsIn: q.RenewsIn}
	}
	effect := h.ApplyOutcome(now, &g.request, s)
	if effect == (schedule.Effect{}) {
		return nil
	}
	if h.IsPaused(now) {
		l.hosts.MarkUnavailable(h)
	}
	l.retime(h, now)
	if effect.Pause == 0 {
		return nil
	}
	e := g.event(now)
	e.Status, e.Wait = o.Status, effect.Pause
	return &e
}

// classify returns the class of an outcome. It needs no lock.
func classify(o *Outcome) schedule.Class {
	switch {
	case httpstatus.IsThrottled(o.Status):
		return schedule.Throttled
	case httpstatus.IsOverloaded(o.Status), isBlock(o):
		return schedule.Suspect
	case o.Err == nil && o.Status > 0 && o.Status < 500:
		return schedule.Good
	}
	return schedule.Silent
}

// isBlock reports whether the response surely came from bot protection instead
// of the site: a challenge, a captcha or a block.
func isBlock(o *Outcome) bool {
	if len(o.Header) == 0 {
		return false
	}
	r, refused := refusal.Of(&http.Response{StatusCode: o.Status, Header: o.Header})
	return refused && r.Sure && (r.Kind == refusal.Challenge || r.Kind == refusal.Captcha || r.Kind == refusal.Block)
}

// recall prepares g's host for what the Limiter will learn from g, whose lease
// has expired. If the Limiter has forgotten the host meanwhile, g gets the host
// that now has the same key, or a new host.
func (l *Limiter) recall(g *Grant, now schedule.Time) {
	if g.host.IsEvicted() {
		g.host = l.obtainHost(g, now)
	}
}
