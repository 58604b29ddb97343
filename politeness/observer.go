package politeness

import (
	"log/slog"
	"slices"
	"time"
)

// An Event is something that happened to a request or a host. See [Limiter.Observer].
type Event struct {
	Kind   EventKind
	Host   string        // the key of the host
	Wait   time.Duration // granted, refused, cancelled: how long it waited; else: how long the host has to be left alone
	Until  time.Time     // refused, backed off: until when
	Status int           // backed off: 429 or 503
}

// EventKind says what happened.
type EventKind uint8

const (
	EventGranted   EventKind = iota + 1 // a request may start
	EventRefused                        // a request got a DelayError
	EventCancelled                      // a request's context was cancelled while it waited
	EventBackedOff                      // a host is left alone after a 429 or 503
	EventClamped                        // a Crawl-delay, Wait, was cut to MaxCrawlDelay
	EventUnread                         // a request is held up by a body that nobody reads
)

var eventNames = [...]string{
	EventGranted:   "granted",
	EventRefused:   "refused",
	EventCancelled: "cancelled",
	EventBackedOff: "backed off",
	EventClamped:   "clamped",
	EventUnread:    "unread",
}

func (k EventKind) String() string {
	if int(k) < len(eventNames) && eventNames[k] != "" {
		return eventNames[k]
	}
	return "unknown"
}

// Stats are a Limiter's numbers at one moment.
type Stats struct {
	Hosts     int // remembered
	Waiting   int // requests in a queue
	InFlight  int // requests that hold a slot
	BackedOff int // hosts that are left alone after a 429 or 503

	Granted   uint64 // requests that started
	Refused   uint64 // requests that got a DelayError
	Cancelled uint64 // requests whose context was cancelled while they waited
	BackOffs  uint64 // pauses begun or prolonged
	Full      uint64 // refusals because of MaxHosts, part of Refused
	Expired   uint64 // grants that were never Done within the lease

	// Waits counts the granted requests by how long they waited: Waits[i] those
	// of at most WaitBounds()[i], and the last the longer ones.
	Waits [len(waitBounds) + 1]uint64
}

var waitBounds = [...]time.Duration{0, 10 * time.Millisecond, 100 * time.Millisecond,
	time.Second, 10 * time.Second, time.Minute, 10 * time.Minute}

// WaitBounds returns the upper bounds of Stats.Waits.
func WaitBounds() []time.Duration { return slices.Clone(waitBounds[:]) }

func (s *Stats) waited(d time.Duration) {
	i := 0
	for i < len(waitBounds) && d > waitBounds[i] {
		i++
	}
	s.Granted++
	s.Waits[i]++
}

// Stats returns the numbers of this moment. Those of a Limiter within are its own.
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

func (l *Limiter) observe(e Event) {
	if l.Observer != nil {
		l.Observer(e)
	}
}

func (l *Limiter) logger() *slog.Logger {
	if l.Logger != nil {
		return l.Logger
	}
	return slog.Default()
}

func (l *Limiter) tellBackOff(e Event) {
	e.Until = at(e.Wait)
	if l.Shared != nil {
		l.Shared.Pause(e.Host, e.Wait)
	}
	l.logger().Debug("politeness: a host asks to be left alone",
		"host", e.Host, "status", e.Status, "wait", e.Wait, "until", e.Until)
	l.observe(e)
}

func (l *Limiter) report(host string, n *notice) {
	if n.cut > 0 {
		l.logger().Warn("politeness: a Crawl-delay is longer than MaxCrawlDelay and was cut, as ClampCrawlDelay says",
			"host", host, "crawl_delay", n.cut, "max", l.set.maxCrawl)
		l.observe(Event{Kind: EventClamped, Host: host, Wait: n.cut})
	}
	if n.unread != nil {
		l.logger().Warn("politeness: requests to a host wait for a response body that is neither read nor closed; close it",
			"host", host, "url", n.unread.Redacted(), "unread_for", n.unreadFor)
		l.observe(Event{Kind: EventUnread, Host: host, Wait: n.unreadFor})
	}
}
