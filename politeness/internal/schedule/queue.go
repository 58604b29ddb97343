package schedule

import (
	"cmp"
	"slices"
	"time"
)

func (l *lane) insert(r *Request, atFront bool) {
	l.list.insert(r, atFront)
	r.round = 0
	if t := &l.retiming; atFront && t.next != nil {
		t.note(r) // the retiming is past it
	}
	l.length++
	l.crawlDelays += r.boundedCrawlDelay()
	if r.IsObserved() {
		l.observed++
	}
}

func (l *lane) remove(r *Request) {
	switch t := &l.retiming; {
	case t.next == r:
		t.next = l.after(r)
	case t.next != nil && t.round == r.round:
		t.place.ahead--
		t.place.crawlDelays -= r.boundedCrawlDelay()
	}
	l.list.remove(r)
	l.length--
	l.crawlDelays -= r.boundedCrawlDelay()
	if r.IsObserved() {
		l.observed--
	}
}

// note counts r, which is ahead of all requests that are yet to be examined.
func (t *retiming) note(r *Request) {
	r.round = t.round
	t.place.ahead++
	t.place.crawlDelays += r.boundedCrawlDelay()
}

// IsObserved reports whether r's estimate matters while r waits: because of it,
// r may be rejected, or its trace is called.
func (r *Request) IsObserved() bool { return r.Deadline != Forever || r.Traced }

// countedCrawlDelay returns the Crawl-delay that r declares, shortened so that
// the sum for millions of requests does not overflow.
func (r *Request) boundedCrawlDelay() time.Duration { return min(r.CrawlDelay, time.Hour) }

// lane returns the lane that r waits in or would wait in.
func (q *queue) lane(r *Request) *lane {
	if r.Overtakes {
		return &q.robots
	}
	return &q.pages
}

// heads returns the first request of each lane, or nil if the lane is empty.
func (h *Host) heads() (page, robots *Request) {
	if h.queue == nil {
		return nil, nil
	}
	return h.queue.pages.first, h.queue.robots.first
}

// Heads is an iterator over the first request of each lane.
func (h *Host) Heads(yield func(*Request) bool) {
	page, robots := h.heads()
	if page != nil && !yield(page) {
		return
	}
	if robots != nil {
		yield(robots)
	}
}

// FirstWaiting returns the first page or, if no page waits, the first
// robots.txt request. If no request waits, the result is nil.
func (h *Host) FirstWaiting() *Request {
	page, robots := h.heads()
	return cmp.Or(page, robots)
}

// Waiting returns how many requests wait for h.
func (h *Host) Waiting() int {
	if h.queue == nil {
		return 0
	}
	return int(h.queue.pages.length + h.queue.robots.length)
}

// IsBusy reports whether requests wait for h or are in flight.
func (h *Host) IsBusy() bool { return h.InFlight > 0 || h.Waiting() > 0 }

// IsFirst reports whether r is the first request of its lane.
func (h *Host) IsFirst(r *Request) bool { return h.queue != nil && h.queue.lane(r).first == r }

// A Spare keeps an empty queue for the next host that needs one. Usually a
// single request waits for a host, and only for a moment.
type Spare struct{ queue *queue }

func (s *Spare) take() *queue {
	q := s.queue
	s.queue = nil
	if q == nil {
		q = new(queue)
	}
	q.robotsFrom = Never
	q.pages.retiming.batchAt = Never
	q.robots.retiming.batchAt = Never
	return q
}

// Enqueue puts r at the end of its lane. A request for the robots.txt that the
// first page needs goes to the front.
func (h *Host) Enqueue(now Time, r *Request, spare *Spare) {
	if h.queue == nil {
		h.queue = spare.take()
	}
	q := h.queue
	r.PhaseStart = now
	q.lane(r).insert(r, r.Overtakes && h.joinsAtFront(r))
	switch {
	case r.Overtakes:
		if q.robotsByOrigin == nil {
			q.robotsByOrigin = make(map[origin][]*Request)
		}
		q.robotsByOrigin[r.origin()] = append(q.robotsByOrigin[r.origin()], r)
		if q.rejoining == r.origin() {
			q.rejoining = origin{} // it goes first only once
		}
	case q.pages.first == r:
		q.moveToFront(r.origin())
	}
}

// Dequeue removes r from its lane, because it starts, is rejected or gives up.
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
	case wasFirst && q.pages.first != nil:
		q.moveToFront(q.pages.first.origin())
	}
	if h.Waiting() == 0 {
		*h.queue = queue{}
		spare.queue = h.queue
		h.queue = nil
	}
	return wasFirst
}

// removeByOrigin removes r from robotsByOrigin. As a rule, r is the oldest
// request for its file.
func (q *queue) removeByOrigin(r *Request) {
	file := r.origin()
	requests := q.robotsByOrigin[file]
	switch i := slices.Index(requests, r); {
	case i < 0: // the caller has changed its URL meanwhile
	case len(requests) == 1:
		delete(q.robotsByOrigin, file)
	case i == 0:
		requests[0] = nil
		q.robotsByOrigin[file] = requests[1:]
	default:
		q.robotsByOrigin[file] = slices.Delete(requests, i, i+1)
	}
}

// oldest returns the oldest request for the robots.txt of an origin, or nil.
func (q *queue) oldestRobots(file origin) *Request {
	if requests := q.robotsByOrigin[file]; len(requests) > 0 {
		return requests[0]
	}
	return nil
}

// Rejoins notes that page r leaves its lane because its check has failed. The
// reason may be that its robots.txt has run out, so that r joins the queue
// again when the file has been fetched. If the request for this file waits or
// joins next, it goes to the front of its lane.
func (h *Host) Rejoins(r *Request) {
	q := h.queue
	if q == nil || r.Overtakes {
		return
	}
	file := r.origin()
	if q.oldestRobots(file) == nil {
		q.rejoining = file
		return
	}
	q.rejoining = origin{}
	q.moveToFront(file)
}

// moveToFront moves the request for the robots.txt of an origin to the front of
// its lane, if there is such a request.
func (q *queue) moveToFront(file origin) {
	r := q.oldestRobots(file)
	if file == (origin{}) || r == nil || q.robots.first == r {
		return
	}
	q.robots.remove(r)
	q.robots.insert(r, true)
}

// joinsAtFront reports whether r, a robots.txt request that joins its lane,
// goes to the front: no other request for its file waits, and a page needs the
// file.
func (h *Host) joinsAtFront(r *Request) bool {
	file := r.origin()
	if h.queue == nil || file == (origin{}) || h.queue.oldestRobots(file) != nil {
		return false
	}
	return h.isNeeded(r) || file == h.queue.rejoining
}

// isNeeded reports whether r is for the robots.txt of the first page's origin,
// and no such request has started while this page was due. Otherwise a loop
// that requests this file could keep the page from starting.
func (h *Host) isNeeded(r *Request) bool {
	return h.isForFirstPage(r) && h.queue.pages.first != h.queue.checked
}

// isForFirstPage reports whether r is for the robots.txt of the first page's
// origin.
func (h *Host) isForFirstPage(r *Request) bool {
	page, _ := h.heads()
	return page != nil && r.URL != nil && page.origin() == r.origin()
}

// markChecked notes the turn of r, a robots.txt request that starts now.
func (h *Host) markChecked(now Time, r *Request) {
	if h.isForFirstPage(r) && h.Due(h.queue.pages.first) <= now {
		h.queue.checked = h.queue.pages.first
	}
}

// Next returns the request that starts next, as far as intervals, pauses and
// turns decide, or nil if no request is due.
//
// If only one lane has a request that is due, that request starts. If both
// have, they take turns, so that links to any number of ports of a host cannot
// stop the crawl of the host's pages:
//
//   - At most every second start is a robots.txt request.
//   - While pages wait, robots.txt requests get no more time than pages. A
//     request that took 30 s, because a port does not answer, is followed by
//     30 s of pages. See ReadyAt.
//   - A robots.txt request overrides both rules if it is for the origin of the
//     first page, but only one does so for each page. Otherwise the file that
//     allows this page may run out just before the page starts. The page would
//     then lose its place in the lane, and so would all pages of its origin
//     behind it.
//
// A page that waits for its first robots.txt is in no queue: it joins the queue
// when the file has allowed it. When a page has reached the front and its file
// has run out there, it leaves the queue and fetches the file. This request
// goes before all other robots.txt requests, but takes its turn with the pages:
// see Rejoins.
func (h *Host) Next(now Time) *Request {
	page, robots := h.heads()
	isPageDue := page != nil && h.Due(page) <= now
	isRobotsDue := robots != nil && h.ReadyAt(robots) <= now
	switch {
	case !isPageDue && !isRobotsDue:
		return nil
	case !isRobotsDue:
		return page
	case !isPageDue:
		return robots
	case h.isNeeded(robots):
		return robots
	case h.lastWasRobots:
		return page
	}
	return robots
}

// ReadyAt returns the time at which intervals, pauses and the time that is left
// to pages allow r to start.
func (h *Host) ReadyAt(r *Request) Time {
	due := h.Due(r)
	if h.queue == nil || !r.Overtakes || h.queue.pages.length == 0 || h.isNeeded(r) {
		return due
	}
	return max(due, h.queue.robotsFrom)
}

// reserveTimeForPages sets how long pages go first after r, which has held a
// slot until the time end.
func (h *Host) reserveTimeForPages(end Time, r *Request) {
	if h.queue == nil || !r.Overtakes {
		return
	}
	// If pages got a part of an interval more, they would start earlier than
	// pageEstimate says.
	took := end.Sub(r.PhaseStart).Truncate(h.Delay())
	h.queue.robotsFrom = max(h.queue.robotsFrom, end.Add(took))
}
