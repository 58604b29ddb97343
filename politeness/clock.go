package politeness

import (
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// Points in time and durations without a limit: see package schedule.
const (
	never     = schedule.Never
	forever   = schedule.Forever
	unlimited = schedule.Unlimited
)

// longer returns a + b, or unlimited if the sum overflows.
func longer(a, b time.Duration) time.Duration { return schedule.Time(a).Add(b).Sub(0) }

// at returns the wall-clock time after a wait that begins now.
func at(wait time.Duration) time.Time { return time.Now().Add(max(wait, 0)) }
