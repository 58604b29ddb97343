package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// A Reason is what a request waits for. It is a text, so it can be printed. The
// empty Reason means that the request did not wait. Later versions may add
// Reasons.
type Reason string

// The reasons for which a request waits.
const (
	ReasonDelay      Reason = "delay"          // Limiter.Delay, counted from the host's latest request
	ReasonAdaptive   Reason = "adaptive delay" // the delay that follows from the host's response times (Limiter.Adaptive)
	ReasonCrawlDelay Reason = "crawl-delay"    // the Crawl-delay of the host's robots.txt or of Limiter.PerHost
	ReasonBackOff    Reason = "back-off"       // a pause after a 429, a 503 or a block, or by a Retry-After
	ReasonRateLimit  Reason = "rate limit"     // the host's quota, from RateLimit or a similar header field
	ReasonQueue      Reason = "queue"          // earlier requests to the host
	ReasonSlot       Reason = "slot"           // the end of a request in flight (Limiter.Concurrency)
	ReasonBudget     Reason = "budget"         // the end of the day (Limiter.Budget)
	ReasonFleet      Reason = "fleet"          // the Fleet, or its member that owns the host
	ReasonGlobalRate Reason = "global rate"    // Limiter.GlobalRate
	ReasonWithin     Reason = "within"         // Limiter.Within
	ReasonMaxHosts   Reason = "max hosts"      // room for the count of the host's Budget (Limiter.MaxHosts)
)

// reasons has the Reason of each schedule.Reason.
var reasons = [...]Reason{
	schedule.ReasonNone:       "",
	schedule.ReasonDelay:      ReasonDelay,
	schedule.ReasonAdaptive:   ReasonAdaptive,
	schedule.ReasonCrawlDelay: ReasonCrawlDelay,
	schedule.ReasonBackOff:    ReasonBackOff,
	schedule.ReasonRateLimit:  ReasonRateLimit,
	schedule.ReasonQueue:      ReasonQueue,
	schedule.ReasonSlot:       ReasonSlot,
	schedule.ReasonBudget:     ReasonBudget,
	schedule.ReasonFleet:      ReasonFleet,
	schedule.ReasonGlobalRate: ReasonGlobalRate,
	schedule.ReasonWithin:     ReasonWithin,
	schedule.ReasonMaxHosts:   ReasonMaxHosts,
}

// waitReasons has what a request waits for now, and what it has waited for
// longest. The zero value is that of a request that does not have to wait.
type waitReasons struct {
	why   schedule.Reason
	most  schedule.Reason // the reason of the longest wait that is over
	began schedule.Time   // when the request began to wait
	since schedule.Time   // when it began to wait for why
	took  time.Duration   // the length of the longest wait that is over
}

// hasBegun reports whether the request has had to wait.
func (s *waitReasons) hasBegun() bool { return s.why != schedule.ReasonNone }

// changeTo records what the request waits for from now on.
func (s *waitReasons) changeTo(w schedule.Reason, now schedule.Time) {
	if s.why == w {
		return
	}
	if !s.hasBegun() {
		s.began = now
	}
	if took := now.Sub(s.since); s.why != schedule.ReasonNone && took > s.took {
		s.most = s.why
		s.took = took
	}
	s.why = w
	s.since = now
}

// end ends the present wait. It returns how long the request has waited for all
// reasons together, and the reason of the longest wait.
func (s *waitReasons) end(now schedule.Time) (waited time.Duration, why Reason) {
	s.changeTo(schedule.ReasonNone, now)
	return now.Sub(s.began), reasons[s.most]
}
