package cache

import "github.com/goodbots/courtesy/robotsmw/internal/record"

// An entry is an origin in the cache. It is in the heap if it awaits its next
// try (see Cache), and otherwise in the list. While it has a fetch under way or
// is pinned, it is in neither of them, and cannot be evicted.
type entry struct {
	origin     string
	rec        *record.Record // nil until the first fetch ends
	flight     *Flight        // nil unless a fetch is under way
	pins       int            // how many Pins of the origin were not released yet
	prev, next *entry         // neighbors in the list
	at         int            // 1 + index in the heap; 0 if not in the heap
}

// cost returns roughly how many bytes of memory an entry takes without its
// record: the entry, its name with header, and its slot in the map.
func (e *entry) cost() int64 { return int64(160 + len(e.origin)) }

// linkAfter puts e into a list, behind prev. e must not be in a list yet.
func (e *entry) linkAfter(prev *entry) {
	e.prev, e.next = prev, prev.next
	e.prev.next, e.next.prev = e, e
}

func (e *entry) unlink() {
	e.prev.next, e.next.prev = e.next, e.prev
	e.prev, e.next = nil, nil
}

// isBefore orders the heap by the time of the next try.
func (e *entry) isBefore(other *entry) bool {
	return e.rec.Failure.Retry.Before(other.rec.Failure.Retry)
}

func (e *entry) position() *int { return &e.at }
