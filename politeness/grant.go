package politeness

import (
	"net/url"
	"sync/atomic"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// A Grant is the right to make one request. It holds a slot of its host until
// Done is called or the Limiter's Lease has expired.
//
// A Grant is first a place in the host's queue, then one of the requests in
// flight. With several Limiters it is a chain, with one Grant for each Limiter.
type Grant struct {
	request schedule.Request

	limiter *Limiter
	key     string
	next    *Grant // the Grant of the next Limiter of the chain; nil means none

	// A signal on wake wakes the request. All Grants of a chain share the
	// channel. nil means that the request has not had to wait.
	wake chan struct{}

	// These fields do not change while the Grant is queued.
	trace         *Trace
	settings      *schedule.Settings // as PerHost has set them for this request; nil without PerHost
	afterRedirect bool               // the request follows a redirect: see longestInterval

	// hasMaxWait reports that a Limiter of the chain has a MaxWait, so that the
	// deadline may be earlier than the end of the context. It is set only in
	// the first Grant of the chain, whose try then checks the deadline.
	hasMaxWait bool

	// Guarded by limiter.mu.
	status      int16 // the response's status; 0 means none
	state       state
	pausesAtEnd bool            // the end of the request may prolong the pause: see Host.PauseAtEnd
	rejectedFor schedule.Reason // in the state rejectedInQueue: what the request would have to wait for
	host        *schedule.Host
	number      uint64 // the request's number in the order of starts

	// body is the response's body, which all Grants of the chain share. nil
	// means that there is none yet.
	body *openBody
}

// An openBody is the body of a response. It is open until its request frees
// its slots.
type openBody struct {
	url      *url.URL    // of the request
	since    time.Time   // when the response's header was received
	reported atomic.Bool // the log has named the body
}

// A state is the phase of a Grant at its Limiter.
type state uint8

const (
	unqueued        state = iota // in no queue
	queued                       // in the queue of host
	rejectedInQueue              // removed from the queue by a retiming, because it could not start in time
	inFlight                     // started: it holds a slot of host
	expired                      // started, but its lease has expired, so it holds no slot
	done                         // Done was called
)

// inForce has the delay, Crawl-delay and pause that were in force when a
// request started.
type inForce struct {
	delay      time.Duration
	crawlDelay time.Duration
	pauseEnd   schedule.Time // of the host's latest pause; Never if there was none
	isAdaptive bool          // the adaptive delay was in force
	isAgreed   bool          // the CrawlDelay of PerHost was in force
}

// owner returns the Grant that r, which is queued or in flight, belongs to.
func owner(r *schedule.Request) *Grant { return r.Owner.(*Grant) }
