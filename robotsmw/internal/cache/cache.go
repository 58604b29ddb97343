// Package cache holds in memory the record of each origin, and the fetch of its
// robots.txt while one is under way. All callers share both:
//
//	rec := c.Get(origin)                // nearly always enough
//	rec, f, started, err := c.Begin(…)  // a usable record, or a Flight
//	if started { go … c.End(f, …) }     // only the caller with a new Flight
//	rec, err = f.Wait(ctx)              // all callers wait for its result
//
// A redirect may make one flight wait for another (Queue, WaitBehind). The
// package fetches nothing itself and starts no goroutine.
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

// A Cache holds the record of each origin. While an origin's robots.txt is
// being fetched, the Cache also holds this fetch. The number of origins is
// limited, and so is the memory in bytes. To keep these limits, the Cache drops
// the origins that were used least recently.
//
// A Cache has shards, so many goroutines can look origins up at the same time.
// A small cache has one shard and keeps its limits exactly. In a large cache
// each shard has its share of the origins, and drops some of its own when all
// shards together take too much memory. The Cache has no goroutine: its callers
// do the work that is due.
//
// An origin that waits for its next try is held: it is not dropped, because
// otherwise the next request would ask a server in trouble. Held origins are in
// a heap and not in the LRU list. An origin with a fetch under way takes a
// place too, but is neither in the heap nor in the list. When a shard is full
// of held origins and fetches, it forgets held origins of the [domain] that has
// the most of them. In two cases, the shard instead refuses the new origin
// until there may be room: if no domain has two held origins, or if the new
// origin belongs to the domain with the most. New origins of a domain whose
// held origins were forgotten are refused for a while too (see [domains]).
type Cache struct {
	queues

	seed     maphash.Seed
	shards   []shard
	docs     *record.Documents // shared with the crawler's record.Kind
	maxBytes int64
	bytes    atomic.Int64 // bytes of all entries and documents
}

type shard struct {
	// hot is the entry of the latest lookup, or nil. If hot is in the list, it
	// is the first entry, so a lookup of it moves nothing and needs no lock.
	// This helps because a crawl asks for one origin many times, on all cores.
	hot atomic.Pointer[entry]

	mu       sync.Mutex // guards the fields below; locked for map and list work only, not during a wait
	entries  map[string]*entry
	lru      entry     // sentinel: lru.next was used most recently
	held     retryHeap // entries that wait for their next try; shrink does not evict them
	domains  domains   // the origins in the heap, by domain
	folded   int       // how many entries in the heap stand for a whole domain; see fold
	idle     int       // how many entries are in the LRU list
	flying   int       // how many entries have a fetch under way
	maxCount int
	cache    *Cache
}

// If there are several shards, each has room for at least originsPerShard
// origins. If shards were smaller, some would be full while others had much
// room.
const (
	originsPerShard = 1024
	maxShards       = 64
)

// New returns a cache with these limits. The cache uses the last argument to
// count how many origins have each document.
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

// shard returns the shard that the origin belongs to.
func (c *Cache) shard(origin []byte) *shard {
	if len(c.shards) == 1 {
		return &c.shards[0]
	}
	return &c.shards[maphash.Bytes(c.seed, origin)&uint64(len(c.shards)-1)]
}

// Get returns the origin's record, or nil if there is none.
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

// Begin returns the fetch under way for the origin, or a new one if there is
// none. If the bool is true, the Flight is new, and the caller must make the
// fetch and call End. If there is already a record that needs no fetch, Begin
// returns that record and no Flight. A record that is due for a refresh needs a
// fetch only if the last argument is true. If there is no room for a new
// origin, the error is a *politeness.DelayError. A caller that gets a Flight
// must call its Wait, Leave or GoOn.
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
	case e.flight != nil: // the flight was dropped, but has not ended yet
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

// End ends a flight, and passes rec and err to all callers that wait for it.
// rec replaces the record in the cache, unless the origin has been forgotten or
// has a new flight. If rec is nil, the old record stays.
func (c *Cache) End(f *Flight, rec *record.Record, err error, now time.Time) {
	c.land(f, rec, now)
	f.end(rec, err)
}

func (c *Cache) land(f *Flight, rec *record.Record, now time.Time) {
	s := c.shard([]byte(f.Origin))
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[f.Origin]
	if e == nil || e.flight != f { // the origin was forgotten, or has a new flight
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

// Forget drops the origin. A fetch under way goes on for the callers that wait
// for it, but its result is not kept.
func (c *Cache) Forget(name string) {
	s := c.shard([]byte(name))
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[name]; e != nil {
		s.evict(e)
	}
}

// Size returns how many origins are in the cache, and how many bytes all
// entries and documents take. Origins with a fetch under way are left out of
// the first number.
func (c *Cache) Size() (origins int, bytes int64) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		origins += s.idle + len(s.held) - s.folded
		s.mu.Unlock()
	}
	return origins, c.bytes.Load()
}

// admit makes room for a new origin. It returns false if there can be no room,
// or if fold has made an entry that stands for the origin's whole domain. In
// both cases it also returns the time at which the next call may succeed.
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

// due returns the time at which a full shard may have room.
func (s *shard) due(now time.Time) time.Time {
	soon := now.Add(time.Second) // by then a fetch under way may be over
	if len(s.held) > 0 && (s.flying == 0 || s.held[0].retry().Before(soon)) {
		return s.held[0].retry()
	}
	return soon
}

// fold forgets the oldest held entry of a domain. The entry that stands for the
// domain then covers the forgotten one too. If no entry stands for the domain
// yet, fold makes one and forgets the two oldest held entries.
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

// count returns how many places are taken.
func (s *shard) count() int { return s.idle + len(s.held) + s.flying }

// overweight reports whether the cache takes more memory than it may.
func (s *shard) overweight() bool { return s.cache.bytes.Load() > s.cache.maxBytes }

// place puts an entry into the heap if its record waits for the next try, else
// into the list.
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

// drop removes an entry from the list or the heap, or separates it from its
// flight. It subtracts the entry from the count of memory.
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

// take adds an entry to the count of memory. drop subtracts it.
func (s *shard) take(e *entry) { s.cache.bytes.Add(e.cost() + s.cache.docs.Add(e.doc())) }

// evict removes an entry from the cache.
func (s *shard) evict(e *entry) {
	s.drop(e)
	s.forget(e)
}

// forget removes an entry from the map of entries. Call drop first: it removes
// the entry from the list, the heap and the counts.
func (s *shard) forget(e *entry) {
	s.cool(e)
	delete(s.entries, e.origin)
}

// shrink evicts entries from the end of the list until the limits hold. Entries
// in the heap and those with a fetch under way stay. If only the limit of bytes
// is exceeded, the most recently used entry of the list stays too, because its
// robots.txt would be fetched again at once.
func (s *shard) shrink() {
	for s.idle > 0 && s.count() > s.maxCount || s.idle > 1 && s.overweight() {
		s.evict(s.lru.prev)
	}
}

// cool clears s.hot if it points to this entry.
func (s *shard) cool(e *entry) { s.hot.CompareAndSwap(e, nil) }

// release moves entries from the heap to the list if their next try is due.
// Entries that stand for a domain are forgotten instead. At the end, it calls
// the method shrink.
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
	s.hot.Store(nil) // its entry is no longer the first in the list
	e.linkAfter(&s.lru)
}
