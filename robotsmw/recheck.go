package robotsmw

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/load"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// A permit contains the result of the check that allowed a request. Because
// robots.txt may expire or change while the request waits for its host, the
// request is checked again when the host is due: see recheck.
type permit struct {
	checker    *Checker
	origin     string
	url        url.URL                       // a copy, because the caller may change the original
	crawlDelay time.Duration                 // 0 if there is none
	time       time.Time                     // when the decision before the wait was made
	turn       int                           // the number of this pass of admit's loop, from 1; see maxTurns
	pin        load.Pin                      // keeps the origin in memory until end
	record     atomic.Pointer[record.Record] // nil if the decision stays valid
	decision   atomic.Pointer[Decision]      // nil until it is needed: see latestDecision

	// over is set by end, when the request has been sent, has been admitted, or
	// has failed. If the context of the response is used for another request,
	// the permit does not apply to that request.
	over atomic.Bool
}

// maxTurns limits how often a request begins a new turn because robots.txt has
// expired while it waited. From turn maxTurns on, the most recently fetched
// file decides for up to a day, even if it has expired. A changed Crawl-delay
// also begins a new turn. maxTurns does not limit those turns, because each of
// them requires a file with a different Crawl-delay from the one before.
const maxTurns = 3

// end must be called once, when the request will not be judged again.
func (p *permit) end() {
	p.over.Store(true)
	p.pin.Release(time.Now())
}

// recheck returns nil if the request may be sent now. Nearly always, the record
// that allowed the request is still in force. If a newer record has replaced
// it, the newer record decides, and recheck may return a *DisallowedError.
// recheck returns an *outdatedError if the record has expired, so that
// robots.txt must be fetched first, or if the Crawl-delay has changed, so that
// the Limiter must receive the new one.
func (p *permit) recheck(ctx context.Context) error {
	if p.over.Load() {
		return nil
	}
	old := p.record.Load()
	rec, now := p.checker.loader.LoadAgain(p.origin, old, p.turn >= maxTurns)
	switch {
	case rec == old && rec.InForce(now) != record.None: // None: the record of a missing file has expired, and fetches fail
		return nil
	case rec == nil && now.Sub(p.time) < time.Millisecond:
		return nil // another fetch would have the same result
	case rec == nil:
		return &outdatedError{p}
	}
	var d Decision
	p.checker.judge(&d, &p.url, rec, now)
	if !d.Allowed {
		p.checker.decided(ctx, &d)
		return &DisallowedError{Decision: d}
	}
	if d.CrawlDelay != p.crawlDelay {
		return &outdatedError{p} // the Limiter receives the new one in the next turn
	}
	p.decision.Store(&d) // before the record: see latestDecision
	p.record.Store(rec)
	return nil
}

// latestDecision returns the latest decision that allowed the request. For most
// requests it is not needed, and a Decision is large. Therefore it is made from
// the record when latestDecision is called for the first time.
func (p *permit) latestDecision() *Decision {
	// If recheck replaces the record after this line, it has stored a decision
	// before.
	rec := p.record.Load()
	if d := p.decision.Load(); d != nil {
		return d
	}
	d := new(Decision)
	if rec != nil {
		p.checker.judge(d, &p.url, rec, p.time)
	} else {
		p.checker.judgeWithoutRecord(d, &p.url, []byte(p.origin))
		d.Time = p.time
	}
	p.decision.CompareAndSwap(nil, d)
	return p.decision.Load()
}

// An outdatedError means that a permit is no longer valid: its request has to
// be judged again before it is sent, because robots.txt has expired or has
// another Crawl-delay.
type outdatedError struct{ permit *permit }

func (e *outdatedError) Error() string {
	return "robotsmw: the robots.txt of " + e.permit.origin + " has expired or changed while the request waited: send the request again"
}

// isOutdated reports whether err means that p is outdated. The outdatedError of
// another permit belongs to a Transport that is further out.
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
		return nil, errors.New("robotsmw: robots.txt expired or changed while the request waited, and the request's body cannot be sent again: set its GetBody")
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, fmt.Errorf("robotsmw: robots.txt expired or changed while the request waited, and GetBody failed: %w", err)
	}
	again := req.WithContext(req.Context())
	again.Body = body
	return again, nil
}
