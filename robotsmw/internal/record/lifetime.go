package record

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RFC 9309 §2.4 lets a crawler keep a robots.txt for up to 24 hours, and lets
// the cache control of RFC 9111 set the time. With these limits, a site's
// headers cannot demand a fetch each second, and cannot keep a rule for ever.
const (
	MinLifetime  = 5 * time.Minute
	MaxLifetime  = 24 * time.Hour
	LoopLifetime = time.Hour // after redirects in a circle, which are probably a mistake that will be mended
)

// Lifetime returns how long a response may be used (RFC 9111 §4.2): between 5
// minutes and 24 hours. Its arguments are the response's header and the time at
// which the response came. It also reports whether the header states a
// lifetime. If the header does not, the lifetime is 24 hours. s-maxage does not
// apply, because a crawler's cache is private.
func Lifetime(h http.Header, now time.Time) (d time.Duration, stated bool) {
	cc := parseCacheControl(h.Values("Cache-Control"))
	switch {
	case cc.noStore || cc.invalid:
		return MinLifetime, true
	case cc.hasMaxAge:
		d = cc.maxAge
	case h.Get("Expires") != "":
		date, err := http.ParseTime(h.Get("Date"))
		if err != nil {
			date = now
		}
		expires, err := http.ParseTime(h.Get("Expires"))
		if err != nil { // "0" and the like: already expired (RFC 9111 §5.3)
			return MinLifetime, true
		}
		d = expires.Sub(date)
	default:
		return MaxLifetime, false
	}
	// A negative d becomes 0 first. Some servers send an Expires of the year 1,
	// and then d minus the age could overflow.
	return min(max(max(d, 0)-currentAge(h, now), MinLifetime), MaxLifetime), true
}

// currentAge returns the age of a response when it arrives (RFC 9111 §4.2.3):
// its Age, which caches on the way have set, or the time since its Date, if
// that is more.
func currentAge(h http.Header, now time.Time) time.Duration {
	var age time.Duration
	if s, ok := deltaSeconds(strings.TrimSpace(h.Get("Age"))); ok {
		age = s
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		age = max(age, now.Sub(date))
	}
	return age
}

type cacheControl struct {
	noStore   bool // no-store or no-cache: both ask for a fetch each time, and get MinLifetime
	invalid   bool // max-age is no number or has two values; counts as stale (RFC 9111 §4.2.1)
	hasMaxAge bool
	maxAge    time.Duration
}

func parseCacheControl(lines []string) cacheControl {
	var cc cacheControl
	for _, line := range lines {
		for part := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(part, "=")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "no-store":
				cc.noStore = true
			case "no-cache":
				// With names of fields (no-cache="Set-Cookie"), the directive
				// applies only to these fields.
				cc.noStore = cc.noStore || value == ""
			case "max-age":
				d, ok := deltaSeconds(strings.Trim(strings.TrimSpace(value), `"`))
				if !ok || cc.hasMaxAge && d != cc.maxAge {
					cc.invalid = true
				}
				cc.hasMaxAge, cc.maxAge = true, d
			}
		}
	}
	return cc
}

// deltaSeconds parses a whole number of seconds. A number that is too large
// gives the longest Duration (RFC 9111 §1.2.2).
func deltaSeconds(s string) (time.Duration, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > int64(maxDuration/time.Second) {
		return maxDuration, true
	}
	return time.Duration(n) * time.Second, true
}

const maxDuration = time.Duration(1<<63 - 1)

// nextTry returns how long to wait after the nth failed fetch in a row (n ≥ 1):
// as long as the server asked for (retryAfter), but no more than 24 hours. If
// the server did not ask, the wait is 1 minute after the first failure. It
// doubles with each further failure, up to 1 hour.
func nextTry(n int, retryAfter time.Duration) time.Duration {
	if retryAfter > 0 {
		return min(retryAfter, MaxLifetime)
	}
	const first, longest = time.Minute, time.Hour
	if n > 6 {
		return longest
	}
	return min(first<<(n-1), longest)
}

// passed reports whether the time t has come, by the monotonic clock or by the
// wall clock. One clock alone is not enough: the monotonic clock stands still
// while a machine sleeps, and the wall clock can be set back.
func passed(t, now time.Time) bool {
	return !now.Before(t) || !now.Round(0).Before(t.Round(0))
}
