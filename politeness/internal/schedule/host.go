package schedule

import "time"

// A Host is the schedule of one host. A crawl meets millions of hosts, so the
// struct is small: what only few hosts need is in Learned.
type Host struct {
	Settings *Settings
	Key      string // the name of the host in its Table

	LastStart           Time     // the latest start (with EndToStart, the latest end) of a request
	LastCrawlDelayStart Time     // the latest one that counts for the Crawl-delay
	Learned             *Learned // nil means that nothing was learned
	queue               *queue   // the requests that wait; nil means none
	inFlight            list     // the requests that hold a slot, oldest first
	jitter              float32  // the present interval is longer by this fraction
	InFlight            int32    // the length of inFlight
	OnItsWay            int32    // how many of them are on their way: see Request.OnItsWay

	unavailableIndex int32 // 1 + index in Table.unavailable; 0 if not in it
	lastWasRobots    bool  // the latest start was one of a request that overtakes
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

	// CrawlDelayEnd is the end of the latest Crawl-delay. Another origin of the
	// host may have declared a shorter one since.
	CrawlDelayEnd Time

	// What the host declares about its quota. All are 0 if it declares nothing.
	quotaPauseEnd Time          // the end of a pause for a spent quota
	spread        time.Duration // the interval that spreads the quota over the time until it is renewed
	spreadEnd     Time          // when the quota is renewed
}

// A Claim is the claim of one member of a fleet to a host. The member makes it
// before it owns the host, and sends requests only while it owns the host.
type Claim struct {
	Owned       bool // the member owns the host
	Denied      bool // the member can never own the host
	OthersWait  bool // other members wait for the host
	HasStarted  bool // a request has started since the host was requested
	HasDeclared bool // a Crawl-delay was declared before the host became owned

	// InFlightElsewhere is how many requests of other members are in flight.
	// They take up slots.
	InFlightElsewhere int32

	Requested  Time    // when the member requested the host
	OwnedSince Time    // when the host became owned
	IdleSince  Time    // when the host ran out of requests; Never while it has some
	RetryBy    Time    // a request that was refused is expected to be retried before this time
	Earliest   Time    // until the host is owned: when it can be owned; Never means unknown
	LastStored Learned // the latest result of Durable that the fleet has stored

	// Holder is what the Claim belongs to. Package schedule does not use
	// it.
	Holder any
}

// A queue contains the requests that wait for one host, in two lanes, each in
// the order of arrival: requests for a robots.txt that may overtake others
// (Request.Overtakes), and all other requests, which are called pages here.
//
// The lanes take turns: see Host.Next.
type queue struct {
	pages  lane
	robots lane

	// robotsFrom is the earliest time at which a robots.txt request may start
	// while pages wait. It lies as long after the end of the latest robots.txt
	// request as that request took, in whole intervals.
	robotsFrom Time

	// robotsByOrigin has the requests in robots by the origin of the file, each
	// in the order of arrival.
	robotsByOrigin map[origin][]*Request

	// checked is the first page, if a request for its robots.txt has started
	// while the page was due: see Host.isNeeded.
	checked *Request

	// rejoining is the origin of the latest page that left its lane because its
	// check failed: see Host.Rejoins.
	rejoining origin
}

// A lane is a part of a queue.
type lane struct {
	list
	length int32

	// observed is how many requests of the lane are IsObserved.
	observed int32

	// crawlDelays is the sum of the Crawl-delays that the requests declare.
	crawlDelays time.Duration

	// retiming has how far the requests have been examined after a change of
	// the host's times.
	retiming retiming
}

// A retiming examines the requests of a lane from the first to the last, a
// number of them at a time: see Host.Retime.
type retiming struct {
	next     *Request // the request to be examined next; nil means that none is
	place    place    // of next
	round    uint16   // counts the examinations. 0 is left out
	restarts bool     // the times have changed meanwhile, so another examination follows
	batchAt  Time     // when a batch was examined last
}

// A place is a position in a lane.
type place struct {
	ahead       int32         // how many requests are ahead
	crawlDelays time.Duration // the sum of the Crawl-delays that they declare
}

// A Class is how well a host copes with our requests, according to the outcome
// of one.
type Class uint8

const (
	Silent    Class = iota // no response, or a 5xx other than 503
	Good                   // a response that is neither a refusal nor a 5xx
	Suspect                // a 503 or a bot-protection response, perhaps for one page only
	Throttled              // a 429
)

// hasBackOff reports whether the latest incident still matters: it lengthens
// the back-off, or makes the next refusal count for more.
func hasBackOff(level uint8, latest Class) bool { return level > 0 || latest >= Suspect }

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

// IsBlank reports whether nothing is known of h that matters after its
// interval, pause and quota are over.
func (h *Host) IsBlank() bool {
	k := h.Learned
	if k == nil {
		return true
	}
	return k.CrawlDelay == 0 && k.Adaptive == 0 && !hasBackOff(k.Level, k.Latest)
}

// IsOwned reports whether this member of a fleet owns h.
func (h *Host) IsOwned() bool { return h.Claim != nil && h.Claim.Owned }

// UnownedUntil returns the earliest time at which this member can own h. It
// returns Never if that time is unknown, if the member owns h already, or if
// there is no fleet.
func (h *Host) UnownedUntil() Time {
	if h.Claim == nil || h.Claim.Owned {
		return Never
	}
	return h.Claim.Earliest
}

// nextOwned returns the next time at which this member can own h, which it does
// not own, or Forever if that is unknown.
func (h *Host) nextOwned(now Time) Time {
	if h.Claim.Earliest > now {
		return h.Claim.Earliest
	}
	return Forever
}

// isDenied reports whether this member can never own h.
func (h *Host) isDenied() bool { return h.Claim != nil && h.Claim.Denied && !h.Claim.Owned }

// pause lets no request start before now + wait. It returns wait, or 0 if h is
// already paused for at least as long.
func (h *Host) pause(now Time, wait time.Duration) time.Duration {
	k := h.Learn()
	end := now.Add(wait)
	if end <= now || end <= k.PauseEnd {
		return 0
	}
	k.PauseEnd = end
	return wait
}
