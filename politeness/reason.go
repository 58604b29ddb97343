package politeness

import "time"

// A Reason says why a request waits. It is a text, so it can be printed and
// compared. This list says for each Reason what the request waits for:
//
//	delay               Limiter.Delay, counted from the host's latest request
//	adaptive delay      the delay that the host's response times ask for
//	crawl-delay         the Crawl-delay of the host's robots.txt
//	back-off            a pause after a 429, 503 or block, or by a Retry-After
//	rate limit          the host's quota, from RateLimit or a similar field
//	queue               requests to the host that came earlier
//	slot                the end of a request in flight (Limiter.Concurrency)
//	budget              the day's end (Limiter.Budget), or a usable Budget.Dir
//	fleet               the fleet, or its member that owns the host
//	global rate         Limiter.GlobalRate
//	within              Limiter.Within
//	max hosts           room for the host's Budget (Limiter.MaxHosts)
//
// Later versions may add Reasons. "" says that the request did not wait.
type Reason string

// why holds a Reason in one byte, because each request that waits has one on
// its stack.
type why uint8

const (
	whyNot why = iota
	whyDelay
	whyAdaptive
	whyCrawlDelay
	whyBackOff
	whyRateLimit
	whyQueue
	whySlot
	whyBudget
	whyFleet
	whyRate
	whyWithin
	whyMaxHosts
)

var reasons = [...]Reason{
	whyNot:        "",
	whyDelay:      "delay",
	whyAdaptive:   "adaptive delay",
	whyCrawlDelay: "crawl-delay",
	whyBackOff:    "back-off",
	whyRateLimit:  "rate limit",
	whyQueue:      "queue",
	whySlot:       "slot",
	whyBudget:     "budget",
	whyFleet:      "fleet",
	whyRate:       "global rate",
	whyWithin:     "within",
	whyMaxHosts:   "max hosts",
}

// A spell is a time during which a request waits for one thing. It also
// remembers the longest of the request's earlier spells.
type spell struct {
	why   why
	most  why // the reason of the longest spell that is over
	since time.Duration
	took  time.Duration
}

// turnTo records what the request waits for from now on.
func (s *spell) turnTo(w why, now time.Duration) {
	if s.why == w {
		return
	}
	if took := now - s.since; s.why != whyNot && took > s.took {
		s.most, s.took = s.why, took
	}
	s.why, s.since = w, now
}

// end ends the present spell and returns the reason of the longest one.
func (s *spell) end(now time.Duration) Reason {
	s.turnTo(whyNot, now)
	return reasons[s.most]
}
