// Package cache holds the record of each origin in memory, and the fetch under
// way for it, which all who need its result share:
//
//	rec := c.Get(origin)                // of nearly every call, the end
//	rec, f, started, err := c.Begin(…)  // a record after all, or a Flight
//	if started { go … c.End(f, …) }     // whoever began it flies it
//	rec, err = f.Wait(ctx)              // and all wait for it
//
// A redirect may make one flight wait for another (Queue, WaitBehind). The
// package fetches nothing itself, and has no goroutine.
package cache

import (
	"container/heap"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/origin"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// A Cache holds the record of each origin and the fetch under way for it, in
// memory, in least-recently-used order, bounded by origins and by bytes.
//
// It is sharded, so that many goroutines can look origins up at once. A small
// cache has one shard and keeps its bounds exactly; in a large one each shard
// has its share of the origins, and drops its own when all of them together
// take too much memory. It has no goroutine: what is due is done by the callers
// that pass.
//
// An origin that waits for its next try is held: it is not dropped, because the
// next request would then hit a server in trouble. Such origins leave the LRU
// list for a heap. One with a fetch under way has its place, too. A shard full
// of both makes room by what it knows of the largest [domain] among those held,
// and where there is none refuses new origins until the first of them is due.
type Cache struct {
	queues

	seed     maphash.Seed
	shards   []shard
	docs     *record.Documents // shared with the crawler's record.Kind
	maxBytes int64
	bytes    atomic.Int64 // of all entries and documents
}

type shard struct {
	// hot is the entry looked up last, as long as it is in front of the list
	// (or not in it), so that asking for it again needs no lock: a crawl
	// asks for one origin many times, and on all cores.
	hot atomic.Pointer[entry]

	mu       sync.Mutex // guards all below; held for map and list work only, never while waiting
	entries  map[string]*entry
	lru      entry     // sentinel: lru.next is the most recently used
	held     retryHeap // entries whose failure forbids dropping them
	domains  domains   // those of origins, by domain
	folded   int       // those that stand for a domain
	idle     int       // entries in the LRU list
	flying   int       // entries with a fetch under way
	maxCount int
	cache    *Cache
}

// How many origins a shard must at least hold for another one to be worth
// while: with fewer, an uneven spread would waste much of the bound.
const (
	originsPerShard = 1024
	maxShards       = 64
)

// New makes a cache for so many origins and bytes. It keeps the books of docs.
func New(maxOrigins int, maxBytes int64, docs *record.Documents) *Cache {
	n := 1
	for n < maxShards && maxOrigins/(2*n) >= originsPerShard {
		n *= 2
	}
	c := &Cache{seed: maphash.MakeSeed(), shards: make([]shard, n), docs: docs, maxBytes: maxBytes}
	for i := range c.shards {
		s := &c.shards[i]
		s.entries = make(map[string]*entry)
		s.lru.prev, s.lru.next = &s.lru, &s.lru
		s.maxCount = maxOrigins / n
		s.cache = c
	}
	return c
}

// shard is where the origin belongs, as bytes or as a string.
func (c *Cache) shard(origin []byte) *shard {
	if len(c.shards) == 1 {
		return &c.shards[0]
	}
	return &c.shards[maphash.Bytes(c.seed, origin)&uint64(len(c.shards)-1)]
}

// Get is the origin's record, nil if there is none.
func (c *Cache) Get(origin []byte) *record.Record {
	s := c.shard(origin)
	if e := s.hot.Load(); e != nil && e.origin == string(origin) {
		return e.rec.Load()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[string(origin)]
	if e == nil {
		return nil
	}
	s.touch(e)
	s.hot.Store(e)
	return e.rec.Load()
}

// Begin returns the fetch under way for the origin or, with started, a new one,
// which its caller must fly and End. If meanwhile there is a record that needs
// no fetch (in the background: none but a refresh), that is returned instead.
// With no room for a new origin, it is refused with a *politeness.DelayError.
// Who gets a flight Waits for it, Leaves it, or lets it GoOn.
func (c *Cache) Begin(name string, now time.Time, background bool) (rec *record.Record, f *Flight, started bool, err error) {
	s := c.shard([]byte(name))
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[name]
	var after <-chan struct{}
	switch {
	case e == nil:
		if until, ok := s.admit(name, now); !ok {
			return nil, nil, false, &politeness.DelayError{Host: origin.Host(name), Until: until}
		}
		e = &entry{origin: name}
		s.entries[name] = e
	case e.flight != nil && e.flight.join():
		return nil, e.flight, false, nil
	case e.flight != nil: // it was dropped, and has not heard of that yet
		after = e.flight.done
	default:
		rec = e.rec.Load()
		if u := rec.Use(now); u.AsIs() || u == record.UseAndRefresh && !background {
			return rec, nil, false, nil
		}
	}
	s.drop(e)
	e.flight = newFlight(name, e.rec.Load())
	e.flight.After = after
	s.take(e)
	s.flying++
	s.shrink()
	return nil, e.flight, true, nil
}

// End ends a flight: what it found is put in the place of what was there, and
// told to all who wait. A nil rec leaves that as it was; err says why.
func (c *Cache) End(f *Flight, rec *record.Record, err error, now time.Time) {
	c.land(f, rec, now)
	f.end(rec, err)
}

func (c *Cache) land(f *Flight, rec *record.Record, now time.Time) {
	s := c.shard([]byte(f.Origin))
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[f.Origin]
	if e == nil || e.flight != f { // forgotten while it was under way
		return
	}
	s.drop(e)
	if rec != nil {
		e.rec.Store(rec)
	}
	if e.rec.Load() == nil {
		s.forget(e)
		return
	}
	s.place(e, now)
	s.shrink()
}

// Forget drops the origin; a fetch under way ends for those who wait for it
// and is not kept.
func (c *Cache) Forget(name string) {
	s := c.shard([]byte(name))
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[name]; e != nil {
		s.evict(e)
	}
}

// Size counts the origins and bytes held.
func (c *Cache) Size() (origins int, bytes int64) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		origins += s.idle + len(s.held) - s.folded
		s.mu.Unlock()
	}
	return origins, c.bytes.Load()
}

// admit makes room for a new origin. If there is none, or if nothing may be
// asked that is not known of its domain, until is when that may have changed.
func (s *shard) admit(name string, now time.Time) (until time.Time, ok bool) {
	s.release(now)
	if s.folded > 0 {
		if rest := s.entries[wildcard(domainOf(name))]; rest != nil {
			return rest.retry(), false
		}
	}
	if s.idle > 0 && s.count() >= s.maxCount {
		s.evict(s.lru.prev)
	}
	for s.count() >= s.maxCount || s.idle == 0 && len(s.held) > 0 && s.overweight() {
		d := s.domains.largest()
		if d == nil || d.name == domainOf(name) {
			return s.due(now), false
		}
		s.fold(d)
	}
	return time.Time{}, true
}

// due is when there may be room in a shard that has none.
func (s *shard) due(now time.Time) time.Time {
	soon := now.Add(time.Second) // when a fetch under way may be over
	if len(s.held) > 0 && (s.flying == 0 || s.held[0].retry().Before(soon)) {
		return s.held[0].retry()
	}
	return soon
}

// fold drops the oldest of a domain's held entries, two at first, for the entry
// that stands for the domain.
func (s *shard) fold(d *domain) {
	name := wildcard(d.name)
	rest := s.entries[name]
	var until time.Time
	if rest != nil {
		until = rest.retry()
		s.drop(rest)
	} else {
		rest = &entry{origin: name}
		s.entries[name] = rest
		until = s.foldOne(d, until)
	}
	rest.rec.Store(restOf(s.foldOne(d, until)))
	s.folded++
	s.take(rest)
	heap.Push(&s.held, rest)
}

func (s *shard) foldOne(d *domain, until time.Time) time.Time {
	e := d.held.prev
	if e.retry().After(until) {
		until = e.retry()
	}
	s.evict(e)
	return until
}

// count is how many places are taken.
func (s *shard) count() int { return s.idle + len(s.held) + s.flying }

// overweight reports whether the cache takes more memory than it may.
func (s *shard) overweight() bool { return s.cache.bytes.Load() > s.cache.maxBytes }

// place files an entry by its record.
func (s *shard) place(e *entry, now time.Time) {
	s.take(e)
	if e.rec.Load().Waiting(now) {
		heap.Push(&s.held, e)
		s.domains.add(e)
		return
	}
	s.idle++
	s.pushFront(e)
}

// drop takes an entry out of where it is: the list, the heap, or a flight.
func (s *shard) drop(e *entry) {
	switch {
	case e.flight != nil:
		e.flight = nil
		s.flying--
	case e.at > 0:
		heap.Remove(&s.held, e.at-1)
		if e.domain != nil {
			s.domains.remove(e)
		} else {
			s.folded--
		}
	case e.next != nil:
		e.unlink()
		s.idle--
	default:
		return
	}
	s.cache.bytes.Add(-e.cost() - s.cache.docs.Remove(e.doc()))
}

// take adds an entry to the books of memory, out of which drop takes it.
func (s *shard) take(e *entry) { s.cache.bytes.Add(e.cost() + s.cache.docs.Add(e.doc())) }

// evict drops an entry and forgets it.
func (s *shard) evict(e *entry) {
	s.drop(e)
	s.forget(e)
}

// forget forgets an entry that has been dropped.
func (s *shard) forget(e *entry) {
	s.cool(e)
	delete(s.entries, e.origin)
}

// shrink evicts from the end of the list until the bounds hold, or until
// only entries are left that must stay: those in the heap, and the one used
// last, however large it is, because it would be fetched again at once.
func (s *shard) shrink() {
	for s.idle > 0 && s.count() > s.maxCount || s.idle > 1 && s.overweight() {
		s.evict(s.lru.prev)
	}
}

// cool forgets that the entry was looked up last.
func (s *shard) cool(e *entry) { s.hot.CompareAndSwap(e, nil) }

// release moves the entries whose next try is due back to the list, and forgets
// those that stand for a domain.
func (s *shard) release(now time.Time) {
	for len(s.held) > 0 && !s.held[0].rec.Load().Waiting(now) {
		e := s.held[0]
		stands := e.domain == nil
		s.drop(e)
		if stands {
			s.forget(e)
		} else {
			s.place(e, now)
		}
	}
	s.shrink()
}

func (s *shard) touch(e *entry) {
	if e.next == nil || e.at > 0 || s.lru.next == e {
		return
	}
	e.unlink()
	s.pushFront(e)
}

func (s *shard) pushFront(e *entry) {
	s.hot.Store(nil) // it is in front no more
	e.linkAfter(&s.lru)
}
