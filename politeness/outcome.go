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
	Status  int           // the response's status; 0 means no response. See Limiter.BackOff
	Header  http.Header   // the response's header: Retry-After, Date, quotas, signs of bot protection
	Latency time.Duration // from the start to the response's header or to the failure; 0 means unknown
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
	d := l.readHeader(o.Header)
	class := classify(&o)
	l.mu.Lock()
	if g.state == done {
		l.mu.Unlock()
		return
	}
	now := l.now()
	event := l.learnFrom(g, &o, class, d, now)
	// pausesAtEnd was set by gotResponse, when the body had not been read, or
	// just now by learnFrom. In the second case, the pause counts from the end
	// already. If the lease has expired, the request ended earlier.
	if g.pausesAtEnd && g.state == inFlight && event == nil {
		event = l.pauseAtEnd(g, now)
	}
	l.release(g, now)
	if o.Status != 0 {
		g.status = int16(o.Status)
	}
	status := int(g.status)
	l.mu.Unlock()
	for stage := g.next; stage != nil; stage = stage.next {
		stage.releaseStage()
	}
	isObserved := l.Observer != nil
	if isObserved && o.Status != 0 {
		l.reportResponse(ctx, g, o.Status, o.Header, now)
	}
	if event != nil {
		l.reportBackOff(ctx, event)
	}
	if isObserved {
		l.reportEnd(ctx, g, status, now)
	}
}

// releaseStage frees the slot of g, a later stage of a chain. It reports
// nothing to the stage's Observer, because that of the first Limiter serves the
// chain.
func (g *Grant) releaseStage() {
	l := g.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if g.state != done {
		l.release(g, l.now())
	}
}

// gotResponse is called for a response whose body has not been read yet. It
// sets the fields of body.
func (g *Grant) gotResponse(ctx context.Context, o Outcome, body *openBody) {
	l := g.limiter
	body.url = g.request.URL
	body.since = time.Now()
	d := l.readHeader(o.Header)
	class := classify(&o)
	l.mu.Lock()
	now := l.now()
	var event *Event
	if g.state != done {
		event = l.learnFrom(g, &o, class, d, now)
		if l.Fleet != nil {
			l.informFleet(g.host)
		}
		g.status = int16(o.Status)
		g.noteBody(body)
	}
	l.mu.Unlock()
	for stage := g.next; stage != nil; stage = stage.next {
		if stage.limiter.isGlobalStage() {
			continue // a GlobalRate has no limit of slots
		}
		stage.limiter.mu.Lock()
		if stage.state != done {
			stage.noteBody(body)
		}
		stage.limiter.mu.Unlock()
	}
	l.reportResponse(ctx, g, o.Status, o.Header, now)
	if event != nil {
		l.reportBackOff(ctx, event)
	}
}

// noteBody notes the body of g's response. The first request of each lane may
// now wait for this open body, and must set its timer for the warning: see
// waitForSlot. The Limiter of g must be locked.
func (g *Grant) noteBody(body *openBody) {
	g.body = body
	signalFirst(g.host)
}

// readHeader returns what the header of a response demands. A Retry-After or a
// quota pauses the host for MaxRetryAfter at most. The clock is read only if
// there is a header: many programs pass none to Done.
func (l *Limiter) readHeader(h http.Header) headers.Demands {
	if len(h) == 0 {
		return headers.Demands{}
	}
	return headers.Read(h, time.Now(), l.effective.maxRetryAfter)
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
	r, isBlocked := refusal.Of(&http.Response{StatusCode: o.Status, Header: o.Header})
	if !isBlocked || !r.Sure {
		return false
	}
	return r.Kind == refusal.Challenge || r.Kind == refusal.Captcha || r.Kind == refusal.Block
}

// learnFrom updates what is known of g's host after a request with outcome o,
// whose class and demands are given. The event is nil unless a pause began or
// was prolonged.
func (l *Limiter) learnFrom(g *Grant, o *Outcome, class schedule.Class, d headers.Demands, now schedule.Time) (event *Event) {
	s := schedule.Signals{
		Status: o.Status, Class: class, RetryAfter: d.RetryAfter, Latency: o.Latency, Failed: o.Err != nil,
	}
	if s.IsEmpty() {
		return nil
	}
	if g.state == expired {
		l.findHost(g, now)
	}
	h := g.host
	if len(d.Quotas) > 0 {
		others := h.InFlight + h.InFlightElsewhere()
		if g.state == inFlight {
			others--
		}
		s.Quota = schedule.Quota(d.Quota(int64(others)))
	}
	effect := h.ApplyOutcome(now, &g.request, s)
	g.pausesAtEnd = effect.PausesAtEnd
	if effect == (schedule.Effect{}) {
		return nil
	}
	l.retime(h, now)
	return g.pauseEvent(now, o.Status, effect.Pause)
}

// pauseAtEnd prolongs the pause that g's response has begun, because g is over.
// The event is nil if that changes nothing.
func (l *Limiter) pauseAtEnd(g *Grant, now schedule.Time) (event *Event) {
	pause := g.host.PauseAtEnd(now, &g.request)
	if pause > 0 {
		l.hosts.MarkIfUnavailable(now, g.host)
	}
	return g.pauseEvent(now, int(g.status), pause)
}

// pauseEvent returns the event of a pause that begins or is prolonged now. It
// is nil if pause is 0.
func (g *Grant) pauseEvent(now schedule.Time, status int, pause time.Duration) *Event {
	if pause == 0 {
		return nil
	}
	e := g.event(now)
	e.Status = status
	e.Wait = pause
	return &e
}
