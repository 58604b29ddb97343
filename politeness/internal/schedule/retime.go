package schedule

import "time"

// When the interval, pause, quota or owner of a host changes, the requests that
// wait for the host get new estimates, and those that can no longer start in
// time are rejected. Thousands of requests may wait, and each that joins may
// cause such a change: for example if the requests of two origins declare
// different Crawl-delays. Therefore a change examines only perEvent requests of
// each lane. The first request of the lane, which the caller wakes, examines
// the others in batches of perBatch, at least batchInterval apart. If the host
// changes again meanwhile, the lane is examined once more from its beginning.
const (
	perEvent      = 16
	perBatch      = 1024
	batchInterval = time.Millisecond
)

// A Verdict is what the examination of a request that waits has found.
type Verdict uint8

const (
	Unchanged Verdict = iota
	Changed           // the request must be woken to examine its new estimate
	Rejected          // the request can no longer start in time
)

// A Visit is called for each request that has been examined. why is what a
// request that is Rejected would have to wait for.
type Visit func(r *Request, v Verdict, why Reason)

// Retime is called when the interval, pause, quota, owner or settings of h have
// changed, and when a robots.txt request has joined its queue. It examines a
// few of the requests that wait for h, and calls visit for each. visit must
// dequeue a request that is Rejected, and no other. Then the caller wakes the
// first request of each lane, which calls ContinueRetiming.
func (h *Host) Retime(now Time, visit Visit) {
	if h.queue == nil {
		return
	}
	q := h.queue
	for _, l := range [...]*lane{&q.pages, &q.robots} {
		if l.retiming.next == nil {
			l.beginRetiming()
		} else {
			l.retiming.restarts = true
		}
		h.examine(now, l, perEvent, visit)
	}
}

// ContinueRetiming examines a batch of the requests behind r, which is the
// first of its lane. The result is the time until the next batch, or Unlimited
// if all requests have been examined.
func (h *Host) ContinueRetiming(now Time, r *Request, visit Visit) (wait time.Duration) {
	l := h.queue.lane(r)
	t := &l.retiming
	if t.isDone() {
		return Unlimited
	}
	if next := t.batchAt.Add(batchInterval); now < next {
		return next.Sub(now)
	}
	t.batchAt = now
	h.examine(now, l, perBatch, visit)
	if t.isDone() {
		return Unlimited
	}
	return batchInterval
}

// examine examines the next n requests of l at most.
func (h *Host) examine(now Time, l *lane, n int, visit Visit) {
	t := &l.retiming
	for range n {
		if t.next == nil && t.restarts {
			l.beginRetiming()
		}
		r := t.next
		if r == nil {
			return
		}
		p := t.place
		f := h.forecast(now, r, p, Anytime)
		v := Unchanged
		switch {
		case f.Rejected:
			v = Rejected
		// The first request decides when to try again, so it is always woken.
		case p.ahead == 0:
			v = Changed
		case r.Traced && f.Estimate != r.Estimate:
			v = Changed
		}
		r.Estimate = f.Estimate
		t.next = l.after(r)
		t.noteExamined(r)
		if !h.needsEstimates(l) {
			t.next = nil
		}
		visit(r, v, f.Why)
	}
}

// needsEstimates reports whether the requests of l need estimates. They do not
// if none has a deadline or a Trace, and none can be rejected for a Crawl-delay
// that is too long or for a Claim that is denied.
func (h *Host) needsEstimates(l *lane) bool {
	isTooLong := h.crawlDelayInForce(l.maxCrawlDelay) > h.Settings.MaxCrawlDelay
	return l.observed > 0 || isTooLong || h.isDenied()
}
