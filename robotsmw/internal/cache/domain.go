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

// domains are a shard's held entries by who registered their hosts. One owner
// can have as many hosts as they like, all of them in trouble, and would take
// all places with them. So the domain with the most gives way where there is no
// other room: two of its entries go, and one takes their place that stands for
// what was forgotten of the domain. Until the last of those could have been
// asked again, no origin of the domain is asked that is not known.
type domains struct {
	byName map[string]*domain
	bySize domainHeap
}

// domainOf names the registrable domain of an origin's host. The address that
// is dialled counts, not a Host that overrides it; of an IPv6 address, its
// network, because that is what is given to one owner.
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

// wildcard is the name of the entry that stands for a domain. No origin has it.
func wildcard(domain string) string { return "*." + domain }

// add files a held entry.
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

// largest is the domain with the most held entries, nil if none has two.
func (ds *domains) largest() *domain {
	if len(ds.bySize) == 0 || ds.bySize[0].size < 2 {
		return nil
	}
	return ds.bySize[0]
}

// restOf is the record of an entry that stands for a domain, until then.
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
