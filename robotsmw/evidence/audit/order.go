package audit

// A log has its events roughly in the order in which they ended. But the audit
// judges events in the order in which they began. So a window holds enough
// events to sort them.
const (
	reach        = 10e9     // how far from its place an event may be, in nanoseconds
	windowEvents = 1 << 16  // how many events a window may hold
	windowBytes  = 64 << 20 // about how many bytes the URLs and hosts in a window may take
)

// A window sorts events. For each event, window.heap has the event's key and
// its index in window.events.
type window struct {
	heap   []place
	events []event
	free   []int32
	count  uint64
	bytes  int
}

type place struct {
	key  int64
	rank uint64 // of two places with the same key, the lower rank is first
	at   int32
}

func (p place) before(q place) bool { return p.key < q.key || p.key == q.key && p.rank < q.rank }

func (w *window) push(e *event) {
	p := place{key: e.key(), rank: w.count}
	w.count++
	if n := len(w.free); n > 0 {
		p.at, w.free = w.free[n-1], w.free[:n-1]
		w.events[p.at] = *e
	} else {
		p.at = int32(len(w.events))
		w.events = append(w.events, *e)
	}
	w.bytes += e.size()
	w.heap = append(w.heap, p)
	for i := len(w.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !w.heap[i].before(w.heap[up]) {
			break
		}
		w.heap[i], w.heap[up] = w.heap[up], w.heap[i]
		i = up
	}
}

// pop takes the first event if the event's key does not exceed the first
// argument, or if the window holds too many events or bytes. Otherwise it
// returns false.
func (w *window) pop(until int64, e *event) bool {
	if len(w.heap) == 0 || w.heap[0].key > until && len(w.heap) <= windowEvents && w.bytes <= windowBytes {
		return false
	}
	first := w.heap[0]
	*e = w.events[first.at]
	w.events[first.at] = event{}
	w.free = append(w.free, first.at)
	w.bytes -= e.size()
	last := len(w.heap) - 1
	w.heap[0], w.heap = w.heap[last], w.heap[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			return true
		}
		if down+1 < last && w.heap[down+1].before(w.heap[down]) {
			down++
		}
		if !w.heap[down].before(w.heap[i]) {
			return true
		}
		w.heap[i], w.heap[down] = w.heap[down], w.heap[i]
		i = down
	}
}
