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
// Many goroutines call the functions at once, with no lock held: the goroutines
// that make requests and, in a fleet, the goroutines of the Fleet. The
// functions must return quickly. A panic in a function reaches the caller of
// the Limiter, the Transport or the Fleet.
//
// The context is the request's context, and may have ended. Answered, Ended and
// BackedOff may get a background context instead: [Grant.Done] has no context,
// and only a [Transport] knows the request's context.
type Observer struct {
	// Granted is called when a request may start. e.At is that time. e.Wait is
	// how long the request waited. e.Delay and e.CrawlDelay are the intervals
	// that requests to the host keep. e.Until is the end of the host's latest
	// pause, if it had one.
	Granted func(ctx context.Context, e Event)

	// Answered is called when a response has come. e.At is that time. e.Status
	// and e.RetryAfter are those of the response. e.Wait is how long
	// e.RetryAfter asks to wait, whether or not that is obeyed.
	Answered func(ctx context.Context, e Event)

	// Ended is called when a request is over: its body was read or closed, it
	// failed, or its context or timeout ended. e.At is that time. e.Wait is how
	// long the request took from its start. e.Status is 0 if no response came.
	Ended func(ctx context.Context, e Event)

	// Refused is called when a request gets a [*DelayError]. e.Until is the
	// Until of this error. e.Wait is how long the request waited.
	Refused func(ctx context.Context, e Event)

	// Cancelled is called when a request's context is cancelled while it waits,
	// or when its check fails (see WithCheck). e.Wait is how long the request
	// waited.
	Cancelled func(ctx context.Context, e Event)

	// BackedOff is called when a host's answer begins or prolongs a pause. e.At
	// is the time of the answer. e.Wait is how long the pause lasts from then
	// on, and e.Until is its end. e.Status is the answer's: 429, 503, 3xx, the
	// status of a bot wall's answer, or any status if a quota is spent.
	BackedOff func(ctx context.Context, e Event)

	// Owned is called when this Limiter, as part of a fleet, begins to own the
	// host. e.Wait is the time since the Limiter asked for the host. The
	// context of Owned, HandedOver and Lost is a background one.
	Owned func(ctx context.Context, e Event)

	// HandedOver is called when this Limiter has given the host away while
	// other members of the fleet waited for it.
	HandedOver func(ctx context.Context, e Event)

	// Lost is called when this Limiter no longer owns the host, because the
	// Fleet has lost its session.
	Lost func(ctx context.Context, e Event)
}

// An Event is something that happened to a request or a host. The comment of
// the [Observer] function that gets the Event says what happened, and what its
// fields Wait, Until and At are. Fields that do not apply are zero.
type Event struct {
	Host   string        // the key of the host
	Wait   time.Duration // a duration; the function's comment says which
	Until  time.Time     // a point in time; the function's comment says which
	Status int           // the response's status
	Reason Reason        // Granted, Cancelled: the reason of the longest wait; Refused: as in DelayError
	Exempt bool          // the request is a fetch of robots.txt

	// Granted, Answered, Ended and BackedOff set these. Request is the
	// request's number among the Limiter's starts. The field At says when the
	// request started, was answered or ended, or when its answer began or
	// prolonged a pause. All values of At are by the Limiter's monotonic clock,
	// so the difference of two is the time that passed between them.
	Request uint64
	URL     *url.URL
	At      time.Time

	RetryAfter string // Answered: the field as written; several are joined by ", "

	// Granted sets these. They are the intervals that requests to the host
	// keep, without Jitter. Delay is Limiter.Delay, or the adaptive delay if
	// that is longer. CrawlDelay is the Crawl-delay. It is 0 for a fetch of
	// robots.txt, which keeps no Crawl-delay. An interval of 0 means that there
	// is none.
	Delay, CrawlDelay time.Duration
}

// Join returns an Observer that calls the functions of all observers, in their
// order. It skips nil observers, and returns nil if all are nil. A function
// that no observer has stays nil. Set the fields of the observers before the
// call.
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
	Hosts    int // hosts that are remembered
	Waiting  int // requests in a queue
	InFlight int // requests that hold a slot
}

// Stats returns the numbers of this moment. They do not include those of the
// Limiter l.Within, which has Stats of its own.
func (l *Limiter) Stats() Stats {
	l.init()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Hosts = len(l.hosts)
	return s
}

// The method "granted" reports a request that starts now.
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

func (l *Limiter) tellAnswer(ctx context.Context, g *Grant, o Outcome, at time.Duration) {
	if to := l.Observer; to != nil && to.Answered != nil {
		e := g.event(at)
		e.Status = o.Status
		if values := linesOf(o.Header, "Retry-After"); len(values) > 0 {
			e.RetryAfter = strings.Join(values, ", ")
			e.Wait, _ = RetryAfter(o.Header, time.Now())
		}
		to.Answered(ctx, e)
	}
}

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

func (l *Limiter) refused(ctx context.Context, g *Grant, waited time.Duration, until time.Time, why Reason) {
	if o := l.Observer; o != nil && o.Refused != nil {
		o.Refused(ctx, Event{Host: g.key, Wait: waited, Until: until, Reason: why, Exempt: g.exempt})
	}
}

// The method "cancelled" reports a request that gave up waiting.
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

// tellBackOff logs and reports a pause that begins or is prolonged now.
func (l *Limiter) tellBackOff(ctx context.Context, e *Event) {
	e.Until = at(e.Wait)
	l.logger().Debug("politeness: a host asks to be left alone",
		"host", e.Host, "status", e.Status, "wait", e.Wait, "until", e.Until)
	if o := l.Observer; o != nil && o.BackedOff != nil {
		o.BackedOff(ctx, *e)
	}
}

func (l *Limiter) report(host string, n *notice) {
	if n.cut > 0 {
		l.logger().Warn("politeness: a Crawl-delay is longer than MaxCrawlDelay and was cut, as ClampCrawlDelay says",
			"host", host, "crawl_delay", n.cut, "max", l.set.maxCrawl)
	}
	if n.unbooked != nil {
		l.logger().Warn("politeness: what is used of Limiter.Budget cannot be kept: hosts that need more of it are not asked; see to the directory",
			"dir", l.Budget.Dir, "error", n.unbooked)
	}
	if n.unread != nil {
		l.logger().Warn("politeness: requests to a host wait for a response body that is neither read nor closed; close it",
			"host", host, "url", n.unread.Redacted(), "unread_for", n.unreadFor)
	}
}
