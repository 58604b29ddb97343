package schedule

import "time"

// When the times of a host change, the requests that wait for it get new
// estimates, and those that can no longer start in time are rejected. A host
// may have thousands of requests that wait, and each of them may change the
// times when it joins: for example if the requests of two origins declare
// different Crawl-delays. So an event examines only a few requests. The first
// request of the lane, which the caller wakes, examines the others, in batches.
const (
	perEvent      = 16
	perBatch      = 1024
	batchInterval = time.Millisecond
)

// A Verdict is what the examination of a request that waits has found.
type Verdict uint8

const (
	Unchanged Verdict = iota
	Changed           // the request has to look at its new estimate
	Rejected          // the request can no longer start in time
)

// Retime is called when the times of h have changed. It examines a few of the
// requests that wait for h, and calls visit for each. visit must dequeue a
// request that is Rejected, and no other. Then the caller wakes the first
// request of each lane, which calls ContinueRetiming.
func (h *Host) Retime(now Time, visit func(r *Request, v Verdict)) {
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
func (h *Host) ContinueRetiming(now Time, r *Request, visit func(r *Request, v Verdict)) (wait time.Duration) {
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

func (t *retiming) isDone() bool { return t.next == nil && !t.restarts }

func (l *lane) beginRetiming() {
	t := &l.retiming
	t.restarts = false
	t.next = l.first
	t.place = place{}
	t.round++
	if t.round == 0 {
		t.round++
	}
}

// examine examines the next n requests of l at most.
func (h *Host) examine(now Time, l *lane, n int, visit func(r *Request, v Verdict)) {
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
		estimate := h.estimate(now, r, p)
		v := Unchanged
		switch {
		case h.rejects(now, r, estimate, p):
			v = Rejected
		case p.ahead == 0 || r.Traced && estimate != r.Estimate:
			v = Changed
		}
		r.Estimate = estimate
		t.next = l.after(r)
		t.note(r)
		if l.observed == 0 && h.CrawlDelay(AnyRequest) <= h.Settings.MaxCrawlDelay {
			t.next = nil // the others need no estimate
		}
		visit(r, v)
	}
}
