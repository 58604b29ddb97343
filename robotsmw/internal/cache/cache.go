// Package cache holds the record of each origin in memory, and the fetch under way
// for it, which all who need its result share:
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
// memory, in least-recently-used order, bounded by origins and by octets.
//
// It is sharded, so that many goroutines can look origins up at once. A
// small cache has one shard and keeps its bounds exactly; in a large one each
// shard has its share of the origins, and drops its own when all of them
// together take too much memory. It has no goroutine: what is due is done by
// the callers that pass.
//
// An origin that waits for its next try is never dropped, because the next
// request would then hit a server in trouble. Such origins leave the
// LRU list for a heap; a shard full of them refuses new origins until the
// first of them is due.
type Cache struct {
	queues

	seed     maphash.Seed
	shards   []shard
	docs     *record.Documents // shared with the crawler's record.Kind
	maxBytes int64
	bytes    atomic.Int64 // of all entries and documents, but for entries under way
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
	idle     int       // entries in the LRU list
	maxCount int
	cache    *Cache
}

// entry is an origin in the cache. It is in the LRU list or in the heap, and
// in neither while a fetch for it is under way: then it cannot be evicted.
type entry struct {
	origin     string
	rec        atomic.Pointer[record.Record] // nil until the first fetch ends
	flight     *Flight                       // nil unless a fetch is under way
	prev, next *entry                        // non-nil in the LRU list
	at         int                           // 1 + index in the heap; 0: not there
}

const entryOverhead = 160 // the entry, its key's header and its map slot

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

// shard is where the origin belongs, as octets or as a string.
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
// no fetch (in the background: none but a refresh), that is returned instead. With
// a shard full of origins that must not be dropped, a new one is refused with a
// *politeness.DelayError.
func (c *Cache) Begin(name string, now time.Time, background bool) (rec *record.Record, f *Flight, started bool, err error) {
	s := c.shard([]byte(name))
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[name]
	switch {
	case e == nil:
		s.release(now)
		if len(s.held) >= s.maxCount || s.idle == 0 && len(s.held) > 0 && s.overweight() {
			return nil, nil, false, &politeness.DelayError{Host: origin.Host(name), Until: s.held[0].retry()}
		}
		e = &entry{origin: name}
		s.entries[name] = e
	case e.flight != nil:
		return nil, e.flight, false, nil
	default:
		rec = e.rec.Load()
		if u := rec.Use(now); u.AsIs() || u == record.UseAndRefresh && !background {
			return rec, nil, false, nil
		}
	}
	s.drop(e)
	e.flight = newFlight(name, e.rec.Load())
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
	e.flight = nil
	if rec != nil {
		e.rec.Store(rec) // e was dropped when the flight began: no document is counted twice
	}
	if e.rec.Load() == nil {
		s.cool(e)
		delete(s.entries, f.Origin)
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
		s.drop(e)
		s.cool(e)
		delete(s.entries, name)
	}
}

// Size counts the origins and octets held.
func (c *Cache) Size() (origins int, bytes int64) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		origins += s.idle + len(s.held)
		s.mu.Unlock()
	}
	return origins, c.bytes.Load()
}

// overweight reports whether the cache takes more memory than it may.
func (s *shard) overweight() bool { return s.cache.bytes.Load() > s.cache.maxBytes }

// place files an entry by its record.
func (s *shard) place(e *entry, now time.Time) {
	rec := e.rec.Load()
	s.cache.bytes.Add(e.cost() + s.cache.docs.Add(rec.Doc))
	if rec.Waiting(now) {
		heap.Push(&s.held, e)
		return
	}
	s.idle++
	s.pushFront(e)
}

// drop takes an entry out of the list or the heap.
func (s *shard) drop(e *entry) {
	switch {
	case e.at > 0:
		heap.Remove(&s.held, e.at-1)
	case e.next != nil:
		s.unlink(e)
		s.idle--
	default:
		return
	}
	s.cache.bytes.Add(-e.cost() - s.cache.docs.Remove(e.rec.Load().Doc))
}

// cost is roughly what an entry takes in memory, in octets.
func (e *entry) cost() int64 {
	return entryOverhead + int64(len(e.origin)) + e.rec.Load().Cost()
}

// shrink evicts from the end of the list until the bounds hold, or until
// only entries are left that must stay: those in the heap, and the one used
// last, however large it is, because it would be fetched again at once.
func (s *shard) shrink() {
	for s.idle > 0 && s.idle+len(s.held) > s.maxCount || s.idle > 1 && s.overweight() {
		e := s.lru.prev
		s.drop(e)
		s.cool(e)
		delete(s.entries, e.origin)
	}
}

// cool forgets that the entry was looked up last.
func (s *shard) cool(e *entry) { s.hot.CompareAndSwap(e, nil) }

// release moves the entries whose next try is due back to the list.
func (s *shard) release(now time.Time) {
	for len(s.held) > 0 && !s.held[0].rec.Load().Waiting(now) {
		e := s.held[0]
		s.drop(e)
		s.place(e, now)
	}
	s.shrink()
}

func (s *shard) touch(e *entry) {
	if e.next == nil || s.lru.next == e {
		return
	}
	s.unlink(e)
	s.pushFront(e)
}

func (s *shard) pushFront(e *entry) {
	s.hot.Store(nil) // it is in front no more
	e.prev, e.next = &s.lru, s.lru.next
	e.prev.next, e.next.prev = e, e
}

func (s *shard) unlink(e *entry) {
	e.prev.next, e.next.prev = e.next, e.prev
	e.prev, e.next = nil, nil
}

func (e *entry) retry() time.Time { return e.rec.Load().Failure.Retry }

// retryHeap orders entries by when their next try is due.
type retryHeap []*entry

func (h retryHeap) Len() int           { return len(h) }
func (h retryHeap) Less(i, j int) bool { return h[i].retry().Before(h[j].retry()) }
func (h retryHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i+1, j+1
}
func (h *retryHeap) Push(x any) {
	e := x.(*entry)
	*h = append(*h, e)
	e.at = len(*h)
}
func (h *retryHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	e.at = 0
	return e
}
