package collyrobots

import (
	"fmt"
	"time"
)

// Counts are the counts of an Extension since Attach, for all collectors whose
// requests it handles.
type Counts struct {
	// Fetched counts requests that received a response, including redirect
	// hops. Requests for robots.txt and pages from CacheDir are not counted,
	// although NoIndex, NoFollow and LinksRefused include pages from CacheDir.
	Fetched int64

	Disallowed  int64 // requests that a rule disallowed
	Unreachable int64 // requests refused because robots.txt was unreachable, whether or not retried

	// AddressRefused counts requests that were not sent because
	// Options.RefuseAddress refused the address of their host, or that of the
	// robots.txt that applies to them.
	AddressRefused int64

	NoIndex      int64 // pages with a noindex directive
	NoFollow     int64 // pages with a nofollow directive
	LinksRefused int64 // refusals of links: on nofollow pages, or with rel=nofollow
	PutBack      int64 // requests put back because their host was not due
	Retried      int64 // requests repeated because of RetryThrottled

	// GivenUp counts requests that were not repeated although RetryThrottled or
	// PutBack was set: because the request had already been repeated
	// RetryThrottled times, because MaxRequests was reached, because the body
	// cannot be sent twice, or because the Limiter refused the request five
	// times after a redirect.
	GivenUp int64

	// Pages counts the responses in Fetched that are not redirects, including
	// those with an error status, such as a 407 from a proxy.
	Pages int64

	// Lost counts requests that received no complete response, for example
	// because of a network error, a timeout, a canceled Context or a
	// *politeness.DelayError. Requests that were refused because of robots.txt
	// or their address are not counted, nor are requests for which a Retry
	// succeeded. Lost counts the attached collector and those that were added
	// with Extension.Add, but no other clones.
	Lost int64

	// Waited is the sum of the times for which requests waited before they were
	// sent: for the Limiter, for robots.txt and for LimitRules. It does not
	// include the time for which they were put back, or for which a Retry
	// waited until it was allowed. If several requests wait at the same time,
	// all their waits are added.
	Waited time.Duration

	// LongestWait is the longest of these waits. Each hop of a redirect has a
	// wait of its own, so a page behind redirects may have waited longer.
	LongestWait time.Duration
}

// String returns the counts in one line. It leaves out counts that are 0,
// except Fetched. It also leaves out Pages if that count equals Fetched, and
// the waits if they add up to less than half a second.
func (n Counts) String() string {
	line := fmt.Sprintf("fetched %d", n.Fetched)
	for _, c := range []struct {
		name string
		n    int64
	}{
		{"pages", n.Pages % max(n.Fetched, 1)}, // 0 if Pages equals Fetched
		{"disallowed", n.Disallowed},
		{"unreachable", n.Unreachable},
		{"addresses refused", n.AddressRefused},
		{"noindex", n.NoIndex},
		{"nofollow", n.NoFollow},
		{"links refused", n.LinksRefused},
		{"put back", n.PutBack},
		{"retried", n.Retried},
		{"given up", n.GivenUp},
		{"lost", n.Lost},
	} {
		if c.n != 0 {
			line += fmt.Sprintf(", %s %d", c.name, c.n)
		}
	}
	if waited := n.Waited.Round(time.Second); waited != 0 {
		line += fmt.Sprintf(", waited %v (%v at most)", waited, n.LongestWait.Round(100*time.Millisecond))
	}
	return line
}
