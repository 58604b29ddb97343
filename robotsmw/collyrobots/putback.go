package collyrobots

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// putBackRequest is a request that was put back.
type putBackRequest struct {
	ctx     context.Context
	url     *url.URL
	until   time.Time // the request is not due before
	limiter *politeness.Limiter
	run     func()
}

// due reports whether the request may be made: its host is due, or its context
// has ended, so that it fails.
func (p *putBackRequest) due() bool {
	if p.ctx.Err() != nil {
		return true
	}
	if time.Now().Before(p.until) {
		return false
	}
	p.until = p.limiter.Next(p.url)
	return !time.Now().Before(p.until)
}

// putBackQueue has the requests of synchronous collectors that were put back,
// by host. The program's own goroutine makes them, before another request or in
// Extension.Wait, so that callbacks do not run at the same time.
type putBackQueue struct {
	mu    sync.Mutex
	hosts map[string][]*putBackRequest
}

func (q *putBackQueue) add(p *putBackRequest) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.hosts[p.url.Host] = append(q.hosts[p.url.Host], p)
}

// take removes and returns a request that is due, the first of its host's. If
// none is due, it returns the one that is due next, and when. It returns nil if
// no request is left.
func (q *putBackQueue) take() (p *putBackRequest, next time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for host, list := range q.hosts {
		first := list[0]
		if first.due() {
			q.hosts[host] = list[1:]
			if len(list) == 1 {
				delete(q.hosts, host)
			}
			return first, time.Time{}
		}
		if p == nil || first.until.Before(next) {
			p = first
			next = first.until
		}
	}
	return p, next
}

// runDue makes a request that is due, if there is one.
func (q *putBackQueue) runDue() {
	if p, next := q.take(); p != nil && next.IsZero() {
		p.run()
	}
}

// pollInterval is how often finish looks for requests that other goroutines
// have put back.
const pollInterval = 50 * time.Millisecond

// finish makes all requests, each when it is due. It reports whether there were
// any.
func (q *putBackQueue) finish() (found bool) {
	for p, next := q.take(); p != nil; p, next = q.take() {
		found = true
		if next.IsZero() {
			p.run()
		} else {
			sleepUntil(p.ctx, time.Now().Add(min(time.Until(next), pollInterval)))
		}
	}
	return found
}

// handoverDelay is how long the next request of a host waits after the one
// before it has been made. By then, that one has reached the Limiter, which can
// then report when the host is due again.
const handoverDelay = 10 * time.Millisecond

// awaitHost returns when the host of a request of an asynchronous collector is
// due, or when the request's context has ended. The request was put back and
// waits on its own goroutine. Only the first of a host's requests is tried when
// the host is due: hostQueues has a channel for each host, which has an element
// while a request is first.
func awaitHost(hostQueues *sync.Map, p *putBackRequest) {
	host := strings.Clone(p.url.Host) // the key may stay after p is gone
	q, _ := hostQueues.LoadOrStore(host, make(chan struct{}, 1))
	queue := q.(chan struct{})
	forget := func() {
		if len(queue) == 0 { // no request is first
			hostQueues.CompareAndDelete(host, queue)
		}
	}
	select {
	case queue <- struct{}{}:
	case <-p.ctx.Done():
		forget()
		return
	}
	for !p.due() {
		sleepUntil(p.ctx, p.until)
	}
	time.AfterFunc(handoverDelay, func() {
		<-queue
		forget()
	})
}

// sleepUntil returns the error of ctx if ctx ends first.
func sleepUntil(ctx context.Context, t time.Time) error {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
