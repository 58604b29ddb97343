package politeness

import (
	"math"
	"time"
)

// never and forever are points in time, as durations since the Limiter's epoch.
const (
	never   time.Duration = math.MinInt64 / 2 // has not happened yet
	forever time.Duration = math.MaxInt64     // will not happen by itself
)

// later returns t + d, or the constant forever if this sum overflows. It can
// overflow, because a Crawl-delay may have any length. If t is the constant
// never, so is the result.
func later(t, d time.Duration) time.Duration {
	switch {
	case t == never:
		return never
	case d > 0 && t > forever-d:
		return forever
	}
	return t + d
}

func times(d time.Duration, n int) time.Duration {
	if n > 0 && d > forever/time.Duration(n) {
		return forever
	}
	return d * time.Duration(n)
}

// at returns the wall-clock time after a wait that begins now.
func at(wait time.Duration) time.Time { return time.Now().Add(max(wait, 0)) }
