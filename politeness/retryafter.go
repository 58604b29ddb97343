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
// several Retry-After fields, the longest wait counts.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	var longest time.Duration
	for _, value := range h["Retry-After"] {
		value = strings.Trim(value, " \t\"")
		d, ok := parseSeconds(value)
		if !ok {
			t, ok := parseDate(value)
			if !ok {
				continue
			}
			d = t.Sub(clockOf(h, now)) // a difference that does not fit becomes the longest Duration
		}
		longest = max(longest, d)
	}
	return longest, longest > 0
}

// clockOf returns the Date of a header, which is the time by the server's
// clock. Without a usable Date, clockOf returns its second argument.
func clockOf(h http.Header, now time.Time) time.Time {
	if date, ok := parseDate(h.Get("Date")); ok {
		return date
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
