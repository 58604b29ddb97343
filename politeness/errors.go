package politeness

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A DelayError is the error of a request that may not start yet, and that
// cannot wait, for one of these causes:
//
//   - The wait would outlast the context's deadline or MaxWait.
//   - The host's Crawl-delay is longer than MaxCrawlDelay.
//   - The host's Budget is spent, or MaxHosts leaves no room for its count.
//   - The Fleet does not let this Limiter own the host at all, for example
//     because its fields differ from those of the other members.
//
// The error is returned as soon as the reason is known, except that a request
// that already waits when the Budget is spent waits for its interval first. No
// request was sent, and no slot or budget was used up, except by an earlier
// attempt that a Transport was about to repeat: see [Transport.RoundTrip]. The
// caller should retry at Until, and may send requests to other hosts meanwhile.
//
// An http.Client wraps the DelayError in a *url.Error; errors.As and
// errors.AsType find it.
type DelayError struct {
	Host  string    // the key of the host: the result of Limiter.Key
	Until time.Time // when to retry; at that time, other requests may start first

	// Reason is what the request would have to wait for.
	Reason Reason

	// Err is nil unless the end of the wait is unknown, because another Limiter
	// of the Fleet owns the host, or the Fleet is unreachable. Until is then an
	// estimate.
	Err error
}

func (e *DelayError) Error() string {
	until, why := e.Until.Format(time.RFC3339), ""
	if e.Reason != "" {
		why = " (" + string(e.Reason) + ")"
	}
	if e.Err != nil {
		return fmt.Sprintf("politeness: no request to %s is allowed yet%s: %v: "+
			"send requests to other hosts first, and retry at about %s", e.Host, why, e.Err, until)
	}
	return fmt.Sprintf("politeness: no request to %s is allowed before %s%s: "+
		"send requests to other hosts first, or allow a longer wait", e.Host, until, why)
}

// Unwrap returns Err.
func (e *DelayError) Unwrap() error { return e.Err }

// Timeout returns true, because a DelayError is a kind of timeout.
func (e *DelayError) Timeout() bool { return true }

// Temporary returns true. With this method, DelayError is a net.Error.
func (e *DelayError) Temporary() bool { return true }

// Is makes errors.Is(err, context.DeadlineExceeded) return true.
func (e *DelayError) Is(target error) bool { return target == context.DeadlineExceeded }

// ErrInvalidLimiter is the error of Acquire and RoundTrip, as errors.Is
// reports, if a field of the Limiter is invalid. The message names the field.
// Retrying does not help. [Limiter.Validate] finds the error before the first
// request.
var ErrInvalidLimiter = errors.New("politeness: a field of the Limiter is invalid")

// invalidError is the error of a request to a Limiter with an invalid field.
type invalidError struct{ err error }

func (e invalidError) Error() string        { return e.err.Error() }
func (e invalidError) Is(target error) bool { return target == ErrInvalidLimiter }
func (e invalidError) Unwrap() error        { return e.err }

// cancelError is the error of a request whose context ended while the request
// waited.
type cancelError struct {
	host       string
	err, cause error // the context's error and cause
}

func (e *cancelError) Error() string {
	return "politeness: canceled while waiting for " + e.host + ": " + e.cause.Error()
}

func (e *cancelError) Unwrap() []error { return []error{e.err, e.cause} }

// timeoutError is the error of an attempt that took longer than
// Transport.AttemptTimeout.
type timeoutError struct {
	after time.Duration
	err   error // what Base returned; nil if that was context.DeadlineExceeded
}

func (e *timeoutError) Error() string {
	s := fmt.Sprintf("politeness: no complete response within AttemptTimeout, %v from the request's start", e.after)
	if e.err != nil {
		s += ": " + e.err.Error()
	}
	return s
}

func (e *timeoutError) Timeout() bool        { return true }
func (e *timeoutError) Temporary() bool      { return true } // like context.DeadlineExceeded
func (e *timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }
func (e *timeoutError) Unwrap() error        { return e.err }
