package politeness

import (
	"math/rand/v2"
	"strings"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// isFree reports whether no request needs h any more, and nothing of h has to
// be waited for: its interval, pause and quota are over.
func (h *host) isFree(now schedule.Time) bool { return !h.busy() && h.FreeAt() <= now }

// find returns the host with this key, and makes it if there is none. There is
// always room: see Limiter.MaxHosts.
func (l *Limiter) find(key string, now schedule.Time) *host {
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
	h := &host{key: strings.Clone(key)} // the key may be a piece of a long URL
	h.Init(&l.set.host)
	l.hosts[h.key] = h
	l.idle.push(h)
	return h
}

// sweep forgets up to two idle hosts. It forgets a host only if the host's
// interval, pause and quota are over, and the Limiter knows nothing else about
// the host that matters. sweep runs once for each new host, so that nothing has
// to run in the background. In a long crawl, the only hosts that pile up are
// those about which the Limiter has learned something that matters.
func (l *Limiter) sweep(now schedule.Time) {
	l.somePaused(1, now)
	for range 2 {
		h := l.idle.first
		switch {
		case h == nil:
			return
		case h.isFree(now) && h.IsBlank():
			l.forget(h)
		case !h.isFree(now) && h.FreeAt().Sub(now) < 2*max(l.set.host.Delay, time.Minute):
			return // as a rule, the hosts behind it were used later
		default: // it must not hide the hosts behind it
			l.setAside(h, now)
		}
	}
}

// setAside moves the first idle host to the end. A paused host is taken out
// instead, until its pause is over.
func (l *Limiter) setAside(h *host, now schedule.Time) {
	l.idle.remove(h)
	if h.paused == 0 || h.PauseEnd() <= now {
		l.idle.push(h)
	}
}

// dispensable returns the host to evict when there are MaxHosts hosts: the
// least recently used one. It is a paused host, at random, if these hold nine
// tenths of the places, or if nothing else can go. If all hosts are busy or in
// their interval, the result is nil.
func (l *Limiter) dispensable(now schedule.Time) *host {
	const looks = 16 // so that one new host never takes long
	if len(l.paused) < l.set.maxHosts-l.set.maxHosts/10 {
		if h := l.leastRecent(looks, now); h != nil {
			return h
		}
	}
	if h := l.somePaused(looks, now); h != nil {
		return h
	}
	if now >= l.leasesCheckedAt.Add(time.Minute) {
		// Some requests in flight may have been abandoned: free their slots.
		l.leasesCheckedAt = now
		for _, h := range l.hosts {
			l.expireLeases(h, now)
		}
	}
	return l.leastRecent(looks, now)
}

// leastRecent returns the first idle host that is due, of so many looks.
func (l *Limiter) leastRecent(looks int, now schedule.Time) *host {
	for range looks {
		h := l.idle.first
		if h == nil || h.isFree(now) {
			return h
		}
		l.setAside(h, now)
	}
	return nil
}

// somePaused looks at paused hosts, at random. It returns one that no request
// needs and whose interval is over, or nil. The hosts that it meets whose pause
// is over become idle.
func (l *Limiter) somePaused(looks int, now schedule.Time) *host {
	for ; looks > 0 && len(l.paused) > 0; looks-- {
		h := l.paused[rand.IntN(len(l.paused))]
		switch {
		case h.PauseEnd() <= now:
			l.unpause(h)
			l.markIdle(h)
		case !h.busy() && h.ownership == nil && max(h.IntervalEnd(), min(h.Learned.CrawlDelayEnd, h.LastCounted.Add(h.longCrawl()))) <= now:
			return h
		}
	}
	return nil
}

// longCrawl returns the longest Crawl-delay that is no pause: see MaxHosts.
func (h *host) longCrawl() time.Duration { return min(h.Settings.MaxCrawlDelay, time.Hour) }

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

// markBusy takes h out of the idle hosts. It is called before a request to h
// starts or waits, and before h is forgotten.
func (l *Limiter) markBusy(h *host) {
	if h.ownership != nil {
		h.ownership.idleSince = never
	}
	if h.next != nil {
		l.idle.remove(h)
	}
}

// markIdle puts h back among the idle hosts if no request needs it any more. In
// a fleet, the ownership of h must end first: until then, markIdle only makes
// the fleet check whether h can be given away.
func (l *Limiter) markIdle(h *host) {
	if h.ownership != nil {
		l.review(h)
		return
	}
	if h.busy() || h.next != nil || h.gone {
		return
	}
	l.idle.push(h)
}

func (l *Limiter) forget(h *host) {
	l.markBusy(h)
	l.unpause(h)
	l.perHost.release(&h.Host)
	h.gone = true
	delete(l.hosts, h.key)
}

// noteLongCrawlDelay puts h among the paused hosts if r, which was just
// counted, has a Crawl-delay that is like a pause.
func (l *Limiter) noteLongCrawlDelay(h *host, r *schedule.Request) {
	if h.CrawlDelay(r) > h.longCrawl() {
		l.notePause(h)
	}
}

// expireLeases frees the slots of h whose leases are over.
func (l *Limiter) expireLeases(h *host, now schedule.Time) {
	was := h.InFlight
	h.Expire(now, func(r *schedule.Request, isCounted bool) {
		l.stats.InFlight--
		if isCounted {
			l.noteLongCrawlDelay(h, r)
		}
		owner(r).state = expired
	})
	if l.Fleet != nil && h.InFlight < was {
		l.inform(h)
	}
	l.markIdle(h)
}
