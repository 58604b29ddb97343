package robotsmw

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw/internal/page"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// A *sent holds the state of a request. It is also the context that the request
// is sent with, and it tells the Limiter the Crawl-delay. One value for all
// three saves allocations.
type sent struct {
	context.Context
	opts  *page.Options
	state page.State // what is known of the page if body is nil
	body  *page.Body // set if there is HTML to examine

	refused *refusal.Refusal // a refusal found by status and header; nil if none

	tells      bool          // whether the Limiter gets the crawlDelay
	crawlDelay time.Duration // 0 if there is none; the Limiter gets a 0 like any other value

	decision atomic.Pointer[Decision] // nil if Observer.Decided is not set

	// What the request was allowed by. A wait for the host's pace can outlast
	// it, so it is checked again when the request may start.
	checker *Checker
	origin  string
	url     *url.URL
	time    time.Time                     // of the decision
	turns   int                           // how often the request has been judged, this time included
	record  atomic.Pointer[record.Record] // nil if the decision stays valid
}

// maxTurns is how often a request is judged anew because robots.txt has run out
// while it waited. In its last turn, the file that was read for it decides.
const maxTurns = 3

type sentKey struct{}

func (s *sent) Value(key any) any {
	switch key {
	case sentKey{}:
		return s
	case politeness.CrawlDelayKey{}:
		if s.tells {
			return &s.crawlDelay
		}
	}
	return s.Context.Value(key)
}

// DecisionOf returns the decision that allowed a request of a Transport. ctx is
// the context with which the Transport sends the request. DecisionOf is for
// code between the Transport and the network, such as the [politeness.Observer]
// of its Limiter. For any other context, DecisionOf returns nil. It always
// returns nil if [Observer.Decided] is not set. The Decision is shared: do not
// change it.
func DecisionOf(ctx context.Context) *Decision {
	s, _ := ctx.Value(sentKey{}).(*sent)
	if s == nil {
		return nil
	}
	return s.decision.Load()
}

// check returns nil if the request may be sent now. Nearly always, the record
// by which it was allowed is still in force. If there is another one, that
// decides, and the error may be a *DisallowedError. If the record has run out,
// the error is an *expiredError, and robots.txt has to be fetched first.
func (s *sent) check(ctx context.Context) error {
	old := s.record.Load()
	rec, now := s.checker.loader.Again(s.origin, old, s.turns >= maxTurns)
	switch {
	case rec == old:
		return nil
	case rec == nil && now.Sub(s.time) < time.Millisecond:
		return nil // asking again would get the same answer
	case rec == nil:
		return &expiredError{s}
	}
	var d Decision
	s.checker.judge(&d, s.url, rec, now)
	switch {
	case !d.Allowed:
		s.checker.decided(ctx, &d)
		return &DisallowedError{Decision: d}
	case d.CrawlDelay != s.crawlDelay:
		return &expiredError{s} // the Limiter has to be told
	}
	s.record.Store(rec)
	if s.decision.Load() != nil {
		s.decision.Store(&d)
	}
	return nil
}

// An expiredError says that a request has to be judged again before it is sent.
type expiredError struct{ sent *sent }

func (e *expiredError) Error() string {
	return "robotsmw: the robots.txt of " + e.sent.origin + " has changed or run out while the request waited: ask again"
}

// isExpired reports whether err says that the request of s has to be judged
// again. Another Transport, further out, may have a check of its own.
func (s *sent) isExpired(err error) bool {
	e, ok := errors.AsType[*expiredError](err)
	return ok && e.sent == s
}

// unsent returns a copy of a request that Base has not sent, with a body that
// has not been read.
func unsent(req *http.Request) (*http.Request, error) {
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
