package schedule

import "time"

// A Forecast is when a request can start if nothing changes, and whether it is
// rejected instead of waiting until then.
type Forecast struct {
	Estimate Time
	Rejected bool
	Why      Reason // what a rejected request would have to wait for
}

// ForecastAtEnd returns the Forecast of r if it joined the queue now. r cannot
// start before the time notBefore, which another Limiter decides. If that is
// the reason for which r is rejected, Why is ReasonWithin, unless another
// member of a fleet owns h.
func (h *Host) ForecastAtEnd(now Time, r *Request, notBefore Time) Forecast {
	return h.forecast(now, r, h.placeAtEnd(r), notBefore)
}

// ForecastFirst returns the Forecast of r, the first request of its lane. It
// leaves out the other Limiters: each rejects r itself when r joins its queue.
func (h *Host) ForecastFirst(now Time, r *Request) Forecast {
	return h.forecast(now, r, place{}, Anytime)
}

// forecast returns the Forecast of r, in place p of its lane. It is made when r
// joins the queue, when r is the first of its lane, and when r is retimed.
func (h *Host) forecast(now Time, r *Request, p place, notBefore Time) Forecast {
	own := h.estimate(now, r, p)
	f := Forecast{Estimate: max(own, notBefore)}
	isTooLong := h.exceedsMaxCrawlDelay(now, r, p)
	f.Rejected = isTooLong || h.missesDeadline(now, r, f.Estimate)
	if !f.Rejected {
		return f
	}
	switch {
	case h.UnownedUntil() > h.Due(r):
		f.Why = ReasonFleet
	case isTooLong:
		f.Why = ReasonCrawlDelay
	case notBefore > own:
		f.Why = ReasonWithin
	// Other requests of the lane of r, or of the other lane, start before r.
	case p.ahead > 0 || own > h.Due(r):
		f.Why = ReasonQueue
	default:
		f.Why = h.WhyDue(r)
	}
	return f
}

// missesDeadline reports whether r, which can start at the time estimate, would
// start too late or, because the Claim is denied, never. A request that can
// start now is never too late, even if its deadline is over.
func (h *Host) missesDeadline(now Time, r *Request, estimate Time) bool {
	return estimate > now && (estimate >= r.Deadline || h.isDenied())
}

// exceedsMaxCrawlDelay reports whether r, in place p, would have to wait for a
// Crawl-delay that is longer than Settings.MaxCrawlDelay.
func (h *Host) exceedsMaxCrawlDelay(now Time, r *Request, p place) bool {
	isTooLong := h.CrawlDelay(r) > h.Settings.MaxCrawlDelay
	return isTooLong && (p.ahead > 0 || h.CrawlDelayDue(r) > now)
}

// placeAtEnd returns the place that r gets if it joins the queue now.
func (h *Host) placeAtEnd(r *Request) place {
	if h.queue == nil || r.Overtakes && h.joinsAtFront(r) {
		return place{}
	}
	l := h.queue.lane(r)
	return place{l.length, l.crawlDelays}
}

// estimate returns the time at which r can start from place p of its lane if
// nothing changes. The true time may be earlier if requests leave the queue, a
// robots.txt request goes to the front, or an interval becomes shorter. It may
// be later, because the estimate leaves out how long the requests ahead and
// those in flight take, the Budget, what later stages decide and, except for
// the next start, Jitter and the interval of a quota.
func (h *Host) estimate(now Time, r *Request, p place) Time {
	from := max(now, h.UnownedUntil())
	due := max(from, h.Due(r))
	if h.queue == nil {
		return due
	}
	if r.Overtakes {
		return max(due, h.robotsEstimate(from, r, p))
	}
	return max(due, h.pageEstimate(from, r, p))
}

// pageEstimate is estimate for a page. It includes the robots.txt requests that
// wait now: one between each two pages and, if it is their turn, one before the
// first page. No request starts before the time from.
func (h *Host) pageEstimate(from Time, r *Request, p place) Time {
	page, _ := h.heads()
	if page == nil || p.ahead == 0 {
		page = r
	}
	start, robotsLeft := h.firstPageStart(from, page)
	if p.ahead == 0 {
		return start
	}
	ahead := int(p.ahead)
	robotsBefore := h.robotsBetween(from, start, r, ahead, robotsLeft)

	// A robots.txt request between two pages keeps them two delays apart, or
	// does not delay them because the pages keep a longer interval.
	twoDelays := Sum(h.Delay(), h.Delay())
	pageInterval := h.Interval(AnyRequest)
	lastInterval := h.Interval(r)
	between := robotsBefore    // how many start between two pages that are ahead of r
	if robotsBefore == ahead { // and one directly before r
		between--
		lastInterval = max(lastInterval, twoDelays)
	}
	estimate := start.AddTimes(max(pageInterval, twoDelays), between)
	estimate = estimate.AddTimes(pageInterval, ahead-1-between)
	estimate = estimate.Add(lastInterval)

	if h.Settings.CrawlDelay == 0 { // otherwise no declared Crawl-delay is in force
		// The start of the first page already includes its Crawl-delay.
		declared := p.crawlDelays - page.boundedCrawlDelay()
		estimate = max(estimate, start.Add(declared).Add(h.Interval(r)))
	}
	return estimate
}

// firstPageStart returns when page, the first page, can start, and how many of
// the robots.txt requests that wait do not start before it.
func (h *Host) firstPageStart(from Time, page *Request) (start Time, robotsLeft int) {
	start = max(from, h.Due(page))
	_, robots := h.heads()
	if robots == nil {
		return start, 0
	}
	robotsLeft = int(h.queue.robots.length)
	robotsStart := max(from, h.robotsDue(robots))
	isRobotsTurn := !h.lastWasRobots || h.isNeeded(robots)
	delay := h.Delay()
	switch {
	// Both are due at the same time, and a robots.txt request has the turn.
	case robotsStart == start && isRobotsTurn:
		return start.Add(delay), robotsLeft - 1
	case robotsStart >= start:
		return start, robotsLeft
	// Without a delay, all robots.txt requests start before the page is due.
	case delay == 0:
		return start, 0
	}
	// One starts at robotsStart, and another one after each delay until the
	// page is due. One that is due with the page counts as started, so the
	// estimate may be too early by a delay.
	started := 1 + intervals(robotsStart, start, delay, robotsLeft)
	return start, max(robotsLeft-started, 0)
}

// robotsBetween returns how many of the robotsLeft robots.txt requests start
// between the first page, which starts at the time start, and the page r, which
// has the given number of pages ahead of it.
func (h *Host) robotsBetween(from, start Time, r *Request, pages, robotsLeft int) int {
	if robotsLeft == 0 {
		return 0
	}
	_, robots := h.heads()
	robotsStart := max(from, h.robotsDue(robots))
	pageInterval := h.Interval(AnyRequest)
	undisturbed := start.AddTimes(pageInterval, pages-1).Add(h.Interval(r)) // r's start without these robots.txt requests
	if robotsStart > undisturbed {
		return 0
	}
	pagesBefore := 0 // how many further pages start before the first robots.txt request is due
	if robotsStart > start && pageInterval > 0 {
		pagesBefore = intervals(start, robotsStart-1, pageInterval, pages)
	}
	return min(robotsLeft, pages-pagesBefore)
}

// intervals returns how many intervals lie between two points in time, or limit
// if there are more.
func intervals(from, to Time, interval time.Duration, limit int) int {
	return int(min(int64(to.Sub(from)/interval), int64(limit)))
}

// robotsEstimate is estimate for a robots.txt request. It includes the pages
// that take their turns between robots.txt requests. It leaves them out if they
// keep a longer interval, because they are then not always due. No request
// starts before the time from.
func (h *Host) robotsEstimate(from Time, r *Request, p place) Time {
	page, robots := h.heads()
	if robots == nil || p.ahead == 0 {
		robots = r
	}
	start := h.firstRobotsStart(from, robots)
	ahead := int(p.ahead)
	pages := 0
	switch {
	case page == nil:
	case p.ahead == 0 && h.isNeeded(r):
	default:
		if h.Interval(page) == h.Delay() {
			pages = ahead
		}
		if h.lastWasRobots && max(from, h.Due(page)) == start {
			pages++ // a page has the turn
		}
		pages = min(pages, int(h.queue.pages.length))
	}
	return start.AddTimes(h.Delay(), ahead+pages)
}

// firstRobotsStart returns the earliest start of r, the first robots.txt
// request. It starts when the pages have had their time or one Delay after the
// last of the pages that wait, whichever is earlier, but not before it is due.
func (h *Host) firstRobotsStart(from Time, r *Request) Time {
	start := max(from, h.Due(r))
	page, _ := h.heads()
	if page == nil || h.isNeeded(r) {
		return start
	}
	afterPages := max(from, h.Due(page)).AddTimes(h.Delay(), int(h.queue.pages.length))
	return max(start, min(h.queue.robotsFrom, afterPages))
}
