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
// Pages are in the order of arrival. So are robots.txt requests, but the one
// that the first page needs, or that a page needs which rejoins the queue, goes
// to the front of its lane: see Enqueue, leaveFirst and ExpectRejoin. The lanes
// take turns: see Host.Next (turns.go).
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

// Enqueue puts r at the end of its lane. A request for the robots.txt of the
// first page, or of a page that rejoins, goes to the front: see joinsAtFront.
// If r is a page and becomes the first, the request for its robots.txt goes to
// the front.
func (h *Host) Enqueue(now Time, r *Request, spare *Spare) {
	if h.queue == nil {
		h.queue = spare.take()
	}
	q := h.queue
	r.PhaseStart = now
	q.lane(r).insert(r, r.Overtakes && h.joinsAtFront(r))
	switch {
	case r.Overtakes:
		o := r.origin()
		if q.robotsByOrigin == nil {
			q.robotsByOrigin = make(map[origin][]*Request)
		}
		q.robotsByOrigin[o] = append(q.robotsByOrigin[o], r)
		if q.rejoining == o {
			q.rejoining = origin{} // only one request goes to the front
		}
	case q.pages.first == r:
		q.moveToFront(r.origin())
	}
}

// Dequeue removes r from its lane, because it starts, is rejected or gives up.
// If r is the first page, the next page becomes the first: see leaveFirst.
// wasFirst reports whether r was the first request of its lane.
func (h *Host) Dequeue(r *Request, spare *Spare) (wasFirst bool) {
	q := h.queue
	l := q.lane(r)
	wasFirst = l.first == r
	l.remove(r)
	if r == q.checked {
		q.checked = nil
	}
	switch {
	case r.Overtakes:
		q.removeByOrigin(r)
	case wasFirst:
		q.leaveFirst(r)
	}
	if h.Waiting() == 0 {
		*h.queue = queue{}
		spare.queue = h.queue
		h.queue = nil
	}
	return wasFirst
}

// ExpectRejoin must be called before Dequeue removes page r because its check
// has failed. The reason may be that its robots.txt has expired, so that r
// joins the queue again when the robots.txt has been fetched. The request for
// this robots.txt, which waits or joins next, then goes to the front of its
// lane.
func (h *Host) ExpectRejoin(r *Request) {
	if h.queue != nil && !r.Overtakes {
		h.queue.rejoining = r.origin()
	}
}

// leaveFirst is called when page r, which was the first, has left its lane. It
// moves the robots.txt of the page that is first now to the front, and before
// it that of r, if r rejoins.
func (q *queue) leaveFirst(r *Request) {
	if next := q.pages.first; next != nil {
		q.moveToFront(next.origin())
	}
	o := r.origin()
	if q.rejoining == o && q.oldestRobots(o) != nil {
		q.moveToFront(o)
		q.rejoining = origin{} // only one request goes to the front
	}
}

// joinsAtFront reports whether r, a robots.txt request that joins its lane,
// goes to the front: no other request for its origin waits, and a page needs
// this robots.txt.
func (h *Host) joinsAtFront(r *Request) bool {
	o := r.origin()
	if h.queue == nil || o == (origin{}) || h.queue.oldestRobots(o) != nil {
		return false
	}
	return h.isNeeded(r) || o == h.queue.rejoining
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
