// Package worker fetches the pages of a queue. It never blocks on a host that
// is not due: it returns the time when the page may be retried, and its caller
// puts the page back until then. The three commands beside it use it with three
// queues.
//
// A worker that opens pages in a browser, or with any other client that is not
// an http.Client, calls Transport.Admit of package robotsmw before the page and
// Done after it, instead of Do of the client here. The errors are the same.
// With an http.Client, use the Transport itself, which also limits the time of
// a request, prevents net/http from sending a request twice in a row, and reads
// the directives of the page.
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

	mu          sync.Mutex
	lastRetries map[string]time.Time // by host: when the last page that was put back is retried
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

// maxWait is the longest wait after a 5xx response, unless Retry.Wait is
// longer.
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

// ErrFailed is the error of Fetch if the response had a 5xx status.
var ErrFailed = errors.New("the server has failed")

// New returns a Worker. The Limiter's MaxWait limits how long a page may wait
// in the worker; Delay must be set.
func New(opts robotsmw.Options, retry Retry) (*Worker, error) {
	robots, err := robotsmw.NewTransport(opts)
	if err != nil {
		return nil, err
	}
	// Redirects are not followed, because the target may be on a host that is
	// not due, or on one that another worker serves.
	notFollowed := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Worker{
		client:      &http.Client{Transport: robots, CheckRedirect: notFollowed},
		checker:     robots.Checker(),
		limiter:     opts.Limiter,
		retry:       retry,
		lastRetries: make(map[string]time.Time),
	}, nil
}

// Fetch fetches a page and passes the response to save. If err is nil, the page
// is done. Otherwise, the caller should return the page to the queue until
// again, or drop it if again is zero.
//
// failures returns how often Fetch has returned ErrFailed for the page. The
// queue must store this number, because another process may make the next call.
// Fetch calls failures only if it is about to return ErrFailed; the caller must
// then add 1 to the stored number.
func (w *Worker) Fetch(
	ctx context.Context,
	page string,
	failures func() (int, error),
	save func(*http.Response) error,
) (again time.Time, err error) {
	defer func() { w.count(again, err) }()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return time.Time{}, err
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return w.retryTime(req.URL, err), err
	}
	defer resp.Body.Close()
	switch status := resp.StatusCode; {
	case status == http.StatusTooManyRequests:
		due := w.limiter.Next(req.URL)
		return w.schedule(req.URL, due), fmt.Errorf("%s: %s", page, resp.Status)
	case status >= 500:
		return w.failed(req.URL, resp.Status, failures)
	}
	if err := save(resp); err != nil {
		return time.Now().Add(time.Minute), fmt.Errorf("%s could not be stored: %w", page, err)
	}
	return time.Time{}, nil
}

// retryTime returns when to retry a page after an error without a response. It
// returns zero if robots.txt disallows the page.
func (w *Worker) retryTime(u *url.URL, err error) time.Time {
	if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
		return w.schedule(u, delay.Until)
	}
	if errors.Is(err, robotsmw.ErrDisallowed) {
		return time.Time{}
	}
	if unreachable, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
		return unreachable.Decision.NextTry
	}
	return time.Now().Add(time.Minute)
}

// failed returns the results of Fetch for a page with a 5xx response. Perhaps
// only this page is broken, so the other pages of its host are not delayed.
func (w *Worker) failed(u *url.URL, status string, failures func() (int, error)) (again time.Time, err error) {
	before, err := failures()
	if err != nil {
		const format = "%s: %s; the number of its failures is unknown: %w"
		return time.Now().Add(w.retry.Wait), fmt.Errorf(format, u, status, err)
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

// schedule returns when a page should be retried whose host is due at the given
// time. Each page that is put back is retried an interval of its host after the
// previous one. If all of them were retried when the host is due, only one
// could be fetched.
func (w *Worker) schedule(u *url.URL, due time.Time) time.Time {
	host, _ := politeness.HostKey(context.Background(), u)
	interval := w.interval(u)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.lastRetries) > maxHosts {
		hasPassed := func(_ string, t time.Time) bool { return t.Before(time.Now()) }
		maps.DeleteFunc(w.lastRetries, hasPassed)
	}
	if next := w.lastRetries[host].Add(interval); next.After(due) {
		due = next
	}
	w.lastRetries[strings.Clone(host)] = due // host is a part of the page's URL
	return due
}

// maxHosts is the number of hosts after which schedule removes those whose last
// retry has passed.
const maxHosts = 10_000

// interval returns the interval of the page's host. The rules are usually in
// memory. If not, interval does not wait for them longer than a second.
func (w *Worker) interval(u *url.URL) time.Duration {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	d, err := w.checker.Check(ctx, u)
	if err != nil {
		return w.limiter.Delay
	}
	return max(w.limiter.Delay, d.CrawlDelay)
}
