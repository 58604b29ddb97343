package politeness

import (
	"context"
	"net/url"
	"time"
)

// An Observer reports what happens to requests and hosts, for metrics and logs.
// Each function is optional. A nil one costs nothing.
//
// Many goroutines call the functions at once, with no lock held: the goroutines
// that make requests and, in a fleet, the goroutines of the Fleet. The
// functions must return quickly. A panic in a function reaches the caller of
// the Limiter, the Transport or the Fleet; the request then holds no slot. A
// panic in Ended ends the program if the request was ended by its context or by
// a timeout, because no caller is there to recover.
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

	// Answered is called when a response has arrived. e.At is that time.
	// e.Status and e.RetryAfter are those of the response. e.Wait is the wait
	// that e.RetryAfter requests, whether or not it is obeyed.
	Answered func(ctx context.Context, e Event)

	// Ended is called when a request is over: its body was read or closed, it
	// failed, or its context or timeout ended. e.At is that time. e.Wait is how
	// long the request took from its start. e.Status is 0 if no response came.
	Ended func(ctx context.Context, e Event)

	// Rejected is called when a request gets a [*DelayError]. e.Until is the
	// Until of this error. e.Wait is how long the request waited.
	Rejected func(ctx context.Context, e Event)

	// Canceled is called when a request's context is canceled while it waits,
	// or when its check fails (see WithCheck). e.Wait is how long the request
	// waited.
	Canceled func(ctx context.Context, e Event)

	// BackedOff is called when a host's response begins or prolongs a pause.
	// e.At is the time of the response. e.Wait is how long the pause lasts from
	// then on, and e.Until is its end. e.Status is the status of the response:
	// 429, 430, 503 or 529, 300 and above with a Retry-After, that of a
	// bot-protection response, or any status if a quota is spent.
	BackedOff func(ctx context.Context, e Event)

	// Owned is called when this Limiter, as part of a fleet, begins to own the
	// host. e.Wait is the time since the Limiter requested the host. The
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
// the [Observer] function that receives the Event describes it, and its fields
// Wait, Until and At. Fields that do not apply are zero.
type Event struct {
	Host   string        // the key of the host
	Wait   time.Duration // a duration: see the comment of the function
	Until  time.Time     // a point in time: see the comment of the function
	Status int           // the response's status
	Reason Reason        // Granted, Canceled: the reason of the longest wait; Rejected: as in DelayError
	Exempt bool          // the request is a fetch of robots.txt

	// Granted, Answered, Ended and BackedOff set these. Request is the
	// request's number among the Limiter's starts. The field At is the time at
	// which the request started, was answered or ended, or at which its
	// response began or prolonged a pause. All values of At are by the
	// Limiter's monotonic clock, so the difference of two is the time that
	// passed between them.
	Request uint64
	URL     *url.URL
	At      time.Time

	RetryAfter string // Answered: the field, verbatim; several are joined by ", "

	// Granted sets these. They are the intervals that requests to the host
	// keep, without Jitter. Delay is Limiter.Delay, or the adaptive delay if
	// that is longer. CrawlDelay is the Crawl-delay. It is 0 for a fetch of
	// robots.txt, which keeps no Crawl-delay. An interval of 0 means that there
	// is none.
	Delay, CrawlDelay time.Duration

	// Granted sets these. Adaptive reports that Delay is the adaptive delay.
	// Agreed reports that CrawlDelay comes from Limiter.PerHost, and not from
	// robots.txt.
	Adaptive, Agreed bool
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
				Rejected:  both(all.Rejected, o.Rejected),
				Canceled:  both(all.Canceled, o.Canceled),
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
	if f == nil {
		return g
	}
	if g == nil {
		return f
	}
	return func(ctx context.Context, e Event) {
		f(ctx, e)
		g(ctx, e)
	}
}
