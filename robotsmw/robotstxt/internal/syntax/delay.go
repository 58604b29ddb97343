package syntax

import (
	"strconv"
	"strings"
	"time"
)

// MaxDelay is the maximum result of [ParseDelay]: 292 years. It is one less
// than the maximum time.Duration, because package robotstxt stores a delay plus
// one nanosecond.
const MaxDelay = time.Duration(1<<63 - 2)

// ParseDelay parses a decimal number of seconds, such as "10" or "0.5". It
// returns MaxDelay if the delay would be longer, and false if s is not such a
// number.
func ParseDelay(s string) (time.Duration, bool) {
	if !isDecimal(s) {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(s, 64)
	if err != nil || seconds >= MaxDelay.Seconds() {
		return MaxDelay, true
	}
	return time.Duration(seconds * float64(time.Second)), true
}

// isDecimal reports whether s consists of digits with at most one dot. The
// syntax that strconv.ParseFloat accepts also includes "1e3", "-1" and "Inf".
func isDecimal(s string) bool {
	if s == "" || s == "." {
		return false
	}
	return strings.Trim(s, "0123456789.") == "" && strings.Count(s, ".") <= 1
}
