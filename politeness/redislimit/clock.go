package redislimit

import "time"

// clock reads Redis's clock off the local monotonic one. Each answer tells that
// the server's time was S somewhere between sending and receiving, so Redis is
// ahead by S - received at least, and S - sent at most. The greatest lower bound of
// the last one to two minutes is kept: no slot is ever taken for begun before it
// has, and the error is the shortest way back of an answer.
type clock struct {
	base  time.Time // local; ahead counts from it
	since time.Time // when the present minute began
	ahead [2]int64  // the greatest lower bounds of this minute and the last, µs
	known bool
}

const clockMemory = time.Minute

// learn takes note of an answer that was given at server, µs since 1970.
func (c *clock) learn(sent, received time.Time, server int64) {
	if c.base.IsZero() {
		c.base = sent
	}
	least := server - received.Sub(c.base).Microseconds()
	most := server - sent.Sub(c.base).Microseconds()
	switch {
	case !c.known || most < c.best():
		// The first, or Redis's clock was set back: what was known is wrong.
		c.known, c.since = true, received
		c.ahead = [2]int64{least, least}
	case received.Sub(c.since) > clockMemory:
		c.since = received
		c.ahead = [2]int64{least, c.ahead[0]}
	default:
		c.ahead[0] = max(c.ahead[0], least)
	}
}

func (c *clock) best() int64 { return max(c.ahead[0], c.ahead[1]) }

// local is when it is server's time here.
func (c *clock) local(server int64) time.Time {
	return c.base.Add(time.Duration(server-c.best()) * time.Microsecond)
}

// server is Redis's time at t, µs since 1970.
func (c *clock) server(t time.Time) int64 { return t.Sub(c.base).Microseconds() + c.best() }
