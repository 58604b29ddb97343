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

// at returns the wall-clock time after a wait that begins now.
func at(wait time.Duration) time.Time { return time.Now().Add(max(wait, 0)) }
