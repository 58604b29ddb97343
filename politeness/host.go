package politeness

import "time"

// A host is what a Limiter knows about one key. Limiter.mu guards it. A crawl
// meets millions of hosts, so this struct is small. Fields that only few hosts
// need are in learnt.
type host struct {
	key     string
	last    time.Duration // the latest start (or end, with EndToStart)
	counted time.Duration // the latest start that counts for Crawl-delay
	learnt  *learnt       // nil means nothing was learnt
	queue   grantRing     // all other requests that wait, oldest first
	robots  grantRing     // Exempt requests that wait and overtake the others, oldest first
	flight  grantRing     // requests that hold a slot, oldest first

	waiting, inFlight int32

	prev, next *host   // in Limiter.idle; nil if not in it
	paused     int32   // 1 + index in Limiter.paused; 0 if not in it
	jitter     float32 // the present interval is longer by this fraction
	onItsWay   int32   // how many requests are on their way: see setOnItsWay
	overtaking int32   // how many requests wait in robots
	estimates  int32   // how many requests in queue need their estimated start
	gone       bool    // the Limiter has forgotten this host
	hold       *hold   // in a fleet: this Limiter's claim to the host; nil means none
}

// learnt is what a host's answers and its robots.txt have taught the Limiter.
type learnt struct {
	crawl    time.Duration // the Crawl-delay that was told last; 0 means none
	adaptive time.Duration // the delay that the host's response times ask for
	until    time.Duration // the end of the latest pause; the constant never if there was none
	incident time.Duration // when the latest incident began
	level    uint8         // how many incidents lengthen the back-off; a good answer subtracts one
	latest   sign          // the sign of the latest incident; after a good answer: the constant good
	clamped  bool          // a notice has said that ClampCrawlDelay cut a Crawl-delay

	// crawlEnd is the end of the latest Crawl-delay. Another origin of the host
	// may have told a shorter one since.
	crawlEnd time.Duration

	// What the host says about its quotas. All are 0 if it says nothing.
	limited     time.Duration // the end of a pause for a spent quota
	spread      time.Duration // the interval that spreads the quota over the time until it is renewed
	spreadUntil time.Duration // when the quota is renewed
}

// A sign is what an outcome says about how well its host copes with our
// requests.
type sign uint8

const (
	silent   sign = iota // no answer, or a 5xx other than 503
	good                 // an answer that is neither a refusal nor a 5xx
	doubtful             // a 503 or a bot wall's answer, perhaps for one page only
	plain                // a 429
)

func (h *host) busy() bool { return h.waiting > 0 || h.inFlight > 0 }

// learn returns h.learnt and makes it if it is nil.
func (h *host) learn() *learnt {
	if h.learnt == nil {
		h.learnt = &learnt{until: never, incident: never}
	}
	return h.learnt
}

// blank reports whether the Limiter knows nothing of h that matters after h's
// interval, pause and quota are over.
func (h *host) blank() bool {
	return h.learnt == nil || h.learnt.crawl == 0 && h.learnt.adaptive == 0 && h.learnt.level == 0 && h.learnt.latest < doubtful
}

// hostRing is a circular list through host.prev and host.next.
type hostRing struct{ first *host }

func (r *hostRing) push(h *host) {
	if r.first == nil {
		h.prev, h.next = h, h
		r.first = h
		return
	}
	h.prev, h.next = r.first.prev, r.first
	h.prev.next, h.next.prev = h, h
}

func (r *hostRing) remove(h *host) {
	if h.next == h {
		r.first = nil
	} else {
		h.prev.next, h.next.prev = h.next, h.prev
		if r.first == h {
			r.first = h.next
		}
	}
	h.prev, h.next = nil, nil
}
