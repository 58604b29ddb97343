package tool

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool/output"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/webbotauth"
)

// A requestRecorder records the requests of a crawl. It is the innermost
// RoundTripper. Its methods also serve as observers of robots.txt and of the
// pace. It stores facts about a page in the page's attempt, and facts about a
// robots.txt in the ledger. It is safe for concurrent use.
type requestRecorder struct {
	base     http.RoundTripper
	interval time.Duration // the minimum time after a request for robots.txt
	ledger   *output.Ledger
	attempts sync.Map // URL → *attempt, while the attempt at the URL is in progress
	pauses   sync.Map // host → the end of its pause; takePauseEnd deletes the entry

	// robotsRequests contains the latest request to each URL that is not a page
	// of the crawl: URL → record.Request. Such requests are for robots.txt.
	robotsRequests sync.Map

	mu sync.Mutex

	// files maps the URL of a robots.txt to the requests for it, including
	// redirects, that are not yet part of a record. It is guarded by mu.
	files map[string][]record.Request
}

// An attempt is what was observed during one attempt at a page. Read it only
// after the attempt is over.
type attempt struct {
	start    time.Time          // when the latest request was sent; zero means that no request was sent
	requests []record.Request   // the requests, without their Interval
	decision *robotsmw.Decision // nil means that robots.txt was not consulted
}

// attempt returns the attempt at the URL, or nil if none is in progress.
func (w *requestRecorder) attempt(url string) *attempt {
	if a, ok := w.attempts.Load(url); ok {
		return a.(*attempt)
	}
	return nil
}

// RoundTrip sends the request, records it, and decompresses gzip (see unpack).
func (w *requestRecorder) RoundTrip(req *http.Request) (*http.Response, error) {
	start := time.Now()
	host := frontier.HostKey(req.URL)
	attempt := w.attempt(req.URL.String())
	w.ledger.Sent(host, attempt != nil, start)
	if attempt != nil {
		attempt.start = start
	}
	resp, err := w.base.RoundTrip(req)
	r := record.Request{
		At:   w.ledger.Offset(start),
		Took: record.Since(start),
	}
	if err == nil {
		r.Status = resp.StatusCode
		if mayRequestSignature(resp.StatusCode) {
			r.RequestedSignature = webbotauth.Asked(resp)
		}
		unpack(resp)
	}
	if attempt != nil {
		attempt.requests = append(attempt.requests, r)
		return resp, err
	}
	r.URL = req.URL.String()
	r.Host = host
	r.Interval = record.Seconds(w.interval)
	w.robotsRequests.Store(r.URL, r)
	return resp, err
}

// mayRequestSignature reports whether a response with the status may request a
// signature: draft-ietf-webbotauth-httpsig-protocol-01 section 5.3.
func mayRequestSignature(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return true
	}
	return false
}

// decided records the decision on a URL. A robotsmw.Observer calls it.
func (w *requestRecorder) decided(_ context.Context, d robotsmw.Decision) {
	if attempt := w.attempt(d.URL.String()); attempt != nil {
		attempt.decision = &d
	}
}

// robotsResponse assigns the request that led to resp to the robots.txt at
// robotsURL. A robotsmw.Observer calls it.
func (w *requestRecorder) robotsResponse(_ context.Context, robotsURL string, resp *http.Response, _ []byte, _ error) {
	r, ok := w.robotsRequests.LoadAndDelete(resp.Request.URL.String())
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files[robotsURL] = append(w.files[robotsURL], r.(record.Request))
}

// fetched records how a robots.txt was fetched. A robotsmw.Observer calls it.
func (w *requestRecorder) fetched(_ context.Context, f robotsmw.Fetch) {
	r := record.Record{
		Verdict:   record.RobotsTxt,
		URL:       f.URL,
		Host:      parseHost(f.URL),
		Status:    f.Status,
		Redirects: f.Redirects,
		Error:     record.Cause(f.Cause),
		Requests:  w.takeRequests(f.URL),
	}
	r.PausedUntil = w.takePauseEnd(r.Host)
	w.ledger.Add(r)
}

// parseHost returns the host of a URL, or "" if the URL is invalid.
func parseHost(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return frontier.HostKey(u)
}

// takeRequests returns the requests for the robots.txt at robotsURL that are
// not yet part of a record, and removes them.
func (w *requestRecorder) takeRequests(robotsURL string) []record.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	requests := w.files[robotsURL]
	delete(w.files, robotsURL)
	return requests
}

// backedOff records that a host is paused, and until when. A
// politeness.Observer calls it.
func (w *requestRecorder) backedOff(_ context.Context, e politeness.Event) {
	w.pauses.Store(e.Host, e.Until)
	w.ledger.Paused(e.Host, time.Now(), e.Until)
}

// takePauseEnd removes the pause of a host, and returns when it ends, in
// seconds since the run began. It returns 0 if there is no pause.
func (w *requestRecorder) takePauseEnd(host string) float64 {
	until, ok := w.pauses.LoadAndDelete(host)
	if !ok {
		return 0
	}
	return w.ledger.Offset(until.(time.Time))
}
