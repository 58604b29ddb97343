package audit

import "slices"

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

// A window sorts events. An event that is too late for it is judged at once,
// but not compared with earlier events: see Auditor.judge.
type window struct {
	events []*event // in order; those before head have been removed
	head   int
	bytes  int
	newest int64 // the latest event.time so far
}

func (w *window) push(e *event) {
	e.isFile = isRobots(e.url)
	w.newest = max(w.newest, e.time())
	w.bytes += e.size()
	if w.head > len(w.events)/2 {
		w.events = slices.Delete(w.events, 0, w.head)
		w.head = 0
	}
	i := len(w.events)
	if i > w.head && e.before(w.events[i-1]) {
		i, _ = slices.BinarySearchFunc(w.events[w.head:], e, func(a, e *event) int {
			if e.before(a) {
				return 1
			}
			return -1
		})
		i += w.head
	}
	w.events = slices.Insert(w.events, i, e)
}

// pop removes and returns the first event if no earlier one can be added, if
// the window is full, or if all is true. Otherwise it returns nil.
func (w *window) pop(all bool) *event {
	n := len(w.events) - w.head
	if n == 0 {
		return nil
	}
	e := w.events[w.head]
	isFull := n > windowEvents || w.bytes > windowBytes
	if !all && !isFull && e.at > w.newest-wide {
		return nil
	}
	w.events[w.head] = nil // releases its memory
	w.head++
	w.bytes -= e.size()
	return e
}
