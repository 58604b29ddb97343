// Package witness records what a crawl really sends, and when. With each
// request, it records what Courtesy tells its observers about the request.
package witness

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

// A Witness is the innermost RoundTripper. Its methods also serve as observers
// of robots.txt and of the pace. A Witness writes facts about a page into the
// page's Seen, and facts about a robots.txt into the ledger. A Witness is safe
// for concurrent use. New makes one.
type Witness struct {
	base     http.RoundTripper
	interval time.Duration // how long a host is left alone after a request for robots.txt
	ledger   *output.Ledger
	pages    sync.Map // URL → *Seen, while an attempt at the URL is under way
	asked    asked
	pauses   sync.Map // host → the end of its pause; Pause deletes the entry
}

// A Seen is what was observed during one attempt at a page. Read it only after
// the attempt is over.
type Seen struct {
	Sent     time.Time          // when the request was sent; zero means nothing was sent
	Requests []record.Request   // the requests, without their Interval
	Decision *robotsmw.Decision // nil means robots.txt was not consulted
}

// New returns a Witness that sends requests through base.
func New(base http.RoundTripper, interval time.Duration, ledger *output.Ledger) *Witness {
	return &Witness{base: base, interval: interval, ledger: ledger}
}

// Watch begins an attempt at a page. The attempt ends when done() is called.
// Until then, the Witness writes into the Seen. Only one attempt at a URL may
// be under way at a time.
func (w *Witness) Watch(url string) (seen *Seen, done func()) {
	seen = new(Seen)
	w.pages.Store(url, seen)
	return seen, func() { w.pages.Delete(url) }
}

func (w *Witness) page(url string) *Seen {
	if seen, ok := w.pages.Load(url); ok {
		return seen.(*Seen)
	}
	return nil
}

// RoundTrip sends the request, and records it.
func (w *Witness) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := time.Now()
	host := frontier.HostKey(req.URL)
	page := w.page(req.URL.String())
	if page != nil {
		page.Sent = sent
	}
	w.ledger.Sent(host, page != nil, sent)
	resp, err := w.base.RoundTrip(req)
	r := record.Request{At: w.ledger.Offset(sent), Took: record.Since(sent)}
	if resp != nil {
		r.Status = resp.StatusCode
	}
	if err == nil {
		r.Asked = askedSignature(resp)
		unpack(resp)
	}
	if page != nil {
		page.Requests = append(page.Requests, r)
	} else {
		r.URL, r.Host, r.Interval = req.URL.String(), host, record.Seconds(w.interval)
		w.asked.add(req, resp, r)
	}
	return resp, err
}

// askedSignature describes, in words, the signature that a refusal asks for
// (draft-ietf-webbotauth-httpsig-protocol-01 section 5.3). It returns "" if the
// answer asks for no signature, or is not a 401, 403 or 429.
func askedSignature(resp *http.Response) string {
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return webbotauth.Asked(resp)
	}
	return ""
}

// CloseIdleConnections closes the idle connections of base.
func (w *Witness) CloseIdleConnections() {
	if c, ok := w.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Decided records what robots.txt says about a URL. A robotsmw.Observer calls
// it.
func (w *Witness) Decided(_ context.Context, d robotsmw.Decision) {
	if page := w.page(d.URL.String()); page != nil {
		page.Decision = &d
	}
}

// Fetched records how a robots.txt was fetched. A robotsmw.Observer calls it.
func (w *Witness) Fetched(_ context.Context, f robotsmw.Fetch) {
	r := record.Record{Verdict: record.RobotsTxt, URL: f.URL, Status: f.Status, Redirects: f.Redirects, Error: record.Cause(f.Cause)}
	if u, err := url.Parse(f.URL); err == nil {
		r.Host = frontier.HostKey(u)
	}
	r.Requests, r.PausedUntil = w.asked.take(f.URL), w.Pause(r.Host)
	w.ledger.Add(r)
}

// BackedOff records that a host is left alone, and until when. A
// politeness.Observer calls it.
func (w *Witness) BackedOff(_ context.Context, e politeness.Event) {
	w.pauses.Store(e.Host, e.Until)
	w.ledger.Paused(e.Host, e.Until)
}

// Pause returns when the pause of a host ends, in seconds since the run began.
// It returns each pause only once. It returns 0 if there is no pause.
func (w *Witness) Pause(host string) float64 {
	until, ok := w.pauses.LoadAndDelete(host)
	if !ok {
		return 0
	}
	return w.ledger.Offset(until.(time.Time))
}
