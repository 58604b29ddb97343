package politeness

import (
	"net/http"
	"strings"
	"time"
)

// RetryAfter returns the wait that the server asks for, counted from now. It
// returns false if no Retry-After asks for a wait: there is none, or it is
// malformed, negative, zero or a date in the past.
//
// RFC 9110 §10.2.3 has two forms, seconds and an HTTP date. A date is compared
// with the response's own Date, because the server's clock wrote both. If there
// is no Date, the date in Retry-After is compared with now. If there are
// several Retry-After fields, the longest wait counts. If they have more than 4
// KiB together, they are malformed.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	lines := linesOf(h, "Retry-After")
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

// maxField is how many bytes all lines of a field may have together. If they
// have more, the field is malformed.
const maxField = 4 << 10

// linesOf returns the lines of a field. It returns none if they are too long.
func linesOf(h http.Header, name string) []string {
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
	if lines := linesOf(h, "Date"); len(lines) > 0 {
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
