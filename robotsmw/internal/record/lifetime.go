package record

import (
	"net/http"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/freshness"
)

// RFC 9309 §2.4 lets a crawler keep a robots.txt for up to 24 hours, and lets
// the cache control of RFC 9111 set the time. With these limits, a site's
// headers cannot require a fetch each second, and cannot keep a rule forever.
const (
	MinLifetime  = 5 * time.Minute
	MaxLifetime  = 24 * time.Hour
	LoopLifetime = time.Hour // after redirects in a circle, which are probably a mistake that will be fixed
)

// Lifetime returns how long a response with header h may be used that was
// received at the time now (RFC 9111 §4.2): between 5 minutes and 24 hours. It
// also reports whether the header states a lifetime. If the header does not,
// the lifetime is 24 hours. s-maxage does not apply, because a crawler's cache
// is private.
func Lifetime(h http.Header, now time.Time) (d time.Duration, stated bool) {
	f := freshness.Of(h, now)
	if f.NoStore || f.NoCache { // both require a fetch each time
		return MinLifetime, true
	}
	if !f.Stated {
		return MaxLifetime, false
	}
	return min(max(f.Lifetime-f.Age, MinLifetime), MaxLifetime), true
}

// nextTry returns how long to wait after the nth failed fetch in a row (n ≥ 1):
// the delay that the server has requested (retryAfter), but no more than 24
// hours. Without such a request, the wait is 1 minute after the first failure,
// and doubles with each further failure, up to 1 hour.
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

// passed reports whether the time t has passed, by the monotonic clock or by
// the wall clock. One clock is not enough: the monotonic clock may stop while a
// machine is suspended, and the wall clock can be set back.
func passed(t, now time.Time) bool {
	return !now.Before(t) || !now.Round(0).Before(t.Round(0))
}
