package cache

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/origin"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

const (
	// ShortWait is the longest wait of a fetch for its slot that counts as an
	// interval. A longer wait counts as a rest, during which a good copy serves
	// instead.
	ShortWait = 10 * time.Second

	// longWait is how long a fetch for which no caller waits may wait for its
	// slot. A longer wait is given up, which costs only the place in a queue.
	longWait = 10 * time.Minute
)

// A Flight is one fetch of an origin's robots.txt, shared by all callers that
// need it. It belongs to none of them: a caller that gives up leaves it to the
// others.
//
// If the last caller leaves while the flight waits for its first slot, the
// flight is dropped: nothing was asked, so nothing is lost. If it has had a
// slot already, or if it is a refresh, which no caller waits for, it goes on
// and its result is kept. But such a flight is dropped too when it would wait
// for more than [longWait].
type Flight struct {
	Origin    string
	RobotsURL string
	Prev      *record.Record // the record before it; nil: none

	// Depth is how many flights have led to this one: a flight that meets a
	// redirect may begin another, whose Depth is one greater. The caller that
	// begins the flight sets it.
	Depth int

	// After, if not nil, is closed when the flight that was dropped before this
	// one has left its host's queue. This flight waits for that, or it would
	// stand behind it in the queue.
	After <-chan struct{}

	done chan struct{} // closed at the end, when rec and err are set
	rec  *record.Record
	err  error // a *politeness.DelayError if nothing was asked

	ctx  context.Context // done when the flight is dropped
	drop context.CancelFunc

	mu      sync.Mutex     // guards the fields below
	waiting int            // callers and flights that wait for it
	refresh bool           // whether it goes on if nobody waits for it
	begun   bool           // it has had a slot
	dropped bool           // ctx has ended
	copy    *record.Record // the latest record before it, in memory or the Store
	until   time.Time      // when its slot is expected; zero: it waits for none
	instead *record.Record // copy, marked as delayed, which serves until then if it is good
	moved   chan struct{}  // closed when until changes

	behind *Flight // the flight that this one waits for after a redirect; guarded by queues.mu
}

// newFlight returns a flight with one caller that waits for it.
func newFlight(name string, prev *record.Record) *Flight {
	f := &Flight{
		Origin: name, RobotsURL: origin.RobotsTxt(name), Prev: prev, copy: prev, waiting: 1,
		done: make(chan struct{}), moved: make(chan struct{}),
	}
	f.ctx, f.drop = context.WithCancel(context.Background())
	return f
}

// end ends the flight and tells all that wait.
func (f *Flight) end(rec *record.Record, err error) {
	f.rec, f.err = rec, err
	close(f.done)
	f.drop() // nothing listens any more; this frees the context
}

// Context returns a context that ends when the flight is dropped.
func (f *Flight) Context() context.Context { return f.ctx }

// Expect tells the flight when it will get its slot. The zero time means that
// it has the slot.
func (f *Flight) Expect(until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dropped {
		return
	}
	f.begun = f.begun || until.IsZero()
	if f.until.Equal(until) {
		return
	}
	f.until, f.instead = until, nil
	if f.copy != nil && f.copy.State == record.Good && !until.IsZero() {
		f.instead = f.copy.Delayed(f.RobotsURL, time.Now(), f.delay())
	}
	close(f.moved)
	f.moved = make(chan struct{})
	f.settle()
}

// Found tells the flight about a record in the Store that is later than Prev.
func (f *Flight) Found(rec *record.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.copy = rec
}

// Dropped returns, for a flight that was dropped, when it would have got its
// slot; else nil. again says that the flight was a refresh, which its maker
// should begin again at that time.
func (f *Flight) Dropped() (delay *politeness.DelayError, again bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.dropped {
		return nil, false
	}
	return f.delay(), f.refresh && !f.begun
}

func (f *Flight) delay() *politeness.DelayError {
	return &politeness.DelayError{Host: origin.Host(f.Origin), Until: f.until}
}

// Leave says that a caller that got the flight from Begin does not wait for it.
func (f *Flight) Leave() { f.leave(false) }

// GoOn is like Leave, but the flight goes on even if nobody waits.
func (f *Flight) GoOn() { f.leave(true) }

func (f *Flight) leave(refresh bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting--
	f.refresh = f.refresh || refresh
	f.settle()
}

// settle drops the flight if it waits for a slot and nobody waits for the
// flight. It keeps a flight that has begun, and a refresh, unless the slot is
// further away than longWait. f.mu is held.
func (f *Flight) settle() {
	if f.waiting > 0 || f.dropped || f.until.IsZero() {
		return
	}
	if (f.begun || f.refresh) && time.Until(f.until) <= longWait {
		return
	}
	f.dropped = true
	f.drop()
}

// join adds a caller that waits, unless the flight is dropped.
func (f *Flight) join() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dropped {
		return false
	}
	f.waiting++
	return true
}

func (f *Flight) expected() (until time.Time, instead *record.Record, moved <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Until(f.until) > ShortWait {
		instead = f.instead
	}
	return f.until, instead, f.moved
}

// Instead returns the good copy that serves while the flight's host rests,
// marked as delayed; else nil. If it is not nil, the caller no longer waits,
// and the flight goes on.
func (f *Flight) Instead() *record.Record {
	_, instead, _ := f.expected()
	if instead != nil {
		f.GoOn()
	}
	return instead
}

// Wait waits for a flight that Begin returned. It ends with the flight or the
// context. It returns at once with a *politeness.DelayError if the flight
// cannot begin before the context's deadline, and at once with the good copy
// from before if the host rests.
func (f *Flight) Wait(ctx context.Context) (*record.Record, error) {
	deadline, limited := ctx.Deadline()
	for {
		until, instead, moved := f.expected()
		select {
		case <-f.done:
			return f.rec, f.err
		default:
		}
		switch {
		case instead != nil:
			f.GoOn()
			return instead, nil
		case limited && until.After(deadline):
			f.Leave()
			return nil, &politeness.DelayError{Host: origin.Host(f.Origin), Until: until}
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

// queues record which flight waits for which, so that none waits for itself.
type queues struct{ mu sync.Mutex }

// Queue notes that f waits for other and returns true. It returns false if f is
// other, or if other already waits for f, directly or through further flights.
func (q *queues) Queue(f, other *Flight) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for g := other; g != nil; g = g.behind {
		if g == f {
			return false
		}
	}
	f.behind = other
	return true
}

// WaitBehind makes f, which was queued behind other, wait for other's end. It
// tells f's own callers how long that will take. If f is dropped meanwhile, the
// error is its delay.
func (q *queues) WaitBehind(f, other *Flight) (*record.Record, error) {
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		f.behind = nil
	}()
	for {
		until, instead, moved := other.expected()
		if instead != nil {
			other.GoOn()
			return instead, nil
		}
		f.Expect(until)
		select {
		case <-other.done:
			f.Expect(time.Time{})
			return other.rec, other.err
		case <-f.ctx.Done():
			other.Leave()
			delay, _ := f.Dropped()
			return nil, delay
		case <-moved:
		}
	}
}
