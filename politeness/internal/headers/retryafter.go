package headers

import (
	"math"
	"net/http"
	"strings"
	"time"
)

// RetryAfter is politeness.RetryAfter.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	lines := Lines(h, "Retry-After")
	if len(lines) == 0 {
		return 0, false
	}
	var longest time.Duration
	clock := clockOf(h, now)
	for _, value := range lines {
		value = strings.Trim(value, " \t\"")
		d, ok := parseSeconds(value)
		if !ok {
			t, ok := parseDate(value)
			if !ok {
				continue
			}
			d = t.Sub(clock) // a difference that does not fit becomes the longest Duration
		}
		longest = max(longest, d)
	}
	return longest, longest > 0
}

const forever time.Duration = math.MaxInt64

// maxField is how many bytes all lines of a field may have together. If they
// have more, the field is malformed.
const maxField = 4 << 10

// Lines returns the lines of a field. It returns none if they are too long.
func Lines(h http.Header, name string) []string {
	size := 0
	for _, line := range h[name] {
		if size += len(line) + len(", "); size > maxField+len(", ") {
			return nil
		}
	}
	return h[name]
}

// clockOf returns the Date of a header, which is the time by the server's
// clock. Without a usable Date, clockOf returns now.
func clockOf(h http.Header, now time.Time) time.Time {
	if lines := Lines(h, "Date"); len(lines) > 0 {
		if date, ok := parseDate(lines[0]); ok {
			return date
		}
	}
	return now
}

// parseSeconds parses delay-seconds: one or more digits. A number that does not
// fit gives the longest Duration of whole seconds.
func parseSeconds(s string) (time.Duration, bool) {
	if s == "" {
		return 0, false
	}
	var n time.Duration
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = min(n*10+time.Duration(c-'0'), forever/time.Second)
	}
	return n * time.Second, true
}

// dateForms are the forms of dates that servers send besides the three of RFC
// 9110 §5.6.7.
var dateForms = []string{
	time.RFC1123Z,                  // a numeric zone
	"Mon, 02 Jan 2006 15:04:05",    // no zone
	"Mon, 2 Jan 2006 15:04:05 GMT", // a day of one digit
	"Mon, 02-Jan-2006 15:04:05 GMT",
	time.RFC3339,
	"2006-01-02T15:04:05", "2006-01-02 15:04:05",
}

// parseDate parses an HTTP date. A time without a zone is UTC, as all HTTP
// dates are.
func parseDate(s string) (time.Time, bool) {
	if s == "" {
		return time.Time{}, false
	}
	if t, err := http.ParseTime(s); err == nil {
		return t, true
	}
	for _, form := range dateForms {
		if t, err := time.Parse(form, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
