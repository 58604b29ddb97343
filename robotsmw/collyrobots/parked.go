package collyrobots

import (
	"context"
	"net/url"
	"sync"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// parkedRequests are the requests of synchronous collectors that were put back,
// by host. The program's own goroutine makes them: before another request, or
// in Extension.Wait. So the callbacks never run at the same time.
type parkedRequests struct {
	mu      sync.Mutex
	changed sync.Cond // a request has ended, or may be due
	hosts   map[string][]*parked
	next    time.Time // no request is due before
	running int       // requests that left the list and are not over
}

type parked struct {
	ctx     context.Context
	url     *url.URL
	until   time.Time
	limiter *politeness.Limiter
	run     func()
	stop    func() bool
}

func (q *parkedRequests) add(p *parked) {
	host := p.url.Host
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.hosts == nil {
		q.hosts = make(map[string][]*parked)
		q.changed.L = &q.mu
	}
	q.hosts[host] = append(q.hosts[host], p)
	q.next = time.Time{}
	p.stop = context.AfterFunc(p.ctx, q.wake) // if the context ends, the request goes at once, and fails
}

func (q *parkedRequests) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next = time.Time{}
	q.changed.Broadcast()
}

// due returns when the request may be made.
func (p *parked) due() time.Time {
	if p.ctx.Err() != nil {
		return time.Time{}
	}
	if next := p.limiter.Next(p.url); next.After(p.until) {
		return next
	}
	return p.until
}

// take returns a request that is due, the first of its host's. It returns nil
// if there is none. q.mu must be held.
func (q *parkedRequests) take() *parked {
	if len(q.hosts) == 0 || time.Now().Before(q.next) {
		return nil
	}
	q.next = time.Time{}
	for host, list := range q.hosts {
		p := list[0]
		due := p.due()
		if due.After(time.Now()) {
			if q.next.IsZero() || due.Before(q.next) {
				q.next = due
			}
			continue
		}
		if q.hosts[host] = list[1:]; len(list) == 1 {
			delete(q.hosts, host)
		}
		q.next = time.Time{}
		q.running++
		return p
	}
	return nil
}

// runDue makes a request that is due, if there is one.
func (q *parkedRequests) runDue() {
	q.mu.Lock()
	p := q.take()
	q.mu.Unlock()
	if p != nil {
		q.run(p)
	}
}

func (q *parkedRequests) run(p *parked) {
	p.stop()
	p.run()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	q.changed.Broadcast()
}

// finish makes all requests, each when it is due, and returns when none is
// left.
func (q *parkedRequests) finish() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.hosts) > 0 || q.running > 0 {
		if p := q.take(); p != nil {
			q.mu.Unlock()
			q.run(p)
			q.mu.Lock()
			continue
		}
		var timer *time.Timer
		if len(q.hosts) > 0 {
			timer = time.AfterFunc(time.Until(q.next), q.wake)
		}
		q.changed.Wait()
		if timer != nil {
			timer.Stop()
		}
	}
}

// settle is how long the next request in a line waits after the previous one
// has gone. By then the previous one has reached the Limiter, which can then
// say when the host is due again.
const settle = 10 * time.Millisecond

// awaitTurn returns when a request of an asynchronous collector, which was put
// back and waits on its own goroutine, is due, or when its context has ended.
// Only the first of a host's requests is tried when the host is due: lines has
// a channel for each host, with an element while somebody is first.
func awaitTurn(lines *sync.Map, p *parked) {
	l, _ := lines.LoadOrStore(p.url.Host, make(chan struct{}, 1))
	line := l.(chan struct{})
	select {
	case line <- struct{}{}:
	case <-p.ctx.Done():
		return
	}
	for due := p.due(); due.After(time.Now()); due = p.due() {
		if sleepUntil(p.ctx, due) != nil {
			break
		}
	}
	time.AfterFunc(settle, func() { <-line })
}
