// Package worker fetches the pages of a queue. It never blocks on a host that
// is not due: it returns the time when the page may be retried, and its caller
// puts the page back until then. The three commands beside it use it with three
// queues.
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
	retry   Retry

	mu     sync.Mutex
	places map[string]time.Time // the latest time that a page of a host got when it was put back
	Tally
}

// A Retry determines when a page is retried after a 5xx response.
type Retry struct {
	// Failures is the number of 5xx responses after which the page is dropped.
	Failures int

	// Wait is the time between the first 5xx response and the next request for
	// the page. It doubles after each further 5xx response, up to maxWait.
	Wait time.Duration
}

const maxWait = time.Hour

// after returns how long a page waits after its n-th failure, counted from 1.
func (r Retry) after(n int) time.Duration {
	wait := r.Wait
	for range n - 1 {
		if wait >= maxWait {
			break
		}
		wait *= 2
	}
	return max(r.Wait, min(wait, maxWait))
}

// ErrFailed is the error of Fetch if the server has answered with 5xx.
var ErrFailed = errors.New("the server has failed")

// New returns a Worker. The Limiter's MaxWait limits how long a page may wait
// in the worker; Delay must be set.
func New(opts robotsmw.Options, retry Retry) (*Worker, error) {
	robots, err := robotsmw.NewTransport(opts)
	if err != nil {
		return nil, err
	}
	// The target of a redirect may be on a host that is not due, or on one that
	// another worker serves. So a redirect is an answer like any other.
	asIs := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Worker{
		client:  &http.Client{Transport: robots, CheckRedirect: asIs},
		checker: robots.Checker(), limiter: opts.Limiter, retry: retry, places: make(map[string]time.Time),
	}, nil
}

// Fetch fetches a page and hands the response to save. Without an error, the
// page is done. If there is an error and again is not zero, the page should be
// put back until then. If again is zero, it should not be tried any more.
//
// failures returns how many calls of Fetch for the page have returned ErrFailed
// so far. The queue has to remember this number, because the next call may be
// made by another process. Fetch calls failures only if it is about to return
// ErrFailed; then one has to be added to the number.
func (w *Worker) Fetch(ctx context.Context, page string, failures func() (int, error), save func(*http.Response) error) (again time.Time, err error) {
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
	switch code := resp.StatusCode; {
	case code == http.StatusTooManyRequests:
		return w.place(req.URL, w.limiter.Next(req.URL)), fmt.Errorf("%s: %s", page, resp.Status)
	case code >= 500:
		return w.failed(req.URL, resp.Status, failures)
	}
	if err := save(resp); err != nil {
		return time.Now().Add(time.Minute), fmt.Errorf("%s could not be stored: %w", page, err)
	}
	return time.Time{}, nil
}

// failed returns what Fetch returns for a page whose server has answered with
// 5xx. Perhaps only this page is broken, so it waits by itself, while the other
// pages of its host go on as the Limiter permits.
func (w *Worker) failed(u *url.URL, status string, failures func() (int, error)) (again time.Time, err error) {
	before, err := failures()
	if err != nil {
		return time.Now().Add(w.retry.Wait), fmt.Errorf("%s: %s; the number of its failures is unknown: %w", u, status, err)
	}
	n := before + 1
	err = fmt.Errorf("%s: %w: %s (%d of %d times)", u, ErrFailed, status, n, w.retry.Failures)
	if n >= w.retry.Failures {
		return time.Time{}, err
	}
	again = time.Now().Add(w.retry.after(n))
	if due := w.limiter.Next(u); due.After(again) { // as after a 503 with Retry-After
		again = due
	}
	return again, err
}

// place returns when a page should be retried whose host is due at the given
// time. Each page that is put back is scheduled an interval of its host after
// the previous one. If all of them were retried when the host is due, only one
// could be fetched.
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
