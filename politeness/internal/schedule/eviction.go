package schedule

import (
	"iter"
	"maps"
	"strings"
	"time"
)

// maxExamined is how many hosts are examined at most to find one that can be
// evicted, so that a new host does not take long. Only leases are examined for
// all hosts, once a minute at most.
const maxExamined = 16

// A Table contains the hosts of one Limiter. Hosts are evicted only when a new
// host is made, by these rules:
//
//   - A host is not evicted while requests to it wait or are in flight, while
//     this member of a fleet has a Claim to it, and until its Delay and its
//     Crawl-delay are over. A Crawl-delay that is longer than
//     maxOrdinaryCrawlDelay protects the host only for that long. Therefore a
//     Table can contain more than MaxHosts.
//   - An idle host that is blank and free (see IsBlank and isFree) is evicted
//     even if the Table is not full.
//   - If the Table is full, the least recently used blank host is evicted or,
//     if no blank one may be, the least recently used other host. A host whose
//     Delay or Crawl-delay is not over when the Table examines it counts as
//     used at that time. Unavailable hosts are left out: those to which a
//     pause, a quota or a long Crawl-delay lets no request start.
//   - If the Table is full, a random unavailable host is evicted if nine tenths
//     of MaxHosts are unavailable, or if no other host can be evicted.
type Table struct {
	MaxHosts int
	Settings *Settings // of new hosts

	// Evicted is called for each host that is evicted.
	Evicted func(h *Host)

	hosts map[string]*Host

	// blank and notBlank contain the hosts without requests, least recently
	// used first. Each host is in the ring that was right when it became idle.
	// Unavailable hosts may be left out.
	blank    hostRing
	notBlank hostRing

	unavailable     []*Host // hosts that are unavailable, and some that were
	leasesCheckedAt Time    // when Obtain last called expireLeases for all hosts; 0 means never
}

// Len returns how many hosts there are.
func (t *Table) Len() int { return len(t.hosts) }

// All returns an iterator over all hosts, in no particular order.
func (t *Table) All() iter.Seq[*Host] { return maps.Values(t.hosts) }

// Get returns the host with this key, or nil if there is none.
func (t *Table) Get(key string) *Host { return t.hosts[key] }

// Obtain returns the host with this key, and makes it if there is none, even if
// the Table is full and no host can be evicted. In this case Obtain first calls
// expireLeases for each host, but at most once per minute. The function must
// call Expire and MarkIdle, because the host may then be evicted.
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
	t.pushIdle(now, h)
	return h
}

// MarkBusy must be called before a request to h starts or waits.
func (t *Table) MarkBusy(h *Host) {
	if h.Claim != nil {
		h.Claim.IdleSince = Never
	}
	t.removeIdle(h)
}

// MarkIdle must be called when a request to h has ended or left the queue, and
// when a Claim has ended. If no request needs h any more, h may be evicted. A
// host with a Claim is not evicted.
func (t *Table) MarkIdle(now Time, h *Host) {
	if h.IsBusy() || h.Claim != nil || h.evicted {
		return
	}
	isInItsRing := h.next != nil && h.wasBlank == h.IsBlank(now)
	if isInItsRing {
		return
	}
	t.removeIdle(h) // h was idle, but is blank only now, or no longer
	t.pushIdle(now, h)
}

// pushIdle puts h, which is in no ring, at the end of its ring.
func (t *Table) pushIdle(now Time, h *Host) {
	h.wasBlank = h.IsBlank(now)
	t.ring(h).push(h)
}

// removeIdle removes h from its ring, if it is in one.
func (t *Table) removeIdle(h *Host) {
	if h.next != nil {
		t.ring(h).remove(h)
	}
}

// ring returns the ring that h is in, or was in last.
func (t *Table) ring(h *Host) *hostRing {
	if h.wasBlank {
		return &t.blank
	}
	return &t.notBlank
}

// MarkIfUnavailable must be called when the intervals of h have been restarted,
// and when its Crawl-delay, pause, quota or Settings have changed. It adds h to
// the unavailable hosts if a pause, a quota or a long Crawl-delay lets no
// request start now. Otherwise h could not be evicted before that is over.
func (t *Table) MarkIfUnavailable(now Time, h *Host) {
	if h.unavailableIndex > 0 {
		return
	}
	if h.IsPaused(now) || h.isInLongCrawlDelay(now) {
		t.unavailable = append(t.unavailable, h)
		h.unavailableIndex = int32(len(t.unavailable))
	}
}

// isInLongCrawlDelay reports whether a Crawl-delay runs now that is longer than
// an ordinary one.
func (h *Host) isInLongCrawlDelay(now Time) bool {
	end := h.crawlDelayEnd()
	return end > now && end > h.ordinaryCrawlDelayEnd()
}

// crawlDelayEnd returns the end of the latest Crawl-delay, or of the one that
// is in force now if that ends later: it may have been declared or configured
// only after the latest start. The result is Anytime if there is neither.
func (h *Host) crawlDelayEnd() Time {
	end := h.CrawlDelayDue(AnyRequest)
	if h.Learned != nil {
		end = max(end, h.Learned.CrawlDelayEnd)
	}
	return end
}

// ordinaryCrawlDelayEnd returns the time at which the longest ordinary
// Crawl-delay would be over.
func (h *Host) ordinaryCrawlDelayEnd() Time {
	return h.LastCrawlDelayStart.Add(h.lengthen(h.maxOrdinaryCrawlDelay()))
}

// maxOrdinaryCrawlDelay returns the longest Crawl-delay that does not make h
// unavailable. A host within a longer one may be evicted, because otherwise
// hosts with Crawl-delays of days could fill the Table.
func (h *Host) maxOrdinaryCrawlDelay() time.Duration { return min(h.Settings.MaxCrawlDelay, time.Hour) }

// MayBeEvicted reports whether h is where the Table looks for hosts to evict.
// Any host must be there that no request needs and that has no Claim. Otherwise
// it would never be evicted.
func (t *Table) MayBeEvicted(h *Host) bool {
	isUnavailable := h.unavailableIndex > 0 && t.unavailable[h.unavailableIndex-1] == h
	return h.next != nil || isUnavailable
}

// IsEvicted reports whether h is no longer in its Table.
func (h *Host) IsEvicted() bool { return h.evicted }

// sweep evicts up to two blank hosts that are free. It runs once for each new
// host, so nothing has to run in the background. In a long crawl, only hosts
// accumulate that are not blank.
func (t *Table) sweep(now Time) {
	t.examineUnavailable(now, 1)
	for range 2 {
		h := t.blank.first
		switch {
		case h == nil:
			return
		case h.isFree(now) && h.IsBlank(now):
			t.evict(h)
		case !h.isFree(now) && h.FreeAt().Sub(now) < 2*max(t.Settings.Delay, time.Minute):
			return // as a rule, the hosts behind it were used later, and are not free either
		default: // its interval is long, or it is no longer blank
			t.setAside(now, h)
		}
	}
}

// IsBlank reports whether no Crawl-delay, adaptive delay or back-off was
// learned from h, and no quota of h is in force. It ignores a pause, which
// isFree examines.
func (h *Host) IsBlank(now Time) bool {
	k := h.Learned
	if k == nil {
		return true
	}
	hasQuota := k.spreadEnd > now
	return k.CrawlDelay == 0 && k.Adaptive == 0 && !hasBackOff(k.Level, k.Latest) && !hasQuota
}

// isFree reports whether no request needs h, its Delay, Crawl-delay and pause
// are over, and its quota lets the next request start.
func (h *Host) isFree(now Time) bool { return !h.IsBusy() && h.FreeAt() <= now }

// FreeAt returns the time at which the Delay, the Crawl-delay and the pause
// of h are over, and its quota lets the next request start. The quota may be in
// force for longer: see IsBlank.
func (h *Host) FreeAt() Time { return max(h.DelayEnd(), h.UnavailableUntil()) }

// UnavailableUntil returns the time at which the pause and the Crawl-delay of h
// are over and its quota lets the next request start, or Anytime if none of
// them is known. An ordinary Crawl-delay counts too, although it does not make
// h unavailable alone: see MarkIfUnavailable.
func (h *Host) UnavailableUntil() Time {
	end := h.crawlDelayEnd()
	if h.Learned != nil {
		end = max(end, h.Learned.PauseEnd, h.quotaDue())
	}
	return end
}

// setAside moves h, the first host of a ring, to the end of its ring, which is
// notBlank if h is no longer blank. An unavailable host is taken out instead:
// examineUnavailable puts it back when it is available again.
func (t *Table) setAside(now Time, h *Host) {
	t.removeIdle(h)
	isUnavailable := h.unavailableIndex > 0 && h.UnavailableUntil() > now
	if !isUnavailable {
		t.pushIdle(now, h)
	}
}

// victim returns the host to be evicted when the Table is full: the least
// recently used idle host, or an unavailable host. If no host may be evicted,
// the result is nil.
func (t *Table) victim(now Time, expireLeases func(Time, *Host)) *Host {
	maxUnavailable := t.MaxHosts - t.MaxHosts/10
	if len(t.unavailable) < maxUnavailable {
		if h := t.leastRecentlyUsed(now); h != nil {
			return h
		}
	}
	if h := t.examineUnavailable(now, maxExamined); h != nil {
		return h
	}
	if t.leasesCheckedAt == 0 || now >= t.leasesCheckedAt.Add(time.Minute) {
		// Some requests in flight may never end.
		t.leasesCheckedAt = now
		for _, h := range t.hosts {
			expireLeases(now, h)
		}
	}
	return t.leastRecentlyUsed(now)
}

// leastRecentlyUsed returns the least recently used blank host that is free, or
// the least recently used other one. It returns nil if none of the first
// maxExamined hosts of each kind is free.
func (t *Table) leastRecentlyUsed(now Time) *Host {
	if h := t.firstFree(now, &t.blank); h != nil {
		return h
	}
	return t.firstFree(now, &t.notBlank)
}

// firstFree returns the first host of r that is free, or nil if none of the
// first maxExamined is. A host of t.blank must still be blank: a request that
// did not start may have declared a Crawl-delay meanwhile.
func (t *Table) firstFree(now Time, r *hostRing) *Host {
	for range maxExamined {
		h := r.first
		if h == nil {
			return nil
		}
		isOfRing := r == &t.notBlank || h.IsBlank(now)
		if isOfRing && h.isFree(now) {
			return h
		}
		t.setAside(now, h)
	}
	return nil
}

// examineUnavailable examines up to n unavailable hosts, at random. It returns
// one that may be evicted, or nil. Hosts that turn out to be available again
// become idle.
func (t *Table) examineUnavailable(now Time, n int) *Host {
	for ; n > 0 && len(t.unavailable) > 0; n-- {
		h := t.unavailable[int(t.Settings.Random()*float64(len(t.unavailable)))]
		switch {
		case h.UnavailableUntil() <= now:
			t.removeUnavailable(h)
			t.MarkIdle(now, h)
		case !h.IsBusy() && h.Claim == nil && h.evictableAt() <= now:
			return h
		}
	}
	return nil
}

// evictableAt returns the time from which on h, which is unavailable, may be
// evicted: when its Delay is over, and so is its Crawl-delay or, if that is
// long, the longest ordinary one.
func (h *Host) evictableAt() Time {
	return max(h.DelayEnd(), min(h.crawlDelayEnd(), h.ordinaryCrawlDelayEnd()))
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
	t.removeIdle(h)
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
