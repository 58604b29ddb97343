package audit

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/goodbots/courtesy/internal/httptime"
)

const (
	// longestAnswer is how long a request may have taken in a log without
	// durations: the time after which servers give up by default.
	longestAnswer = int64(60e9)
	// underWay is how long a request may have been under way to the server.
	underWay = int64(1e9)
)

// moment reads a time: a number of seconds, milliseconds, microseconds or
// nanoseconds, as a number or a text, or a date. exact is false if it is a date
// without a fraction of a second.
func moment(value []byte) (nanos int64, exact bool) {
	if s := text(value); s != "" {
		if nanos, exact := parseTime(s); nanos != never {
			return nanos, exact
		}
		value = []byte(s)
	}
	f, err := strconv.ParseFloat(string(value), 64)
	switch {
	case err != nil || !(f > 0) || f > 9.2e18:
		return never, false
	case f < 9e9: // seconds
		f *= 1e9
	case f < 9e12: // milliseconds
		f *= 1e6
	case f < 9e15: // microseconds
		f *= 1e3
	}
	return int64(math.Round(f/100)) * 100, true // a float64 of seconds is precise to about 100 ns
}

// lasted reads a duration: a number of seconds, as a number or a text, or a
// text such as "1.5ms".
func lasted(value []byte) (nanos int64, ok bool) {
	if s := text(value); s != "" {
		if d, err := time.ParseDuration(s); err == nil {
			return int64(d), d >= 0
		}
		value = []byte(s)
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || !(f >= 0) || f > 1e8 {
		return 0, false
	}
	return int64(math.Round(f * 1e9)), true
}

// retryAfter returns the wait that a Retry-After with this value requests,
// counted from now, or 0. date is the Date of the same response. The result is
// at most 30 years, so that it can be added to any time.
func retryAfter(value, date string, now time.Time) time.Duration {
	return min(httptime.RetryAfter([]string{value}, date, now), 1e9*time.Second)
}

// parseTime reads a time in one of the forms that logs have. exact is false if
// it has no fraction of a second.
func parseTime(s string) (nanos int64, exact bool) {
	for _, form := range formsLike(s) {
		if t, err := time.Parse(form, s); err == nil && t.Year() > 1970 && t.Year() < 2262 {
			return t.UnixNano(), strings.Contains(s, ".")
		}
	}
	return never, false
}

// formsLike returns the forms that a time may have, by its third byte: to try
// the other forms takes time.
func formsLike(s string) []string {
	if len(s) > 2 && s[2] == '/' {
		return localForms
	}
	return otherForms
}

// A fraction of a second is read after the seconds of each form.
var (
	localForms = []string{"02/Jan/2006:15:04:05 -0700"} // Apache, and $time_local of nginx
	otherForms = []string{
		time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05", "2006/01/02 15:04:05", "2006-01-02T15:04:05",
		time.RFC1123Z, time.RFC1123, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700",
	}
)
