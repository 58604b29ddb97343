package collyrobots

import (
	"fmt"
	"time"
)

// Counts are the counts of an Extension since Attach, for all collectors whose
// requests it handles.
type Counts struct {
	// Fetched counts requests that got a response, including redirect hops, but
	// not those for robots.txt.
	Fetched int64

	Disallowed  int64 // requests that a rule disallowed
	Unreachable int64 // requests refused because robots.txt was unreachable

	// AddressRefused counts requests whose address Options.RefuseAddress
	// refused, or the address of the robots.txt that they needed.
	AddressRefused int64

	NoIndex      int64 // pages with a noindex directive
	NoFollow     int64 // pages with a nofollow directive
	LinksRefused int64 // refused links: on nofollow pages, or with rel=nofollow
	PutBack      int64 // requests put back because their host was not due
	Retried      int64 // requests repeated after a 429 or 503

	// GivenUp counts requests that were not repeated although RetryThrottled or
	// PutBack was set: because a request was answered with 429 or 503 more
	// often than RetryThrottled allows, because MaxRequests was reached,
	// because the body cannot be sent twice, or because the Limiter refused the
	// request five times after a redirect.
	GivenUp int64

	// Pages counts the responses in Fetched that are not redirects.
	Pages int64

	// Lost counts requests that got no complete response, such as because of
	// the network, a timeout, the end of the Context or a
	// *politeness.DelayError. Requests that were refused because of robots.txt
	// or their address are not lost, nor are requests that succeeded in a
	// Retry. Lost counts the attached collector and those that were added with
	// Extension.Add, but no other clones.
	Lost int64

	// Waited is the sum of the times for which requests waited before they were
	// sent: for the Limiter, for robots.txt and for LimitRules, but not while
	// they were put back. Waits at the same time add up.
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
