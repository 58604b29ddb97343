package schedule

// Next returns the request that starts next, as far as intervals, pauses and
// turns decide, or nil if no request is due.
//
// A page is any request that does not overtake others, also one for a
// robots.txt to which another host has redirected: see queue.
//
// If only one lane has a request that is due, that request starts. If both
// have, they take turns, so that links to any number of ports of a host, each
// of which has a robots.txt of its own, cannot stop the crawl of its pages:
//
//   - At most every second start is a robots.txt request.
//   - While pages wait, due or not, robots.txt requests get no more time than
//     pages. If a robots.txt request took 30 s, because a port does not answer,
//     then no other robots.txt request is due for the next 30 s, rounded down
//     to whole Delays: see reserveTimeForPages.
//   - A robots.txt request for the origin of the first page overrides both
//     rules, because the robots.txt that allows this page might otherwise
//     expire just before the page starts. The page would then lose its place in
//     the lane, and so would all pages of its origin behind it. While the page
//     is due, only one such request can overtake it.
//
// A page that waits for its first robots.txt is in no queue: it joins the queue
// when its robots.txt has allowed it. If the robots.txt of a page has expired
// when the page has reached the front, the page leaves the queue, and its
// robots.txt is requested. This request goes to the front of its lane (see
// ExpectRejoin), where a later request that the first page needs can still
// overtake it. Like all robots.txt requests, it takes its turn with the pages,
// unless the page that is first now has the same origin (see isNeeded).
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
// has held a slot until the time end, for as long as r has taken. If there is a
// Delay, that is rounded down to whole Delays: pages start once per Delay, so a
// fraction of one would let no further page start.
func (h *Host) reserveTimeForPages(end Time, r *Request) {
	if h.queue == nil || !r.Overtakes {
		return
	}
	took := end.Sub(r.PhaseStart).Truncate(h.Delay()) // PhaseStart is the start of r, since r has left the queue
	h.queue.robotsFrom = max(h.queue.robotsFrom, end.Add(took))
}
