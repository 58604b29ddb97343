package audit

import (
	"math"
	"time"
)

// never stands for a time that is not known.
const never = math.MinInt64

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return never
	}
	return t.UnixNano()
}

func asTime(nanos int64) time.Time { return time.Unix(0, nanos).UTC() }
