package politeness

import (
	"sync"
	"time"
)

// A watch ends the attempts of a Transport that take too long. All of them may
// take the same time, so they are over in the order in which they began, and one
// timer, set for the first, serves them all. A timer for each would cost more than
// everything else that a Transport does: a new first timer wakes a thread.
type watch struct {
	mu    sync.Mutex
	first *attempt // the oldest; attempt.next and prev are a circular list
	set   bool     // the timer is; it may be for an attempt that is over
}

// begin adds an attempt, whose time begins now.
func (w *watch) begin(a *attempt) (now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now = time.Now() // under the lock, for the order
	a.deadline = now.Add(a.timeout)
	if w.first == nil {
		a.prev, a.next = a, a
		w.first = a
	} else {
		a.prev, a.next = w.first.prev, w.first
		a.prev.next, a.next.prev = a, a
	}
	if !w.set {
		w.set = true
		time.AfterFunc(a.timeout, w.look)
	}
	return now
}

// end takes an attempt out, if it is still there.
func (w *watch) end(a *attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.remove(a)
}

func (w *watch) remove(a *attempt) {
	switch {
	case a.next == nil:
		return
	case a.next == a:
		w.first = nil
	default:
		a.prev.next, a.next.prev = a.next, a.prev
		if w.first == a {
			w.first = a.next
		}
	}
	a.prev, a.next = nil, nil
}

// look ends those whose time is over and waits for the next one's.
func (w *watch) look() {
	for _, a := range w.over() {
		a.timeOut()
	}
}

func (w *watch) over() (late []*attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for a := w.first; a != nil; a = w.first {
		if left := a.deadline.Sub(now); left > 0 {
			time.AfterFunc(left, w.look)
			return late
		}
		w.remove(a)
		late = append(late, a)
	}
	w.set = false
	return late
}
