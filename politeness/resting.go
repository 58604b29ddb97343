package politeness

import (
	"container/heap"
	"time"
)

// restHeap holds idle hosts that must still wait for long, the one that is done
// first on top. They get there when a new host would have had their place.
type restHeap struct{ items restItems }

type restItem struct {
	host *host
	due  time.Duration
}

func (r *restHeap) top() *host {
	if len(r.items) == 0 {
		return nil
	}
	return r.items[0].host
}

func (r *restHeap) push(l *Limiter, h *host) {
	heap.Push(&r.items, restItem{h, l.due(h, anyone)})
}

func (r *restHeap) remove(h *host) { heap.Remove(&r.items, int(h.rest-1)) }

type restItems []restItem

func (r restItems) Len() int           { return len(r) }
func (r restItems) Less(i, j int) bool { return r[i].due < r[j].due }

func (r restItems) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].host.rest, r[j].host.rest = int32(i+1), int32(j+1)
}

func (r *restItems) Push(x any) {
	item := x.(restItem)
	item.host.rest = int32(len(*r) + 1)
	*r = append(*r, item)
}

func (r *restItems) Pop() any {
	old := *r
	item := old[len(old)-1]
	old[len(old)-1] = restItem{}
	*r = old[:len(old)-1]
	item.host.rest = 0
	return item
}
