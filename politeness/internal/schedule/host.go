package schedule

import "cmp"

// A Host is the schedule of one host. A crawl meets millions of hosts, so the
// struct is small: what only few hosts need is in Learned.
type Host struct {
	Settings *Settings
	Key      string // the name of the host in its Table

	// LastStart is when the intervals were last restarted: at the start of the
	// latest request, at its sending or at its end. See RestartIntervals and
	// restartsAtEnd.
	LastStart Time

	// LastCrawlDelayStart is like LastStart, for requests that are not exempt.
	// Crawl-delays count from here.
	LastCrawlDelayStart Time

	Learned  *Learned // nil means that nothing was learned
	queue    *queue   // the requests that wait; nil means none
	inFlight list     // the requests that hold a slot, oldest first
	jitter   float32  // the present interval is longer by this fraction
	InFlight int32    // the length of inFlight
	OnItsWay int32    // how many of them are on their way: see Request.OnItsWay

	unavailableIndex int32 // 1 + index in Table.unavailable; 0 if not in it
	lastWasRobots    bool  // the latest start was that of a robots.txt request: see Next
	evicted          bool  // h is no longer in its Table
	wasBlank         bool  // h is or was last in Table.blank, not in Table.notBlank
	prev, next       *Host // in the same ring; nil if h is in none

	Claim *Claim // of this member of a fleet; nil means that there is none
}

// Init initializes h, in which nothing but Key may be set, as a host to which
// no request was made.
func (h *Host) Init(s *Settings) {
	h.Settings = s
	h.LastStart = Never
	h.LastCrawlDelayStart = Never
}

// Learn returns h.Learned, and makes it if it is nil.
func (h *Host) Learn() *Learned {
	if h.Learned == nil {
		h.Learned = newLearned()
	}
	return h.Learned
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
