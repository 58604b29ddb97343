package politeness

import (
	"math/rand/v2"
	"strings"
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
	paused     int32   // 1 + index in Limiter.paused; 0 if not in it
	jitter     float32 // the present interval is longer by this fraction
	leaving    int32   // how many requests are granted and not sent yet
	overtaking int32   // how many requests wait in robots
	heeding    int32   // how many requests in queue need their estimated start (see Grant.heeds)
	gone       bool    // the Limiter has forgotten this host
	hold       *hold   // in a fleet: this Limiter's claim to the host; nil means none
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

// find returns the host with this key, and makes it if there is none. There is
// always room: see Limiter.MaxHosts.
func (l *Limiter) find(key string, now time.Duration) *host {
	if h := l.hosts[key]; h != nil {
		return h
	}
	l.sweep(now)
	for range 2 { // two, so that hosts above MaxHosts become fewer
		if len(l.hosts) < l.set.maxHosts {
			break
		}
		if old := l.dispensable(now); old != nil {
			l.forget(old)
		}
	}
	h := &host{key: strings.Clone(key), last: never, counted: never} // the key may be a piece of a long URL
	l.hosts[h.key] = h
	l.idle.push(h)
	return h
}

// sweep forgets up to two idle hosts. It forgets a host only if the host's
// interval, pause and quota are over, and the Limiter knows nothing else about
// the host that matters. sweep runs once for each new host. So nothing has to
// run in the background. In a long crawl, the only hosts that pile up are those
// about which the Limiter has learnt something that matters.
func (l *Limiter) sweep(now time.Duration) {
	l.somePaused(1, now)
	for range 2 {
		h := l.idle.front()
		switch {
		case h == nil:
			return
		case h.kept(l, now) && h.blank():
			l.forget(h)
		case !h.kept(l, now) && l.due(h, anyone)-now < 2*max(l.set.delay, time.Minute):
			return // as a rule, the hosts behind it were used later
		default: // it must not hide the hosts behind it
			l.setAside(h, now)
		}
	}
}

// setAside moves the first idle host to the end. A paused host is taken out
// instead, until its pause is over.
func (l *Limiter) setAside(h *host, now time.Duration) {
	l.idle.remove(h)
	if h.paused == 0 || h.pauseEnd() <= now {
		l.idle.push(h)
	}
}

// dispensable returns the host that goes when there are MaxHosts hosts: the one
// that was used longest ago. It is a paused host, at random, if these hold nine
// tenths of the places, or if nothing else can go. If all hosts are busy or in
// their interval, the result is nil.
func (l *Limiter) dispensable(now time.Duration) *host {
	const looks = 16 // so that one new host never takes long
	if len(l.paused) < l.set.maxHosts-l.set.maxHosts/10 {
		if h := l.leastRecent(looks, now); h != nil {
			return h
		}
	}
	if h := l.somePaused(looks, now); h != nil {
		return h
	}
	if now >= l.reaped+time.Minute {
		// Some requests in flight may have been abandoned: free their slots.
		l.reaped = now
		for _, h := range l.hosts {
			l.reap(h, now)
		}
	}
	return l.leastRecent(looks, now)
}

// leastRecent returns the first idle host that is due, of so many looks.
func (l *Limiter) leastRecent(looks int, now time.Duration) *host {
	for range looks {
		h := l.idle.front()
		if h == nil || h.kept(l, now) {
			return h
		}
		l.setAside(h, now)
	}
	return nil
}

// somePaused looks at paused hosts, at random. It returns one that no request
// needs and whose interval is over, or nil. The hosts that it meets whose pause
// is over become idle.
func (l *Limiter) somePaused(looks int, now time.Duration) *host {
	for ; looks > 0 && len(l.paused) > 0; looks-- {
		h := l.paused[rand.IntN(len(l.paused))]
		switch {
		case h.pauseEnd() <= now:
			l.unpause(h)
			l.settle(h)
		case !h.busy() && h.hold == nil && max(later(h.last, h.lengthen(l.pace(h))), l.crawlDue(h, anyone)) <= now:
			return h
		}
	}
	return nil
}

// pauseEnd returns when the host's pause and quota are over.
func (h *host) pauseEnd() time.Duration { return max(h.learnt.until, h.quotaDue()) }

// notePause puts h among the paused hosts.
func (l *Limiter) notePause(h *host) {
	if h.paused == 0 {
		l.paused = append(l.paused, h)
		h.paused = int32(len(l.paused))
	}
}

func (l *Limiter) unpause(h *host) {
	if h.paused == 0 {
		return
	}
	last := len(l.paused) - 1
	l.paused[last].paused = h.paused
	l.paused[h.paused-1] = l.paused[last]
	l.paused[last] = nil
	l.paused = l.paused[:last]
	h.paused = 0
}

// engage takes h out of the idle hosts. It is called before a request to h
// starts or waits, and before h is forgotten.
func (l *Limiter) engage(h *host) {
	if h.hold != nil {
		h.hold.idle = never
	}
	if h.next != nil {
		l.idle.remove(h)
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
	if h.busy() || h.next != nil || h.gone {
		return
	}
	l.idle.push(h)
}

func (l *Limiter) forget(h *host) {
	l.engage(h)
	l.unpause(h)
	h.gone = true
	delete(l.hosts, h.key)
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
