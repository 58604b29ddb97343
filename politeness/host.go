package politeness

import (
	"container/heap"
	"time"
)

// A host is what a Limiter knows about one key. It is kept small because a
// crawl meets millions of hosts: what few of them need is in learnt. The
// Limiter's lock guards it.
type host struct {
	key     string
	last    time.Duration // the latest start (or end, with EndToStart)
	counted time.Duration // the latest start that counts for Crawl-delay
	learnt  *learnt       // nil: nothing
	queue   grantRing     // requests that wait, first come first served
	robots  grantRing     // Exempt requests that wait
	flight  grantRing     // requests that hold a slot, oldest first

	waiting, inFlight int32

	prev, next *host   // in Limiter.idle; nil: not there
	rest       int32   // 1 + index in Limiter.resting; 0: not there
	jitter     float32 // the present interval is longer by this fraction
	leaving    int32   // requests in flight that are granted and not sent yet
	exempt     int32   // requests that wait in robots
	heeding    int32   // requests in queue that heed their estimate
	gone       bool    // forgotten
	hold       *Hold   // in a fleet: the claim to the host, asked for or owned; nil: none
}

// learnt is what a host's answers and robots.txt have taught us.
type learnt struct {
	crawl    time.Duration // the Crawl-delay last told; 0: none
	adaptive time.Duration // the delay that its response times ask for
	until    time.Duration // no request starts before; never: no pause
	incident time.Duration // when the latest incident began
	level    uint8         // incidents in a row, less those recovered from
	latest   sign          // the sign of the latest incident; good once recovered
	clamped  bool          // the cut of a Crawl-delay has been reported

	// What the host says about its quota. All are 0 without one.
	limited     time.Duration // the end of a pause for a spent quota
	spread      time.Duration // interval that makes the quota last
	spreadUntil time.Duration // when the quota is renewed and spread ends
}

// A sign is what an outcome says about how well its host copes with our
// requests.
type sign uint8

const (
	silent   sign = iota // no answer, or an error of the page's own
	good                 // an answer
	doubtful             // a refusal, perhaps of one page only
	plain                // a refusal of this crawler
)

func (h *host) busy() bool { return h.waiting > 0 || h.inFlight > 0 }

// learn returns h.learnt and makes it if it is nil.
func (h *host) learn() *learnt {
	if h.learnt == nil {
		h.learnt = &learnt{until: never, incident: never}
	}
	return h.learnt
}

// anyone stands for any request to a host.
var anyone = new(Grant)

// kept reports whether h is idle and has no interval or pause left to wait for.
func (h *host) kept(l *Limiter, now time.Duration) bool {
	return !h.busy() && l.due(h, anyone) <= now
}

// blank reports whether nothing is lost if h is forgotten after its interval.
func (h *host) blank() bool {
	return h.learnt == nil || h.learnt.crawl == 0 && h.learnt.adaptive == 0 && h.learnt.level == 0 && h.learnt.latest < doubtful
}

// find returns the host of key. If the host is new and there is no room for it,
// find returns nil and the time at which there may be room.
func (l *Limiter) find(key string, now time.Duration) (*host, time.Duration) {
	if h := l.hosts[key]; h != nil {
		return h, 0
	}
	l.sweep(now)
	if len(l.hosts) >= l.set.maxHosts {
		old, free := l.room(now)
		if old == nil {
			return nil, free
		}
		l.forget(old)
	}
	h := &host{key: key, last: never, counted: never}
	l.hosts[key] = h
	l.idle.push(h)
	return h, 0
}

// sweep forgets up to two idle hosts whose interval is over and that are blank.
// It runs once for each new host. So the hosts of a long crawl do not pile up,
// except those about which the Limiter has learnt something, and nothing runs
// in the background.
func (l *Limiter) sweep(now time.Duration) {
	if h := l.resting.top(); h != nil && h.kept(l, now) {
		l.resting.remove(h)
		l.idle.push(h)
	}
	for range 2 {
		h := l.idle.front()
		switch {
		case h == nil:
			return
		case !h.kept(l, now):
			if l.due(h, anyone)-now < 2*max(l.set.delay, time.Minute) {
				return // the others are no older
			}
			// A long pause must not hide the hosts behind it.
			l.idle.remove(h)
			l.resting.push(l, h)
		case h.blank():
			l.forget(h)
		default:
			l.idle.remove(h)
			l.idle.push(h)
		}
	}
}

// room returns the host to forget for a new one: an idle host whose interval
// and pause are over. A resting host whose time has come is the first choice.
// Next is the first such host in idle. If there is none, room returns nil and
// the time at which there may be one.
func (l *Limiter) room(now time.Duration) (*host, time.Duration) {
	if h := l.resting.top(); h != nil && h.kept(l, now) {
		return h, now
	}
	for h := l.idle.front(); h != nil; h = l.idle.front() {
		if h.kept(l, now) {
			return h, now
		}
		// h moves so that not every new host checks it again.
		l.idle.remove(h)
		l.resting.push(l, h)
	}
	if now >= l.reaped+time.Minute {
		// Some requests in flight may have been abandoned.
		l.reaped = now
		for _, h := range l.hosts {
			l.reap(h, now)
		}
		return l.room(now)
	}
	if h := l.resting.top(); h != nil {
		return nil, l.due(h, anyone)
	}
	return nil, later(now, max(l.set.delay, time.Millisecond)) // all hosts have requests at this moment
}

// engage removes h from the idle hosts, before a request waits for it or
// starts.
func (l *Limiter) engage(h *host) {
	if h.hold != nil {
		h.hold.idle = never
	}
	if h.next != nil {
		l.idle.remove(h)
	}
	if h.rest != 0 {
		l.resting.remove(h)
	}
}

// settle puts h back among the idle hosts when no request needs it any more.
func (l *Limiter) settle(h *host) {
	if h.hold != nil {
		l.review(h.hold)
		return
	}
	if h.busy() || h.next != nil || h.rest != 0 || h.gone {
		return
	}
	l.idle.push(h)
}

func (l *Limiter) forget(h *host) {
	l.engage(h)
	h.gone = true
	delete(l.hosts, h.key)
	delete(l.backed, h)
}

// hostRing is a circular list through host.prev and host.next.
type hostRing struct{ first *host }

func (r *hostRing) front() *host { return r.first }

func (r *hostRing) push(h *host) {
	if r.first == nil {
		h.prev, h.next = h, h
		r.first = h
		return
	}
	h.prev, h.next = r.first.prev, r.first
	h.prev.next, h.next.prev = h, h
}

func (r *hostRing) remove(h *host) {
	if h.next == h {
		r.first = nil
	} else {
		h.prev.next, h.next.prev = h.next, h.prev
		if r.first == h {
			r.first = h.next
		}
	}
	h.prev, h.next = nil, nil
}

// restHeap holds idle hosts with a long wait ahead, the one that is free first
// on top. A host gets there when a new host needs room and this one cannot be
// forgotten yet.
type restHeap struct{ items restItems }

type restItem struct {
	host *host
	due  time.Duration
}

func (r *restHeap) top() *host {
	if len(r.items) == 0 {
		return nil
	}
	return r.items[0].host
}

func (r *restHeap) push(l *Limiter, h *host) {
	heap.Push(&r.items, restItem{h, l.due(h, anyone)})
}

func (r *restHeap) remove(h *host) { heap.Remove(&r.items, int(h.rest-1)) }

type restItems []restItem

func (r restItems) Len() int           { return len(r) }
func (r restItems) Less(i, j int) bool { return r[i].due < r[j].due }

func (r restItems) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].host.rest, r[j].host.rest = int32(i+1), int32(j+1)
}

func (r *restItems) Push(x any) {
	item := x.(restItem)
	item.host.rest = int32(len(*r) + 1)
	*r = append(*r, item)
}

func (r *restItems) Pop() any {
	old := *r
	item := old[len(old)-1]
	old[len(old)-1] = restItem{}
	*r = old[:len(old)-1]
	item.host.rest = 0
	return item
}
