package schedule

// A Host is the schedule of one host. A crawl meets millions of hosts, so the
// struct is small: what only few hosts need is in Learned.
type Host struct {
	Settings *Settings
	Key      string // the name of the host in its Table

	// LastStart is when the intervals were last restarted: the latest start of
	// a request, its sending or, with EndToStart, its end, whichever is latest.
	// See RestartIntervals.
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
	isKnown          bool  // h is or was last in Table.known, not in Table.blank
	prev, next       *Host // in Table.blank or Table.known; nil if in neither

	Claim *Claim // of this member of a fleet; nil means that there is none
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
		h.Learned = newLearned()
	}
	return h.Learned
}
