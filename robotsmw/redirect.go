package robotsmw

import (
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

// decideFor decides about req. If req follows a redirect, and robots.txt may
// only be fetched later, decideFor waits for a minute, or for the Limiter's
// Delay if that is longer. If it refused req, then each repeat would meet the
// redirect first, and the same refusal after it. The caller must release *pin:
// see decide.
func (c *Checker) decideFor(req *http.Request, name []byte, d *Decision, pin *load.Pin) (*record.Record, error) {
	rec, err := c.decide(req.Context(), name, req.URL, d, pin)
	if err == nil || req.Response == nil {
		return rec, err
	}
	patience := time.Minute
	if c.cfg.Limiter != nil {
		patience = max(patience, c.cfg.Limiter.Delay)
	}
	for last := time.Now().Add(patience + time.Second); err != nil; rec, err = c.decide(req.Context(), name, req.URL, d, pin) {
		delay, ok := errors.AsType[*politeness.DelayError](err)
		if !ok {
			return nil, err
		}
		due := time.Now().Add(max(time.Until(delay.Until), time.Second/10))
		if deadline, limited := req.Context().Deadline(); limited && deadline.Before(due) || due.After(last) {
			return nil, err
		}
		select {
		case <-time.After(time.Until(due)):
		case <-req.Context().Done():
			return nil, fmt.Errorf("robotsmw: after a redirect, waiting for robots.txt: %w", req.Context().Err())
		}
	}
	return rec, nil
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
