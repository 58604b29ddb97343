package politeness

// A Budget limits what each host is asked for in one UTC day, by the wall
// clock. When a host's Budget is spent, further requests to that host are
// refused at once, until the day is over. Their [*DelayError] has the Reason
// [ReasonBudget]. A fetch of robots.txt ([Exempt]) counts too, but the Budget
// never refuses it.
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

func (b Budget) limits() bool { return b.Requests > 0 || b.Bytes > 0 }
