// Package witness sees what a crawl really sends, and when, and what robots.txt
// says about it: what Courtesy tells its observers, put beside the request.
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

// Witness is the innermost RoundTripper, and has the functions of observers of
// robots.txt and of the pace. It writes what concerns a page into the page's
// Seen, and enters what concerns a robots.txt into the ledger itself. Make one
// with New; it is safe for concurrent use.
type Witness struct {
	base     http.RoundTripper
	interval time.Duration // that a host is owed after a robots.txt
	ledger   *output.Ledger
	pages    sync.Map // URL → *Seen, of those under way
	asked    asked
	pauses   sync.Map // host → until when, of those that no record speaks of yet
}

// Seen is what was seen of one attempt at a page. It may be read when the
// attempt is over.
type Seen struct {
	Sent     time.Time          // zero: nothing was sent
	Requests []record.Request   // their Interval is not filled in
	Decision *robotsmw.Decision // nil: robots.txt was not asked
}

// New returns a Witness of what base sends.
func New(base http.RoundTripper, interval time.Duration, ledger *output.Ledger) *Witness {
	return &Witness{base: base, interval: interval, ledger: ledger}
}

// Watch begins an attempt at a page; nobody else attempts the same URL. It is
// over when done is called.
func (w *Witness) Watch(url string) (seen *Seen, done func()) {
	seen = new(Seen)
	w.pages.Store(url, seen)
	return seen, func() { w.pages.Delete(url) }
}

// page returns what is seen of the page at this URL; nil: it is not under way.
func (w *Witness) page(url string) *Seen {
	if seen, ok := w.pages.Load(url); ok {
		return seen.(*Seen)
	}
	return nil
}

// RoundTrip sends the request, and takes down that it does.
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

// askedSignature says which signature a refusal asks for
// (draft-ietf-webbotauth- httpsig-protocol-01 section 5.3); "" if none.
func askedSignature(resp *http.Response) string {
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return webbotauth.Asked(resp)
	}
	return ""
}

// CloseIdleConnections closes those of the base.
func (w *Witness) CloseIdleConnections() {
	if c, ok := w.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Decided takes down what robots.txt says of a URL, as a robotsmw.Observer.
func (w *Witness) Decided(_ context.Context, d robotsmw.Decision) {
	if page := w.page(d.URL.String()); page != nil {
		page.Decision = &d
	}
}

// Fetched takes down how a robots.txt came, as a robotsmw.Observer.
func (w *Witness) Fetched(_ context.Context, f robotsmw.Fetch) {
	r := record.Record{Verdict: record.RobotsTxt, URL: f.URL, Status: f.Status, Redirects: f.Redirects, Error: f.Cause}
	if u, err := url.Parse(f.URL); err == nil {
		r.Host = frontier.HostKey(u)
	}
	r.Requests, r.PausedUntil = w.asked.take(f.URL), w.Pause(r.Host)
	w.ledger.Add(r)
}

// BackedOff takes down until when a host is left alone, as a
// politeness.Observer.
func (w *Witness) BackedOff(_ context.Context, e politeness.Event) {
	w.pauses.Store(e.Host, e.Until)
	w.ledger.Paused(e.Host, e.Until)
}

// Pause returns until when a host is left alone, in seconds since the crawl
// began, if its latest answer is why; else 0.
func (w *Witness) Pause(host string) float64 {
	until, ok := w.pauses.LoadAndDelete(host)
	if !ok {
		return 0
	}
	return w.ledger.Offset(until.(time.Time))
}
