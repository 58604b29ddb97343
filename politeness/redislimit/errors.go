package redislimit

import (
	"errors"
	"fmt"
	"time"
)

// An AwayError says that Redis cannot be reached or refuses to serve. It comes
// inside a [politeness.DelayError], for a host that this member does not own.
type AwayError struct {
	Owner string    // the last known owner; "" means no owner is known
	Since time.Time // when Redis last answered
	Err   error     // the error of Redis or its client
}

func (e *AwayError) Error() string {
	owner := ""
	if e.Owner != "" {
		owner = "; then " + e.Owner + " of the fleet owned it"
	}
	return fmt.Sprintf("redislimit: which member owns the host is not known: Redis has not answered since %s%s; check that Redis runs: %v",
		e.Since.Format(time.RFC3339), owner, e.Err)
}

// Unwrap returns Err.
func (e *AwayError) Unwrap() error { return e.Err }

var (
	errClosed = errors.New("redislimit: the Fleet is closed")
	errShared = errors.New("redislimit: two Limiters share a Fleet: make one for each")
	errHung   = errors.New("redislimit: the client does not return: set its timeouts, and ContextTimeoutEnabled")
	errNew    = errors.New("redislimit: the fleet is new, or Redis has lost what it knew: no host is given away yet")
	errSlow   = errors.New("redislimit: no answer within Options.Timeout")
)
