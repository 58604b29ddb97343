package politeness

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/headers"
	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// reportGranted reports a request that starts now.
func (l *Limiter) reportGranted(ctx context.Context, g *Grant, f *inForce, waited time.Duration, why Reason) {
	if g.trace != nil && g.trace.Granted != nil {
		g.trace.Granted(l.time(g.request.PhaseStart))
	}
	if o := l.Observer; o != nil && o.Granted != nil {
		e := g.event(g.request.PhaseStart)
		e.Wait, e.Reason, e.Delay, e.CrawlDelay = waited, why, f.delay, f.crawlDelay
		e.Adaptive, e.Agreed = f.isAdaptive, f.isAgreed
		if until := f.pauseEnd; until != schedule.Never {
			e.Until = l.time(until)
		}
		o.Granted(ctx, e)
	}
}

// reportAnswer reports the response to g with this status and header.
func (l *Limiter) reportAnswer(ctx context.Context, g *Grant, status int, header http.Header, at schedule.Time) {
	if o := l.Observer; o != nil && o.Answered != nil {
		e := g.event(at)
		e.Status = status
		if values := headers.Lines(header, "Retry-After"); len(values) > 0 {
			e.RetryAfter = strings.Join(values, ", ")
			e.Wait, _ = headers.RetryAfter(header, time.Now())
		}
		o.Answered(ctx, e)
	}
}

func (l *Limiter) reportEnd(ctx context.Context, g *Grant, status int, at schedule.Time) {
	if o := l.Observer; o != nil && o.Ended != nil {
		e := g.event(at)
		e.Wait, e.Status = at.Sub(g.request.PhaseStart), status
		o.Ended(ctx, e)
	}
}

// event returns an Event with the fields that all events of a granted request
// have.
func (g *Grant) event(at schedule.Time) Event {
	return Event{Host: g.key, Exempt: g.request.Exempt, Request: g.number, URL: g.request.URL, At: g.limiter.time(at)}
}

func (l *Limiter) reportRefused(ctx context.Context, g *Grant, waited time.Duration, until time.Time, why Reason) {
	if o := l.Observer; o != nil && o.Refused != nil {
		o.Refused(ctx, Event{Host: g.key, Wait: waited, Until: until, Reason: why, Exempt: g.request.Exempt})
	}
}

// reportCanceled reports a request that gave up waiting.
func (l *Limiter) reportCanceled(ctx context.Context, g *Grant, waited time.Duration, why Reason) {
	if o := l.Observer; o != nil && o.Canceled != nil {
		o.Canceled(ctx, Event{Host: g.key, Wait: waited, Reason: why, Exempt: g.request.Exempt})
	}
}

// reportBackOff logs and reports a pause that begins or is prolonged now.
func (l *Limiter) reportBackOff(ctx context.Context, e *Event) {
	e.Until = at(e.Wait)
	l.logger().Debug("politeness: a host asks to be left alone",
		"host", e.Host, "status", e.Status, "wait", e.Wait, "until", e.Until)
	if o := l.Observer; o != nil && o.BackedOff != nil {
		o.BackedOff(ctx, *e)
	}
}

func (l *Limiter) report(host string, n *notice) {
	if n == nil {
		return
	}
	if n.openBody != nil {
		l.logger().Warn("politeness: requests to a host wait for a response body that is still open; read and close it",
			"host", host, "url", n.openBody.Redacted(), "open_for", n.openFor)
	}
}
