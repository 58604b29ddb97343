package main

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// witness is the innermost RoundTripper: it sees what is really sent, and when.
type witness struct {
	base http.RoundTripper
	*spider
}

func (w witness) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := time.Now()
	host := frontier.HostKey(req.URL)
	v, isPage := w.visits.Load(req.URL.String())
	if isPage {
		v.(*visit).sent = sent
	}
	w.ledger.sent(host, isPage, sent)
	resp, err := w.base.RoundTrip(req)
	r := record.Request{At: w.ledger.offset(sent), Took: since(sent)}
	if resp != nil {
		r.Status = resp.StatusCode
	}
	if err == nil {
		unpack(resp)
	}
	if isPage {
		v.(*visit).requests = append(v.(*visit).requests, r)
	} else {
		r.URL, r.Host, r.Interval = req.URL.String(), host, inSeconds(max(w.delay, 0))
		w.asked.add(req, resp, r)
	}
	return resp, err
}

func (w witness) CloseIdleConnections() {
	if c, ok := w.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// asked are the requests for robots.txt that no record speaks of yet. It is safe for concurrent use.
type asked struct {
	mu       sync.Mutex
	requests []askedFor
}

type askedFor struct {
	record.Request
	next string // where the answer redirects to
}

func (a *asked) add(req *http.Request, resp *http.Response, r record.Request) {
	f := askedFor{Request: r}
	if resp != nil {
		if u, err := req.URL.Parse(resp.Header.Get("Location")); err == nil && resp.Header.Get("Location") != "" {
			f.next = u.String()
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = append(a.requests, f)
}

// take hands over what was sent for the robots.txt at this URL, redirects included.
func (a *asked) take(url string) (sent []record.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for url != "" {
		next := ""
		a.requests = slices.DeleteFunc(a.requests, func(f askedFor) bool {
			if f.URL != url {
				return false
			}
			sent, next = append(sent, f.Request), f.next
			return true
		})
		url = next
	}
	return sent
}
