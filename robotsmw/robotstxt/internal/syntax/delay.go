package syntax

import (
	"strconv"
	"strings"
	"time"
)

// MaxDelay is 292 years. It also stands for any longer delay. It leaves room
// for the nanosecond that package robotstxt adds to a delay.
const MaxDelay = time.Duration(1<<63 - 2)

// ParseDelay parses plain decimal seconds, such as "10" or "0.5". It returns
// MaxDelay for any longer delay, and false for any other text.
func ParseDelay(s string) (time.Duration, bool) {
	if s == "" || s == "." || strings.Trim(s, "0123456789.") != "" || strings.Count(s, ".") > 1 {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(s, 64)
	if err != nil || seconds >= MaxDelay.Seconds() {
		return MaxDelay, true
	}
	return time.Duration(seconds * float64(time.Second)), true
}
