package politeness

import (
	"net/http"

	"github.com/goodbots/courtesy/internal/httpstatus"
	"github.com/goodbots/courtesy/politeness/internal/headers"
	"github.com/goodbots/courtesy/politeness/internal/schedule"
	"github.com/goodbots/courtesy/politeness/refusal"
)

// learnFrom updates what is known of g's host after a request with outcome o,
// whose class is c and whose header requests a. The event is nil unless a pause
// began or was prolonged.
func (l *Limiter) learnFrom(g *Grant, o *Outcome, c schedule.Class, a headers.Asked) (event *Event) {
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
		s.Quota = schedule.Quota{Pause: q.Pause, Spread: q.Spread, Renews: q.Until}
	}
	effect := h.Answer(now, &g.request, s)
	if effect == (schedule.Effect{}) {
		return nil
	}
	if h.IsPaused(now) {
		l.hosts.MarkPaused(h)
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
		return schedule.Blocked
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
