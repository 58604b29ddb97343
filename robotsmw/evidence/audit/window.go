package audit

// A heapOf gives its items back in order.
type heapOf[T any] struct {
	items  []T
	before func(a, b T) bool
}

func (h *heapOf[T]) push(item T) {
	h.items = append(h.items, item)
	for i := len(h.items) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.before(h.items[i], h.items[up]) {
			break
		}
		h.items[i], h.items[up] = h.items[up], h.items[i]
		i = up
	}
}

func (h *heapOf[T]) pop() T {
	first, last := h.items[0], len(h.items)-1
	h.items[0] = h.items[last]
	clear(h.items[last:])
	h.items = h.items[:last]
	h.sink()
	return first
}

// sink restores the order after the first item has changed.
func (h *heapOf[T]) sink() {
	for i := 0; ; {
		down := 2*i + 1
		if down >= len(h.items) {
			return
		}
		if down+1 < len(h.items) && h.before(h.items[down+1], h.items[down]) {
			down++
		}
		if !h.before(h.items[down], h.items[i]) {
			return
		}
		h.items[i], h.items[down] = h.items[down], h.items[i]
		i = down
	}
}

const (
	// reach is how far from its place a line may be: servers write logs in
	// buffers, and each worker and front end has its own.
	reach = 90e9
	// The window is wider by as much again, because lines are written when a
	// request ends, and are judged by when it began.
	wide = 2 * reach

	windowEvents = 1 << 16  // how many events a window may hold
	windowBytes  = 16 << 20 // about how many bytes they may take
)

// A window sorts events. An event that comes too late for it is judged at once,
// but not on order: see Auditor.judge.
type window struct {
	heap   heapOf[*event]
	bytes  int
	count  int
	newest int64 // the latest event.time so far
}

func newWindow() window {
	return window{heap: heapOf[*event]{before: (*event).before}, newest: never}
}

func (w *window) push(e *event) {
	w.count++
	e.sequence = w.count
	w.newest = max(w.newest, e.time())
	w.bytes += e.size()
	w.heap.push(e)
}

// pop takes the first event, if no earlier one can come, if the window holds
// too much, or if all is true. Otherwise it returns nil.
func (w *window) pop(all bool) *event {
	n := len(w.heap.items)
	if n == 0 || !all && w.heap.items[0].at > w.newest-wide && n <= windowEvents && w.bytes <= windowBytes {
		return nil
	}
	e := w.heap.pop()
	w.bytes -= e.size()
	return e
}
