package schedule

import "time"

// A Class is how well a host copes with our requests, according to the outcome
// of one.
type Class uint8

const (
	Silent    Class = iota // no response, or a 5xx other than 503 and 529
	Good                   // any other response. ApplyOutcome makes a 4xx with a Retry-After Silent
	Suspect                // a 503, a 529 or a bot-protection response, perhaps for one URL only
	Throttled              // a 429 or a 430
)

// A Quota is what a host declares about the requests that it allows. The zero
// value means that it declares nothing.
type Quota struct {
	Pause    time.Duration // how long no request may start, because the quota is spent
	Spread   time.Duration // the interval that makes the rest of the quota last until it is renewed
	RenewsIn time.Duration // how long Spread applies
}

// Signals are what the outcome of a request means for its host. The zero value
// means that there was no outcome.
type Signals struct {
	Status int   // 0 means no response
	Class  Class // what Status and the header mean
	// RetryAfter is the time that the Retry-After field requests, at most
	// Limiter.MaxRetryAfter. 0 means none.
	RetryAfter time.Duration
	Quota      Quota // what the header declares
	Failed     bool  // the request ended with an error

	// Latency is the time until the response's header was received or, if there
	// was no response, until the request failed. 0 means unknown.
	Latency time.Duration
}

// IsEmpty reports whether there was no outcome. ApplyOutcome ignores such
// Signals.
func (s Signals) IsEmpty() bool { return s.Status == 0 && s.Latency == 0 && !s.Failed }

// obeysRetryAfter reports whether the Retry-After field of a response pauses
// the host. RFC 9110 §10.2.3 defines the field for 503 and 3xx, and RFC 6585 §4
// for 429, but servers send it with every other status of 400 and above.
func (s Signals) obeysRetryAfter() bool {
	if s.RetryAfter <= 0 {
		return false
	}
	return s.Class >= Suspect || s.Status >= 300
}
