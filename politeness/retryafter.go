package politeness

import (
	"net/http"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/headers"
)

// RetryAfter returns the wait that the server requests, counted from now. It
// returns false if no Retry-After requests a wait: there is none, or it is
// malformed, negative, zero or a time in the past.
//
// RFC 9110 §10.2.3 has two forms, whole seconds and an HTTP date. RetryAfter
// also reads forms that many servers send: fractions of a second, which are
// rounded up; dates with another zone or offset; ISO 8601; durations such as
// "30s"; and seconds since 1970, if they are within a year of the present. If
// several values are joined by commas, or if there are several fields, the
// longest wait counts. A value with a sign or an exponent is malformed, and so
// are more than 32 values or 4 KiB.
//
// A time is compared with the response's own Date, because the server's clock
// wrote both. If there is no Date, the time is compared with now.
//
// The result has no maximum. A Limiter shortens it to its MaxRetryAfter.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	// Limiter.readHeader passes MaxRetryAfter to headers.Read, which shortens
	// the result and the times of quotas to it. MaxRetryAfter is 24 h if it is
	// 0. If it is negative, there is no maximum.
	return headers.RetryAfter(h, now)
}
