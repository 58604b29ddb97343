package schedule

import (
	"math"
	"time"
)

// Time is a point in time, as the duration since an epoch that the caller
// chooses. It takes a third of the memory of a time.Time, and a Limiter stores
// several of them for each of a million hosts.
type Time time.Duration

const (
	// Never is the time of an event that has not happened. It is before any
	// other Time.
	Never Time = math.MinInt64 / 2

	// Anytime is the result of a function that returns when something is
	// allowed, if it is allowed at any time.
	Anytime = Never

	// Forever is the time of an event that will not happen by itself.
	Forever Time = math.MaxInt64

	// Unlimited is a duration without a limit.
	Unlimited time.Duration = math.MaxInt64
)

// Add returns t + d, or Forever if the sum overflows, which is possible because
// a Crawl-delay may have any length. Never and Anytime do not change.
func (t Time) Add(d time.Duration) Time {
	if t == Never {
		return Never
	}
	if d > 0 && t > Forever-Time(d) {
		return Forever
	}
	return t + Time(d)
}

// Sub returns the duration t - u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// Sum returns a + b, or Unlimited if the sum overflows.
func Sum(a, b time.Duration) time.Duration { return time.Duration(Time(a).Add(b)) }

// AddTimes returns t + n*d, or Forever if the result overflows.
func (t Time) AddTimes(d time.Duration, n int) Time {
	if n > 0 && d > Unlimited/time.Duration(n) {
		return Forever
	}
	return t.Add(d * time.Duration(n))
}
