package audit

import (
	"math"
	"time"
)

// A time that is not known has this value.
const never = math.MinInt64

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return never
	}
	return t.UnixNano()
}

func asTime(nanos int64) time.Time { return time.Unix(0, nanos).UTC() }
