package collyrobots

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// parked is a request that was put back.
type parked struct {
	ctx     context.Context
	url     *url.URL
	until   time.Time // the request is not due before
	limiter *politeness.Limiter
	run     func()
}

// due reports whether the request may be made: its host is due, or its context
// has ended, so that it fails.
func (p *parked) due() bool {
	if p.ctx.Err() != nil {
		return true
	}
	if time.Now().Before(p.until) {
		return false
	}
	p.until = p.limiter.Next(p.url)
	return !time.Now().Before(p.until)
}

// parkedRequests are the requests of synchronous collectors that were put back,
// by host. The program's own goroutine makes them: before another request, or
// in Extension.Wait. So the callbacks never run at the same time.
type parkedRequests struct {
	mu    sync.Mutex
	hosts map[string][]*parked
}

func (q *parkedRequests) add(p *parked) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.hosts[p.url.Host] = append(q.hosts[p.url.Host], p)
}

// take removes and returns a request that is due, the first of its host's. If
// none is due, it returns the one that is due next, and when. It returns nil if
// no request is left.
func (q *parkedRequests) take() (p *parked, next time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for host, list := range q.hosts {
		first := list[0]
		if first.due() {
			if q.hosts[host] = list[1:]; len(list) == 1 {
				delete(q.hosts, host)
			}
			return first, time.Time{}
		}
		if p == nil || first.until.Before(next) {
			p, next = first, first.until
		}
	}
	return p, next
}

// runDue makes a request that is due, if there is one.
func (q *parkedRequests) runDue() {
	if p, next := q.take(); p != nil && next.IsZero() {
		p.run()
	}
}

// look is how often finish looks for requests that other goroutines have put
// back.
const look = 50 * time.Millisecond

// finish makes all requests, each when it is due. It reports whether there were
// any.
func (q *parkedRequests) finish() (found bool) {
	for p, next := q.take(); p != nil; p, next = q.take() {
		found = true
		if next.IsZero() {
			p.run()
		} else {
			sleepUntil(p.ctx, time.Now().Add(min(time.Until(next), look)))
		}
	}
	return found
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
	host := strings.Clone(p.url.Host) // the key may stay when p is gone
	l, _ := lines.LoadOrStore(host, make(chan struct{}, 1))
	line := l.(chan struct{})
	forget := func() {
		if len(line) == 0 { // nobody is first
			lines.CompareAndDelete(host, line)
		}
	}
	select {
	case line <- struct{}{}:
	case <-p.ctx.Done():
		forget()
		return
	}
	for !p.due() {
		sleepUntil(p.ctx, p.until)
	}
	time.AfterFunc(settle, func() {
		<-line
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
