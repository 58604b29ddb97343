package politeness

import (
	"net/http"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/headers"
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
	return headers.RetryAfter(h, now)
}
