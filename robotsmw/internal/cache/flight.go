package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/origin"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

const (
	// ShortWait is the longest wait for a slot that counts as normal. If a
	// host's next slot is further away, the host counts as paused, and a good
	// copy is used, if there is one.
	ShortWait = 10 * time.Second

	// longWait is the longest time that a fetch may wait for its slot while no
	// caller waits for the fetch. If the slot is further away, the fetch is
	// dropped. It loses only its place in a queue.
	longWait = 10 * time.Minute
)

// ErrNoRoom is the cause of the end of a flight's context if the cache canceled
// the flight because unfinished responses took too much memory.
var ErrNoRoom = errors.New("robotsmw: the fetch of robots.txt was canceled, " +
	"because no request waited for it and unfinished fetches took too much memory")

// flightSize is roughly how many bytes a fetch takes in addition to its
// response: the buffers of its connection and the stacks of its goroutines.
const flightSize = 32 << 10

// A Flight is one fetch of an origin's robots.txt, shared by all callers that
// need it. A caller that gives up does not cancel it for the others.
//
// If the last caller leaves while the flight waits for its first slot, the
// flight is dropped, because no request was sent. A flight that has had a slot
// continues, and its result is kept. A refresh continues too, although no
// caller waits for it. Both are dropped if no caller waits for them and their
// next slot is further away than [longWait], or if unfinished responses take
// too much memory.
type Flight struct {
	Origin    string
	RobotsURL string
	Prev      *record.Record // the record before this fetch; nil means there was none

	// After is nil unless an earlier flight of this origin was dropped and has
	// not ended yet. After is closed when the earlier flight has left its
	// host's queue. This flight waits for that, so that it is not queued behind
	// the earlier one.
	After <-chan struct{}

	// FreeSlot, if not nil, frees the slot of the fetch. The goroutine that
	// runs the flight may set it before End, which calls it.
	FreeSlot func()

	number uint64        // of this flight in the cache, in the order in which flights began
	left   func(*Flight) // called when a caller has left

	// Cache.mu guards these three.
	bytes  int64 // of the response that is being read
	at     int   // 1 + index in Cache.unattended; 0 if not in there
	noRoom bool  // the cache has ended the flight

	done chan struct{} // closed at the end, when rec and err are set
	rec  *record.Record
	err  error // why rec is nil: a *politeness.DelayError, or an invalid Limiter

	ctx  context.Context // canceled when the flight is dropped or has ended
	drop context.CancelCauseFunc

	// Only the flight's own goroutine uses these two.
	copy *record.Record // the latest record from before the flight, in memory or in the Store
	used func()         // called before callers may get copy; may be nil

	mu      sync.Mutex             // guards the fields below
	callers int                    // how many callers wait for the flight
	refresh bool                   // whether the flight continues if no caller waits for it
	begun   bool                   // whether the flight has ever stopped waiting for a slot
	dropped bool                   // whether ctx was canceled because no caller waited for the flight
	delay   *politeness.DelayError // as last set by Expect; nil means that the flight does not wait for a slot
	instead *record.Record         // a good copy, marked as delayed, for use while the host is paused
	moved   chan struct{}          // closed by Expect when delay changes
}

// newFlight returns a flight with one caller that waits for it.
func newFlight(
	number uint64, name string, prev *record.Record, after <-chan struct{}, left func(*Flight),
) *Flight {
	f := &Flight{
		number:    number,
		left:      left,
		Origin:    name,
		RobotsURL: origin.RobotsTxt(name),
		Prev:      prev,
		copy:      prev,
		After:     after,
		callers:   1,
		done:      make(chan struct{}),
		moved:     make(chan struct{}),
	}
	f.ctx, f.drop = context.WithCancelCause(context.Background())
	return f
}

// join adds a caller that waits. It returns false if the flight is dropped.
func (f *Flight) join() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dropped {
		return false
	}
	f.callers++
	return true
}

// Wait waits for a flight that Begin returned, until the flight or the context
// ends. In two cases Wait returns earlier. If the host is paused and there is a
// good copy, Wait returns this copy. If the flight cannot get its slot before
// the context's deadline, Wait returns a *politeness.DelayError.
func (f *Flight) Wait(ctx context.Context) (*record.Record, error) {
	deadline, limited := ctx.Deadline()
	for {
		delay, instead, moved := f.expected()
		if instead != nil {
			f.GoOn()
			return instead, nil
		}
		if limited && delay != nil && delay.Until.After(deadline) {
			f.Leave()
			return nil, delay
		}
		select {
		case <-f.done:
			return f.rec, f.err
		case <-moved:
		case <-ctx.Done():
			f.Leave()
			return nil, fmt.Errorf("robotsmw: waiting for %s: %w", f.RobotsURL, ctx.Err())
		}
	}
}

// expected returns when the flight's slot is expected, or nil if the flight
// does not wait for a slot. It also returns a good copy for use while the host
// is paused, or nil, and a channel that is closed when one of these results
// changes.
func (f *Flight) expected() (
	delay *politeness.DelayError, instead *record.Record, moved <-chan struct{},
) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.instead != nil && time.Until(f.delay.Until) > ShortWait {
		instead = f.instead
	}
	return f.delay, instead, f.moved
}

// Leave must be called by a caller that got the flight from Begin and does not
// wait for it.
func (f *Flight) Leave() { f.leave(false) }

// GoOn is like Leave, but makes the flight a refresh, which continues even if
// no caller waits for it.
func (f *Flight) GoOn() { f.leave(true) }

func (f *Flight) leave(refresh bool) {
	f.removeCaller(refresh)
	f.left(f)
}

func (f *Flight) removeCaller(refresh bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.callers--
	f.refresh = f.refresh || refresh
	f.dropIfUnwanted()
}

// isAwaited reports whether a caller waits for the flight.
func (f *Flight) isAwaited() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.callers > 0
}

// cancel drops the flight, which no caller waits for. cause is the cause with
// which its context ends.
func (f *Flight) cancel(cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropped = true
	f.drop(cause)
}

// dropIfUnwanted drops the flight if it waits for a slot and no caller waits
// for the flight. A refresh, or a flight that has begun, is dropped only if the
// slot is further away than longWait. The caller must hold f.mu.
func (f *Flight) dropIfUnwanted() {
	if f.callers > 0 || f.dropped || f.delay == nil {
		return
	}
	if (f.begun || f.refresh) && time.Until(f.delay.Until) <= longWait {
		return
	}
	f.dropped = true
	f.drop(f.delay)
}

// Context returns a context that ends when the flight is dropped or has ended.
// If it was dropped, the context's cause is [ErrNoRoom], or a
// *politeness.DelayError whose Until is when the flight would have got its
// slot.
func (f *Flight) Context() context.Context { return f.ctx }

// Found sets a copy in the Store that is newer than Prev. The flight calls used
// before any caller gets this copy.
func (f *Flight) Found(rec *record.Record, used func()) {
	f.copy = rec
	f.used = used
}

// UseCopy makes the copy from the Store available to callers.
func (f *Flight) UseCopy() {
	if f.used != nil {
		f.used()
		f.used = nil
	}
}

// Expect sets until when the flight must wait for its slot, and why. nil means
// that the flight no longer waits, because it has a slot or was rejected.
func (f *Flight) Expect(delay *politeness.DelayError) {
	hasGoodCopy := f.copy != nil && f.copy.State == record.Good
	isPaused := delay != nil && time.Until(delay.Until) > ShortWait
	servesCopy := isPaused && hasGoodCopy
	if servesCopy {
		f.UseCopy()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dropped {
		return
	}
	f.begun = f.begun || delay == nil
	if delay == f.delay {
		return
	}
	f.delay, f.instead = delay, nil
	if servesCopy {
		f.instead = f.copy.Delayed(f.RobotsURL, time.Now(), delay)
	}
	close(f.moved)
	f.moved = make(chan struct{})
	f.dropIfUnwanted()
}

// end ends the flight, and wakes all callers that wait for it.
func (f *Flight) end(rec *record.Record, err error) {
	f.rec, f.err = rec, err
	close(f.done)
	f.drop(nil) // releases the resources of ctx
}

// isBefore orders the unattended flights by their beginning.
func (f *Flight) isBefore(other *Flight) bool { return f.number < other.number }

func (f *Flight) position() *int { return &f.at }
