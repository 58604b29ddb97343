package audit

import "slices"

const (
	// maxLogDisorder is how far out of order a line may be, in nanoseconds.
	// Lines are out of order because servers buffer them, and each worker and
	// front end has a buffer of its own.
	maxLogDisorder = 90e9
	// windowLength is the length of the window, in nanoseconds. It is twice
	// maxLogDisorder, because lines are written when a request ends, but are
	// sorted by the time at which it began.
	windowLength = 2 * maxLogDisorder

	maxWindowEvents = 1 << 16
	maxWindowBytes  = 16 << 20 // approximate
)

// A window sorts events. An event that is too late for the window is judged
// immediately, but not compared with earlier events: see Auditor.judge.
type window struct {
	events []*event // sorted; those before head have been removed
	head   int      // the index of the first event
	bytes  int      // the approximate size of the events
	newest int64    // the latest event.time so far
}

// push adds an event to the window and sets its isFile.
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
	isFull := n > maxWindowEvents || w.bytes > maxWindowBytes
	isEarly := e.at > w.newest-windowLength
	if isEarly && !isFull && !all {
		return nil
	}
	w.events[w.head] = nil // so that the event can be garbage collected
	w.head++
	w.bytes -= e.size()
	return e
}
