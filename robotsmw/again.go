package robotsmw

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// A permit is what a request was allowed by. A wait for the host's pace can
// outlast it, so the request is judged again when it may start.
type permit struct {
	checker    *Checker
	origin     string
	url        *url.URL
	crawlDelay time.Duration                 // 0 if there is none
	time       time.Time                     // of the decision
	turn       int                           // counts how often RoundTrip has judged the request, from 1
	record     atomic.Pointer[record.Record] // nil if the decision stays valid
	first      Decision                      // the decision at first
	decision   atomic.Pointer[Decision]      // the latest one: first, or one that was made after a wait

	// over is set when sender has returned. If another request gets the context
	// of this one's response, this permit says nothing about it.
	over atomic.Bool
}

// maxTurns is how often a request is judged anew because robots.txt has run out
// while it waited. In its last turn, the file that was read for it decides.
const maxTurns = 3

// judgeAgain returns nil if the request may be sent now. Nearly always, the
// record by which it was allowed still decides. If there is another one, that
// decides, and the error may be a *DisallowedError. If the record has run out,
// the error is an *outdatedError, and robots.txt has to be fetched first.
func (p *permit) judgeAgain(ctx context.Context) error {
	if p.over.Load() {
		return nil
	}
	old := p.record.Load()
	rec, now := p.checker.loader.LoadAgain(p.origin, old, p.turn >= maxTurns)
	switch {
	case rec == old && rec.InForce(now) != record.None: // a missing file that has run out while fetches fail allows nothing
		return nil
	case rec == nil && now.Sub(p.time) < time.Millisecond:
		return nil // asking again would get the same answer
	case rec == nil:
		return &outdatedError{p}
	}
	var d Decision
	p.checker.judge(&d, p.url, rec, now)
	switch {
	case !d.Allowed:
		p.checker.decided(ctx, &d)
		return &DisallowedError{Decision: d}
	case d.CrawlDelay != p.crawlDelay:
		return &outdatedError{p} // the Limiter has to be told
	}
	p.record.Store(rec)
	p.decision.Store(&d)
	return nil
}

// An outdatedError says that a permit no longer holds: its request has to be
// judged again before it is sent.
type outdatedError struct{ permit *permit }

func (e *outdatedError) Error() string {
	return "robotsmw: the robots.txt of " + e.permit.origin + " has changed or run out while the request waited: ask again"
}

// isOutdated reports whether err says that p is outdated. Another Transport,
// further out, may have a check of its own.
func (p *permit) isOutdated(err error) bool {
	e, ok := errors.AsType[*outdatedError](err)
	return ok && e.permit == p
}

// withNewBody returns a copy of req, which Base has not sent, with a new body
// from GetBody. If req has no body, withNewBody returns req itself.
func withNewBody(req *http.Request) (*http.Request, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, nil
	}
	if req.GetBody == nil {
		return nil, errors.New("robotsmw: robots.txt has run out while the request waited, and its body cannot be read again: give the request a GetBody")
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, fmt.Errorf("robotsmw: robots.txt has run out while the request waited, and GetBody fails: %w", err)
	}
	again := req.WithContext(req.Context())
	again.Body = body
	return again, nil
}
