package politeness

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"time"
)

// An Observer is told what happens to requests and hosts, for metrics and logs.
// Each function is optional; a nil one costs nothing.
//
// The functions are called in the middle of requests, by many goroutines at
// once and with no lock held. They must return quickly. A panic in one goes to
// the caller of the Limiter or Transport.
//
// The context is that of the request. Only Answered, Ended and BackedOff may
// get a background one: [Grant.Done] has no context, so that of the request is
// known to a [Transport] alone. The context may have ended.
type Observer struct {
	// Granted: a request may start, at At. Wait is how long it waited, Delay
	// and CrawlDelay what the host's starts keep, and Until the end of its
	// latest pause, if it had one.
	Granted func(ctx context.Context, e Event)

	// Answered: a response has come, at At, with Status and RetryAfter. Wait
	// is what that asks for, whether or not this status is one to obey it on.
	Answered func(ctx context.Context, e Event)

	// Ended: a request is over, at At: its body was read or closed, or it
	// failed. Wait is how long it took, and Status 0 if no response came.
	Ended func(ctx context.Context, e Event)

	// Refused: a request got a [*DelayError], with Until in it. Wait is how
	// long it had waited.
	Refused func(ctx context.Context, e Event)

	// Cancelled: a request's context was cancelled while it waited. Wait is how
	// long it had waited.
	Cancelled func(ctx context.Context, e Event)

	// BackedOff: a host is left alone for Wait, to Until, because it answered
	// with Status, at At.
	BackedOff func(ctx context.Context, e Event)

	// Clamped: a Crawl-delay, Wait, was cut to MaxCrawlDelay.
	Clamped func(ctx context.Context, e Event)

	// Unread: a request is held up by a response body that has been neither
	// read nor closed for Wait.
	Unread func(ctx context.Context, e Event)

	// Owned: in a fleet, this Limiter owns the host from now on. Wait is how
	// long it had asked. The context is a background one, here and in the two
	// below.
	Owned func(ctx context.Context, e Event)

	// HandedOver: others waited for a host that this Limiter owned, and it has
	// been given to them.
	HandedOver func(ctx context.Context, e Event)

	// Lost: the Fleet has lost its session, and this Limiter a host with it.
	Lost func(ctx context.Context, e Event)
}

// An Event is something that happened to a request or a host. The function of
// the [Observer] that gets it says what; fields that it does not name are zero.
type Event struct {
	Host   string        // the key of the host
	Wait   time.Duration // how long
	Until  time.Time     // until when
	Status int           // of the response: 429, 503, 3xx, that of a wall, or any with a quota that is spent
	Reason Reason        // granted, refused, cancelled: what the request waited for longest
	Exempt bool          // of the same: it is the fetch of robots.txt itself

	// Of a request that was granted: its number among those of the Limiter,
	// its URL, and when it started, was answered, ended, or made its host be
	// left alone. The time is by the Limiter's own clock, which nobody sets:
	// the difference of two is what passed between them.
	Request uint64
	URL     *url.URL
	At      time.Time

	RetryAfter string // answered: as written; several joined by ", "

	// What the host's starts keep between them, without Jitter: the Delay, or
	// the adaptive one if that is longer; and the Crawl-delay, which the fetch
	// of robots.txt is exempt from. 0: none.
	Delay, CrawlDelay time.Duration
}

// Join returns an Observer that calls the functions of all the observers, in
// their order. nil ones are skipped; if there is no other, Join returns nil.
// A function that none of them has stays nil. Join reads their fields, so set
// these before.
func Join(observers ...*Observer) *Observer {
	var all *Observer
	for _, o := range observers {
		switch {
		case o == nil:
		case all == nil:
			all = o
		default:
			all = &Observer{
				Granted:   both(all.Granted, o.Granted),
				Answered:  both(all.Answered, o.Answered),
				Ended:     both(all.Ended, o.Ended),
				Refused:   both(all.Refused, o.Refused),
				Cancelled: both(all.Cancelled, o.Cancelled),
				BackedOff: both(all.BackedOff, o.BackedOff),
				Clamped:   both(all.Clamped, o.Clamped),
				Unread:    both(all.Unread, o.Unread),

				Owned:      both(all.Owned, o.Owned),
				HandedOver: both(all.HandedOver, o.HandedOver),
				Lost:       both(all.Lost, o.Lost),
			}
		}
	}
	return all
}

// both returns a function that calls f and then g; if one is nil, the other.
func both(f, g func(context.Context, Event)) func(context.Context, Event) {
	switch {
	case f == nil:
		return g
	case g == nil:
		return f
	}
	return func(ctx context.Context, e Event) {
		f(ctx, e)
		g(ctx, e)
	}
}

// Stats are a Limiter's numbers at one moment, as a gauge shows them. What
// happens over time is for an [Observer] to count.
type Stats struct {
	Hosts     int // remembered
	Waiting   int // requests in a queue
	InFlight  int // requests that hold a slot
	BackedOff int // hosts that are left alone because of what they answered
	Owned     int // hosts, in a fleet
	Unowned   int // hosts that are asked for in a fleet, and not owned yet
}

// Stats returns the numbers of this moment. Those of a Limiter within are its
// own.
func (l *Limiter) Stats() Stats {
	l.init()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Hosts = len(l.hosts)
	now := l.now()
	for h := range l.backed {
		if h.learnt.until <= now {
			delete(l.backed, h)
		}
	}
	s.BackedOff = len(l.backed)
	return s
}

// granted tells of a request that starts now.
func (l *Limiter) granted(ctx context.Context, g *Grant, waited time.Duration, why Reason) {
	if g.trace != nil && g.trace.Granted != nil {
		g.trace.Granted(l.epoch.Add(g.since))
	}
	if o := l.Observer; o != nil && o.Granted != nil {
		e := g.event(g.since)
		e.Wait, e.Reason, e.Delay, e.CrawlDelay = waited, why, g.keeps.pace, g.keeps.crawl
		if until := g.keeps.paused; until != never {
			e.Until = l.epoch.Add(until)
		}
		o.Granted(ctx, e)
	}
}

// tellAnswer tells of a response.
func (l *Limiter) tellAnswer(ctx context.Context, g *Grant, o Outcome, at time.Duration) {
	if to := l.Observer; to != nil && to.Answered != nil {
		e := g.event(at)
		e.Status = o.Status
		if values := o.Header["Retry-After"]; len(values) > 0 {
			e.RetryAfter = strings.Join(values, ", ")
			e.Wait, _ = RetryAfter(o.Header, time.Now())
		}
		to.Answered(ctx, e)
	}
}

// tellEnd tells of a request that is over.
func (l *Limiter) tellEnd(ctx context.Context, g *Grant, status int, at time.Duration) {
	if o := l.Observer; o != nil && o.Ended != nil {
		e := g.event(at)
		e.Wait, e.Status = at-g.since, status
		o.Ended(ctx, e)
	}
}

// event is what all events of a request say that was granted.
func (g *Grant) event(at time.Duration) Event {
	return Event{Host: g.key, Exempt: g.exempt, Request: g.number, URL: g.url, At: g.limiter.epoch.Add(at)}
}

// refused tells of a request that gets a DelayError.
func (l *Limiter) refused(ctx context.Context, g *Grant, waited time.Duration, until time.Time, why Reason) {
	if o := l.Observer; o != nil && o.Refused != nil {
		o.Refused(ctx, Event{Host: g.key, Wait: waited, Until: until, Reason: why, Exempt: g.exempt})
	}
}

// cancelled tells of a request that has given up waiting.
func (l *Limiter) cancelled(ctx context.Context, g *Grant, waited time.Duration, why Reason) {
	if o := l.Observer; o != nil && o.Cancelled != nil {
		o.Cancelled(ctx, Event{Host: g.key, Wait: waited, Reason: why, Exempt: g.exempt})
	}
}

func (l *Limiter) logger() *slog.Logger {
	if l.Logger != nil {
		return l.Logger
	}
	return slog.Default()
}

// tellBackOff tells of a pause that began now.
func (l *Limiter) tellBackOff(ctx context.Context, e *Event) {
	e.Until = at(e.Wait)
	l.logger().Debug("politeness: a host asks to be left alone",
		"host", e.Host, "status", e.Status, "wait", e.Wait, "until", e.Until)
	if o := l.Observer; o != nil && o.BackedOff != nil {
		o.BackedOff(ctx, *e)
	}
}

func (l *Limiter) report(ctx context.Context, host string, n *notice) {
	if n.cut > 0 {
		l.logger().Warn("politeness: a Crawl-delay is longer than MaxCrawlDelay and was cut, as ClampCrawlDelay says",
			"host", host, "crawl_delay", n.cut, "max", l.set.maxCrawl)
		if o := l.Observer; o != nil && o.Clamped != nil {
			o.Clamped(ctx, Event{Host: host, Wait: n.cut})
		}
	}
	if n.unread != nil {
		l.logger().Warn("politeness: requests to a host wait for a response body that is neither read nor closed; close it",
			"host", host, "url", n.unread.Redacted(), "unread_for", n.unreadFor)
		if o := l.Observer; o != nil && o.Unread != nil {
			o.Unread(ctx, Event{Host: host, Wait: n.unreadFor})
		}
	}
}
