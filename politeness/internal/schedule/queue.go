package schedule

import (
	"slices"
	"time"
)

// A queue contains the requests that wait for one host, in two lanes: requests
// for a robots.txt that may overtake others (Request.Overtakes), and all other
// requests, which are called pages here. An exempt request that does not
// overtake is a page too.
//
// Pages are in the order of arrival. So are robots.txt requests, except that a
// request goes to the front of its lane if the first page needs it, or a page
// that rejoins the queue: see Host.Enqueue (order.go). The lanes take turns:
// see Host.Next (turns.go).
type queue struct {
	pages  lane
	robots lane

	// robotsFrom is the earliest time at which a robots.txt request may start
	// while pages wait, or Anytime: see Host.reserveTimeForPages.
	robotsFrom Time

	// checked is the first page, if a request for its robots.txt has started
	// while the page was due: see Host.isNeeded.
	checked *Request

	// rejoining is the origin of the latest page that left its lane because its
	// check failed, until the request for its robots.txt goes to the front: see
	// Host.ExpectRejoin.
	rejoining origin

	// robotsByOrigin has the requests in robots by the origin of the
	// robots.txt, each in the order of arrival.
	robotsByOrigin map[origin][]*Request
}

// lane returns the lane that r waits in or would wait in.
func (q *queue) lane(r *Request) *lane {
	if r.Overtakes {
		return &q.robots
	}
	return &q.pages
}

// moveToFront moves the oldest request for the robots.txt of an origin to the
// front of its lane, if there is such a request.
func (q *queue) moveToFront(o origin) {
	r := q.oldestRobots(o)
	if o == (origin{}) || r == nil || q.robots.first == r {
		return
	}
	q.robots.remove(r)
	q.robots.insert(r, true)
}

// oldestRobots returns the oldest request for the robots.txt of an origin, or
// nil.
func (q *queue) oldestRobots(o origin) *Request {
	if requests := q.robotsByOrigin[o]; len(requests) > 0 {
		return requests[0]
	}
	return nil
}

// removeByOrigin removes r from robotsByOrigin. As a rule, r is the oldest
// request for its origin, so that no other request has to be moved.
func (q *queue) removeByOrigin(r *Request) {
	o := r.origin()
	if !slices.Contains(q.robotsByOrigin[o], r) {
		o = q.findOrigin(r) // the caller has changed the URL of r meanwhile
	}
	requests := q.robotsByOrigin[o]
	i := slices.Index(requests, r)
	switch {
	case len(requests) == 1:
		delete(q.robotsByOrigin, o)
	case i == 0:
		requests[0] = nil
		q.robotsByOrigin[o] = requests[1:]
	default:
		q.robotsByOrigin[o] = slices.Delete(requests, i, i+1)
	}
}

// findOrigin returns the origin that r had when it joined the queue.
func (q *queue) findOrigin(r *Request) origin {
	for o, requests := range q.robotsByOrigin {
		if slices.Contains(requests, r) {
			return o
		}
	}
	panic("schedule: the request is in no queue")
}

// A lane is one half of a queue.
type lane struct {
	list
	length int32

	// observed is how many requests of the lane are IsObserved.
	observed int32

	// crawlDelays is the sum of the Crawl-delays that the requests declare,
	// each of them bounded: see Request.boundedCrawlDelay.
	crawlDelays time.Duration

	// maxCrawlDelay is the longest Crawl-delay that a request has declared
	// since the lane was empty.
	maxCrawlDelay time.Duration

	// retiming has how far the requests have been examined after a change of
	// the host.
	retiming retiming
}

func (l *lane) insert(r *Request, atFront bool) {
	l.list.insert(r, atFront)
	l.retiming.noteJoin(r, atFront)
	l.length++
	l.crawlDelays += r.boundedCrawlDelay()
	l.maxCrawlDelay = max(l.maxCrawlDelay, r.CrawlDelay)
	if r.IsObserved() {
		l.observed++
	}
}

func (l *lane) remove(r *Request) {
	l.retiming.noteLeave(r, l.after(r))
	l.list.remove(r)
	l.length--
	l.crawlDelays -= r.boundedCrawlDelay()
	if l.length == 0 {
		l.maxCrawlDelay = 0
	}
	if r.IsObserved() {
		l.observed--
	}
}

// IsObserved reports whether r's estimate matters while r waits: because of it,
// r may be rejected, or its trace is called.
func (r *Request) IsObserved() bool { return r.Deadline != Forever || r.Traced }

// boundedCrawlDelay returns the Crawl-delay that r declares, shortened so that
// the sum for millions of requests does not overflow.
func (r *Request) boundedCrawlDelay() time.Duration { return min(r.CrawlDelay, time.Hour) }

// A place is a position in a lane.
type place struct {
	ahead       int32         // how many requests are ahead
	crawlDelays time.Duration // the sum of their bounded Crawl-delays
}

// A retiming is how far the requests of a lane have been examined after a
// change of their host, from the first to the last: see Host.Retime.
type retiming struct {
	next     *Request // the request to be examined next; nil means that none is
	place    place    // of next
	round    uint16   // the number of the present examination, from 1: see Request.round
	restarts bool     // the host has changed meanwhile, so another examination follows
	batchAt  Time     // when a batch was examined last
}

func (t *retiming) isDone() bool { return t.next == nil && !t.restarts }

func (l *lane) beginRetiming() {
	t := &l.retiming
	t.restarts = false
	t.next = l.first
	t.place = place{}
	t.round++
	if t.round == 0 {
		t.round = 1 // 0 marks requests that were never examined
	}
}

// noteExamined counts r, which is ahead of all requests that are yet to be
// examined.
func (t *retiming) noteExamined(r *Request) {
	r.round = t.round
	t.place.ahead++
	t.place.crawlDelays += r.boundedCrawlDelay()
}

// noteJoin must be called when r joins the lane.
func (t *retiming) noteJoin(r *Request, atFront bool) {
	r.round = 0
	if atFront && t.next != nil {
		t.noteExamined(r) // the retiming is past the front
	}
}

// noteLeave must be called before r leaves the lane. The next request may be
// nil.
func (t *retiming) noteLeave(r, next *Request) {
	switch {
	case t.next == r:
		t.next = next
	case t.next != nil && t.round == r.round:
		t.place.ahead--
		t.place.crawlDelays -= r.boundedCrawlDelay()
	}
}

// A Spare keeps an empty queue for the next host that needs one. Usually a
// single request waits for a host, and only for a moment.
type Spare struct{ queue *queue }

func (s *Spare) take() *queue {
	q := s.queue
	s.queue = nil
	if q == nil {
		q = new(queue)
	}
	q.robotsFrom = Anytime
	q.pages.retiming.batchAt = Never
	q.robots.retiming.batchAt = Never
	return q
}
