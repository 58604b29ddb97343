package politeness

import (
	"net/url"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// A Grant is the right to make one request. It holds a slot of its host until
// Done is called or the Limiter's Lease is over.
//
// A Grant is first a place in the host's queue, then one of the requests in
// flight. With several Limiters it is a chain, with one Grant for each Limiter.
type Grant struct {
	request schedule.Request

	limiter *Limiter
	key     string
	next    *Grant // the Grant of the next Limiter; nil means none

	// Except for wake, these fields are set before the Grant is queued, and do
	// not change after that.
	trace         *Trace
	wake          chan struct{}      // a signal on it wakes the request; nil means the request has not had to wait
	settings      *schedule.Settings // as PerHost has set them for this request; nil without PerHost
	timed         bool               // MaxWait limits its wait, which only try() checks: no context has this limit
	afterRedirect bool               // it follows a redirect: see MaxWait

	// Guarded by limiter.mu.
	status      int16 // the response's status; 0 means none
	state       state
	rejectedFor schedule.Reason // in the state refused: what it would have to wait for
	host        *schedule.Host
	number      uint64        // its number in the order of starts
	bodySince   schedule.Time // since when its body is open; 0 means there is none, or the log has named it
}

// inForce has the delay, Crawl-delay and pause that were in force when a
// request started.
type inForce struct {
	delay, crawlDelay time.Duration
	pauseEnd          schedule.Time // of the host's latest pause; Never if there was none
	isAdaptive        bool          // the adaptive delay was in force
	isAgreed          bool          // the CrawlDelay of PerHost was in force
}

type state uint8

const (
	unqueued state = iota // in no queue yet
	queued                // in the queue of host
	inFlight              // in flight: it holds a slot of host
	expired               // was in flight until its lease was over
	refused               // was queued until it could not start in time
	over                  // Done was called
)

// A readiness is what a request learns when it checks whether it may start. The
// struct is small because it lies on the stack of each request that waits.
type readiness struct {
	ready   bool // it may start or, if the argument start of try is true, has started
	refused bool
	why     schedule.Reason // what the request has to wait for
	notice  *notice         // to be reported when no lock is held any more
	wait    time.Duration   // until the next check, or until a refused request may be retried
	until   schedule.Time   // the estimated start
	inForce inForce         // set when the request has started, only if there is an Observer
}

// A notice is something that the user should know.
type notice struct {
	openBody *url.URL      // the URL of an open body that holds up requests; nil means none
	openFor  time.Duration // how long the body has been open
}

// owner returns the Grant that r, which is queued or in flight, belongs to.
func owner(r *schedule.Request) *Grant { return r.Owner.(*Grant) }
