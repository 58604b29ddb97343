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

// A witness records what a crawl really sends, and when. It is the innermost
// RoundTripper. Its methods also serve as observers of robots.txt and of the
// pace. A witness writes facts about a page into the page's seen, and facts
// about a robots.txt into the ledger. It is safe for concurrent use.
type witness struct {
	base     http.RoundTripper
	interval time.Duration // how long a host is left alone after a request for robots.txt
	ledger   *output.Ledger
	pages    sync.Map // URL → *seen, while the one attempt at the URL is under way
	pauses   sync.Map // host → the end of its pause; pause deletes the entry
	sent     sync.Map // URL → record.Request, the latest request for a robots.txt there

	// The keys are URLs of robots.txt files. The values are the requests for
	// each file, redirects included, that are not yet part of a record.
	files map[string][]record.Request
	mu    sync.Mutex // guards files
}

// A seen is what was observed during one attempt at a page. Read it only after
// the attempt is over.
type seen struct {
	sent     time.Time          // when the request was sent; zero means nothing was sent
	requests []record.Request   // the requests, without their Interval
	decision *robotsmw.Decision // nil means robots.txt was not consulted
}

func (w *witness) page(url string) *seen {
	if s, ok := w.pages.Load(url); ok {
		return s.(*seen)
	}
	return nil
}

// RoundTrip sends the request, and records it.
func (w *witness) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := time.Now()
	host := frontier.HostKey(req.URL)
	page := w.page(req.URL.String())
	if page != nil {
		page.sent = sent
	}
	w.ledger.Sent(host, page != nil, sent)
	resp, err := w.base.RoundTrip(req)
	r := record.Request{At: w.ledger.Offset(sent), Took: record.Since(sent)}
	if err == nil {
		r.Status = resp.StatusCode
		switch r.Status {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests: // draft-ietf-webbotauth-httpsig-protocol-01 section 5.3
			r.Asked = webbotauth.Asked(resp)
		}
		unpack(resp)
	}
	if page != nil {
		page.requests = append(page.requests, r)
	} else {
		r.URL, r.Host, r.Interval = req.URL.String(), host, record.Seconds(w.interval)
		w.sent.Store(r.URL, r)
	}
	return resp, err
}

// decided records what robots.txt says about a URL. A robotsmw.Observer calls
// it.
func (w *witness) decided(_ context.Context, d robotsmw.Decision) {
	if page := w.page(d.URL.String()); page != nil {
		page.decision = &d
	}
}

// asked notes a request as one for the robots.txt at robotsURL. A
// robotsmw.Observer calls it.
func (w *witness) asked(_ context.Context, robotsURL string, resp *http.Response, _ []byte, _ error) {
	if r, ok := w.sent.LoadAndDelete(resp.Request.URL.String()); ok {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.files[robotsURL] = append(w.files[robotsURL], r.(record.Request))
	}
}

// fetched records how a robots.txt was fetched. A robotsmw.Observer calls it.
func (w *witness) fetched(_ context.Context, f robotsmw.Fetch) {
	r := record.Record{Verdict: record.RobotsTxt, URL: f.URL, Status: f.Status, Redirects: f.Redirects, Error: record.Cause(f.Cause)}
	if u, err := url.Parse(f.URL); err == nil {
		r.Host = frontier.HostKey(u)
	}
	w.mu.Lock()
	r.Requests = w.files[f.URL]
	delete(w.files, f.URL)
	w.mu.Unlock()
	r.PausedUntil = w.pause(r.Host)
	w.ledger.Add(r)
}

// backedOff records that a host is left alone, and until when. A
// politeness.Observer calls it.
func (w *witness) backedOff(_ context.Context, e politeness.Event) {
	w.pauses.Store(e.Host, e.Until)
	w.ledger.Paused(e.Host, time.Now(), e.Until)
}

// pause returns when the pause of a host ends, in seconds since the run began.
// It returns each pause only once. It returns 0 if there is no pause.
func (w *witness) pause(host string) float64 {
	until, ok := w.pauses.LoadAndDelete(host)
	if !ok {
		return 0
	}
	return w.ledger.Offset(until.(time.Time))
}
