package politeness

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// globalTokens takes the tokens of a Limiter's GlobalRate.
//
// GlobalRate is a stage of the chain (Limiter.globalStage): a Limiter with a
// single host, in whose queue the requests to all hosts wait once their own
// hosts and every Within allow them to start. Only the first request of that
// queue reserves a token, because a rate.Limiter cannot give a reservation to
// another request. If that request leaves the queue without starting, its
// reservation is canceled.
//
// The mutex of the stage guards a globalTokens.
type globalTokens struct {
	rate        *rate.Limiter
	reservation *rate.Reservation // nil means none
	request     *schedule.Request // which the reservation is for
	validAt     time.Time         // when the request may start
}

// take reserves a token for r, if none is reserved, and returns how long r must
// wait until it may start with the token.
func (t *globalTokens) take(r *schedule.Request) (wait time.Duration) {
	now := time.Now()
	if t.reservation != nil {
		// It is for r: this stage has one lane, in which no request overtakes
		// another, and a first request that left has given its token back.
		return t.reservation.DelayFrom(now)
	}
	reservation := t.rate.ReserveN(now, 1)
	if !reservation.OK() {
		return time.Second // the burst has been set to 0
	}
	wait = reservation.DelayFrom(now)
	t.reservation = reservation
	t.request = r
	t.validAt = now.Add(wait)
	return wait
}

// spend is called when the request that has the reservation starts.
func (t *globalTokens) spend() { t.reservation = nil }

// giveBack cancels the reservation if r, which leaves the queue, has it.
func (t *globalTokens) giveBack(r *schedule.Request) {
	if t.reservation == nil || t.request != r {
		return
	}
	at := time.Now()
	if t.validAt.Before(at) {
		at = t.validAt // after that time, CancelAt gives nothing back
	}
	t.reservation.CancelAt(at)
	t.reservation = nil
}
