package politeness

import (
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// A Grant is the right to make one request. It holds a slot of its host until
// Done is called or the Limiter's Lease is over.
//
// A Grant is first a place in the host's queue, then one of the requests in
// flight. With several Limiters it is a chain, with one Grant for each Limiter.
type Grant struct {
	limiter *Limiter
	key     string
	url     *url.URL // the request's URL; only the first Grant of the chain has it
	then    *Grant   // the Grant of the next Limiter; nil means none

	// Except for wake, the fields of this block are set before the Grant is
	// queued, and do not change after that. The small fields stand next to the
	// small fields of the block below, so that a Grant takes less memory.
	crawl  time.Duration // the Crawl-delay from the request's context; 0 means none
	limit  time.Duration // the request must start before this time
	trace  *Trace
	wake   chan struct{} // a signal on it wakes the request; nil means the request has not had to wait
	told   bool          // whether the context gave crawl, perhaps as 0
	exempt bool          // it keeps no Crawl-delay: Exempt or ExemptInTurn
	timed  bool          // MaxWait limits its wait, which only try() checks: no context has this limit

	reads atomic.Uint32 // how often the response's body was read

	// Guarded by limiter.mu.
	status     int16 // the response's status; 0 means none
	overtakes  bool  // it is Exempt and does not wait its turn; set before the Grant is queued
	state      state
	paced      bool // set at the start: an interval follows, so the time of sending matters
	onItsWay   bool // Base connects for it, or writes it: see setOnItsWay
	follows    bool // it follows a redirect: see MaxWait; set like overtakes
	unread     bool // a response with a body has come, and the log has not called the body unread
	host       *host
	prev, next *Grant
	number     uint64        // its number in the order of queuing; after its start: in the order of starts
	since      time.Duration // when it queued; after its start: when it started
	until      time.Duration // its estimated start; after its start: the end of its lease
	token      *token
	holdUp     *holdUp
	keeps      inForce // set at its start, only if there is an Observer
}

// inForce has the pace, Crawl-delay and pause that were in force when a request
// started.
type inForce struct {
	pace, crawl time.Duration
	paused      time.Duration // the end of the host's latest pause; if there was none, the constant never
}

type state uint8

const (
	asking  state = iota // in no queue yet
	queued               // in host.queue
	flying               // in host.flight
	expired              // was in flight until its lease was over
	refused              // was queued until it could not start in time
	over                 // Done was called
)

// An Outcome is the result of a request. The zero value only frees the slot.
type Outcome struct {
	Status  int           // the response's status; 0 means no response. 429 and 503 pause the host
	Header  http.Header   // the response's header, for Retry-After, Date, quotas and signs of bot walls
	Latency time.Duration // from the start to the response's header; 0 means unknown
	Err     error         // why there was no response
}

// A token is one of GlobalRate, reserved for the first request in a queue. A
// rate.Limiter cannot move its reservations later. Therefore the pace of a host
// is computed from points in time instead.
type token struct {
	*rate.Reservation
	valid time.Duration // from when on the request may use it
}

// A holdUp belongs to the first request in a queue. It notes which request in
// flight holds up that first request. It also has the number of reads of the
// response's body, and the time since which this number has not changed.
type holdUp struct {
	by    *Grant
	reads uint32
	since time.Duration
}

// A look is what a request learns when it checks whether it may start. The
// struct is small because it lies on the stack of each request that waits.
type look struct {
	ready   bool // it may start, or has started if try was told to start it
	refused bool
	why     why           // what the request has to wait for
	notice  *notice       // to be reported when no lock is held any more
	wait    time.Duration // until the next look, or until a refused request may come again
	until   time.Duration // the estimated start
}

// A notice is something that the user should know.
type notice struct {
	cut       time.Duration // a Crawl-delay that was cut; 0 means none
	unread    *url.URL      // the URL of an open body that nobody reads; nil means none
	unreadFor time.Duration
	unbooked  error // why Budget.Dir cannot be used; nil means no news
}

// grantRing is a circular list through Grant.prev and Grant.next.
type grantRing struct{ first *Grant }

func (r *grantRing) push(g *Grant) {
	if r.first == nil {
		g.prev, g.next = g, g
		r.first = g
		return
	}
	g.prev, g.next = r.first.prev, r.first
	g.prev.next, g.next.prev = g, g
}

func (r *grantRing) remove(g *Grant) {
	if g.next == g {
		r.first = nil
	} else {
		g.prev.next, g.next.prev = g.next, g.prev
		if r.first == g {
			r.first = g.next
		}
	}
	g.prev, g.next = nil, nil
}
