package schedule

import "time"

// EstimateAtEnd returns the earliest time at which r could start if it joined
// the queue now.
func (h *Host) EstimateAtEnd(now Time, r *Request) Time {
	if h.queue == nil {
		return max(now, h.UnownedUntil(), h.Due(r))
	}
	return h.estimate(now, r, h.placeAtEnd(r))
}

// placeAtEnd returns the place that r gets if it joins the queue now.
func (h *Host) placeAtEnd(r *Request) place {
	if h.queue == nil || r.Overtakes && h.joinsAtFront(r) {
		return place{}
	}
	l := h.queue.lane(r)
	if l.length == 0 {
		return place{}
	}
	return place{l.length, l.crawlDelays}
}

// estimate returns the time at which r can start from place p of its lane if
// nothing changes. The true time may be earlier if requests leave the queue, a
// robots.txt request goes to the front, or an interval becomes shorter. It may
// be later because the estimate leaves out how long the requests ahead take.
func (h *Host) estimate(now Time, r *Request, p place) Time {
	from := max(now, h.UnownedUntil())
	due := max(from, h.Due(r))
	if r.Overtakes {
		return max(due, h.robotsEstimate(from, r, p))
	}
	return max(due, h.pageEstimate(from, r, p))
}

// robotsStart returns the earliest start of r, the first robots.txt request. It
// starts when the pages have had their time, or one interval after the last of
// the pages that wait.
func (h *Host) robotsStart(from Time, r *Request) Time {
	start := max(from, h.Due(r))
	page, _ := h.heads()
	if page == nil || h.isNeeded(r) {
		return start
	}
	afterPages := max(from, h.Due(page)).AddTimes(h.Delay(), int(h.queue.pages.length))
	return max(start, min(h.queue.robotsFrom, afterPages))
}

// pageEstimate includes the robots.txt requests that wait now: one between each
// two pages and, if it is their turn, one before the first page.
func (h *Host) pageEstimate(from Time, r *Request, p place) Time {
	page, robots := h.heads()
	if page == nil || p.ahead == 0 {
		page = r
	}
	first := max(from, h.Due(page))
	delay := h.Delay()
	between := time.Duration(0)     // how many robots.txt requests start between pages
	undisturbed := time.Duration(0) // how many steps from page to page are over before the first of them is due
	if robots != nil {
		between = time.Duration(h.queue.robots.length)
		robotsFirst := max(from, h.Due(robots))
		if !h.isNeeded(robots) {
			robotsFirst = max(robotsFirst, h.queue.robotsFrom)
		}
		isRobotsTurn := !h.lastWasRobots || h.isNeeded(robots)
		switch {
		case robotsFirst == first && isRobotsTurn:
			first = first.Add(delay)
			between--
		case robotsFirst < first && delay > 0:
			// Some start while no page is due.
			between -= first.Sub(robotsFirst)/delay + 1
		case robotsFirst < first:
			between = 0
		case robotsFirst > first && h.Interval(AnyRequest) > 0:
			undisturbed = (robotsFirst.Sub(first) - 1) / h.Interval(AnyRequest)
		}
	}
	if p.ahead == 0 {
		return first
	}
	own := h.Interval(r)
	common := h.Interval(AnyRequest)
	ahead := time.Duration(p.ahead)
	between = min(max(between, 0), max(ahead-undisturbed, 0))
	// The last step is r's own interval. A robots.txt request between two pages
	// keeps them two intervals apart, or does not delay them.
	withRobots := max(common, Sum(delay, delay))
	wait := Sum(times(common, ahead-between), times(withRobots, between))
	wait = Sum(wait-common, own)
	if h.Settings.CrawlDelay == 0 { // otherwise no declared Crawl-delay is in force
		declared := p.crawlDelays - page.boundedCrawlDelay() // first has that of the first page
		wait = max(wait, Sum(declared, own))
	}
	return first.Add(wait)
}

// robotsEstimate includes the pages that take their turns between robots.txt
// requests. It leaves them out if they keep a longer interval, because they are
// then not always due.
func (h *Host) robotsEstimate(from Time, r *Request, p place) Time {
	page, robots := h.heads()
	if robots == nil || p.ahead == 0 {
		robots = r
	}
	delay := h.Delay()
	first := h.robotsStart(from, robots)
	starts := time.Duration(p.ahead)
	if page == nil || p.ahead == 0 && h.isNeeded(r) {
		return first.Add(times(delay, starts))
	}
	pages := time.Duration(0)
	if h.Interval(page) == delay {
		pages = starts
	}
	if h.lastWasRobots && max(from, h.Due(page)) == first {
		pages++
	}
	pages = min(pages, time.Duration(h.queue.pages.length))
	return first.Add(times(delay, starts+pages))
}

// times returns n*d, or Unlimited if the product overflows.
func times(d, n time.Duration) time.Duration {
	if n > 0 && d > Unlimited/n {
		return Unlimited
	}
	return d * n
}

// EstimateFirst returns the estimate of r, the first request of its lane.
func (h *Host) EstimateFirst(now Time, r *Request) Time {
	return h.estimate(now, r, place{})
}

// RejectsFirst reports whether r, the first request of its lane, is rejected
// instead of waiting until the time estimate.
func (h *Host) RejectsFirst(now Time, r *Request, estimate Time) bool {
	return h.rejects(now, r, estimate, place{})
}

// IsBehind reports whether other requests would be ahead of r in its lane if r
// joined the queue now.
func (h *Host) IsBehind(r *Request) bool { return h.placeAtEnd(r).ahead > 0 }

// RejectsAtEnd reports whether r is rejected instead of joining the queue now.
// r can start at the time estimate.
func (h *Host) RejectsAtEnd(now Time, r *Request, estimate Time) bool {
	return h.rejects(now, r, estimate, h.placeAtEnd(r))
}

// rejects reports whether r, in place p, is rejected instead of waiting. r can
// start at the time estimate.
func (h *Host) rejects(now Time, r *Request, estimate Time, p place) bool {
	if estimate > now && estimate >= r.Deadline {
		return true
	}
	isTooLong := h.CrawlDelay(r) > h.Settings.MaxCrawlDelay
	return isTooLong && (p.ahead > 0 || h.CrawlDelayDue(r) > now)
}
