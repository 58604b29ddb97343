package collyrobots

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// A putBackRequest is a request that was put back.
type putBackRequest struct {
	ctx     context.Context
	url     *url.URL
	until   time.Time // the request is not due before
	limiter *politeness.Limiter
	run     func()

	queued      bool        // whether the request is in putBackQueue.hosts
	stopWaiting func() bool // prevents a call of moveCanceled when ctx ends
}

// due reports whether the request should be made now, because its host is due,
// or because its context has ended and the request will fail.
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

// A putBackQueue contains the requests of synchronous collectors that were put
// back, by host. The program's goroutines make them, before another request or
// in Extension.Wait. Therefore the callbacks of a program that has one
// goroutine never run at the same time.
type putBackQueue struct {
	mu       sync.Mutex
	hosts    map[string][]*putBackRequest
	canceled []*putBackRequest // requests whose contexts have ended, so that they are due
	taken    int               // number of requests that were taken and are not done
	changed  chan struct{}     // closed at the next change; nil if no goroutine waits for one
}

func (q *putBackQueue) add(p *putBackRequest) {
	q.mu.Lock()
	defer q.mu.Unlock()
	host := strings.Clone(p.url.Host) // the key may be in use longer than p
	q.hosts[host] = append(q.hosts[host], p)
	q.markQueued(p)
}

// markQueued must be called, with q.mu held, after a request has been added to
// q.hosts.
func (q *putBackQueue) markQueued(p *putBackRequest) {
	p.queued = true
	p.stopWaiting = context.AfterFunc(p.ctx, func() { q.moveCanceled(p) })
	q.signal()
}

// moveCanceled is called when the context of a request has ended. It moves all
// requests of the host whose contexts have ended to q.canceled. These are often
// many, because the requests of a collector have the same context.
func (q *putBackQueue) moveCanceled(p *putBackRequest) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !p.queued {
		return
	}
	host := strings.Clone(p.url.Host) // the key may be in use longer than p
	var others []*putBackRequest
	for _, r := range q.hosts[host] {
		if r.ctx.Err() == nil {
			others = append(others, r)
			continue
		}
		r.queued = false
		r.stopWaiting()
		q.canceled = append(q.canceled, r)
	}
	q.setHost(host, others)
	q.signal()
}

// setHost sets the requests of a host.
func (q *putBackQueue) setHost(host string, list []*putBackRequest) {
	if len(list) == 0 {
		delete(q.hosts, host)
	} else {
		q.hosts[host] = list
	}
}

// signal wakes the goroutines that wait in awaitChange. The caller must hold
// q.mu.
func (q *putBackQueue) signal() {
	if q.changed != nil {
		close(q.changed)
		q.changed = nil
	}
}

// take removes and returns a request that is due. When the request has been
// made, the caller must call done. If no request is due, take returns nil.
func (q *putBackQueue) take() *putBackRequest {
	for {
		p := q.takeFirst()
		if p == nil || p.due() { // without q.mu, because a Limiter.Key may resolve names
			return p
		}
		q.giveBack(p)
	}
}

// takeFirst removes and returns a canceled request or, if there is none, the
// first request of a host whose time until has passed. The host may
// nevertheless not be due, because other requests may have been sent to it in
// the meantime. If there is no such request, takeFirst returns nil.
func (q *putBackQueue) takeFirst() *putBackRequest {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.canceled) > 0 {
		p := q.canceled[0]
		q.canceled[0] = nil
		q.canceled = q.canceled[1:]
		q.taken++
		return p
	}
	if len(q.hosts) == 0 {
		return nil // without reading the clock, because this runs before each request
	}
	now := time.Now()
	for host, list := range q.hosts {
		first := list[0]
		if now.Before(first.until) {
			continue
		}
		first.queued = false
		first.stopWaiting()
		list[0] = nil
		q.setHost(host, list[1:])
		q.taken++
		return first
	}
	return nil
}

// giveBack makes a request that was taken the first request of its host again.
func (q *putBackQueue) giveBack(p *putBackRequest) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken--
	host := strings.Clone(p.url.Host)
	q.hosts[host] = slices.Insert(q.hosts[host], 0, p)
	q.markQueued(p)
}

// done must be called when a request that take returned has been made.
func (q *putBackQueue) done() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken--
	q.signal()
}

// runDue makes a request that is due. It reports whether there was one.
func (q *putBackQueue) runDue() bool {
	p := q.take()
	if p == nil {
		return false
	}
	defer q.done() // also if a callback of the program panics
	p.run()
	return true
}

// finish makes all requests, each when it is due. It waits for requests that
// other goroutines make, because these may be put back again.
func (q *putBackQueue) finish() {
	for q.runDue() || q.awaitChange() {
	}
}

// isBusy reports whether any request is not done.
func (q *putBackQueue) isBusy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.isBusyLocked()
}

func (q *putBackQueue) isBusyLocked() bool {
	return len(q.hosts) > 0 || len(q.canceled) > 0 || q.taken > 0
}

// awaitChange waits until a request may be due or until the queue changes. It
// returns false immediately if all requests are done.
func (q *putBackQueue) awaitChange() bool {
	q.mu.Lock()
	if !q.isBusyLocked() {
		q.mu.Unlock()
		return false
	}
	if len(q.canceled) > 0 {
		q.mu.Unlock()
		return true
	}
	if q.changed == nil {
		q.changed = make(chan struct{})
	}
	changed := q.changed
	var due <-chan time.Time // nil if all requests have been taken by other goroutines
	if len(q.hosts) > 0 {
		due = time.After(time.Until(q.earliest()))
	}
	q.mu.Unlock()
	select {
	case <-due:
	case <-changed:
	}
	return true
}

// earliest returns when the next request of q.hosts may be due.
func (q *putBackQueue) earliest() (next time.Time) {
	for _, list := range q.hosts {
		if until := list[0].until; next.IsZero() || until.Before(next) {
			next = until
		}
	}
	return next
}

// handoverDelay is the time between a request of a host and the attempt to make
// the next one. It allows the first request to reach the Limiter, which can
// then report when the host is due again.
const handoverDelay = 10 * time.Millisecond

// awaitHost waits until the host of a request that was put back is due, or
// until the request's context ends. It is called by the goroutine of the repeat
// on an asynchronous collector. Of the requests of a host, only one at a time
// waits for the host: it has sent an element to the host's channel in
// hostQueues, and the others wait until they can send.
func awaitHost(hostQueues *sync.Map, p *putBackRequest) {
	host := strings.Clone(p.url.Host) // the key may be in use longer than p
	q, _ := hostQueues.LoadOrStore(host, make(chan struct{}, 1))
	queue := q.(chan struct{})
	forget := func() {
		if len(queue) == 0 { // no request waits for the host
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

// sleepUntil sleeps until t. If ctx ends first, it returns the cause of ctx.
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
