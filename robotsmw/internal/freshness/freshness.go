// Package freshness reads how long a response may be used, as a private cache
// does (RFC 9111).
package freshness

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A Freshness is the part of a response's header that concerns caches. Most
// fields also apply to a request's Cache-Control.
type Freshness struct {
	NoStore bool // no-store: nothing may be kept
	NoCache bool // no-cache: the response must be validated before each use
	Public  bool // public: may be kept although the request was authorized (RFC 9111 §3.5)

	// Stated reports whether the header contains max-age or Expires. If so,
	// Lifetime is the time for which the response may be used after it was
	// generated, and is at least 0. An invalid value means 0 (RFC 9111 §4.2.1,
	// §5.3). s-maxage does not apply, because a crawler's cache is private.
	Stated   bool
	Lifetime time.Duration

	// Age is how old the response was when it was received (RFC 9111 §4.2.3):
	// its Age, or the time since its Date if that is more.
	Age time.Duration
}

// Of reads the header of a response that was received at the time now.
func Of(h http.Header, now time.Time) Freshness {
	f := OfRequest(h)
	date, dateErr := http.ParseTime(h.Get("Date"))
	if dateErr != nil {
		date = now
	}
	if expires := h.Get("Expires"); !f.Stated && expires != "" {
		f.Stated = true
		if t, err := http.ParseTime(expires); err == nil {
			f.Lifetime = max(0, t.Sub(date))
		}
	}
	f.Age = max(0, now.Sub(date))
	if s, ok := seconds(strings.TrimSpace(h.Get("Age"))); ok {
		f.Age = max(f.Age, s)
	}
	return f
}

// OfRequest reads Cache-Control alone.
func OfRequest(h http.Header) (f Freshness) {
	for _, line := range h["Cache-Control"] {
		for part := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(part, "=")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "no-store":
				f.NoStore = true
			case "public":
				f.Public = true
			case "no-cache":
				// With names of fields (no-cache="Set-Cookie"), the directive
				// applies only to these fields.
				f.NoCache = f.NoCache || value == ""
			case "max-age":
				d, ok := seconds(strings.Trim(strings.TrimSpace(value), `"`))
				if isOther := f.Stated && d != f.Lifetime; isOther || !ok {
					d = 0 // two values, or not a number
				}
				f.Stated = true
				f.Lifetime = d
			}
		}
	}
	return f
}

// seconds parses a whole number of seconds. A number that is too large for a
// Duration is replaced by the longest Duration (RFC 9111 §1.2.2).
func seconds(s string) (time.Duration, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > int64(math.MaxInt64/time.Second) {
		return math.MaxInt64, true
	}
	return time.Duration(n) * time.Second, true
}
