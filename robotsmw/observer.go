package robotsmw

import (
	"context"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/load"
)

// An Observer is told what happens, for metrics and logs. Each function is
// optional; a nil one costs nothing.
//
// The functions are called in the middle of requests, by many goroutines at
// once: they must return quickly and must not call back. A panic in Decided or
// Looked goes to the caller; one in the others is logged and goes no further.
//
// Decided and Looked get the context of the request, or of the call of Check.
// A fetch of robots.txt serves all who wait for it and belongs to none of
// them: the others get a background context.
type Observer struct {
	// Decided is called for every decision made, by Check and by RoundTrip.
	Decided func(ctx context.Context, d Decision)

	// Fetched is called after every fetch of a robots.txt.
	Fetched func(ctx context.Context, f Fetch)

	// Recalled is called when a record that the Store has is used in place of
	// a fetch.
	Recalled func(ctx context.Context, f Fetch)

	// Asked is called after each question for a robots.txt: each hop of its
	// redirects, and each one that is put again. robotsURL is that of the
	// origin it is for. resp has the Request as it was sent; its Body is
	// closed, and its StatusCode 0 if no answer came. body is what was read of
	// that: decoded, but for the page of a 5xx, and not all of it where there
	// is more than a robots.txt can have, or the status says enough. err is
	// why there is no answer, or no whole one. None of them may be changed,
	// nor kept.
	Asked func(ctx context.Context, robotsURL string, resp *http.Response, body []byte, err error)

	// Read is called with each robots.txt before anything is decided by it,
	// whether it was fetched, stored or is an Override, and with its SHA-256 as
	// Decision.SHA256 has it. The same may come again. The text may not be
	// changed, nor kept.
	Read func(ctx context.Context, sha256 string, text []byte)

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
				Recalled:    both(all.Recalled, o.Recalled),
				Asked:       bothOfAnswer(all.Asked, o.Asked),
				Read:        bothOfText(all.Read, o.Read),
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

// bothOfAnswer is both for Asked.
func bothOfAnswer(f, g func(context.Context, string, *http.Response, []byte, error)) func(context.Context, string, *http.Response, []byte, error) {
	switch {
	case f == nil:
		return g
	case g == nil:
		return f
	}
	return func(ctx context.Context, robotsURL string, resp *http.Response, body []byte, err error) {
		f(ctx, robotsURL, resp, body, err)
		g(ctx, robotsURL, resp, body, err)
	}
}

// bothOfText is both for Read.
func bothOfText(f, g func(context.Context, string, []byte)) func(context.Context, string, []byte) {
	switch {
	case f == nil:
		return g
	case g == nil:
		return f
	}
	return func(ctx context.Context, sha256 string, text []byte) {
		f(ctx, sha256, text)
		g(ctx, sha256, text)
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

	// The answer that holds from now on, as a Decision has it. While robots.txt
	// is unreachable that is the last one before; SHA256 is "" if there was no
	// file in it, and the times are zero if there was none.
	SHA256           string
	Fetched, Expires time.Time
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
		Duration: f.Duration, Next: rec.Expires, Fetched: rec.Fetched, Expires: rec.Expires,
	}
	if rec.Doc != nil {
		e.SHA256 = hex.EncodeToString(rec.Doc.Hash[:])
	}
	if f := rec.Failure; f != nil {
		e.Status, e.Cause, e.Next = f.Status, f.Cause, f.Retry
	}
	return e
}
