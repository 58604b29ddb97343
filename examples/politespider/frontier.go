package main

import (
	"container/heap"
	"context"
	"net/url"
	"sync"
	"time"
)

// page is one URL of the crawl.
type page struct {
	url  *url.URL // absolute, without a fragment
	from string   // the page it was found on; "" for a start URL
	puts int      // how often a server has put it off

	ready time.Time // when it was queued; once handed out, since when its host was free for it
}

// frontier is what is still to be fetched: a queue for each host. It hands out one page of a host at a time, and hosts in
// turn, so that a big site does not hold up the small ones.
//
// A page is in exactly one of three places: queued, handed out, or done with. The crawl is over when the first two are
// empty.
type frontier struct {
	mu      sync.Mutex
	seen    map[string]bool       // every URL ever added
	hosts   map[string]*hostQueue // by hostKey
	due     hostHeap              // hosts with pages queued and none handed out
	queued  int
	out     int // pages handed out
	budget  int // pages that may still be handed out; a page put back gives its own back
	changed chan struct{}
}

// hostQueue is the queue of one host.
type hostQueue struct {
	pages []*page
	busy  bool      // a page is handed out
	due   time.Time // not before; orders the hosts even when it is past
	idle  time.Time // since when no page is handed out
}

// newFrontier returns an empty frontier that hands out at most max pages.
func newFrontier(max int) *frontier {
	return &frontier{
		seen:    make(map[string]bool),
		hosts:   make(map[string]*hostQueue),
		budget:  max,
		changed: make(chan struct{}),
	}
}

// add queues a page unless its URL was added before, and returns whether it did.
func (f *frontier) add(p *page) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := p.url.String()
	if f.seen[key] {
		return false
	}
	f.seen[key] = true
	f.push(p, time.Time{})
	return true
}

// take hands out the next page and waits for one if need be. It returns false when the crawl is over: nothing is left,
// the budget is used up, or the context has ended. Each page taken has to be given back with done or putBack.
func (f *frontier) take(ctx context.Context) (*page, bool) {
	for ctx.Err() == nil {
		p, changed, wait := f.tryTake()
		if p != nil {
			return p, true
		}
		if changed == nil {
			return nil, false
		}
		var due <-chan time.Time // nil: never
		if wait > 0 {
			due = time.After(wait)
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-due:
		}
	}
	return nil, false
}

// tryTake returns a page, or else what to wait for: a change and, if positive, a time. No channel means that the crawl is
// over.
func (f *frontier) tryTake() (*page, <-chan struct{}, time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.queued == 0 && f.out == 0 || f.budget == 0 && f.out == 0 {
		return nil, nil, 0
	}
	if len(f.due) == 0 || f.budget == 0 {
		return nil, f.changed, 0
	}
	host := f.due[0]
	if wait := time.Until(host.due); wait > 0 {
		return nil, f.changed, wait
	}
	heap.Pop(&f.due)
	p := host.pages[0]
	host.pages = host.pages[1:]
	host.busy = true
	if host.idle.After(p.ready) {
		p.ready = host.idle
	}
	f.queued--
	f.out++
	f.budget--
	return p, nil, 0
}

// done says that a page is finished with, and when its host may be asked for the next.
func (f *frontier) done(p *page, next time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.release(p, next)
}

// refund is done for a page that cost its host nothing: it does not count, and the next one is as due as it was.
func (f *frontier) refund(p *page) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.budget++
	host := f.hosts[hostKey(p.url)]
	idle := host.idle
	f.release(p, host.due)
	host.idle = idle
}

// putBack queues a page again. Its host is left alone until then.
func (f *frontier) putBack(p *page, until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.budget++
	f.push(p, until)
	f.release(p, until)
}

// left returns the pages that were not fetched, in no order.
func (f *frontier) left() []*page {
	f.mu.Lock()
	defer f.mu.Unlock()
	var pages []*page
	for _, host := range f.hosts {
		pages = append(pages, host.pages...)
	}
	return pages
}

// queueState is a frontier at a glance.
type queueState struct {
	queued int
	out    int           // handed out
	next   string        // the host that is due next, if none is now
	wait   time.Duration // until it is
}

func (f *frontier) state() queueState {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := queueState{queued: f.queued, out: f.out}
	if len(f.due) > 0 && f.budget > 0 {
		if wait := time.Until(f.due[0].due); wait > 0 {
			q.next, q.wait = hostKey(f.due[0].pages[0].url), wait
		}
	}
	return q
}

func (f *frontier) push(p *page, due time.Time) {
	key := hostKey(p.url)
	host := f.hosts[key]
	if host == nil {
		host = &hostQueue{due: due}
		f.hosts[key] = host
	}
	p.ready = time.Now()
	host.pages = append(host.pages, p)
	f.queued++
	if !host.busy && len(host.pages) == 1 {
		heap.Push(&f.due, host)
	}
	f.signal()
}

func (f *frontier) release(p *page, due time.Time) {
	host := f.hosts[hostKey(p.url)]
	host.busy = false
	host.idle = time.Now()
	host.due = due
	f.out--
	if len(host.pages) > 0 {
		heap.Push(&f.due, host)
	}
	f.signal()
}

// signal wakes everybody who waits in take.
func (f *frontier) signal() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// hostKey is the unit of politeness: a site's http and https are one host.
func hostKey(u *url.URL) string { return u.Hostname() }

// hostHeap orders hosts by the time from which they may be asked.
type hostHeap []*hostQueue

func (h hostHeap) Len() int           { return len(h) }
func (h hostHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h hostHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *hostHeap) Push(x any)        { *h = append(*h, x.(*hostQueue)) }
func (h *hostHeap) Pop() any {
	old := *h
	host := old[len(old)-1]
	*h = old[:len(old)-1]
	return host
}
