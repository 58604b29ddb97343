package robotsmw

import (
	"log/slog"
	"runtime/debug"
	"time"
)

// An Observer is told what happens, for metrics and logs. Its methods are
// called in the middle of requests, by many goroutines at once: they must be
// quick and must not call back.
type Observer interface {
	// Decided is called for every decision made, by Check and by RoundTrip.
	Decided(Decision)
	// Fetched is called after every fetch of a robots.txt.
	Fetched(Fetch)
	// Looked is called when a record is looked up: what came of it.
	Looked(Lookup)
	// StoreFailed is called when the Store fails at "get", "put", "delete"
	// or "lock", or returns a record that cannot be read.
	StoreFailed(op string, err error)
}

// Fetch is one fetch of a robots.txt, redirects included.
type Fetch struct {
	Origin    string        // as in "https://example.com"
	URL       string        // of its robots.txt
	Outcome   Outcome       // what the answer means
	Status    int           // of the last response; 0: none
	Renewed   bool          // 304: the copy at hand was confirmed
	Redirects int           // followed
	Bytes     int           // of the body, decoded
	Started   time.Time     // including the wait for a slot
	Duration  time.Duration // from Started to the last octet
	Cause     string        // of an unreachable robots.txt
	Next      time.Time     // when it may be asked for again
}

// Outcome is what a fetch of robots.txt came to (RFC 9309 §2.3.1).
type Outcome string

// The outcomes of a fetch.
const (
	FetchSuccessful  Outcome = "successful"  // 2xx, or a 304 to our question
	FetchUnavailable Outcome = "unavailable" // other 4xx; redirects that lead nowhere
	FetchUnreachable Outcome = "unreachable" // 429, 5xx, others, network
)

// Lookup is what came of looking for an origin's record.
type Lookup string

// The lookups.
const (
	LookupHit     Lookup = "hit"     // in memory, fresh
	LookupStale   Lookup = "stale"   // in memory, past its lifetime or unreachable; the next try is not due
	LookupMiss    Lookup = "miss"    // a fetch was begun
	LookupJoined  Lookup = "joined"  // a fetch was under way and was waited for
	LookupRefused Lookup = "refused" // memory is full of origins that must not be forgotten
)

// finish fills in what follows from the record that the fetch led to.
func (e *Fetch) finish(rec *record, now time.Time) {
	e.Duration = now.Sub(e.Started)
	e.Status, e.Redirects = int(rec.status), int(rec.hops)
	e.Next = rec.expires
	switch {
	case rec.failure != nil:
		e.Outcome, e.Status, e.Cause, e.Next = FetchUnreachable, rec.failure.status, rec.failure.cause, rec.failure.retry
	case rec.state == stateGood:
		e.Outcome = FetchSuccessful
	default:
		e.Outcome = FetchUnavailable
	}
}

func (c *Checker) observeFetch(e Fetch) {
	if c.cfg.Observer != nil {
		// Nobody's request is on this goroutine: a panic would end the
		// process, or be taken for a failed fetch.
		func() {
			defer c.recoverFrom("Observer.Fetched")
			c.cfg.Observer.Fetched(e)
		}()
	}
	c.cfg.Logger.Debug("robots.txt fetched", "url", e.URL, "outcome", string(e.Outcome), "status", e.Status,
		"renewed", e.Renewed, "bytes", e.Bytes, "duration", e.Duration, "cause", e.Cause, slog.Time("next", e.Next))
}

func (c *Checker) recoverFrom(what string) {
	if p := recover(); p != nil {
		c.cfg.Logger.Error("robotsmw: panic in "+what, "panic", p, "stack", string(debug.Stack()))
	}
}

func (c *Checker) observeLookup(l Lookup) {
	if c.cfg.Observer != nil {
		c.cfg.Observer.Looked(l)
	}
}
