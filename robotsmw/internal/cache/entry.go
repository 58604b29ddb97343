package cache

import "github.com/goodbots/courtesy/robotsmw/internal/record"

// An entry is an origin in the cache. It is in the heap if it is held (see
// Cache), and else in the list. While it has a fetch under way or is pinned, it
// is in neither, and cannot be evicted.
type entry struct {
	origin     string
	rec        *record.Record // nil until the first fetch ends
	flight     *Flight        // nil unless a fetch is under way
	pins       int            // how many requests wait that were judged by the record
	prev, next *entry         // neighbours in the list
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

// retryHeap orders entries by the time of their next try.
type retryHeap []*entry

func (h retryHeap) Len() int           { return len(h) }
func (h retryHeap) Less(i, j int) bool { return h[i].rec.Failure.Retry.Before(h[j].rec.Failure.Retry) }
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
