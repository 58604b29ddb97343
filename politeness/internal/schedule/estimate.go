package schedule

import "time"

// A Forecast is when a request can start if nothing changes, and whether it is
// rejected instead of waiting.
type Forecast struct {
	Estimate Time
	Rejected bool
	Why      Reason // what a rejected request would have to wait for
}

// ForecastAtEnd returns the Forecast of r if it joined the queue now. r cannot
// start before the time notBefore, which another Limiter decides. If r would
// wait only for that time, Why is ReasonWithin.
func (h *Host) ForecastAtEnd(now Time, r *Request, notBefore Time) Forecast {
	return h.forecast(now, r, h.placeAtEnd(r), notBefore)
}

// ForecastFirst returns the Forecast of r, the first request of its lane.
func (h *Host) ForecastFirst(now Time, r *Request) Forecast {
	return h.forecast(now, r, place{}, Never)
}

// forecast returns the Forecast of r, in place p of its lane.
func (h *Host) forecast(now Time, r *Request, p place, notBefore Time) Forecast {
	own := h.estimate(now, r, p)
	f := Forecast{Estimate: max(own, notBefore)}
	f.Rejected = h.rejects(now, r, p, f.Estimate)
	if !f.Rejected {
		return f
	}
	switch {
	case h.UnownedUntil() > h.Due(r):
		f.Why = ReasonFleet
	case h.exceedsMaxCrawlDelay(now, r, p):
		f.Why = ReasonCrawlDelay
	case p.ahead > 0:
		f.Why = ReasonQueue
	case notBefore > own:
		f.Why = ReasonWithin
	// A request of the other lane has the turn.
	case own > h.Due(r):
		f.Why = ReasonQueue
	default:
		f.Why = h.WhyDue(r)
	}
	return f
}

// rejects reports whether r, in place p, is rejected instead of waiting. r can
// start at the time estimate.
//
// A request is examined when it joins the queue, when it is the first of its
// lane, and by a retiming. If no context ends at its deadline, package
// politeness also examines it then.
func (h *Host) rejects(now Time, r *Request, p place, estimate Time) bool {
	// A request that can start now is not rejected, even if its deadline is over.
	isLate := estimate > now && h.missesDeadline(r, estimate)
	return isLate || h.exceedsMaxCrawlDelay(now, r, p)
}

// missesDeadline reports whether r, which can start at the time estimate,
// starts too late or, because the fleet has denied the Claim, never.
func (h *Host) missesDeadline(r *Request, estimate Time) bool {
	return estimate >= r.Deadline || h.isDenied()
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
	if h.queue == nil {
		return due
	}
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
