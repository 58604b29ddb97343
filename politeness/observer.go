package politeness

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"time"
)

// An Observer is told what happens to requests and hosts, for metrics and logs.
// Each function is optional. A nil one costs nothing.
//
// The functions are called during requests, by many goroutines at once, with no
// lock held. They must return quickly. A panic in one reaches the caller of the
// Limiter or Transport.
//
// The context is the request's, and may have ended. Answered, Ended and
// BackedOff may get a background context instead: [Grant.Done] has no context,
// and only a [Transport] knows the request's.
type Observer struct {
	// Granted: a request may start, at At. Wait is how long it waited. Delay
	// and CrawlDelay are the intervals that the host's starts keep. Until is
	// the end of the host's latest pause, if it had one.
	Granted func(ctx context.Context, e Event)

	// Answered: a response came, at At, with Status and RetryAfter. Wait is
	// what RetryAfter asks for, even if it is not obeyed with this status.
	Answered func(ctx context.Context, e Event)

	// Ended: a request is over, at At: its body was read or closed, or it
	// failed. Wait is how long it took. Status is 0 if no response came.
	Ended func(ctx context.Context, e Event)

	// Refused: a request got a [*DelayError] with this Until. Wait is how long
	// it had waited.
	Refused func(ctx context.Context, e Event)

	// Cancelled: a request's context was cancelled while it waited. Wait is how
	// long it had waited.
	Cancelled func(ctx context.Context, e Event)

	// BackedOff: a host is left alone for Wait, until Until, because it
	// answered with Status, at At: 429, 503, 3xx, a bot wall's status, or any
	// with a spent quota.
	BackedOff func(ctx context.Context, e Event)

	// Clamped: a Crawl-delay of Wait was cut to MaxCrawlDelay.
	Clamped func(ctx context.Context, e Event)

	// Unread: a request waits only for a response body that has been neither
	// read nor closed for Wait.
	Unread func(ctx context.Context, e Event)

	// Owned: in a fleet, this Limiter owns the host from now on. Wait is how
	// long it had to ask. The context of Owned, HandedOver and Lost is a
	// background one.
	Owned func(ctx context.Context, e Event)

	// HandedOver: this Limiter has given the host to members of the fleet that
	// waited for it.
	HandedOver func(ctx context.Context, e Event)

	// Lost: this Limiter no longer owns the host, because the Fleet has lost
	// its session.
	Lost func(ctx context.Context, e Event)
}

// An Event is something that happened to a request or a host. The function of
// the [Observer] that gets it says what happened and which fields are set. The
// others are zero.
type Event struct {
	Host   string        // the key of the host
	Wait   time.Duration // how long
	Until  time.Time     // until when
	Status int           // of the response
	Reason Reason        // Granted, Refused, Cancelled: what the request waited for longest
	Exempt bool          // whether the request is the fetch of robots.txt

	// These are set once a request was granted. Request is its number among the
	// Limiter's starts. At is when it started, was answered, ended, or made its
	// host back off. At is by the Limiter's own monotonic clock: the difference
	// of two is the time that passed.
	Request uint64
	URL     *url.URL
	At      time.Time

	RetryAfter string // Answered: as written; several joined by ", "

	// These are the intervals that the host's starts keep, without Jitter: the
	// Delay, or the adaptive delay if that is longer; and the Crawl-delay,
	// which does not apply to the fetch of robots.txt. 0: none.
	Delay, CrawlDelay time.Duration
}

// Join returns an Observer that calls the functions of all observers, in their
// order. It skips nil observers, and returns nil if there is no other. A
// function that no observer has stays nil. Join reads the observers' fields, so
// set them before.
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

// both returns a function that calls f and then g. If one is nil, it returns
// the other.
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

// Stats are a Limiter's numbers at one moment, for gauges. To count what
// happens over time, use an [Observer].
type Stats struct {
	Hosts     int // remembered
	Waiting   int // requests in a queue
	InFlight  int // requests that hold a slot
	BackedOff int // hosts in a pause because of their answers
	Owned     int // hosts that are owned, in a fleet
	Unowned   int // hosts that are asked for in a fleet and not owned yet
}

// Stats returns the numbers of this moment. They leave out a Limiter within,
// which has its own.
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

// granted reports a request that starts now.
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

// tellAnswer reports a response.
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

// tellEnd reports a request that is over.
func (l *Limiter) tellEnd(ctx context.Context, g *Grant, status int, at time.Duration) {
	if o := l.Observer; o != nil && o.Ended != nil {
		e := g.event(at)
		e.Wait, e.Status = at-g.since, status
		o.Ended(ctx, e)
	}
}

// event returns an Event with the fields that all events of a granted request
// have.
func (g *Grant) event(at time.Duration) Event {
	return Event{Host: g.key, Exempt: g.exempt, Request: g.number, URL: g.url, At: g.limiter.epoch.Add(at)}
}

// refused reports a request that gets a DelayError.
func (l *Limiter) refused(ctx context.Context, g *Grant, waited time.Duration, until time.Time, why Reason) {
	if o := l.Observer; o != nil && o.Refused != nil {
		o.Refused(ctx, Event{Host: g.key, Wait: waited, Until: until, Reason: why, Exempt: g.exempt})
	}
}

// cancelled reports a request that gave up waiting.
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

// tellBackOff logs and reports a pause that begins now.
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
