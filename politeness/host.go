package politeness

import (
	"container/heap"
	"time"
)

// A host is what a Limiter knows about one key. It is kept small, because a
// crawl meets millions: what most hosts never need is behind learnt.
// The Limiter's lock guards it.
type host struct {
	key     string
	last    time.Duration // the latest start (or end, with EndToStart)
	counted time.Duration // the latest that counts for Crawl-delay
	learnt  *learnt       // nil: nothing
	queue   grantRing     // those that wait, first come first served
	robots  grantRing     // those of them that are Exempt
	flight  grantRing     // those that hold a slot, oldest first

	waiting, inFlight int32

	prev, next *host   // in Limiter.idle; nil: not there
	rest       int32   // 1 + index in Limiter.resting; 0: not there
	jitter     float32 // what the present interval is lengthened by, as a fraction
	leaving    int32   // how many of those in flight are on their way to the host
	exempt     int32   // how many of those that wait are in robots
	heeding    int32   // how many of the others heed their estimate
	gone       bool    // forgotten
	hold       *Hold   // in a fleet: asked for or owned, and not forgotten meanwhile; nil: neither
}

// learnt is what a host has taught us, beyond when it was last asked.
type learnt struct {
	crawl    time.Duration // the Crawl-delay last told; 0: none
	adaptive time.Duration // the delay that its response times ask for
	until    time.Duration // nothing starts before: it asked for a pause
	incident time.Duration // when the last pause was begun
	level    uint8         // how many incidents in a row, less those recovered from
	latest   sign          // of the latest incident, until it has recovered from that
	clamped  bool          // a cut Crawl-delay has been reported

	// What it says of its quota. Without one all are 0, which was long ago.
	limited     time.Duration // the pause that ends then is because its quota is spent
	spread      time.Duration // between starts, so that its quota lasts
	spreadUntil time.Duration // until it is renewed
}

// A sign is what an outcome says about how its host bears us.
type sign uint8

const (
	silent   sign = iota // nothing: no answer, or an error of the page's own
	good                 // an answer
	doubtful             // a refusal, of the page alone perhaps
	plain                // a refusal that means us
)

func (h *host) busy() bool { return h.waiting > 0 || h.inFlight > 0 }

// learn returns h.learnt, which it makes if need be.
func (h *host) learn() *learnt {
	if h.learnt == nil {
		h.learnt = &learnt{until: never, incident: never}
	}
	return h.learnt
}

// anyone stands for a request of which nothing is known.
var anyone = new(Grant)

// kept reports whether nothing that h still has to wait for is left.
func (h *host) kept(l *Limiter, now time.Duration) bool {
	return !h.busy() && l.due(h, anyone) <= now
}

// blank reports whether forgetting h loses nothing at all, once its pace is
// kept.
func (h *host) blank() bool {
	return h.learnt == nil || h.learnt.crawl == 0 && h.learnt.adaptive == 0 && h.learnt.level == 0 && h.learnt.latest < doubtful
}

// find returns the host of key. If it is new and there is no room for it, it
// returns nil and when there will be.
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

// sweep forgets a little of what need not be remembered. Each new host pays for
// up to three old ones, so a long crawl holds the hosts that are in their
// interval, and nothing runs in the background.
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
			// A long pause must not hide those behind it.
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

// room returns the host that may be forgotten for a new one: that which has
// been idle for longest, of those whose pace has been kept. If there is none,
// it returns nil and when there will be.
func (l *Limiter) room(now time.Duration) (*host, time.Duration) {
	if h := l.resting.top(); h != nil && h.kept(l, now) {
		return h, now
	}
	for h := l.idle.front(); h != nil; h = l.idle.front() {
		if h.kept(l, now) {
			return h, now
		}
		// Its time is looked at once, not by every new host that comes.
		l.idle.remove(h)
		l.resting.push(l, h)
	}
	if now >= l.reaped+time.Minute {
		// Some of those that are being asked may have been abandoned.
		l.reaped = now
		for _, h := range l.hosts {
			l.reap(h, now)
		}
		return l.room(now)
	}
	if h := l.resting.top(); h != nil {
		return nil, l.due(h, anyone)
	}
	return nil, later(now, max(l.set.delay, time.Millisecond)) // all are being asked at this moment
}

// engage takes h off the idle hosts, before it is waited for or asked.
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

// settle puts h back among the idle hosts when nobody needs it any more.
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

// restHeap holds idle hosts that must still wait for long, the one that is done
// first on top. They get there when a new host would have had their place.
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
