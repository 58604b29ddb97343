package redislimit

import (
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// Without Redis, time is cut into cells as long as the Delay, counted on Redis's
// clock as last learnt, and each cell belongs to one seat: cell c to seat c modulo
// seats. Every member starts its requests at the beginning of cells of its own, so
// two starts are never closer than the Delay.
//
// seats is a power of two. Members that have heard different numbers of seats do
// not meet either: what is one seat's modulo 16 is one seat's modulo 8.

// ownCell is the first moment from t on, µs on Redis's clock, at which seat may
// start a request.
func ownCell(t int64, seat, seats int64, terms politeness.Terms) int64 {
	width, interval := terms.Delay.Microseconds(), terms.Pace.Microseconds()
	if !terms.Exempt {
		interval = max(interval, terms.CrawlDelay.Microseconds())
	}
	if width <= 0 {
		width = interval
	}
	if width <= 0 {
		return t // no pace to keep
	}
	period := seats
	phase := seat
	if cells := divideUp(interval, width); cells > 1 {
		// A longer interval: a round has a cell for each seat; of every seats × rounds
		// rounds, each seat uses one, and the rounds used are so far apart that even
		// the last cell of one and the first of the next are an interval apart.
		rounds := divideUp(cells+seats-1, seats)
		period = seats * seats * rounds
		phase = seat*rounds*seats + seat
	}
	cell := divideUp(t, width)
	return (cell + modulo(phase-cell, period)) * width
}

func divideUp(a, b int64) int64 { return (a + b - 1) / b }

// modulo is a modulo b, not negative.
func modulo(a, b int64) int64 { return ((a % b) + b) % b }

// powerOfTwo is the first that is not less than n.
func powerOfTwo(n int64) int64 {
	p := int64(1)
	for p < n {
		p *= 2
	}
	return p
}

// own is the time that a member is on its own: Redis does not answer, or the
// epoch has not opened yet.
type own struct {
	since  time.Time
	clock  clock     // as it was known then, in all members: a new server has another
	cause  error     // why Redis did not answer; nil: it does
	sure   bool      // it is no hiccup: a report has failed too, or the epoch is closed
	failed time.Time // when the latest question that got no answer was put
	resume time.Time // when the epoch opens, once that is known
	starts int       // requests started
}
