package robotsmw

import (
	"context"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/load"
)

// An Observer receives events, for metrics and logs. A nil function is not
// called.
//
// The functions are called while requests are in progress, by many goroutines
// at once. They must return quickly, and must not call the Checker or the
// Transport. A panic in Decided reaches the caller. A panic in any other
// function is recovered and logged.
//
// Decided receives the context of the request, or of the call of the Checker.
// The other functions receive a background context, because a fetch of
// robots.txt belongs to none of the requests that wait for it.
type Observer struct {
	// Decided is called for every decision of Check, RoundTrip and Admit. If a
	// request is checked again after its wait, Decided is called again, unless
	// a robots.txt that was loaded meanwhile allows the request with the same
	// Crawl-delay.
	Decided func(ctx context.Context, d Decision)

	// Fetched is called after every fetch of a robots.txt, whether it succeeded
	// or failed. It is not called after a fetch that has no result, because the
	// fetch was dropped while it waited for a slot, because the Limiter
	// rejected the wait, or because unfinished fetches took too much memory.
	Fetched func(ctx context.Context, f Fetch)

	// Loaded is called when a record from the Store is used instead of a
	// fetch.
	Loaded func(ctx context.Context, f Fetch)

	// Asked is called after each request for a robots.txt: for each hop of its
	// redirects, and again if a request is repeated after a 412. robotsURL is
	// the URL of the origin's robots.txt. resp.Request is the request as it was
	// sent. resp.Body is closed. If there was no response, resp.StatusCode is
	// 0.
	//
	// body is the part of the body that was read. If the status is 2xx, or 4xx
	// except 429 and 430, body is decoded; otherwise, it is as received. body
	// is incomplete if the whole body is longer than a robots.txt may be, or if
	// the status alone decides. err is nil, or the reason why there is no
	// response or why the response is incomplete. The values must not be
	// changed or kept.
	Asked func(ctx context.Context, robotsURL string, resp *http.Response, body []byte, err error)

	// Read is called with each robots.txt, before any decision is based on it.
	// The file may have been fetched, loaded from the Store, or set by
	// Override. sha256 is the file's hash, as in Decision.SHA256. Read may be
	// called several times with the same text, which must not be changed or
	// kept.
	Read func(ctx context.Context, sha256 string, text []byte)

	// StoreFailed is called when a call of the Store fails, or returns a record
	// that cannot be read. op names the call: "get", "put", "lock" or
	// "unlock".
	StoreFailed func(ctx context.Context, op string, err error)
}

// Join returns an Observer that calls the functions of all the observers, in
// their order. It skips nil observers. If all are nil, it returns nil. A
// function that is nil in all observers is nil in the result. The functions
// must be set before Join is called.
func Join(observers ...*Observer) *Observer {
	var all *Observer
	for _, o := range observers {
		switch {
		case o == nil:
		case all == nil:
			all = o
		default:
			f, g := *all, *o
			all = &Observer{
				Decided: joinEvents(f.Decided, g.Decided),
				Fetched: joinEvents(f.Fetched, g.Fetched),
				Loaded:  joinEvents(f.Loaded, g.Loaded),
				Asked: joinFuncs(f.Asked, g.Asked, f.Asked == nil, g.Asked == nil, func(ctx context.Context, robotsURL string, resp *http.Response, body []byte, err error) {
					f.Asked(ctx, robotsURL, resp, body, err)
					g.Asked(ctx, robotsURL, resp, body, err)
				}),
				Read: joinFuncs(f.Read, g.Read, f.Read == nil, g.Read == nil, func(ctx context.Context, sha256 string, text []byte) {
					f.Read(ctx, sha256, text)
					g.Read(ctx, sha256, text)
				}),
				StoreFailed: joinFuncs(f.StoreFailed, g.StoreFailed, f.StoreFailed == nil, g.StoreFailed == nil, func(ctx context.Context, op string, err error) {
					f.StoreFailed(ctx, op, err)
					g.StoreFailed(ctx, op, err)
				}),
			}
		}
	}
	return all
}

// joinFuncs returns f or g if the other one is nil, and otherwise both, a
// function that calls f and then g. noF and noG report whether f and g are nil.
func joinFuncs[F any](f, g F, noF, noG bool, both F) F {
	if noF {
		return g
	}
	if noG {
		return f
	}
	return both
}

// joinEvents combines two functions into one that calls f and then g.
func joinEvents[T any](f, g func(context.Context, T)) func(context.Context, T) {
	return joinFuncs(f, g, f == nil, g == nil, func(ctx context.Context, what T) {
		f(ctx, what)
		g(ctx, what)
	})
}

// Fetch is one fetch of a robots.txt, including redirects. Cause and Status are
// the result (RFC 9309 §2.3.1). If Cause is not "", robots.txt is unreachable.
// Otherwise, a Status of 2xx means that there is a file, new or confirmed, and
// any other Status means that there is none.
type Fetch struct {
	URL       string        // the URL of the origin's robots.txt
	Status    int           // of the last response, or of the copy that a 304 has confirmed; 0 means none
	Renewed   bool          // whether a 304 has confirmed the copy that was known
	Redirects int           // how many redirects were followed to the response that is in force
	Duration  time.Duration // from the start to the last byte, including the wait for a slot
	Cause     string        // why robots.txt is unreachable; "" means it is reachable
	Next      time.Time     // when the response expires or, after a failure, when the next try is due

	// These fields describe the response that is in force after the fetch, as
	// in a Decision. If robots.txt is unreachable, they describe the last
	// response before the failures. If there was no such response, SHA256 is ""
	// and the times are zero. SHA256 is also "" if there was no file.
	SHA256           string
	Fetched, Expires time.Time
}

// newFetch returns the Fetch that an Observer receives for lf.
func newFetch(lf load.Fetch) Fetch {
	rec := lf.Record
	f := Fetch{
		URL:       lf.URL,
		Status:    int(rec.Status),
		Renewed:   lf.Renewed,
		Redirects: int(rec.Hops),
		Duration:  lf.Duration,
		Next:      rec.Expires,
		Fetched:   rec.Fetched,
		Expires:   rec.Expires,
	}
	if rec.Doc != nil {
		f.SHA256 = hex.EncodeToString(rec.Doc.Hash[:])
	}
	if failure := rec.Failure; failure != nil {
		f.Status = failure.Status
		f.Cause = failure.Cause
		f.Next = failure.Retry
	}
	return f
}
