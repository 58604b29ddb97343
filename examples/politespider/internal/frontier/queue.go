package frontier

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A Queue is a frontier in memory. If OpenDirectory made it, it also has a
// journal in a directory. It is safe for concurrent use.
type Queue struct {
	limits Limits

	mu      sync.Mutex
	journal *journal              // nil if there is none
	seen    map[string]bool       // every URL ever added
	hosts   map[string]*hostQueue // the queues, by HostKey
	refused map[string]int        // how many pages each host has refused, by HostKey
	due     hostHeap              // hosts with queued pages and no page out, whose crawl has not ended
	state   State                 // without Hosts, Next and Wait
	changed chan struct{}
}

// A hostQueue is the queue of a host. It is in Queue.due if it has pages, none
// of them is handed out, and the crawl of the host has not ended.
type hostQueue struct {
	name        string
	pages       []*Page
	later       []*Page   // pages that wait until their own Due, sorted by Due
	wasPutOff   bool      // the latest page of the host was put off at least once
	busy        bool      // a page of the host is handed out and not given back
	pausedUntil time.Time // no page of the host is handed out before this time
	idleSince   time.Time // when the latest page of the host was done or put back
	index       int       // of the host in the heap, or -1 if the host is not there
}

// queued returns how many pages of the host are queued. A nil host has none.
func (h *hostQueue) queued() int {
	if h == nil {
		return 0
	}
	return len(h.pages) + len(h.later)
}

// due returns the time at which the next page of the host may be handed out.
// It panics if the queue is empty.
func (h *hostQueue) due() time.Time {
	if len(h.pages) == 0 && h.later[0].Due.After(h.pausedUntil) {
		return h.later[0].Due
	}
	return h.pausedUntil
}

// pop removes the next page from the queue and returns it.
func (h *hostQueue) pop(now time.Time) *Page {
	p := h.popPage(now)
	for _, t := range []time.Time{p.Due, h.idleSince} {
		if t.After(p.Ready) {
			p.Ready = t
		}
	}
	p.Due = time.Time{}
	return p
}

// popPage is pop without the change of the page's times.
//
// Usually it returns a page whose Due has passed, because such a page has been
// queued for longer. If the latest page of the host was put off, it returns the
// last page of the queue, which is probably the least similar to that page.
// Otherwise, several failing pages in a row would make the Limiter pause the
// host for longer and longer. This order shortens the crawl of ten adjacent
// broken pages and a hundred others by almost a third.
func (h *hostQueue) popPage(now time.Time) (p *Page) {
	last := len(h.pages) - 1
	switch {
	case h.wasPutOff && last >= 0:
		p = h.pages[last]
		h.pages = h.pages[:last]
	case len(h.later) > 0 && !h.later[0].Due.After(now):
		p = h.later[0]
		h.later = h.later[1:]
	default:
		p = h.pages[0]
		h.pages = h.pages[1:]
	}
	return p
}

// insert adds a page to the queue: to later, if its Due has not passed.
func (h *hostQueue) insert(p *Page, now time.Time) {
	if !p.Due.After(now) {
		h.pages = append(h.pages, p)
		return
	}
	// Of pages with the same Due, the one that was inserted first is due first.
	i, _ := slices.BinarySearchFunc(h.later, p.Due, func(other *Page, due time.Time) int {
		return cmp.Or(other.Due.Compare(due), -1)
	})
	h.later = slices.Insert(h.later, i, p)
}

// NewQueue returns an empty frontier without a journal.
func NewQueue(limits Limits) *Queue {
	return &Queue{
		limits:  limits,
		seen:    make(map[string]bool),
		hosts:   make(map[string]*hostQueue),
		refused: make(map[string]int),
		changed: make(chan struct{}),
	}
}

// Add queues the pages whose URLs were never added before, and returns how many
// there were.
func (q *Queue) Add(pages ...*Page) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	var fresh []*Page
	for _, p := range pages {
		if !q.seen[p.URL] {
			q.seen[p.URL] = true
			fresh = append(fresh, p)
		}
	}
	if len(fresh) > 0 && q.write(line{Add: fresh}) {
		for _, p := range fresh {
			q.push(p, time.Time{})
		}
	}
	return len(fresh)
}

// write adds a line to the journal, if there is one. If that fails, no more
// pages are handed out. The caller holds q.mu.
func (q *Queue) write(l line) bool {
	if q.journal == nil {
		return true
	}
	if q.state.Err != nil { // the last line may be incomplete, and a line after it would never be read
		return false
	}
	if err := q.journal.append(l); err != nil {
		q.state.Err = fmt.Errorf("write the journal: %w", err)
		q.signal()
	}
	return q.state.Err == nil
}

// Take hands out the next page, and waits for one if necessary. It returns
// false in four cases: no page is left except those of hosts whose crawl has
// ended, the maximum number of pages was handed out, the context has ended, or
// an error has ended the crawl.
func (q *Queue) Take(ctx context.Context) (*Page, bool) {
	for ctx.Err() == nil {
		p, changed, wait := q.tryTake()
		if p != nil {
			return p, true
		}
		if changed == nil {
			return nil, false
		}
		var due <-chan time.Time // nil if there is no host to wait for
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

// tryTake returns a page if one may be handed out now. Otherwise, it returns a
// channel that is closed when something changes. It also returns how long to
// wait for the next host, or 0 if there is no host to wait for. If there is
// neither a page nor a channel, the crawl is over.
func (q *Queue) tryTake() (*Page, <-chan struct{}, time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state.Err != nil {
		return nil, nil, 0
	}
	isFull := q.state.Spent+q.state.Out >= q.limits.Pages
	if len(q.due) == 0 || isFull {
		if q.state.Out == 0 { // no page can be put back, so nothing will change
			return nil, nil, 0
		}
		return nil, q.changed, 0
	}
	host := q.due[0]
	now := time.Now()
	if wait := host.due().Sub(now); wait > 0 {
		return nil, q.changed, wait
	}
	heap.Pop(&q.due)
	host.busy = true
	q.state.Queued--
	q.state.Out++
	return host.pop(now), nil, 0
}

// Done reports that a page is finished, and when the last request to its host
// was sent. The next request to the host may be sent one interval after that
// time. Add the links of the page before you call Done. If you call Done first,
// a crash between the two calls loses the links, because a page that is done is
// not fetched again.
func (q *Queue) Done(p *Page, lastRequest time.Time, interval time.Duration) {
	q.done(p, lastRequest, interval, false)
}

// Refuse is like Done for a page that the server has refused. When a host has
// refused as many pages as Limits.Refused permits, no page of the host is
// handed out any more.
func (q *Queue) Refuse(p *Page, lastRequest time.Time, interval time.Duration) {
	q.done(p, lastRequest, interval, true)
}

// done is Done, or Refuse if refused is true.
func (q *Queue) done(p *Page, lastRequest time.Time, interval time.Duration, refused bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	next := lastRequest.Add(interval)
	q.write(line{Done: p.URL, Refused: refused, Next: next.UTC(), Interval: interval.Seconds()})
	q.state.Spent++
	if refused {
		q.refused[p.Host]++
	}
	host := q.hosts[p.Host]
	host.wasPutOff = p.Puts > 0
	host.idleSince = time.Now()
	q.release(host, next)
}

// Refund is like Done for a page that needed no request. The page does not
// count toward the maximum. The next request to the host is due as early as if
// the page had not been handed out.
func (q *Queue) Refund(p *Page) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.write(line{Done: p.URL, Free: true})
	q.state.Free++
	host := q.hosts[p.Host]
	q.release(host, host.pausedUntil)
}

// PutBack queues a page again. Until the given time, no page of its host is
// handed out. The page itself also waits until its Due.
func (q *Queue) PutBack(p *Page, until time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.write(line{Put: p.URL, Puts: p.Puts, Due: p.Due.UTC(), Next: until.UTC()})
	q.push(p, until)
	host := q.hosts[p.Host]
	host.wasPutOff = host.wasPutOff || !p.Due.IsZero()
	host.idleSince = time.Now()
	q.release(host, until)
}

// State returns a summary of the current frontier.
func (q *Queue) State() State {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.state
	s.Hosts = len(q.due)
	if len(q.due) > 0 && s.Spent+s.Out < q.limits.Pages {
		if wait := time.Until(q.due[0].due()); wait > 0 {
			s.Next = q.due[0].name
			s.Wait = wait
		}
	}
	return s
}

// Ended returns the hosts whose crawl has ended although pages of theirs are
// queued, and how many pages.
func (q *Queue) Ended() map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	ended := make(map[string]int)
	for name := range q.refused {
		if host := q.hosts[name]; q.hasEnded(name) && host.queued() > 0 {
			ended[name] = host.queued()
		}
	}
	return ended
}

// hasEnded reports whether the crawl of a host has ended. The caller holds
// q.mu.
func (q *Queue) hasEnded(host string) bool {
	return q.limits.Refused > 0 && q.refused[host] >= q.limits.Refused
}

// Close closes the journal, if there is one, and unlocks its directory for
// other processes.
func (q *Queue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.journal == nil {
		return nil
	}
	return q.journal.close()
}

// push queues a page. If its host is new, no page of the host is handed out
// before the time pausedUntil.
func (q *Queue) push(p *Page, pausedUntil time.Time) {
	host := q.hosts[p.Host]
	if host == nil {
		host = &hostQueue{name: p.Host, pausedUntil: pausedUntil, index: -1}
		q.hosts[p.Host] = host
	}
	p.Ready = time.Now()
	host.insert(p, p.Ready)
	q.state.Queued++
	switch {
	case host.index >= 0:
		heap.Fix(&q.due, host.index)
	case !host.busy && !q.hasEnded(host.name):
		heap.Push(&q.due, host)
	}
	q.signal()
}

// release marks a host as idle, because its page was given back. No page of the
// host is handed out before the given time.
func (q *Queue) release(host *hostQueue, pausedUntil time.Time) {
	host.busy = false
	host.pausedUntil = pausedUntil
	q.state.Out--
	if host.queued() > 0 && !q.hasEnded(host.name) {
		heap.Push(&q.due, host)
	}
	q.signal()
}

// signal wakes all callers that wait in Take.
func (q *Queue) signal() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// A hostHeap is a heap of hosts (package container/heap). The host that is due
// first is at the top.
type hostHeap []*hostQueue

func (h hostHeap) Len() int { return len(h) }

func (h hostHeap) Less(i, j int) bool { return h[i].due().Before(h[j].due()) }

func (h hostHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index = i
	h[j].index = j
}

func (h *hostHeap) Push(x any) {
	host := x.(*hostQueue)
	host.index = len(*h)
	*h = append(*h, host)
}

func (h *hostHeap) Pop() any {
	old := *h
	host := old[len(old)-1]
	*h = old[:len(old)-1]
	host.index = -1
	return host
}
