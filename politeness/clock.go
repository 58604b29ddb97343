package politeness

import "time"

// at returns the wall-clock time after a wait that begins now.
func at(wait time.Duration) time.Time { return time.Now().Add(max(wait, 0)) }

const secondsPerDay = 24 * 60 * 60

// utcDay returns the present day in UTC, counted from 1970.
func utcDay() int64 { return time.Now().Unix() / secondsPerDay }

// untilEnd returns the time until a day ends.
func untilEnd(day int64) time.Duration { return time.Until(time.Unix((day+1)*secondsPerDay, 0)) }
