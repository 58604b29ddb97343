package collyrobots

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
)

// The type "later" keeps the requests that were put back, each until its host
// is due. Each host has a line of requests, which go one by one. So however
// many requests wait for a slow host, only one at a time is tried again.
type later struct {
	mu     sync.Mutex
	hosts  map[string]*line
	parked int           // requests in a line; without Async, also those that left it but are not over
	empty  chan struct{} // created by later.wait; closed when parked becomes 0
}

type line struct {
	queue []*parked
	timer *time.Timer
}

// parked is a request in a line.
type parked struct {
	url   *url.URL
	until time.Time
	goes  func() // makes the request; called when its time has come or its context has ended
	gone  bool
}

// settle is how long the next request in a line waits after the previous one
// has gone. By then the previous one has reached the Limiter, which can then
// say when the host is due again.
const settle = 10 * time.Millisecond

// delayed puts back a request that the Limiter refused.
func (m *member) delayed(r *colly.Request, delay *politeness.DelayError) {
	if !m.PutBack || m.context().Err() != nil {
		return
	}
	m.count.putBack.Add(1)
	m.tries.putBack(r)
	again := *r
	m.park(&again, delay.Until)
}

// throttled repeats a GET or HEAD that was answered 429 or 503, up to
// RetryThrottled times.
func (m *member) throttled(r *colly.Response) {
	if r.StatusCode != http.StatusTooManyRequests && r.StatusCode != http.StatusServiceUnavailable {
		return
	}
	if m.RetryThrottled <= 0 || r.Request.Method != http.MethodGet && r.Request.Method != http.MethodHead {
		return
	}
	again := *r.Request
	k := m.marks.put(&again)
	if int(k.tries.Add(1)) > m.RetryThrottled {
		m.count.givenUp.Add(1)
		return
	}
	m.count.retried.Add(1)
	if m.PutBack {
		m.park(&again, time.Time{})
	} else {
		m.repeat(&again) // the request waits in the Limiter
	}
}

// repeat submits a request again. OnError gets the error if the request fails,
// but not if colly refuses to make the request.
func (m *member) repeat(r *colly.Request) {
	switch err := r.Retry(); {
	case errors.Is(err, colly.ErrMaxRequests), errors.Is(err, colly.ErrRetryBodyUnseekable):
		m.count.givenUp.Add(1)
	case err == nil && m.c.CheckHead && !m.c.Async && r.Method == http.MethodHead:
		// With CheckHead, Visit sends a HEAD before the GET. It returned when
		// this HEAD failed the first time, so the GET is sent here.
		page := *r
		page.Method = http.MethodGet
		page.Do()
	}
}

// park puts a request into its host's line. On an asynchronous collector, where
// the request has a goroutine of its own, park waits for the request's turn. So
// Collector.Wait waits for the request too. On a synchronous collector, park
// returns at once, because the caller has other work.
func (m *member) park(r *colly.Request, until time.Time) {
	p := &parked{url: r.URL, until: until}
	if m.c.Async {
		turn := make(chan struct{})
		p.goes = func() { close(turn); m.later.done() }
		m.later.add(m.context(), p, m.opts.limiter)
		<-turn
		m.repeat(r)
		return
	}
	p.goes = func() { m.repeat(r); m.later.done() }
	m.later.add(m.context(), p, m.opts.limiter)
}

func (m *member) context() context.Context {
	if m.c.Context == nil {
		return context.Background()
	}
	return m.c.Context
}

// Wait waits for the requests that were put back and, like Collector.Wait, for
// those under way. With PutBack on a synchronous collector, call Wait after
// Queue.Run or the last Visit, because these do not wait for requests that were
// put back. On an asynchronous collector, Wait does the same as Collector.Wait.
func (x *Extension) Wait() {
	x.later.wait()
	for _, c := range x.collectors() {
		c.Wait()
	}
}

func (l *later) add(ctx context.Context, p *parked, limiter *politeness.Limiter) {
	host := p.url.Host
	l.mu.Lock()
	defer l.mu.Unlock()
	l.parked++
	if l.hosts == nil {
		l.hosts = make(map[string]*line)
	}
	ln := l.hosts[host]
	if ln == nil {
		ln = &line{}
		ln.timer = time.AfterFunc(time.Until(p.until), func() { l.next(host, limiter) })
		l.hosts[host] = ln
	}
	ln.queue = append(ln.queue, p)
	goes := p.goes
	// If the context ends, the request goes at once, and fails.
	stop := context.AfterFunc(ctx, func() {
		l.mu.Lock()
		gone := p.gone
		p.gone = true
		l.mu.Unlock()
		if !gone {
			goes()
		}
	})
	p.goes = func() { stop(); goes() }
}

// next sends off the first request in a line if the time of that request has
// come. It then sets the line's timer, which calls next again. If the line is
// empty, next only deletes the line.
func (l *later) next(host string, limiter *politeness.Limiter) {
	p := l.first(host)
	if p == nil {
		return
	}
	due := p.until
	if limiter != nil {
		if next := limiter.Next(p.url); next.After(due) {
			due = next
		}
	}
	l.mu.Lock()
	ln := l.hosts[host]
	if wait := time.Until(due); wait > 0 {
		ln.timer.Reset(wait)
		l.mu.Unlock()
		return
	}
	gone := p.gone
	p.gone = true
	ln.queue = ln.queue[1:]
	l.mu.Unlock()
	if !gone {
		p.goes()
	}
	ln.timer.Reset(settle)
}

// The method "first" returns the first request in a line, after dropping
// requests that have already gone. If none is left, the method deletes the line
// and returns nil.
func (l *later) first(host string) *parked {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.hosts[host]
	for len(ln.queue) > 0 && ln.queue[0].gone {
		ln.queue = ln.queue[1:]
	}
	if len(ln.queue) == 0 {
		delete(l.hosts, host)
		return nil
	}
	return ln.queue[0]
}

func (l *later) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.parked--; l.parked == 0 && l.empty != nil {
		close(l.empty)
		l.empty = nil
	}
}

// wait returns when nothing is parked.
func (l *later) wait() {
	l.mu.Lock()
	if l.parked == 0 {
		l.mu.Unlock()
		return
	}
	if l.empty == nil {
		l.empty = make(chan struct{})
	}
	empty := l.empty
	l.mu.Unlock()
	<-empty
}
