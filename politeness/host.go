package politeness

import (
	"container/heap"
	"time"
)

// A host is what a Limiter knows about one key. Limiter.mu guards it. A crawl
// meets millions of hosts, so this struct is small. Fields that only few hosts
// need are in learnt.
type host struct {
	key     string
	last    time.Duration // the latest start (or end, with EndToStart)
	counted time.Duration // the latest start that counts for Crawl-delay
	learnt  *learnt       // nil means nothing was learnt
	queue   grantRing     // all other requests that wait, oldest first
	robots  grantRing     // Exempt requests that wait and overtake the others, oldest first
	flight  grantRing     // requests that hold a slot, oldest first

	waiting, inFlight int32

	prev, next *host   // in Limiter.idle; nil if not in it
	rest       int32   // 1 + index in Limiter.resting; 0 if not in it
	jitter     float32 // the present interval is longer by this fraction
	leaving    int32   // how many requests are granted and not sent yet
	overtaking int32   // how many requests wait in robots
	heeding    int32   // how many requests in queue need their estimated start (see Grant.heeds)
	gone       bool    // the Limiter has forgotten this host
	hold       *Hold   // in a fleet: this Limiter's claim to the host; nil means none
}

// learnt is what a host's answers and its robots.txt have taught the Limiter.
type learnt struct {
	crawl    time.Duration // the Crawl-delay that was told last; 0 means none
	adaptive time.Duration // the delay that the host's response times ask for
	until    time.Duration // the end of the latest pause; the constant "never" if there was none
	incident time.Duration // when the latest incident began
	level    uint8         // how many incidents lengthen the back-off; a good answer subtracts one
	latest   sign          // the sign of the latest incident; after a good answer: the constant good
	clamped  bool          // a notice has said that ClampCrawlDelay cut a Crawl-delay

	// What the host says about its quotas. All are 0 if it says nothing.
	limited     time.Duration // the end of a pause for a spent quota
	spread      time.Duration // the interval that spreads the quota over the time until it is renewed
	spreadUntil time.Duration // when the quota is renewed
}

// A sign is what an outcome says about how well its host copes with our
// requests.
type sign uint8

const (
	silent   sign = iota // no answer, or a 5xx other than 503
	good                 // an answer that is neither a refusal nor a 5xx
	doubtful             // a 503 or a bot wall's answer, perhaps for one page only
	plain                // a 429
)

func (h *host) busy() bool { return h.waiting > 0 || h.inFlight > 0 }

// learn returns h.learnt and makes it if it is nil.
func (h *host) learn() *learnt {
	if h.learnt == nil {
		h.learnt = &learnt{until: never, incident: never}
	}
	return h.learnt
}

// anyone stands for a request that was told no Crawl-delay.
var anyone = new(Grant)

// kept reports whether no request needs h any more, and nothing of h has to be
// waited for: its interval, pause and quota are over.
func (h *host) kept(l *Limiter, now time.Duration) bool {
	return !h.busy() && l.due(h, anyone) <= now
}

// blank reports whether the Limiter knows nothing of h that matters after h's
// interval, pause and quota are over.
func (h *host) blank() bool {
	return h.learnt == nil || h.learnt.crawl == 0 && h.learnt.adaptive == 0 && h.learnt.level == 0 && h.learnt.latest < doubtful
}

// find returns the host with this key, and makes it if there is none. If there
// is no room for a new host, find returns nil and the time at which there may
// be room.
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

// sweep forgets up to two idle hosts. It forgets a host only if the host's
// interval, pause and quota are over, and the Limiter knows nothing else about
// the host that matters. sweep runs once for each new host. So nothing has to
// run in the background. In a long crawl, the only hosts that pile up are those
// about which the Limiter has learnt something that matters.
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
				return // as a rule, the hosts behind it were used later
			}
			// A host with a long pause must not hide the hosts behind it.
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

// room returns a host whose place a new host can take. That is a resting host
// that is due or, if there is none, the first host in idle that is due. If none
// is due, room returns nil and the time at which one may be due.
func (l *Limiter) room(now time.Duration) (*host, time.Duration) {
	if h := l.resting.top(); h != nil && h.kept(l, now) {
		return h, now
	}
	for h := l.idle.front(); h != nil; h = l.idle.front() {
		if h.kept(l, now) {
			return h, now
		}
		// h moves to resting, so that it is not checked again for each new
		// host.
		l.idle.remove(h)
		l.resting.push(l, h)
	}
	if now >= l.reaped+time.Minute {
		// Some requests in flight may have been abandoned: free their slots.
		l.reaped = now
		for _, h := range l.hosts {
			l.reap(h, now)
		}
		return l.room(now)
	}
	if h := l.resting.top(); h != nil {
		return nil, l.due(h, anyone)
	}
	return nil, later(now, max(l.set.delay, time.Millisecond)) // every host has requests at this moment
}

// engage takes h out of the idle and resting hosts. It is called before a
// request to h starts or waits, and before h is forgotten.
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

// settle puts h back among the idle hosts if no request needs it any more. In a
// fleet, the Hold on h must be over first: until then, settle only lets the
// fleet check whether h can be given away.
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

// restHeap holds hosts that no request needs and that are not due yet. The host
// that is due first is on top. The Limiter moves a host to the restHeap if it
// wants to forget the host and cannot do so yet.
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
