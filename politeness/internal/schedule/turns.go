package schedule

// Next returns the request that starts next, as far as intervals, pauses and
// turns decide, or nil if no request is due.
//
// A page is any request that does not overtake others, also one for a
// robots.txt to which another host has redirected: see queue.
//
// If only one lane has a request that is due, that request starts. If both
// have, they take turns, so that links to any number of ports of a host cannot
// stop the crawl of the host's pages:
//
//   - At most every second start is a robots.txt request.
//   - While pages wait, robots.txt requests get no more time than pages. A
//     request that took 30 s, because a port does not answer, is followed by
//     30 s of pages. See reserveTimeForPages.
//   - A robots.txt request for the origin of the first page overrides both
//     rules, because the robots.txt that allows this page might otherwise
//     expire just before the page starts. The page would then lose its place in
//     the lane, and so would all pages of its origin behind it. Only one
//     request does so for each page.
//
// A page that waits for its first robots.txt is in no queue: it joins the queue
// when its robots.txt has allowed it. If the robots.txt of a page has expired
// when the page has reached the front, the page leaves the queue, and its
// robots.txt is requested. This request goes before all other robots.txt
// requests, but takes its turn with the pages: see ExpectRejoin.
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

// ReadyAt returns the time at which intervals, pauses and the time that is
// reserved for pages allow r to start.
func (h *Host) ReadyAt(r *Request) Time {
	if h.queue == nil || h.queue.pages.length == 0 || !r.Overtakes {
		return h.Due(r)
	}
	return h.robotsDue(r)
}

// robotsDue is like ReadyAt for r, a robots.txt request, if pages wait.
func (h *Host) robotsDue(r *Request) Time {
	if h.isNeeded(r) {
		return h.Due(r)
	}
	return max(h.Due(r), h.queue.robotsFrom)
}

// isNeeded reports whether r is for the robots.txt of the first page's origin,
// and no such request has started while this page was due. Otherwise a loop
// that requests this robots.txt could keep the page from starting.
func (h *Host) isNeeded(r *Request) bool {
	return h.isForFirstPage(r) && h.queue.pages.first != h.queue.checked
}

// isForFirstPage reports whether r is for the robots.txt of the first page's
// origin.
func (h *Host) isForFirstPage(r *Request) bool {
	page, _ := h.heads()
	return page != nil && r.URL != nil && page.origin() == r.origin()
}

// noteTurn notes that r starts now.
func (h *Host) noteTurn(now Time, r *Request) {
	h.lastWasRobots = r.Overtakes
	if r.Overtakes {
		h.markChecked(now, r)
	}
}

// markChecked notes that r, a robots.txt request, starts now, if the first page
// needs it and is due: see isNeeded.
func (h *Host) markChecked(now Time, r *Request) {
	if h.isForFirstPage(r) && h.Due(h.queue.pages.first) <= now {
		h.queue.checked = h.queue.pages.first
	}
}

// reserveTimeForPages lets pages go first after r, a robots.txt request that
// has held a slot until the time end, for as long as r has taken. Only whole
// intervals count: pages start once per interval, so a fraction would let no
// further page start.
func (h *Host) reserveTimeForPages(end Time, r *Request) {
	if h.queue == nil || !r.Overtakes {
		return
	}
	took := end.Sub(r.PhaseStart).Truncate(h.Delay()) // PhaseStart is the start of r, since r has left the queue
	h.queue.robotsFrom = max(h.queue.robotsFrom, end.Add(took))
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
