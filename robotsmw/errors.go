package robotsmw

import "errors"

// Why a request was refused: errors.Is of a *DisallowedError holds for one
// of the two.
var (
	// ErrDisallowed: robots.txt says no (or Options does, for that origin).
	ErrDisallowed = errors.New("robotsmw: disallowed by robots.txt")
	// ErrUnreachable: robots.txt could not be had, so all is disallowed
	// for the time being (RFC 9309 §2.3.1.4). The URL may be asked for
	// again at Decision.NextTry.
	ErrUnreachable = errors.New("robotsmw: robots.txt is unreachable")
)

// DisallowedError is what RoundTrip returns for a URL that may not be
// fetched; nothing was sent. Get it with errors.AsType[*DisallowedError],
// through the *url.Error of an http.Client too.
type DisallowedError struct {
	Decision Decision
}

func (e *DisallowedError) Error() string { return "robotsmw: " + e.Decision.String() }

// Is reports whether target is ErrUnreachable or ErrDisallowed, as the
// decision's reason has it.
func (e *DisallowedError) Is(target error) bool {
	if e.Decision.Reason == Unreachable {
		return target == ErrUnreachable
	}
	return target == ErrDisallowed
}

// Timeout is false, even where robots.txt is unreachable because of a
// timeout: to repeat the request at once would be of no use.
func (e *DisallowedError) Timeout() bool { return false }
