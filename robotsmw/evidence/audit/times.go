package audit

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/goodbots/courtesy/internal/httptime"
)

const (
	// maxDuration is the assumed maximum duration of a request in a log without
	// durations, in nanoseconds. It is the usual default timeout of servers.
	maxDuration = int64(60e9)
	// maxTransit is the assumed maximum time between the sending of a request
	// and its arrival at the server, in nanoseconds.
	maxTransit = int64(1e9)
)

// moment reads a time: a date, or a number of seconds, milliseconds,
// microseconds or nanoseconds, which may be in quotes. It returns "never" if
// the value is not a time. exact is false for a date without a fraction of a
// second.
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

// parseDuration reads a duration: a number of seconds, which may be in quotes,
// or a text such as "1.5ms". ok is false if the value is not a duration, or
// negative.
func parseDuration(value []byte) (nanos int64, ok bool) {
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
// measured from now, or 0 if the value is invalid or in the past. date is the
// Date of the same response. The result is at most 30 years, so that it can be
// added to any time.
func retryAfter(value, date string, now time.Time) time.Duration {
	return min(httptime.RetryAfter([]string{value}, date, now), 1e9*time.Second)
}

// parseTime reads a time in one of the forms used in logs. It returns "never"
// if the text has another form. exact is false if the time has no fraction of a
// second.
func parseTime(s string) (nanos int64, exact bool) {
	for _, form := range formsLike(s) {
		if t, err := time.Parse(form, s); err == nil && t.Year() > 1970 && t.Year() < 2262 {
			return t.UnixNano(), strings.Contains(s, ".")
		}
	}
	return never, false
}

// formsLike returns the forms that a time may have, according to its third
// byte, because trying all forms would be slow.
func formsLike(s string) []string {
	if len(s) > 2 && s[2] == '/' {
		return localForms
	}
	return otherForms
}

// After the seconds of each form, time.Parse also accepts a fraction.
var (
	localForms = []string{"02/Jan/2006:15:04:05 -0700"} // Apache, and $time_local of nginx
	otherForms = []string{
		time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05", "2006/01/02 15:04:05", "2006-01-02T15:04:05",
		time.RFC1123Z, time.RFC1123, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700",
	}
)
