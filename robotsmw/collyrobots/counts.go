package collyrobots

import (
	"fmt"
	"time"
)

// Counts are what the extension has seen and done since Attach, on all
// collectors whose requests it handles.
type Counts struct {
	Fetched     int64 // answered requests, including redirect hops, but not those for robots.txt
	Disallowed  int64 // requests that a rule refused
	Unreachable int64 // requests refused because robots.txt was unreachable

	// AddressRefused are the requests whose address Options.RefuseAddress
	// refused, or the address of the robots.txt that they needed.
	AddressRefused int64

	NoIndex      int64 // pages that say noindex
	NoFollow     int64 // pages that say nofollow
	LinksRefused int64 // refused links: on nofollow pages, or with rel=nofollow
	PutBack      int64 // requests put back because their host was not due
	Retried      int64 // requests repeated after a 429 or 503

	// GivenUp are requests that were not repeated although RetryThrottled or
	// PutBack was set. A request is given up if it was answered 429 or 503 more
	// often than RetryThrottled allows, if MaxRequests was reached, or if its
	// body cannot be sent twice. So is one that the Limiter has refused after a
	// redirect five times.
	GivenUp int64

	// Pages are the answers in Fetched that are not redirects. Lost are the
	// requests that got no whole answer, unless robots.txt or a refused address
	// was the reason. Other reasons are the network, a timeout, the end of the
	// Context or a *politeness.DelayError. A request that failed is not lost if
	// a Retry of it succeeded. Lost counts the attached collector and those
	// that were added with Extension.Add, but no other clones.
	Pages, Lost int64

	// Waited adds up how long requests waited before they were sent: for their
	// host's pace, its robots.txt and LimitRules, but not while they were put
	// back. If two requests wait during the same second, that counts as two
	// seconds. LongestWait is the longest of these waits. Each hop of a
	// redirect has a wait of its own, so a page that came by redirects may have
	// waited longer.
	Waited, LongestWait time.Duration
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
