package cache

import (
	"sync/atomic"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// An entry is an origin in the cache, or it stands for a whole domain (see the
// type domains). An entry is in the LRU list or in the heap. But while a fetch
// for it is under way, it is in neither, so that it is not evicted to make
// room.
type entry struct {
	origin     string
	rec        atomic.Pointer[record.Record] // nil until the first fetch ends
	flight     *Flight                       // nil unless a fetch is under way
	prev, next *entry                        // neighbours in the LRU list or, for an entry in the heap, in its domain's list
	domain     *domain                       // set while the entry is in the heap, unless the entry stands for a domain
	at         int                           // 1 + index in the heap; 0 if not in the heap
}

// A domain is the list of the held entries (see Cache) of one registrable
// domain. It has at least one entry. See the type domains.
type domain struct {
	name string
	held entry // sentinel of the list
	size int   // length of the list
	at   int   // index in domains.bySize
}

const entryOverhead = 160 // bytes: the entry, the header of its key and its slot in the map

// cost returns roughly how many bytes of memory an entry takes.
func (e *entry) cost() int64 {
	n := entryOverhead + int64(len(e.origin))
	if rec := e.rec.Load(); rec != nil {
		n += rec.Cost()
	}
	return n
}

// doc returns the document of the entry's record, or nil if there is none.
func (e *entry) doc() *record.Document {
	if rec := e.rec.Load(); rec != nil {
		return rec.Doc
	}
	return nil
}

// linkAfter puts e into a list, behind prev. e must not be in a list yet.
func (e *entry) linkAfter(prev *entry) {
	e.prev, e.next = prev, prev.next
	e.prev.next, e.next.prev = e, e
}

func (e *entry) unlink() {
	e.prev.next, e.next.prev = e.next, e.prev
	e.prev, e.next = nil, nil
}

func (e *entry) retry() time.Time { return e.rec.Load().Failure.Retry }

// retryHeap orders entries by the time of their next try.
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
