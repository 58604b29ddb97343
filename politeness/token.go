package politeness

import (
	"golang.org/x/time/rate"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// A token is one of GlobalRate, reserved for the first request in the queue of
// the Limiter global. A rate.Limiter cannot move its reservations later.
// Therefore the pace of a host is computed from points in time instead.
type token struct {
	*rate.Reservation
	holder *schedule.Request
	valid  schedule.Time // from when on the request may use it
}
