package politeness

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/headers"
	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// reportQueued reports to g's Trace that g waits until the time estimate.
func (l *Limiter) reportQueued(g *Grant, estimate schedule.Time, why Reason) {
	if g.trace != nil && g.trace.Queued != nil {
		g.trace.Queued(at(estimate.Sub(l.now())), why)
	}
}

// reportGranted reports a request that starts now.
func (l *Limiter) reportGranted(ctx context.Context, g *Grant, f *inForce, waited time.Duration, why Reason) {
	if g.trace != nil && g.trace.Granted != nil {
		g.trace.Granted(l.time(g.request.PhaseStart))
	}
	if o := l.Observer; o != nil && o.Granted != nil {
		e := g.event(g.request.PhaseStart)
		e.Wait = waited
		e.Reason = why
		e.Delay = f.delay
		e.CrawlDelay = f.crawlDelay
		e.Adaptive = f.isAdaptive
		e.Agreed = f.isAgreed
		if f.pauseEnd != schedule.Never {
			e.Until = l.time(f.pauseEnd)
		}
		o.Granted(ctx, e)
	}
}

// reportResponse reports the response to g with this status and header.
func (l *Limiter) reportResponse(ctx context.Context, g *Grant, status int, header http.Header, at schedule.Time) {
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

// reportEnd reports the end of g. status is 0 if no response was received.
func (l *Limiter) reportEnd(ctx context.Context, g *Grant, status int, at schedule.Time) {
	if o := l.Observer; o != nil && o.Ended != nil {
		e := g.event(at)
		e.Wait = at.Sub(g.request.PhaseStart)
		e.Status = status
		o.Ended(ctx, e)
	}
}

// event returns an Event with the fields that all events of a granted request
// have.
func (g *Grant) event(at schedule.Time) Event {
	return Event{Host: g.key, Exempt: g.request.Exempt, Request: g.number, URL: g.request.URL, At: g.limiter.time(at)}
}

// reportRejected reports that g gets a DelayError.
func (l *Limiter) reportRejected(ctx context.Context, g *Grant, waited time.Duration, until time.Time, why Reason) {
	if o := l.Observer; o != nil && o.Rejected != nil {
		o.Rejected(ctx, Event{Host: g.key, Wait: waited, Until: until, Reason: why, Exempt: g.request.Exempt})
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
	l.logger().Debug("politeness: a host is paused",
		"host", e.Host, "status", e.Status, "wait", e.Wait, "until", e.Until)
	if o := l.Observer; o != nil && o.BackedOff != nil {
		o.BackedOff(ctx, *e)
	}
}

// A notice describes a problem of the program that the log should mention: an
// open response body, which delays requests.
type notice struct {
	openBody *url.URL      // the URL of an open body that delays requests; nil means none
	openFor  time.Duration // how long the body has been open
	key      string        // the key of the slot: that of the host, or of a Within
}

// reportNotice logs n, which may be nil. host is the host of the request that
// waits. If the slot belongs to a Within, the body may be that of another host.
func (l *Limiter) reportNotice(host string, n *notice) {
	if n == nil || n.openBody == nil {
		return
	}
	logger := l.logger()
	if n.key != host {
		logger = logger.With("within", n.key)
	}
	logger.Warn("politeness: requests to a host wait for a response body that is still open; read and close it",
		"host", host, "url", n.openBody.Redacted(), "open_for", n.openFor)
}
