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

// putBackRequest is a request that was put back.
type putBackRequest struct {
	ctx     context.Context
	url     *url.URL
	until   time.Time // the request is not due before
	limiter *politeness.Limiter
	run     func()

	queued      bool        // the request is in putBackQueue.hosts
	stopWaiting func() bool // ends the wait of a queued request for the end of ctx
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
// by host. A goroutine of the program makes them: before another request, or in
// Extension.Wait. Therefore the callbacks of a program that has one goroutine
// never run at the same time.
type putBackQueue struct {
	mu       sync.Mutex
	hosts    map[string][]*putBackRequest
	canceled []*putBackRequest // their contexts have ended, so they are due at once
	taken    int               // how many requests were taken and are not done yet
	changed  chan struct{}     // closed at the next change; nil if no goroutine waits for one
}

func (q *putBackQueue) add(p *putBackRequest) {
	q.mu.Lock()
	defer q.mu.Unlock()
	host := strings.Clone(p.url.Host) // the key may stay after p is gone
	q.hosts[host] = append(q.hosts[host], p)
	q.markQueued(p)
}

// markQueued is called, with q.mu held, when a request was added to q.hosts.
func (q *putBackQueue) markQueued(p *putBackRequest) {
	p.queued = true
	p.stopWaiting = context.AfterFunc(p.ctx, func() { q.moveCanceled(p) })
	q.signal()
}

// moveCanceled is called when the context of a request has ended. It moves the
// request to q.canceled, together with all others of the host whose contexts
// have ended, which are often many, because a collector has one context.
func (q *putBackQueue) moveCanceled(p *putBackRequest) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !p.queued {
		return
	}
	host := strings.Clone(p.url.Host) // the key may stay after p is gone
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

// signal wakes the goroutines that wait in awaitChange. q.mu must be held.
func (q *putBackQueue) signal() {
	if q.changed != nil {
		close(q.changed)
		q.changed = nil
	}
}

// take removes and returns a request that is due, the first of its host's. When
// the request has been made, the caller must call done. take returns nil if no
// request is due.
func (q *putBackQueue) take() *putBackRequest {
	for {
		p := q.takeFirst()
		if p == nil || p.due() { // without q.mu, because a Limiter.Key may look names up
			return p
		}
		q.giveBack(p)
	}
}

// takeFirst removes and returns a request whose time has come, although its
// Limiter may have another opinion by now.
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

// giveBack makes a request that was taken the first of its host's again.
func (q *putBackQueue) giveBack(p *putBackRequest) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken--
	host := strings.Clone(p.url.Host)
	q.hosts[host] = slices.Insert(q.hosts[host], 0, p)
	q.markQueued(p)
}

// done is called when a request that take returned has been made.
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

// finish makes all requests, each when it is due, and waits for those that
// other goroutines make, because they may be put back again.
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
// returns false, at once, if all requests are done.
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
	var due <-chan time.Time // nil if other goroutines have taken all requests
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
