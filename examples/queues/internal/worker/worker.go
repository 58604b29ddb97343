// Package worker fetches the pages of a queue. It never blocks on a host that
// is not due: it returns when the page may come again, and its caller puts the
// page back until then. The three commands beside it use it with three queues.
//
// A worker that opens pages in a browser, or with any other client that is not
// an http.Client, calls Transport.Admit of package robotsmw before the page and
// Done after it, instead of Do of the client here. The errors are the same. An
// http.Client does better with the Transport itself, which also limits the time
// of a request, keeps net/http from sending it twice in a row, and reads the
// directives of the page.
package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// A Worker fetches pages. It is safe for concurrent use.
type Worker struct {
	client  *http.Client
	checker *robotsmw.Checker
	limiter *politeness.Limiter

	mu     sync.Mutex
	places map[string]time.Time // the latest time that a page of a host got when it was put back
	Tally
}

// New returns a Worker. The Limiter's MaxWait says how long a page may wait in
// the worker; Delay must be set.
func New(opts robotsmw.Options) (*Worker, error) {
	robots, err := robotsmw.NewTransport(opts)
	if err != nil {
		return nil, err
	}
	// The target of a redirect may be on a host that is not due, or on one that
	// another worker serves. So a redirect is an answer like any other.
	asIs := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Worker{
		client:  &http.Client{Transport: robots, CheckRedirect: asIs},
		checker: robots.Checker(), limiter: opts.Limiter, places: make(map[string]time.Time),
	}, nil
}

// Fetch fetches a page and hands the response to save. Without an error, the
// page is done. If there is an error and again is not zero, the page should be
// put back until then. If again is zero, it should not be tried any more.
func (w *Worker) Fetch(ctx context.Context, page string, save func(*http.Response) error) (again time.Time, err error) {
	defer func() { w.count(again, err) }()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return time.Time{}, err
	}
	resp, err := w.client.Do(req)
	if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
		return w.place(req.URL, delay.Until), err
	} else if errors.Is(err, robotsmw.ErrDisallowed) {
		return time.Time{}, err
	} else if no, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
		return no.Decision.NextTry, err // robots.txt is unreachable
	} else if err != nil {
		return time.Now().Add(time.Minute), err
	}
	defer resp.Body.Close()
	if code := resp.StatusCode; code == http.StatusTooManyRequests || code >= 500 {
		return w.place(req.URL, w.limiter.Next(req.URL)), fmt.Errorf("%s: %s", page, resp.Status)
	}
	if err := save(resp); err != nil {
		return time.Now().Add(time.Minute), fmt.Errorf("%s could not be stored: %w", page, err)
	}
	return time.Time{}, nil
}

// place returns when a page should come back whose host is due at the given
// time. Each page that is put back comes an interval of its host after the one
// before. If all came when the host is due, one of them could be fetched, and
// the others would have come in vain.
func (w *Worker) place(u *url.URL, due time.Time) time.Time {
	host, _ := politeness.HostKey(context.Background(), u)
	interval := w.limiter.Delay
	// The rules are in memory, and if they are not, they are not waited for.
	soon, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if d, err := w.checker.Check(soon, u); err == nil {
		interval = max(interval, d.CrawlDelay)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.places) > 10_000 {
		maps.DeleteFunc(w.places, func(_ string, t time.Time) bool { return t.Before(time.Now()) })
	}
	if next := w.places[host].Add(interval); next.After(due) {
		due = next
	}
	w.places[strings.Clone(host)] = due // host is a part of the page's URL
	return due
}
