package headers

import (
	"net/http"
	"time"

	"github.com/goodbots/courtesy/internal/httptime"
)

// Demands are the waits and quotas in the header of a response.
type Demands struct {
	RetryAfter time.Duration // how long no request may start; 0 means none
	Quotas     []balance
	maxPause   time.Duration // as passed to Read; longer delays are shortened to it
}

// A Quota has the delays that follow from the balances of a response. If there
// are several balances, the strictest counts.
type Quota struct {
	Pause    time.Duration // how long no request may start, because the quota is spent
	Spread   time.Duration // the interval between starts that makes the quota last until its renewal
	RenewsIn time.Duration // the time until the renewal; Spread applies until then
}

// Read reads the fields of a response that affect delays. Delays longer than
// maxPause are shortened to it. maxPause is Limiter.MaxRetryAfter with its
// default: 24 h for 0, and the greatest duration for a negative value. Read is
// called once for a response, before the Limiter's lock is taken.
//
// Of the fields for quotas it reads RateLimit and RateLimit-Policy
// (draft-ietf-httpapi-ratelimit-headers-11, and the forms of its earlier
// versions), X-RateLimit-Remaining with X-RateLimit-Reset or -Reset-After, and
// X-Rate-Limit-Remaining. These fields can only slow requests down:
//
//   - A spent quota pauses the host until it is renewed, and one second more,
//     because most servers count in whole seconds.
//   - If some requests remain, they are spread over the time until the quota is
//     renewed. Requests in flight count as made, because the server may not
//     have counted them yet. It has counted those whose bodies are still open,
//     so that some requests of the quota may remain unused.
//   - If RateLimit does not contain how much of a policy's quota remains, the
//     quota of the policy is spread over its window.
//   - A quota of something other than requests matters only when it is spent.
//   - Of several quotas the strictest counts. It holds until its time is over,
//     or until a later response contains a stricter one.
//   - If a Retry-After is obeyed, the quotas of its response are ignored.
//   - A field that is malformed or has no time is ignored, except that a spent
//     quota with a window ("0;w=21600") pauses the host for the window at most.
//   - A response from a cache contains the quota at the time when the response
//     was made, which follows from Age. If the quota has been renewed since, it
//     is ignored.
func Read(h http.Header, now time.Time, maxPause time.Duration) (d Demands) {
	if len(h) == 0 {
		return Demands{}
	}
	wait, _ := RetryAfter(h, now)
	d.RetryAfter = min(wait, maxPause)
	r := quotaReader{age: parseAge(h)}
	r.readLimits(Lines(h, "Ratelimit"), Lines(h, "Ratelimit-Policy"))
	for _, names := range [...][3]string{
		{"Ratelimit-Remaining", "Ratelimit-Reset", ""}, // versions of the draft up to 06
		{"X-Ratelimit-Remaining", "X-Ratelimit-Reset", "X-Ratelimit-Reset-After"},
		{"X-Rate-Limit-Remaining", "X-Rate-Limit-Reset", ""},
	} {
		lines := Lines(h, names[0])
		if lefts := splitValues(lines); len(lefts) > 0 {
			limit, ok := parseLeast(splitValues(Lines(h, "X-Ratelimit-Limit")))
			r.noLimit = ok && limit == 0
			r.clock = httptime.Clock(h.Get("Date"), now)
			resets, afters := Lines(h, names[1]), Lines(h, names[2])
			if !r.readRemaining(lefts, resets, afters) {
				r.readWindows(lines)
			}
		}
	}
	d.Quotas = r.quotas
	d.maxPause = maxPause
	return d
}

// Quota returns the longest delays of the balances. others is the number of
// other requests in flight, which the server may not have counted yet.
//
// A pause, and the time for which Spread applies, end one second after the
// renewal, because most servers count in whole seconds, and some round down.
// Spread itself is the time until the renewal, divided by the requests that are
// left. Each of the three is shortened to the maxPause of Read, Spread only
// after the division.
func (d Demands) Quota(others int64) (q Quota) {
	for _, b := range d.Quotas {
		left := b.left - others
		renewsIn := min(b.reset, unlimited-time.Second) + time.Second
		renewsIn = min(renewsIn, d.maxPause)
		if left <= 0 {
			q.Pause = max(q.Pause, renewsIn)
			continue
		}
		spread := min(b.reset/time.Duration(left), d.maxPause)
		if spread > q.Spread {
			q.Spread = spread
			q.RenewsIn = renewsIn
		}
	}
	return q
}
