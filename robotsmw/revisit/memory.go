package revisit

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// A memoryCache is a cache in memory. It evicts the least recently used page
// when it exceeds a limit.
type memoryCache struct {
	maxPages int
	maxBytes int64

	mu      sync.Mutex
	entries map[string]*list.Element // of *memoryEntry
	recency list.List                // of *memoryEntry, most recently used first
	bytes   int64
}

type memoryEntry struct {
	key   string
	entry cacheEntry
}

func newMemoryCache(maxPages int, maxBytes int64) *memoryCache {
	return &memoryCache{
		maxPages: maxPages,
		maxBytes: maxBytes,
		entries:  make(map[string]*list.Element),
	}
}

func (m *memoryCache) get(_ context.Context, key string) cacheEntry {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[key]
	if e == nil {
		return cacheEntry{}
	}
	m.recency.MoveToFront(e)
	return e.Value.(*memoryEntry).entry
}

func (m *memoryCache) put(key string, entry cacheEntry, began time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.entries[key]; e != nil {
		if e.Value.(*memoryEntry).entry.Requested > began.UnixNano() {
			return
		}
		m.remove(e)
	}
	if entry == (cacheEntry{}) {
		return
	}
	added := &memoryEntry{key, entry}
	m.entries[key] = m.recency.PushFront(added)
	m.bytes += added.size()
	for len(m.entries) > m.maxPages || m.bytes > m.maxBytes {
		m.remove(m.recency.Back())
	}
}

func (m *memoryCache) remove(e *list.Element) {
	removed := m.recency.Remove(e).(*memoryEntry)
	delete(m.entries, removed.key)
	m.bytes -= removed.size()
}

// Estimated sizes in bytes, without strings.
const (
	entrySize    = 152 // of a memoryEntry, with its list element and map entry
	responseSize = 160 // of a cachedResponse with Directives
	ruleSize     = 120 // of a robotsmeta.Rule
)

// size returns the estimated memory of the entry in bytes.
func (e *memoryEntry) size() int64 {
	size := entrySize + len(e.key)
	for _, r := range e.entry.responses() {
		size += responseSize + len(r.Header)
		for rule := range r.directives().Rules() {
			size += ruleSize + len(rule.Name) + len(rule.Value) + len(rule.Scope) + len(rule.Raw)
		}
	}
	return int64(size)
}
