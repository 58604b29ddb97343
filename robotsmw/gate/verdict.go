package gate

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// A verdict is the JSON that clients get.
type verdict struct {
	Allowed    bool       `json:"allowed"`
	Reason     string     `json:"reason,omitempty"`
	Rule       string     `json:"rule,omitempty"`
	Line       int        `json:"line,omitempty"`
	RobotsURL  string     `json:"robots_url,omitempty"`
	CrawlDelay float64    `json:"crawl_delay,omitempty"` // seconds
	Until      *time.Time `json:"until,omitempty"`       // when to retry
	ID         string     `json:"id,omitempty"`          // of the slot that is held
	Error      string     `json:"error,omitempty"`

	decision string // in words; "" if robots.txt says nothing yet
}

// refused returns the verdict of a request that the gate does not serve.
func refused(why string) verdict { return verdict{Error: "gate: " + why} }

// verdictOf returns what is known of a request: the decision, if there is one,
// and the error, if it was not sent. The status is that of an answer to /fetch.
func verdictOf(d robotsmw.Decision, err error) (v verdict, status int) {
	status = http.StatusBadGateway
	if disallowed, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
		d, status = disallowed.Decision, http.StatusUnavailableForLegalReasons
		if d.Reason == robotsmw.Unreachable { // also if the address of robots.txt is refused: fetch has the last word then
			status = http.StatusServiceUnavailable
		}
	} else if err != nil {
		v.Error = err.Error()
	}
	if d.URL != nil {
		v.decision, v.Allowed, v.Reason, v.Rule, v.Line = d.String(), d.Allowed, d.Reason.String(), d.Rule, d.Line
		v.RobotsURL, v.CrawlDelay = d.RobotsURL, d.CrawlDelay.Seconds()
		if d.Reason == robotsmw.Unreachable {
			v.Until, v.Error = &d.NextTry, d.Cause
		}
	}
	if delayed, ok := errors.AsType[*politeness.DelayError](err); ok {
		v.Until, status = &delayed.Until, http.StatusServiceUnavailable
		if v.Reason == "" {
			v.Reason = string(delayed.Reason)
		}
	}
	return v, status
}

// verdictField distinguishes a verdict from the page of a site, which may have
// any status. A site's field of this name is not passed on.
const verdictField = "Courtesy-Verdict"

// write responds with the verdict. A 503 contains when to retry.
func (v verdict) write(w http.ResponseWriter, status int) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set(verdictField, "1")
	if status == http.StatusServiceUnavailable {
		until := cmp.Or(v.Until, new(time.Time))
		w.Header().Set("Retry-After", strconv.Itoa(int(max(1, math.Ceil(time.Until(*until).Seconds())))))
	}
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		return err
	}
	err := http.NewResponseController(w).Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil // w is a middleware's, and is sent when the Handler returns
	}
	return err
}
