package cache

import (
	"errors"
	"fmt"

	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// Audit counts everything again, for tests, while nobody else uses the cache.
// The error says where the books are wrong.
func (c *Cache) Audit() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	var bytes int64
	docs := make(map[*record.Document]int)
	count := func(e *entry) {
		bytes += e.cost()
		if d := e.rec.Load().Doc; d != nil {
			docs[d]++
		}
	}
	spare := 0 // entries that could go to make room
	for i := range c.shards {
		s := &c.shards[i]
		idle, flying := 0, 0
		for e := s.lru.next; e != &s.lru; e = e.next {
			idle++
			count(e)
			if e.flight != nil || e.at != 0 || s.entries[e.origin] != e {
				wrong("%s is in the list, and should not be", e.origin)
			}
		}
		for j, e := range s.held {
			count(e)
			if e.at != j+1 || e.flight != nil || e.next != nil || s.entries[e.origin] != e {
				wrong("%s is in the heap, and should not be", e.origin)
			}
		}
		for _, e := range s.entries {
			if e.flight != nil {
				flying++
			}
		}
		if idle != s.idle || idle+len(s.held)+flying != len(s.entries) {
			wrong("%d idle, %d held, %d in flight; the books say %d idle, %d entries", idle, len(s.held), flying, s.idle, len(s.entries))
		}
		if idle > 0 && idle+len(s.held) > s.maxCount {
			wrong("%d origins, with %d that could go", idle+len(s.held), idle)
		}
		if hot := s.hot.Load(); hot != nil && s.entries[hot.origin] != hot {
			wrong("%s was forgotten, and is found", hot.origin)
		}
		spare += max(idle-1, 0)
	}
	for d, n := range docs {
		bytes += d.Cost()
		if held := c.docs.Held(d); held != n {
			wrong("a document of %d origins has %d in the books", n, held)
		}
	}
	if bytes != c.bytes.Load() || c.docs.Len() > len(docs) {
		wrong("%d octets and %d documents; the books say %d and %d", bytes, len(docs), c.bytes.Load(), c.docs.Len())
	}
	if len(c.shards) == 1 && spare > 0 && bytes > c.maxBytes {
		wrong("%d octets, with %d origins that could go", bytes, spare)
	}
	return errors.Join(errs...)
}

// UnderWay counts the fetches under way.
func (c *Cache) UnderWay() (n int) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		for _, e := range s.entries {
			if e.flight != nil {
				n++
			}
		}
		s.mu.Unlock()
	}
	return n
}
