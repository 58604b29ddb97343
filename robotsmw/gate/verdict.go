package gate

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// A verdict is the JSON that clients receive.
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

	decision string // as text; "" if robots.txt is not known yet
}

// refused returns the verdict of a request that the gate does not serve.
func refused(why string) verdict { return verdict{Error: "gate: " + why} }

// newVerdict returns the verdict on a request. d is the decision, or the zero
// Decision if there is none. err is the reason why the request was not sent, or
// nil. The status is that of the response to /fetch.
func newVerdict(d robotsmw.Decision, err error) (v verdict, status int) {
	status = http.StatusBadGateway
	if disallowed, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
		d = disallowed.Decision
		status = http.StatusUnavailableForLegalReasons
		// This includes a refused address of robots.txt. If RefuseAddress
		// rejects the page's addresses too, the handler of /fetch replaces this
		// status by 502.
		if d.Reason == robotsmw.Unreachable {
			status = http.StatusServiceUnavailable
		}
	} else if err != nil {
		v.Error = err.Error()
	}
	if d.URL != nil {
		v.decision = d.String()
		v.Allowed = d.Allowed
		v.Reason = d.Reason.String()
		v.Rule = d.Rule
		v.Line = d.Line
		v.RobotsURL = d.RobotsURL
		v.CrawlDelay = d.CrawlDelay.Seconds()
		if d.Reason == robotsmw.Unreachable {
			v.Until = &d.NextTry
			v.Error = d.Cause
		}
	}
	if delayed, ok := errors.AsType[*politeness.DelayError](err); ok {
		v.Until = &delayed.Until
		status = http.StatusServiceUnavailable
		if v.Reason == "" {
			v.Reason = string(delayed.Reason)
		}
	}
	return v, status
}

// verdictField distinguishes a verdict from the page of a site, which may have
// any status. This field of a site's header is dropped.
const verdictField = "Courtesy-Verdict"

// write writes the verdict. A 503 has a Retry-After.
func (v verdict) write(w http.ResponseWriter, status int) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set(verdictField, "1")
	if status == http.StatusServiceUnavailable {
		seconds := 1
		if v.Until != nil {
			seconds = max(1, int(math.Ceil(time.Until(*v.Until).Seconds())))
		}
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		return err
	}
	err := http.NewResponseController(w).Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil // w belongs to middleware, which sends it when the Handler returns
	}
	return err
}
