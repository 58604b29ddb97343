package collyrobots

import (
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/gocolly/colly/v2/debug"
)

// Stats counts what the extension has seen and done, on all collectors whose requests go through it.
type Stats struct {
	Fetched      int64 // requests that were sent and answered, redirect hops included, robots.txt not
	Disallowed   int64 // requests that a rule refused
	Unreachable  int64 // requests refused because robots.txt could not be had
	NoIndex      int64 // pages that say noindex
	NoFollow     int64 // pages that say nofollow
	LinksRefused int64 // links of nofollow pages, or rel=nofollow ones, refused by Follow or in OnRequest
	RelNoFollow  int64 // rel=nofollow links on the pages; 0 with RelIgnore
	PutBack      int64 // requests put back because their host was not due
	Retried      int64 // requests repeated after a 429 or 503
	GivenUp      int64 // requests that stay undone: 429 or 503 once more than RetryThrottled allows, MaxRequests reached, or a body that cannot be sent twice
}

// String is the counts in a line, those that are 0 left out but for the first.
func (s Stats) String() string {
	line := fmt.Sprintf("fetched %d", s.Fetched)
	for _, c := range s.columns()[1:] {
		if c.n != 0 {
			line += fmt.Sprintf(", %s %d", c.name, c.n)
		}
	}
	return line
}

// Event is the counts as an event for a debugger of colly/debug, as in
//
//	debugger.Event(ext.Stats().Event())
func (s Stats) Event() *debug.Event {
	values := make(map[string]string)
	for _, c := range s.columns() {
		values[c.name] = strconv.FormatInt(c.n, 10)
	}
	return &debug.Event{Type: "robots", Values: values}
}

type column struct {
	name string
	n    int64
}

func (s Stats) columns() []column {
	return []column{
		{"fetched", s.Fetched},
		{"disallowed", s.Disallowed},
		{"unreachable", s.Unreachable},
		{"noindex", s.NoIndex},
		{"nofollow", s.NoFollow},
		{"links refused", s.LinksRefused},
		{"rel=nofollow", s.RelNoFollow},
		{"put back", s.PutBack},
		{"retried", s.Retried},
		{"given up", s.GivenUp},
	}
}

// Stats returns the counts so far.
func (x *Extension) Stats() Stats {
	c := &x.count
	return Stats{
		Fetched:      c.fetched.Load(),
		Disallowed:   c.disallowed.Load(),
		Unreachable:  c.unreachable.Load(),
		NoIndex:      c.noIndex.Load(),
		NoFollow:     c.noFollow.Load(),
		LinksRefused: c.linksRefused.Load(),
		RelNoFollow:  c.relNoFollow.Load(),
		PutBack:      c.putBack.Load(),
		Retried:      c.retried.Load(),
		GivenUp:      c.givenUp.Load(),
	}
}

type counters struct {
	fetched, disallowed, unreachable             atomic.Int64
	noIndex, noFollow, linksRefused, relNoFollow atomic.Int64
	putBack, retried, givenUp                    atomic.Int64
}
