package frontier

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"
)

// A Memory is a frontier in memory, made by NewMemory. It is safe for
// concurrent use.
type Memory struct {
	max int

	mu      sync.Mutex
	seen    map[string]bool       // every URL ever added
	hosts   map[string]*hostQueue // the queues, by HostKey
	due     hostHeap              // hosts that have queued pages, and no page that is handed out
	queued  int
	out     int // pages handed out and not given back
	spent   int // pages done; refunded pages do not count
	free    int // pages refunded
	err     error
	changed chan struct{}
}

type hostQueue struct {
	name  string
	pages []*Page
	later []*Page   // pages that wait until their own Due, sorted by Due
	hurt  bool      // the host's latest page was put off at least once
	busy  bool      // a page of the host is handed out and not given back
	rest  time.Time // no page of the host is handed out before this time
	idle  time.Time // when the host's latest page was done or put back
	place int       // the host's index in the heap, or -1 if the host is not there
}

// due() returns the time at which the next page of the host may be handed out.
// It panics if the queue is empty.
func (h *hostQueue) due() time.Time {
	if len(h.pages) == 0 && h.later[0].Due.After(h.rest) {
		return h.later[0].Due
	}
	return h.rest
}

// next() removes a page from the queue and returns it. Usually a page whose Due
// has passed comes first, because such a page has been queued for longer. But
// if the host's latest page was put off, the last page of the queue comes
// first: it is probably the least similar to the page that was put off. So the
// host is not asked for one failing page after another.
func (h *hostQueue) next(now time.Time) (p *Page) {
	last := len(h.pages) - 1
	switch {
	case h.hurt && last >= 0:
		p, h.pages = h.pages[last], h.pages[:last]
	case len(h.later) > 0 && !h.later[0].Due.After(now):
		p, h.later = h.later[0], h.later[1:]
		if p.Due.After(p.Ready) {
			p.Ready = p.Due
		}
	default:
		p, h.pages = h.pages[0], h.pages[1:]
	}
	p.Due = time.Time{}
	if h.idle.After(p.Ready) {
		p.Ready = h.idle
	}
	return p
}

// NewMemory returns an empty frontier that hands out at most max pages. Pages
// that are refunded or put back do not count.
func NewMemory(max int) *Memory {
	return &Memory{
		max:     max,
		seen:    make(map[string]bool),
		hosts:   make(map[string]*hostQueue),
		changed: make(chan struct{}),
	}
}

// Add queues the pages whose URLs were never added before, and returns how many
// it queued.
func (m *Memory) Add(pages ...*Page) int {
	fresh := m.unseen(pages)
	m.queue(fresh)
	return len(fresh)
}

// unseen returns the pages whose URLs are new, and remembers those URLs.
func (m *Memory) unseen(pages []*Page) []*Page {
	m.mu.Lock()
	defer m.mu.Unlock()
	var fresh []*Page
	for _, p := range pages {
		key := p.URL.String()
		if !m.seen[key] {
			m.seen[key] = true
			fresh = append(fresh, p)
		}
	}
	return fresh
}

func (m *Memory) queue(pages []*Page) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range pages {
		m.push(p, time.Time{})
	}
}

// Take hands out the next page, and waits for one if necessary. It returns
// false in four cases: no page is left, the maximum number of pages was handed
// out, the context has ended, or an error has ended the crawl.
func (m *Memory) Take(ctx context.Context) (*Page, bool) {
	for ctx.Err() == nil {
		p, changed, wait := m.tryTake()
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

// tryTake returns a page if one may be handed out now. Otherwise it returns a
// channel that is closed when something changes. It also returns how long to
// wait for the next host, or 0 if there is no host to wait for. If there is
// neither a page nor a channel, the crawl is over.
func (m *Memory) tryTake() (*Page, <-chan struct{}, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	full := m.spent+m.out >= m.max
	if m.err != nil || m.out == 0 && (m.queued == 0 || full) {
		return nil, nil, 0
	}
	if len(m.due) == 0 || full {
		return nil, m.changed, 0
	}
	host := m.due[0]
	now := time.Now()
	if wait := host.due().Sub(now); wait > 0 {
		return nil, m.changed, wait
	}
	heap.Pop(&m.due)
	host.busy = true
	m.queued--
	m.out++
	return host.next(now), nil, 0
}

// Done reports that a page is finished, and when its host was last asked. The
// host may be asked again one interval after that time.
func (m *Memory) Done(p *Page, asked time.Time, interval time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spent++
	m.hosts[HostKey(p.URL)].hurt = p.Puts > 0
	m.release(p, asked.Add(interval))
}

// Refund is like Done for a page that needed no request. The page does not
// count towards the maximum. The host may be asked as early as if the page had
// not been handed out.
func (m *Memory) Refund(p *Page) {
	m.mu.Lock()
	defer m.mu.Unlock()
	host := m.hosts[HostKey(p.URL)]
	idle := host.idle
	m.release(p, host.rest)
	host.idle = idle
	m.free++
}

// PutBack queues a page again. Until the given time, no page of its host is
// handed out. The page itself also waits until its Due.
func (m *Memory) PutBack(p *Page, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.push(p, until)
	if !p.Due.IsZero() {
		m.hosts[HostKey(p.URL)].hurt = true
	}
	m.release(p, until)
}

// State returns a summary of the frontier as it is now.
func (m *Memory) State() State {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := State{Queued: m.queued, Out: m.out, Spent: m.spent, Free: m.free, Hosts: len(m.due), Err: m.err}
	if len(m.due) > 0 && m.spent+m.out < m.max {
		if wait := time.Until(m.due[0].due()); wait > 0 {
			s.Next, s.Wait = m.due[0].name, wait
		}
	}
	return s
}

// Close does nothing. Only the other kinds of frontier have something to close.
func (m *Memory) Close() error { return nil }

// fail() ends the crawl with an error. If it is called again, it keeps the
// first error.
func (m *Memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
	}
	m.signal()
}

func (m *Memory) push(p *Page, due time.Time) {
	host := m.host(HostKey(p.URL), due)
	p.Ready = time.Now()
	if p.Due.After(p.Ready) {
		at, _ := slices.BinarySearchFunc(host.later, p, func(a, b *Page) int { return cmp.Or(a.Due.Compare(b.Due), -1) })
		host.later = slices.Insert(host.later, at, p)
	} else {
		host.pages = append(host.pages, p)
	}
	m.queued++
	switch {
	case host.place >= 0:
		heap.Fix(&m.due, host.place)
	case !host.busy:
		heap.Push(&m.due, host)
	}
	m.signal()
}

// host() returns the queue of a host. A new queue hands out no page before the
// given time.
func (m *Memory) host(key string, rest time.Time) *hostQueue {
	host := m.hosts[key]
	if host == nil {
		host = &hostQueue{name: key, rest: rest, place: -1}
		m.hosts[key] = host
	}
	return host
}

func (m *Memory) release(p *Page, rest time.Time) {
	host := m.hosts[HostKey(p.URL)]
	host.busy = false
	host.idle = time.Now()
	host.rest = rest
	m.out--
	if len(host.pages)+len(host.later) > 0 {
		heap.Push(&m.due, host)
	}
	m.signal()
}

// signal() wakes all callers that wait in Take.
func (m *Memory) signal() {
	close(m.changed)
	m.changed = make(chan struct{})
}

type hostHeap []*hostQueue

func (h hostHeap) Len() int           { return len(h) }
func (h hostHeap) Less(i, j int) bool { return h[i].due().Before(h[j].due()) }
func (h hostHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}
func (h *hostHeap) Push(x any) {
	host := x.(*hostQueue)
	host.place = len(*h)
	*h = append(*h, host)
}
func (h *hostHeap) Pop() any {
	old := *h
	host := old[len(old)-1]
	*h = old[:len(old)-1]
	host.place = -1
	return host
}
