package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

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

var reasons = [...]Reason{
	schedule.ReasonNone:       "",
	schedule.ReasonDelay:      "delay",
	schedule.ReasonAdaptive:   "adaptive delay",
	schedule.ReasonCrawlDelay: "crawl-delay",
	schedule.ReasonBackOff:    "back-off",
	schedule.ReasonRateLimit:  "rate limit",
	schedule.ReasonQueue:      "queue",
	schedule.ReasonSlot:       "slot",
	schedule.ReasonBudget:     "budget",
	schedule.ReasonFleet:      "fleet",
	schedule.ReasonGlobalRate: "global rate",
	schedule.ReasonWithin:     "within",
	schedule.ReasonMaxHosts:   "max hosts",
}

// A spell is a time during which a request waits for one thing. It also
// remembers the longest of the request's earlier spells.
type spell struct {
	why   schedule.Reason
	most  schedule.Reason // the reason of the longest spell that is over
	since schedule.Time
	took  time.Duration
}

// turnTo records what the request waits for from now on.
func (s *spell) turnTo(w schedule.Reason, now schedule.Time) {
	if s.why == w {
		return
	}
	if took := now.Sub(s.since); s.why != schedule.ReasonNone && took > s.took {
		s.most, s.took = s.why, took
	}
	s.why, s.since = w, now
}

// end ends the present spell and returns the reason of the longest one.
func (s *spell) end(now schedule.Time) Reason {
	s.turnTo(schedule.ReasonNone, now)
	return reasons[s.most]
}
