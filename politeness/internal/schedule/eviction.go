package schedule

import (
	"iter"
	"maps"
	"strings"
	"time"
)

// maxExamined is how many hosts are examined at most to find one that can be
// evicted, so that a new host never takes long.
const maxExamined = 16

// A Table contains the hosts of one Limiter. It evicts a host when a new one
// needs its place, according to these rules:
//
//   - A host with requests, or within its interval, stays. If need be, there
//     are more than MaxHosts.
//   - An idle host about which nothing is known that matters is evicted when
//     new hosts come, even if there is room.
//   - If there are MaxHosts, the least recently used idle host is evicted, as a
//     rule.
//   - Paused hosts are evicted at random: if they occupy nine tenths of the
//     places, or if no other host can be evicted.
//
// A paused host is one that a pause, a quota or a long Crawl-delay lets no
// request start to.
type Table struct {
	MaxHosts int
	Settings *Settings // of new hosts

	// Evicted is called for each host that is evicted.
	Evicted func(h *Host)

	hosts           map[string]*Host
	idle            hostRing // hosts without requests, least recently used first, but for paused ones
	unavailable     []*Host  // hosts that are paused, and some whose pause is over
	leasesCheckedAt Time     // when the leases of all hosts were checked last; 0 means not yet
}

// Len returns how many hosts there are.
func (t *Table) Len() int { return len(t.hosts) }

// All returns an iterator over all hosts, in no particular order.
func (t *Table) All() iter.Seq[*Host] { return maps.Values(t.hosts) }

// Get returns the host with this key, or nil if there is none.
func (t *Table) Get(key string) *Host { return t.hosts[key] }

// Obtain returns the host with this key, and makes it if there is none. There
// is always room. If no host can be evicted, Obtain calls expireLeases for each
// host, but not more than once in a minute. It should end the requests in
// flight whose leases are over.
func (t *Table) Obtain(now Time, key string, expireLeases func(now Time, h *Host)) *Host {
	if h := t.hosts[key]; h != nil {
		return h
	}
	t.sweep(now)
	for range 2 { // two, so that hosts above MaxHosts become fewer
		if len(t.hosts) < t.MaxHosts {
			break
		}
		if old := t.victim(now, expireLeases); old != nil {
			t.evict(old)
		}
	}
	h := &Host{Key: strings.Clone(key)} // key may be a piece of a long URL
	h.Init(t.Settings)
	if t.hosts == nil {
		t.hosts = make(map[string]*Host)
	}
	t.hosts[h.Key] = h
	t.idle.push(h)
	return h
}

// MarkBusy must be called before a request to h starts or waits.
func (t *Table) MarkBusy(h *Host) {
	if h.Claim != nil {
		h.Claim.IdleSince = Never
	}
	if h.next != nil {
		t.idle.remove(h)
	}
}

// MarkIdle must be called when a request to h has ended or left the queue, and
// when a Claim has ended. If no request needs h any more, h may be evicted. A
// host with a Claim is not evicted.
func (t *Table) MarkIdle(h *Host) {
	if h.IsBusy() || h.Claim != nil || h.next != nil || h.evicted {
		return
	}
	t.idle.push(h)
}

// MarkUnavailable must be called when h is paused: see IsPaused.
func (t *Table) MarkUnavailable(h *Host) {
	if h.unavailableIndex == 0 {
		t.unavailable = append(t.unavailable, h)
		h.unavailableIndex = int32(len(t.unavailable))
	}
}

// MarkIntervalStart must be called when the intervals of h count from a new
// time, because r has started or ended. If r has a long Crawl-delay, h is
// paused.
func (t *Table) MarkIntervalStart(h *Host, r *Request) {
	if h.CrawlDelay(r) > h.maxOrdinaryCrawlDelay() {
		t.MarkUnavailable(h)
	}
}

// maxOrdinaryCrawlDelay returns the longest Crawl-delay that does not make a
// host unavailable.
func (h *Host) maxOrdinaryCrawlDelay() time.Duration { return min(h.Settings.MaxCrawlDelay, time.Hour) }

// MayBeEvicted reports whether h is evicted sometime if no request needs it
// again.
func (t *Table) MayBeEvicted(h *Host) bool {
	isPaused := h.unavailableIndex > 0 && t.unavailable[h.unavailableIndex-1] == h
	return h.next != nil || isPaused
}

// IsEvicted reports whether h is no longer in its Table.
func (h *Host) IsEvicted() bool { return h.evicted }

// sweep evicts up to two idle hosts whose interval, pause and quota are over
// and about which nothing is known that matters. It runs once for each new
// host, so nothing has to run in the background. In a long crawl, only hosts
// accumulate about which something was learned that matters.
func (t *Table) sweep(now Time) {
	t.examineUnavailable(now, 1)
	for range 2 {
		h := t.idle.first
		switch {
		case h == nil:
			return
		case h.isFree(now) && h.IsBlank():
			t.evict(h)
		case !h.isFree(now) && h.FreeAt().Sub(now) < 2*max(t.Settings.Delay, time.Minute):
			return // as a rule, the hosts behind it were used later
		default: // it must not hide the hosts behind it
			t.setAside(now, h)
		}
	}
}

// isFree reports whether no request needs h any more, and nothing of h has to
// be waited for: its interval, pause and quota are over.
func (h *Host) isFree(now Time) bool { return !h.IsBusy() && h.FreeAt() <= now }

// setAside moves the first idle host to the end. A paused host is taken out
// instead, until its pause is over.
func (t *Table) setAside(now Time, h *Host) {
	t.idle.remove(h)
	if h.unavailableIndex == 0 || h.UnavailableUntil() <= now {
		t.idle.push(h)
	}
}

// victim returns the host to be evicted when there is no room: the least
// recently used idle host, or a paused host. If all hosts have requests or are
// within their interval, the result is nil.
func (t *Table) victim(now Time, expireLeases func(Time, *Host)) *Host {
	maxPaused := t.MaxHosts - t.MaxHosts/10
	if len(t.unavailable) < maxPaused {
		if h := t.leastRecentlyUsed(now); h != nil {
			return h
		}
	}
	if h := t.examineUnavailable(now, maxExamined); h != nil {
		return h
	}
	if t.leasesCheckedAt == 0 || now >= t.leasesCheckedAt.Add(time.Minute) {
		// Some requests in flight may have been abandoned.
		t.leasesCheckedAt = now
		for _, h := range t.hosts {
			expireLeases(now, h)
		}
	}
	return t.leastRecentlyUsed(now)
}

// leastRecentlyUsed returns the first idle host that is free, or nil.
func (t *Table) leastRecentlyUsed(now Time) *Host {
	for range maxExamined {
		h := t.idle.first
		if h == nil || h.isFree(now) {
			return h
		}
		t.setAside(now, h)
	}
	return nil
}

// examineUnavailable examines up to n paused hosts, at random. It returns one
// that can be evicted, or nil. The hosts that it meets whose pause is over
// become idle.
func (t *Table) examineUnavailable(now Time, n int) *Host {
	for ; n > 0 && len(t.unavailable) > 0; n-- {
		h := t.unavailable[int(t.Settings.Random()*float64(len(t.unavailable)))]
		switch {
		case h.UnavailableUntil() <= now:
			t.removeUnavailable(h)
			t.MarkIdle(h)
		case !h.IsBusy() && h.Claim == nil && h.evictableAt() <= now:
			return h
		}
	}
	return nil
}

// evictableAt returns the time before which h, which is paused, is not evicted:
// the end of its interval and of its Crawl-delay, but not of a long
// Crawl-delay.
func (h *Host) evictableAt() Time {
	longest := h.LastCrawlDelayStart.Add(h.maxOrdinaryCrawlDelay())
	return max(h.IntervalEnd(), min(h.Learned.CrawlDelayEnd, longest))
}

func (t *Table) removeUnavailable(h *Host) {
	if h.unavailableIndex == 0 {
		return
	}
	last := len(t.unavailable) - 1
	moved := t.unavailable[last]
	moved.unavailableIndex = h.unavailableIndex
	t.unavailable[h.unavailableIndex-1] = moved
	t.unavailable[last] = nil
	t.unavailable = t.unavailable[:last]
	h.unavailableIndex = 0
}

func (t *Table) evict(h *Host) {
	t.MarkBusy(h)
	t.removeUnavailable(h)
	t.Evicted(h)
	h.evicted = true
	delete(t.hosts, h.Key)
}

// A hostRing is a circular list of hosts through Host.prev and Host.next.
// Unlike a container/list, it takes 16 bytes for a host.
type hostRing struct{ first *Host }

// push puts h at the end.
func (r *hostRing) push(h *Host) {
	if r.first == nil {
		h.prev = h
		h.next = h
		r.first = h
		return
	}
	h.prev = r.first.prev
	h.next = r.first
	h.prev.next = h
	h.next.prev = h
}

func (r *hostRing) remove(h *Host) {
	if h.next == h {
		r.first = nil
	} else {
		h.prev.next = h.next
		h.next.prev = h.prev
		if r.first == h {
			r.first = h.next
		}
	}
	h.prev = nil
	h.next = nil
}
