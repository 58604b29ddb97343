package politeness

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A DelayError says that a request may not start yet and cannot wait, for one
// of these causes:
//
//   - The wait would outlast the context's deadline or MaxWait.
//   - The host's Crawl-delay is longer than MaxCrawlDelay.
//   - The host's Budget is spent, or MaxHosts leaves no room for its count.
//
// The error comes as soon as the Limiter knows the cause. The request has used
// up no slot and no budget. So the caller can ask other hosts first, and come
// back at the time in Until.
//
// An http.Client wraps the DelayError in a *url.Error. Find it with errors.As
// or errors.AsType.
type DelayError struct {
	Host  string    // the key of the host, as Limiter.Key names it
	Until time.Time // when to ask again; at that time, other requests may come first

	// Reason is what the request would have to wait for.
	Reason Reason

	// Err is nil if nothing but time holds up the request. If Err is not nil,
	// it says what else holds it up: another Limiter of the Fleet owns the
	// host, or the fleet cannot be reached. The time in Until is then a guess.
	Err error
}

func (e *DelayError) Error() string {
	until, why := e.Until.Format(time.RFC3339), ""
	if e.Reason != "" {
		why = " (" + string(e.Reason) + ")"
	}
	if e.Err != nil {
		return fmt.Sprintf("politeness: %s may not be asked yet%s: %v: do other hosts first, and ask again at about %s", e.Host, why, e.Err, until)
	}
	return fmt.Sprintf("politeness: %s may not be asked before %s%s: do other hosts first, or allow a longer wait", e.Host, until, why)
}

// Unwrap returns Err.
func (e *DelayError) Unwrap() error { return e.Err }

// Timeout returns true, because a DelayError is a kind of timeout.
func (e *DelayError) Timeout() bool { return true }

// Temporary returns true. With this method, DelayError is a net.Error.
func (e *DelayError) Temporary() bool { return true }

// Is makes errors.Is(err, context.DeadlineExceeded) return true.
func (e *DelayError) Is(target error) bool { return target == context.DeadlineExceeded }

// ErrInvalidLimiter is found by errors.Is in the error of Acquire and RoundTrip
// if a field of the Limiter is invalid. The message names the field. No request
// can pass such a Limiter, so retrying does not help.
var ErrInvalidLimiter = errors.New("politeness: a field of the Limiter is invalid")

// invalidError is the error of a request to a Limiter with an invalid field.
type invalidError struct{ err error }

func (e invalidError) Error() string        { return e.err.Error() }
func (e invalidError) Is(target error) bool { return target == ErrInvalidLimiter }
func (e invalidError) Unwrap() error        { return e.err }

// cancelError says that the context of a request ended while the request
// waited.
type cancelError struct {
	host       string
	err, cause error // the context's error and cause
}

func (e *cancelError) Error() string {
	return "politeness: canceled while waiting for " + e.host + ": " + e.cause.Error()
}

func (e *cancelError) Unwrap() []error { return []error{e.err, e.cause} }

// timeoutError says that an attempt took longer than Transport.AttemptTimeout.
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
