package politeness

import (
	"math"
	"time"
)

// A Budget limits the requests to each host, and the bytes from it, in one UTC
// day. When a host's Budget is spent, further requests to that host fail
// immediately with a [*DelayError], until the day is over. Its Reason is
// [ReasonBudget]. A fetch of robots.txt ([Exempt]) counts too, but never fails
// because of the Budget.
//
// The Limiter keeps the count in memory, so a program that restarts on the same
// day begins with a whole Budget. With a Limiter.Fleet, the fleet keeps the
// count for all its processes, and over restarts. A process then reserves a
// 32nd of the Budget at a time, and at least 1 request and 1 byte. A process
// that is killed wastes at most one such part for each host. Only fetches of
// robots.txt and bodies in flight can exceed the Budget.
type Budget struct {
	// Requests is how many requests to a host may start in a day. 0 or negative
	// means no limit.
	Requests int64

	// Bytes is how many bytes of response bodies may be read from a host in a
	// day. A Transport counts them, in the form in which its Base returns them.
	// A request may start as long as any bytes are left. Its body is then read
	// to the end, so the bodies in flight may exceed the limit. 0 or negative
	// means no limit.
	Bytes int64
}

// An amount is a part of a Budget.
type amount struct{ requests, bytes int64 }

func (p amount) plus(q amount) amount {
	return amount{sum(p.requests, q.requests), sum(p.bytes, q.bytes)}
}

func sum(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// utcDay returns the day of t in UTC, counted from 1970.
func utcDay(t time.Time) int64 { return t.Unix() / 86400 }

// An account is what is known of one host's Budget on one day.
type account struct {
	day   int64  // in UTC, counted from 1970
	taken amount // reserved so far by all who share the Budget
	left  amount // what this process has reserved and not used; negative if it used more
	claim amount // in a fleet: what this process is reserving now; zero means nothing
}

func (b Budget) limits() bool { return b.Requests > 0 || b.Bytes > 0 }

// lacks reports whether left is too little to start a request.
func (b Budget) lacks(left amount) bool {
	return b.Requests > 0 && left.requests <= 0 || b.Bytes > 0 && left.bytes <= 0
}

// isSpent reports whether this process can get no more requests, or no more
// bytes: it has used up its part, and the whole Budget is reserved.
func (b Budget) isSpent(a *account) bool {
	return b.Requests > 0 && a.left.requests <= 0 && a.taken.requests >= b.Requests ||
		b.Bytes > 0 && a.left.bytes <= 0 && a.taken.bytes >= b.Bytes
}

// next returns the amount to reserve for an account that lacks something.
func (b Budget) next(a *account) amount {
	return amount{block(b.Requests, a.taken.requests, a.left.requests), block(b.Bytes, a.taken.bytes, a.left.bytes)}
}

func block(limit, taken, left int64) int64 {
	if limit <= 0 || left > 0 {
		return 0
	}
	return sum(min(max(limit/32, 1), max(limit-taken+left, 0)), -left) // -left is what was used beyond the reservation
}

// untilEnd returns the time until the account's day ends.
func (a *account) untilEnd() time.Duration { return time.Until(time.Unix((a.day+1)*86400, 0)) }

// used returns what all processes that share the Budget have used, as far as
// this one knows.
func (a *account) used() amount {
	return a.taken.plus(amount{-a.left.requests, -a.left.bytes})
}
