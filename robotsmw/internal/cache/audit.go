package cache

import (
	"errors"
	"fmt"

	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// Audit recounts everything and returns an error for each count that is wrong.
// It is for tests. Nothing else may use the cache while Audit runs.
func (c *Cache) Audit() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	var bytes int64
	docs := make(map[*record.Document]int)
	count := func(e *entry) {
		bytes += e.cost()
		if d := e.doc(); d != nil {
			docs[d]++
		}
	}
	spare := 0 // entries that could be dropped to make room
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
		folded := 0
		for j, e := range s.held {
			count(e)
			if e.at != j+1 || e.flight != nil || s.entries[e.origin] != e {
				wrong("%s is in the heap, and should not be", e.origin)
			}
			if e.domain == nil {
				folded++
			}
		}
		inDomains := 0
		for at, d := range s.domains.bySize {
			n := 0
			for e := d.held.next; e != &d.held; e = e.next {
				n++
				if e.domain != d || e.at == 0 || domainOf(e.origin) != d.name {
					wrong("%s is among the held ones of %s, and should not be", e.origin, d.name)
				}
			}
			if n != d.size || n == 0 || d.at != at || s.domains.byName[d.name] != d {
				wrong("%s has %d entries, the books say %d", d.name, n, d.size)
			}
			inDomains += n
		}
		if inDomains+folded != len(s.held) || folded != s.folded || len(s.domains.byName) != len(s.domains.bySize) {
			wrong("%d held: %d by domain, and %d domains; the books say %d", len(s.held), inDomains, folded, s.folded)
		}
		for _, e := range s.entries {
			if e.flight != nil {
				flying++
				count(e)
			}
		}
		if idle != s.idle || flying != s.flying || s.count() != len(s.entries) {
			wrong("%d idle, %d held, %d in flight; the books say %d, %d, and %d entries", idle, len(s.held), flying, s.idle, s.flying, len(s.entries))
		}
		if s.count() > s.maxCount {
			wrong("%d origins, of %d", s.count(), s.maxCount)
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
		wrong("%d bytes and %d documents; the books say %d and %d", bytes, len(docs), c.bytes.Load(), c.docs.Len())
	}
	if len(c.shards) == 1 && spare > 0 && bytes > c.maxBytes {
		wrong("%d bytes, with %d origins that could go", bytes, spare)
	}
	return errors.Join(errs...)
}

// UnderWay returns how many fetches are under way.
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
