package robotstxt_test

import (
	"strconv"
	"strings"
	"time"
)

// No standard defines Request-rate and Visit-time, so
// [robotstxt.File.GroupsFor] returns their values as text. These types show how
// a program can parse the text. The tests in feature_test.go use them to
// compare the values with those of other parsers.

// A requestRate is the value of a Request-rate field: "1/10s" for one request
// in ten seconds, or "30/1m 0600-0845" for thirty in a minute between 6:00 and
// 8:45 UTC.
type requestRate struct {
	Requests int           // at least 1
	Per      time.Duration // at least a second
	Hours    hours         // when the rate applies; the zero value means always
}

func (r requestRate) Delay() time.Duration { return r.Per / time.Duration(max(r.Requests, 1)) }

// parseRequestRate parses the value of a Request-rate field. The time is in
// seconds, unless it is followed by the unit "s", "m", "h" or "d". If the hours
// are invalid, the rate applies at all hours, which is the more restrictive
// interpretation.
func parseRequestRate(value string) (rate requestRate, ok bool) {
	ratio, rest, _ := strings.Cut(value, " ")
	requests, per, ok := strings.Cut(ratio, "/")
	unit := time.Second
	if n := len(per); n > 0 {
		switch per[n-1] | 0x20 {
		case 's':
			per = per[:n-1]
		case 'm':
			unit = time.Minute
			per = per[:n-1]
		case 'h':
			unit = time.Hour
			per = per[:n-1]
		case 'd':
			unit = 24 * time.Hour
			per = per[:n-1]
		}
	}
	n, okRequests := parseCount(requests)
	t, okPer := parseCount(per)
	if !ok || !okRequests || !okPer {
		return requestRate{}, false
	}
	rate = requestRate{Requests: n, Per: time.Duration(t) * unit}
	rate.Hours, _ = parseVisitTime(strings.TrimLeft(rest, " \t"))
	return rate, true
}

// parseCount parses a number from 1 to 99999. Even 99999 days do not overflow a
// Duration.
func parseCount(s string) (int, bool) {
	if len(s) > 5 || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n > 0
}

// hours is a part of each day, in UTC. The zero value is the whole day.
type hours struct {
	From time.Duration // since midnight
	To   time.Duration // since midnight, exclusive; if To is before From, it is on the next day
}

func (h hours) Contains(t time.Time) bool {
	t = t.UTC()
	day := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	switch at := t.Sub(day); {
	case h.From == h.To:
		return true
	case h.From < h.To:
		return h.From <= at && at < h.To
	default:
		return h.From <= at || at < h.To
	}
}

// parseVisitTime parses the value of a Visit-time field, or the hours of a
// Request-rate: "0600-0845", "06:00-08:45" or "06.00-08.45".
func parseVisitTime(value string) (h hours, ok bool) {
	from, to, ok := strings.Cut(value, "-")
	if !ok {
		return hours{}, false
	}
	var okFrom, okTo bool
	h.From, okFrom = parseClock(strings.TrimRight(from, " \t"))
	h.To, okTo = parseClock(strings.TrimLeft(to, " \t"))
	if !okFrom || !okTo {
		return hours{}, false
	}
	return h, true
}

// parseClock parses a time of day, from 0000 to 2400.
func parseClock(s string) (time.Duration, bool) {
	if len(s) == 5 && (s[2] == ':' || s[2] == '.') {
		s = s[:2] + s[3:]
	}
	if len(s) != 4 || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	at := time.Duration(n/100)*time.Hour + time.Duration(n%100)*time.Minute
	return at, err == nil && n%100 < 60 && at <= 24*time.Hour
}
