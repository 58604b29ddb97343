package schedule

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
// lane. It does not if the queue has become empty, or if another page has left
// the queue to rejoin it, before the request joins.
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
// goes to the front: no other request for its origin waits, and the first page
// needs this robots.txt (see isNeeded), or a page of its origin rejoins.
func (h *Host) joinsAtFront(r *Request) bool {
	o := r.origin()
	if h.queue == nil || o == (origin{}) || h.queue.oldestRobots(o) != nil {
		return false
	}
	return h.isNeeded(r) || o == h.queue.rejoining
}
