package robotsmw

import (
	"context"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/load"
)

// An Observer is told what happens, for metrics and logs. Each function is
// optional; a nil one costs nothing.
//
// The functions are called in the middle of requests, by many goroutines at
// once: they must return quickly and must not call back. A panic in Fetched or
// StoreFailed is logged and goes no further; one in Decided or Looked goes to
// the caller.
//
// Decided and Looked get the context of the request, or of the call of Check.
// A fetch of robots.txt serves all who wait for it and belongs to none of
// them: Fetched and StoreFailed get a background context.
type Observer struct {
	// Decided is called for every decision made, by Check and by RoundTrip.
	Decided func(ctx context.Context, d Decision)

	// Fetched is called after every fetch of a robots.txt.
	Fetched func(ctx context.Context, f Fetch)

	// Looked is called when a record is looked up: what came of it.
	Looked func(ctx context.Context, l Lookup)

	// StoreFailed is called when the Store fails at "get", "put", "delete",
	// "lock" or "unlock", or returns a record that cannot be read.
	StoreFailed func(ctx context.Context, op string, err error)
}

// Join returns an Observer that calls the functions of all the observers, in
// their order. nil ones are skipped; if there is no other, Join returns nil.
// A function that none of them has stays nil. Join reads their fields, so set
// these before.
func Join(observers ...*Observer) *Observer {
	var all *Observer
	for _, o := range observers {
		switch {
		case o == nil:
		case all == nil:
			all = o
		default:
			all = &Observer{
				Decided:     both(all.Decided, o.Decided),
				Fetched:     both(all.Fetched, o.Fetched),
				Looked:      both(all.Looked, o.Looked),
				StoreFailed: bothOfStore(all.StoreFailed, o.StoreFailed),
			}
		}
	}
	return all
}

// both returns a function that calls f and then g; if one is nil, the other.
func both[T any](f, g func(context.Context, T)) func(context.Context, T) {
	switch {
	case f == nil:
		return g
	case g == nil:
		return f
	}
	return func(ctx context.Context, what T) {
		f(ctx, what)
		g(ctx, what)
	}
}

// bothOfStore is both for StoreFailed.
func bothOfStore(f, g func(context.Context, string, error)) func(context.Context, string, error) {
	switch {
	case f == nil:
		return g
	case g == nil:
		return f
	}
	return func(ctx context.Context, op string, err error) {
		f(ctx, op, err)
		g(ctx, op, err)
	}
}

// Fetch is one fetch of a robots.txt, redirects included. Cause and Status say
// what it came to (RFC 9309 §2.3.1): with a Cause, robots.txt is unreachable;
// without, a Status of 2xx brought or confirmed a file, and any other means
// that there is none.
type Fetch struct {
	URL       string        // of its robots.txt
	Status    int           // of the last response, or of the one that was confirmed; 0: none
	Renewed   bool          // 304: the copy at hand was confirmed
	Redirects int           // followed
	Bytes     int           // of the body, decoded
	Duration  time.Duration // to the last byte, including the wait for a slot
	Cause     string        // why robots.txt is unreachable; "": it is not
	Next      time.Time     // when it may be asked for again
}

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

// fetchOf is what the loader tells of a fetch, for an Observer.
func fetchOf(f load.Fetch) Fetch {
	rec := f.Record
	e := Fetch{
		URL: f.URL, Status: int(rec.Status), Renewed: f.Renewed, Redirects: int(rec.Hops), Bytes: f.Bytes,
		Duration: f.Duration, Next: rec.Expires,
	}
	if f := rec.Failure; f != nil {
		e.Status, e.Cause, e.Next = f.Status, f.Cause, f.Retry
	}
	return e
}
