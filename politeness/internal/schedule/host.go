package schedule

import "time"

// A Host is the schedule of one host. A crawl meets millions of hosts, so the
// struct is small: what only few hosts need is in Learned.
type Host struct {
	Settings *Settings
	Key      string // the name of the host in its Table

	// LastStart is the latest start (with EndToStart, the latest end) of a
	// request. Intervals count from here.
	LastStart Time

	// LastCrawlDelayStart is the latest start (with EndToStart, the latest end)
	// of a request that is not exempt. Crawl-delays count from here.
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
	prev, next       *Host // in Table.idle; nil if not in it

	Claim *Claim // of this member of a fleet; nil means that there is none
}

// Learned is what was learned from the responses of a host and its robots.txt.
type Learned struct {
	CrawlDelay time.Duration // the most recently declared Crawl-delay; 0 means none
	Adaptive   time.Duration // the adaptive delay
	PauseEnd   Time          // the end of the latest pause; Never if there was none
	Incident   Time          // when the latest incident began
	Level      uint8         // how many incidents lengthen the back-off; a good response subtracts one
	Latest     Class         // the class of the latest incident; Good after a good response

	pauseCause Reason // of the latest pause

	// CrawlDelayEnd is the end of the latest Crawl-delay. Another origin of the
	// host may have declared a shorter one since. Requests do not wait for it;
	// eviction and handoff do.
	CrawlDelayEnd Time

	// The quota that the host declares: all are 0 if it declares none.
	spread    time.Duration // the interval that spreads the quota over the time until it is renewed
	spreadEnd Time          // when the quota is renewed
}

// Init makes h, which must be zero but for its Key, a host that no request was
// made to.
func (h *Host) Init(s *Settings) {
	h.Settings = s
	h.LastStart = Never
	h.LastCrawlDelayStart = Never
}

// Learn returns h.Learned, and makes it if it is nil.
func (h *Host) Learn() *Learned {
	if h.Learned == nil {
		h.Learned = &Learned{PauseEnd: Never, Incident: Never}
	}
	return h.Learned
}
