package robotsmw

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/load"
	"github.com/goodbots/courtesy/robotsmw/internal/origin"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// decideFor decides about req. If req follows a redirect and its robots.txt
// cannot be fetched yet, decideFor waits for up to a minute, or for up to the
// Limiter's Delay if that is longer. Without the wait, the caller's retry would
// begin with the redirect and be delayed at the same place again. The caller
// must release *pin: see decide.
func (c *Checker) decideFor(req *http.Request, name []byte, d *Decision, pin *load.Pin) (*record.Record, error) {
	ctx := req.Context()
	rec, err := c.decide(ctx, name, req.URL, d, pin)
	if err == nil || req.Response == nil {
		return rec, err
	}
	maxWait := time.Minute
	if c.cfg.Limiter != nil {
		maxWait = max(maxWait, c.cfg.Limiter.Delay)
	}
	last := time.Now().Add(maxWait + time.Second)
	for err != nil {
		delay, ok := errors.AsType[*politeness.DelayError](err)
		if !ok {
			return nil, err
		}
		due := time.Now().Add(max(time.Until(delay.Until), time.Second/10))
		if due.After(last) || outlasts(ctx, due) {
			return nil, err
		}
		select {
		case <-time.After(time.Until(due)):
		case <-ctx.Done():
			return nil, fmt.Errorf("robotsmw: after a redirect, the wait for robots.txt was canceled: %w", ctx.Err())
		}
		rec, err = c.decide(ctx, name, req.URL, d, pin)
	}
	return rec, nil
}

// outlasts reports whether a wait until due would outlast the deadline of ctx.
func outlasts(ctx context.Context, due time.Time) bool {
	deadline, ok := ctx.Deadline()
	return ok && deadline.Before(due)
}

// checkRedirect returns an error for a redirect to a host that is longer than
// any DNS name, and closes the response. http.Client would convert the host
// before it sends the next request. For a very long host, the conversion takes
// half a minute and ignores deadlines.
func checkRedirect(resp *http.Response) error {
	location := resp.Header.Get("Location")
	if len(location) <= 253 {
		return nil
	}
	u, err := url.Parse(location)
	if err != nil || len(u.Host) <= 253 {
		return nil
	}
	if _, err = origin.Of(u, ""); err != nil && resp.Body != nil {
		resp.Body.Close()
	}
	return err
}
