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

// A window sorts events. An event that comes too late for it is judged at once,
// but not on order: see Auditor.judge.
type window struct {
	events []*event // events[from:] are in order
	from   int
	bytes  int
	count  int
	newest int64 // the latest event.time so far
}

func (w *window) push(e *event) {
	w.count++
	e.sequence, e.isFile = w.count, isRobots(e.url)
	w.newest = max(w.newest, e.time())
	w.bytes += e.size()
	i := len(w.events)
	if i > w.from && e.before(w.events[i-1]) {
		i, _ = slices.BinarySearchFunc(w.events[w.from:], e, func(a, b *event) int {
			if a.before(b) {
				return -1
			}
			return 1
		})
		i += w.from
	}
	w.events = slices.Insert(w.events, i, e)
}

// pop takes the first event, if no earlier one can come, if the window holds
// too much, or if all is true. Otherwise it returns nil.
func (w *window) pop(all bool) *event {
	n := len(w.events) - w.from
	if n == 0 || !all && w.events[w.from].at > w.newest-wide && n <= windowEvents && w.bytes <= windowBytes {
		return nil
	}
	e := w.events[w.from]
	w.events[w.from] = nil
	if w.from++; w.from > n {
		w.events, w.from = slices.Delete(w.events, 0, w.from), 0
	}
	w.bytes -= e.size()
	return e
}
