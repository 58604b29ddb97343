package robotsmw

import (
	"errors"
	"strings"
)

// For a *DisallowedError, errors.Is returns true with exactly one of these
// values.
var (
	// ErrDisallowed: robots.txt, Options.Override or Options.DisallowForbidden
	// forbids the URL.
	ErrDisallowed = errors.New("robotsmw: disallowed by robots.txt")
	// ErrUnreachable: robots.txt cannot be fetched, so everything is disallowed
	// for now (RFC 9309 §2.3.1.4). The URL may be tried again at
	// Decision.NextTry.
	ErrUnreachable = errors.New("robotsmw: robots.txt is unreachable")
)

// DisallowedError is what RoundTrip returns for a URL that may not be fetched.
// The request was not sent. errors.AsType[*DisallowedError] finds it, also in
// the *url.Error of an http.Client.
type DisallowedError struct {
	Decision Decision
}

// Error says why the URL may not be fetched. It leaves the URL out, because the
// *url.Error of an http.Client names it. Decision.String names it too.
func (e *DisallowedError) Error() string {
	d := &e.Decision
	file := d.RobotsURL
	if d.URL != nil && strings.EqualFold(file, d.URL.Scheme+"://"+d.URL.Host+"/robots.txt") {
		file = "robots.txt"
	}
	return "robotsmw: disallowed: " + printable(d.why(file))
}

// Is reports whether target is the error for the decision's reason:
// ErrUnreachable for Unreachable, and ErrDisallowed for any other.
func (e *DisallowedError) Is(target error) bool {
	if e.Decision.Reason == Unreachable {
		return target == ErrUnreachable
	}
	return target == ErrDisallowed
}

// Timeout returns false, even if a timeout made robots.txt unreachable. Many
// callers repeat a request at once after a timeout, which would not help here.
func (e *DisallowedError) Timeout() bool { return false }
