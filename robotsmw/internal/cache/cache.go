// Package cache holds in memory the record of each origin, and the fetch of its
// robots.txt while one is under way. All callers share both:
//
//	rec := c.Get(origin)           // nearly always enough
//	rec, f, started := c.Begin(…)  // a usable record, or a Flight
//	if started { go … c.End(f, …) } // only the caller with a new Flight
//	rec, err = f.Wait(ctx)         // all callers wait for its result
//
// The package fetches nothing itself and starts no goroutine.
package cache

import (
	"container/heap"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// A Cache holds the record of each origin, and the fetch of an origin's
// robots.txt while it is under way. The number of origins and their memory are
// limited. When the Cache is full, the least recently used origin is evicted.
//
// What fetches have read of responses so far counts toward the memory limit.
// Fetches that no caller waits for may take half of it, so that servers that
// never finish a response cannot displace the records. Beyond that, the oldest
// of these fetches are canceled; the newest always continues. Fetches that
// callers wait for are never canceled and may exceed the limit; there are at
// most as many as callers.
//
// An origin is never evicted while its fetch is under way, or while a request
// that its record allowed waits to be sent (see [Cache.Pin]), because the
// request is checked again before it is sent, and must not miss a newer file.
// Such origins may exceed the limits. There are at most as many of them as
// there are fetches and waiting requests.
//
// An unreachable origin that awaits its next try is not evicted with the least
// recently used ones, because the next request would otherwise be sent to an
// overloaded server. Such origins may occupy at most 90% of the Cache. Beyond
// that, a random one of them is evicted, so that new origins are always
// accepted, and no domain can displace the others.
type Cache struct {
	docs     *record.Documents // shared with the crawler's record.Kind
	maxCount int
	maxBytes int64

	mu            sync.Mutex // guards the fields below; never held during a wait
	entries       map[string]*entry
	lru           entry                // sentinel of the list: lru.next was used most recently
	awaitingRetry positionHeap[*entry] // unreachable origins that await their next try
	flying        int                  // how many entries have a fetch under way
	pinned        int                  // how many of the other entries have a Pin
	bytes         int64                // of all entries and documents, and of responses that are being read
	begun         uint64               // how many fetches have begun

	unattended      positionHeap[*Flight] // the fetches that read a response while no caller waits
	unattendedBytes int64                 // of these fetches
}

// New returns a cache with these limits. It uses docs to count how many origins
// have each document.
func New(maxOrigins int, maxBytes int64, docs *record.Documents) *Cache {
	c := &Cache{
		docs:     docs,
		maxCount: maxOrigins,
		maxBytes: maxBytes,
		entries:  make(map[string]*entry),
	}
	c.lru.prev, c.lru.next = &c.lru, &c.lru
	return c
}

// Get returns the origin's record, or nil if there is none.
func (c *Cache) Get(origin []byte) *record.Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[string(origin)]
	if e == nil {
		return nil
	}
	if e.next != nil && c.lru.next != e {
		e.unlink()
		e.linkAfter(&c.lru)
	}
	return e.rec
}

// A Pin keeps an origin in the cache until its Release. The zero Pin keeps
// none.
type Pin struct {
	cache *Cache
	entry *entry
}

// Pin is like Get, but also keeps the origin in the cache until Release is
// called on the Pin, even if the origin has no record yet.
func (c *Cache) Pin(origin []byte, now time.Time) (*record.Record, Pin) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[string(origin)]
	if e == nil {
		e = c.add(string(origin))
	} else if e.pins == 0 {
		c.detach(e)
	}
	e.pins++
	if e.pins == 1 {
		c.place(e, now)
		c.shrink(now)
	}
	return e.rec, Pin{c, e}
}

// Release ends a Pin. It must be called once only.
func (p Pin) Release(now time.Time) {
	if p.cache == nil {
		return
	}
	c, e := p.cache, p.entry
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.pins > 1 {
		e.pins--
		return
	}
	c.detach(e)
	e.pins--
	c.place(e, now)
	c.shrink(now)
}

// Begin returns the fetch under way for the origin, or a new one if there is
// none. If started is true, the Flight is new, and the caller must make the
// fetch and call End. If there is already a record that needs no fetch, Begin
// returns that record and no Flight. A record that is due for a refresh needs a
// fetch only if background is true. A caller that gets a Flight must call its
// Wait, Leave or GoOn.
func (c *Cache) Begin(
	name string, now time.Time, background bool,
) (rec *record.Record, f *Flight, started bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[name]
	if e == nil {
		e = c.add(name)
	}
	var after <-chan struct{}
	if e.flight != nil {
		if e.flight.join() {
			c.updateUnattended(e.flight)
			return nil, e.flight, false
		}
		after = e.flight.done // the flight was dropped, but has not ended yet
	} else {
		use := e.rec.Use(now)
		if use.AsIs() || use == record.UseAndRefresh && !background {
			return e.rec, nil, false
		}
	}
	c.detach(e)
	c.begun++
	e.flight = newFlight(c.begun, name, e.rec, after, c.callerLeft)
	c.place(e, now)
	c.shrink(now)
	return nil, e.flight, true
}

// Holds sets how many bytes of memory the response takes that f is reading. If
// all such responses together take too much memory, Holds may cancel flights
// that no caller waits for, including f.
func (c *Cache) Holds(f *Flight, bytes int64, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.noRoom {
		return
	}
	c.setBytes(f, bytes)
	c.shrink(now)
}

// End ends a flight, and passes rec and err to all callers that wait for it.
// rec replaces the record in the cache, unless the origin has a new flight. If
// rec is nil, the old record stays. End calls f.FreeSlot when the record is in
// the cache, before the callers continue.
func (c *Cache) End(f *Flight, rec *record.Record, err error, now time.Time) {
	c.land(f, rec, now)
	defer f.end(rec, err)
	if f.FreeSlot != nil {
		f.FreeSlot()
	}
}

func (c *Cache) land(f *Flight, rec *record.Record, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setBytes(f, 0)
	e := c.entries[f.Origin]
	if e == nil || e.flight != f { // f was dropped, and the origin got a new flight
		return
	}
	if rec != nil {
		c.setRecord(e, rec)
	}
	c.detach(e)
	e.flight = nil
	c.place(e, now)
	c.shrink(now)
}

// Size returns how many origins have a record and no fetch under way, how many
// have a fetch under way, and how many bytes all of them take. The bytes of a
// fetch are those of the response that is being read.
func (c *Cache) Size() (origins, fetches int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries) - c.flying, c.flying, c.bytes
}

// shrink evicts entries until the limits hold. Entries that have a fetch under
// way or are pinned stay. If only the limit of bytes is exceeded, one other
// entry also stays, because its robots.txt would otherwise be fetched again at
// once. The newest of the unattended fetches is not canceled, so that a refresh
// can always end.
func (c *Cache) shrink(now time.Time) {
	for len(c.awaitingRetry) > 0 && !c.awaitingRetry[0].rec.AwaitsRetry(now) {
		e := c.awaitingRetry[0]
		c.detach(e)
		e.linkAfter(c.lru.prev)
	}
	for len(c.unattended) > 1 && c.unattendedBytes > c.maxBytes/2 {
		c.endUnattended()
	}
	for {
		tooMany := len(c.entries) > c.maxCount
		idle := len(c.entries) - c.flying - c.pinned - len(c.awaitingRetry)
		switch {
		case !tooMany && c.bytes <= c.maxBytes:
			return
		case len(c.awaitingRetry) > 0 && (idle <= 1 || len(c.awaitingRetry) >= 9*idle):
			c.evict(c.awaitingRetry[rand.IntN(len(c.awaitingRetry))])
		case idle > 1, idle == 1 && tooMany:
			c.evict(c.lru.prev)
		case c.bytes > c.maxBytes && len(c.unattended) > 1:
			c.endUnattended()
		default:
			return
		}
	}
}

// add adds an entry without a record. The caller must then call place.
func (c *Cache) add(name string) *entry {
	e := &entry{origin: name}
	c.entries[name] = e
	c.bytes += e.cost()
	return e
}

// place counts an entry as flying or pinned, or puts it in the heap or the
// list. The first case that applies decides. An entry that has neither a fetch
// nor a Pin nor a record is removed.
func (c *Cache) place(e *entry, now time.Time) {
	switch {
	case e.flight != nil:
		c.flying++
	case e.pins > 0:
		c.pinned++
	case e.rec == nil:
		c.remove(e)
	case e.rec.InForce(now) == record.None && e.rec.AwaitsRetry(now):
		heap.Push(&c.awaitingRetry, e)
	default:
		e.linkAfter(&c.lru)
	}
}

// detach undoes place. The caller may then change the entry's flight, pins and
// record, and must call place or remove.
func (c *Cache) detach(e *entry) {
	switch {
	case e.flight != nil:
		c.flying--
	case e.pins > 0:
		c.pinned--
	case e.at > 0:
		heap.Remove(&c.awaitingRetry, e.at-1)
	case e.next != nil:
		e.unlink()
	}
}

func (c *Cache) evict(e *entry) {
	c.detach(e)
	c.remove(e)
}

// remove removes a detached entry from the cache.
func (c *Cache) remove(e *entry) {
	c.setRecord(e, nil)
	c.bytes -= e.cost()
	delete(c.entries, e.origin)
}

// setRecord replaces the record of an entry, and updates c.bytes. rec may be
// nil.
func (c *Cache) setRecord(e *entry, rec *record.Record) {
	if rec != nil {
		c.bytes += rec.Cost() + c.docs.Add(rec.Doc)
	}
	if e.rec != nil {
		c.bytes -= e.rec.Cost() + c.docs.Remove(e.rec.Doc)
	}
	e.rec = rec
}

// callerLeft is called when a caller has left a flight.
func (c *Cache) callerLeft(f *Flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.updateUnattended(f)
	c.shrink(time.Now())
}

// setBytes sets how many bytes the response of a flight takes.
func (c *Cache) setBytes(f *Flight, bytes int64) {
	grown := bytes - f.bytes
	f.bytes = bytes
	c.bytes += grown
	if f.at > 0 {
		c.unattendedBytes += grown
	}
	c.updateUnattended(f)
}

// updateUnattended adds a flight to the unattended ones, or removes it from
// them, after a change of its bytes or callers.
func (c *Cache) updateUnattended(f *Flight) {
	isUnattended := f.bytes > 0 && !f.isAwaited()
	isInHeap := f.at > 0
	if isUnattended && !isInHeap {
		heap.Push(&c.unattended, f)
		c.unattendedBytes += f.bytes + flightSize
	}
	if !isUnattended && isInHeap {
		heap.Remove(&c.unattended, f.at-1)
		c.unattendedBytes -= f.bytes + flightSize
	}
}

// endUnattended ends the oldest of the unattended flights. Its memory counts as
// free, because the flight stops reading the response at once. A caller that
// arrives before the flight's End gets a new flight.
func (c *Cache) endUnattended() {
	f := c.unattended[0]
	f.noRoom = true
	f.cancel(ErrNoRoom)
	c.setBytes(f, 0)
}
