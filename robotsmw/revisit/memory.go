package revisit

import (
	"context"
	"sync"
	"time"
)

// memory holds what is known within limits. The page that was used longest ago
// is forgotten first.
type memory struct {
	maxPages int
	maxBytes int64

	mu      sync.Mutex
	entries map[string]*entry
	bytes   int64
	ring    entry // its next is the page used last
}

type entry struct {
	key        string
	known      known
	prev, next *entry
}

func (m *memory) get(_ context.Context, key string) known {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[key]
	if e == nil {
		return known{}
	}
	e.unlink()
	m.push(e)
	return e.known
}

func (m *memory) put(key string, k known, began time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.entries[key]; e != nil {
		if e.known.Asked > began.UnixNano() {
			return
		}
		m.remove(e)
	}
	if k == (known{}) {
		return
	}
	e := &entry{key: key, known: k}
	m.entries[key] = e
	m.bytes += e.size()
	m.push(e)
	for len(m.entries) > m.maxPages || m.bytes > m.maxBytes {
		m.remove(m.ring.prev)
	}
}

func (m *memory) push(e *entry) {
	e.prev, e.next = &m.ring, m.ring.next
	e.prev.next, e.next.prev = e, e
}

func (m *memory) remove(e *entry) {
	e.unlink()
	delete(m.entries, e.key)
	m.bytes -= e.size()
}

func (e *entry) unlink() { e.prev.next, e.next.prev = e.next, e.prev }

// size estimates the memory of an entry.
func (e *entry) size() int64 {
	n := 120 + len(e.key)
	for _, v := range []*version{e.known.Page, e.known.Answer} {
		if v == nil {
			continue
		}
		n += 160 + len(v.Head) // 80 of them for the Directives
		for rule := range v.directives().Rules() {
			n += 120 + len(rule.Name) + len(rule.Value) + len(rule.Scope) + len(rule.Raw)
		}
	}
	return int64(n)
}
