package schedule

import (
	"net/url"
	"time"
)

// A Request is one request to a host. The fields up to Traced are set before
// the request joins the host's queue, and do not change while it waits. (The
// caller may change what URL points to.)
type Request struct {
	URL        *url.URL      // nil means unknown
	CrawlDelay time.Duration // the Crawl-delay that robots.txt declares for the request; 0 means none
	Deadline   Time          // a request that waits must start before this time; Forever means no limit
	Declared   bool          // CrawlDelay is known, perhaps to be 0
	Exempt     bool          // the request keeps no Crawl-delay: it is for a robots.txt
	Overtakes  bool          // the request is exempt and waits in the lane for robots.txt: see queue
	Traced     bool          // a change of Estimate has to be reported

	round uint16 // the number of the latest retiming that has examined the request; 0 means none

	// CountsFromSending reports whether an interval was known at the start:
	// see hasInterval. The interval then counts from the time of sending.
	CountsFromSending bool

	// OnItsWay reports whether net/http has requested a connection for the
	// request and has not written its header yet. It is always false without
	// httptrace, and if CountsFromSending is false.
	OnItsWay bool

	// PhaseStart is when the request's present phase began: when it was queued
	// or, once it has started, when it started. One field serves both phases
	// because the size of a Request costs time.
	PhaseStart Time

	Estimate Time // while the request waits: the estimated start

	// LeaseEnd is when the lease expires, once the request has started: see
	// Host.Expire. The caller may set it to a later time.
	LeaseEnd Time

	prev, next *Request // in the lane in which the request waits, or in Host.inFlight

	// Owner is what the request belongs to. Package schedule does not use it.
	Owner any
}

// AnyRequest stands for a request about which nothing is known. It must not be
// changed.
var AnyRequest = new(Request)

// An origin is what a robots.txt applies to. It is compared verbatim. A
// Request that is spelled differently only loses the preference that Host.Next
// describes.
type origin struct{ scheme, host string }

// origin returns the origin of r's URL, or the zero value if that is unknown.
func (r *Request) origin() origin {
	if r.URL == nil {
		return origin{}
	}
	return origin{r.URL.Scheme, r.URL.Host}
}

// A list is a circular list of requests through Request.prev and Request.next.
// A request is in one list at most. Unlike a container/list, it allocates
// nothing.
type list struct{ first *Request }

// insert puts r at the end or at the front.
func (l *list) insert(r *Request, atFront bool) {
	if l.first == nil {
		r.prev = r
		r.next = r
		l.first = r
		return
	}
	r.prev = l.first.prev
	r.next = l.first
	r.prev.next = r
	r.next.prev = r
	if atFront {
		l.first = r
	}
}

func (l *list) remove(r *Request) {
	if r.next == r {
		l.first = nil
	} else {
		r.prev.next = r.next
		r.next.prev = r.prev
		if l.first == r {
			l.first = r.next
		}
	}
	r.prev = nil
	r.next = nil
}

// after returns the request after r, or nil if r is the last.
func (l *list) after(r *Request) *Request {
	if r.next == l.first {
		return nil
	}
	return r.next
}
