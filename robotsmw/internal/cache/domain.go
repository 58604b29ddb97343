package cache

import (
	"container/heap"
	"context"
	"net/netip"
	"net/url"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/origin"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// domains has the held entries of a shard (see [Cache]), grouped by the
// registrable domain of the host. One domain can have any number of hosts. If
// all their servers were in trouble, their held entries could fill the whole
// shard. So if a full shard has no entry that may be dropped, the domain with
// the most held entries gives way: two of its origins are forgotten, and one
// entry that stands for the domain takes their place. If more room is needed,
// more of its origins are forgotten, one at a time. Each forgotten origin had a
// time for its next try. New origins of the domain are refused until the latest
// of these times.
type domains struct {
	byName map[string]*domain
	bySize domainHeap
}

// domainOf returns the registrable domain of an origin's host. The host is the
// one that is dialled, not a Host header that overrides it. For an IPv6
// address, domainOf returns its /64 network, because a whole network is usually
// given to one user.
func domainOf(name string) string {
	u, _ := origin.RobotsURL(name)
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil && addr.Is6() {
		network, _ := addr.WithZone("").Prefix(64)
		return network.String()
	}
	key, err := politeness.DomainKey(context.Background(), &url.URL{Host: u.Host})
	if err != nil {
		return u.Host
	}
	return key
}

// wildcard returns the name of the entry that stands for a domain. No origin
// has such a name.
func wildcard(domain string) string { return "*." + domain }

// add adds a held entry to its domain.
func (ds *domains) add(e *entry) {
	name := domainOf(e.origin)
	d := ds.byName[name]
	if d == nil {
		d = &domain{name: name}
		d.held.prev, d.held.next = &d.held, &d.held
		if ds.byName == nil {
			ds.byName = make(map[string]*domain)
		}
		ds.byName[name] = d
		heap.Push(&ds.bySize, d)
	}
	e.domain = d
	e.linkAfter(&d.held)
	d.size++
	heap.Fix(&ds.bySize, d.at)
}

func (ds *domains) remove(e *entry) {
	d := e.domain
	e.domain = nil
	e.unlink()
	d.size--
	if d.size == 0 {
		heap.Remove(&ds.bySize, d.at)
		delete(ds.byName, d.name)
		return
	}
	heap.Fix(&ds.bySize, d.at)
}

// largest returns the domain with the most held entries, or nil if no domain
// has two held entries.
func (ds *domains) largest() *domain {
	if len(ds.bySize) == 0 || ds.bySize[0].size < 2 {
		return nil
	}
	return ds.bySize[0]
}

// restOf returns the record for an entry that stands for a domain. No origin of
// the domain may be tried before the given time.
func restOf(until time.Time) *record.Record {
	return &record.Record{Failure: &record.Failure{Retry: until}}
}

// domainHeap orders domains by size, the largest first.
type domainHeap []*domain

func (h domainHeap) Len() int           { return len(h) }
func (h domainHeap) Less(i, j int) bool { return h[i].size > h[j].size }
func (h domainHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}
func (h *domainHeap) Push(x any) {
	d := x.(*domain)
	d.at = len(*h)
	*h = append(*h, d)
}
func (h *domainHeap) Pop() any {
	old := *h
	d := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return d
}
