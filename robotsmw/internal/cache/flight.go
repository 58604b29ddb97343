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
	// ShortWait is how long a fetch may wait for its slot before that is no
	// interval any more but a rest. From then on a good copy serves in its
	// place.
	ShortWait = 10 * time.Second

	// longWait is how long a fetch may wait for its slot with nobody waiting
	// for it in turn, where more would be lost than the place in a queue.
	longWait = 10 * time.Minute
)

// A Flight is one fetch of an origin's robots.txt, shared by all who need it.
// It belongs to none of them: a caller that gives up leaves it to the others.
//
// When the last of them has left while it still waits for its first slot, it is
// dropped: nothing was asked, so nothing is lost. Else it goes on by itself,
// and what it finds is kept: if it has had a slot already, and if it is a
// refresh, begun for nobody. Such a flight too is dropped where it would wait
// for more than [longWait].
type Flight struct {
	Origin    string
	RobotsURL string
	Prev      *record.Record // what was known before; nil: nothing

	// Depth is how many flights stand before it: it was begun for a redirect
	// of another, and so on. Who begins it sets it before it flies.
	Depth int

	// After, if not nil, is closed when the flight before it has left its place
	// in its host's queue: that was dropped, and this one would stand behind
	// it.
	After <-chan struct{}

	done chan struct{} // closed at the end; then rec and err are set
	rec  *record.Record
	err  error // *politeness.DelayError: not tried at all

	ctx  context.Context // ends when the flight is dropped
	drop context.CancelFunc

	mu      sync.Mutex     // guards the fields below
	waiting int            // callers that wait for it, and flights behind it
	refresh bool           // it goes on without them
	begun   bool           // it has had a slot
	dropped bool           // ctx has ended
	copy    *record.Record // the latest before it, in memory or the Store
	until   time.Time      // when the fetch's slot is expected; zero: it does not wait
	instead *record.Record // what serves until then, if copy is good; it says so
	moved   chan struct{}  // closed when until changes

	behind *Flight // the one whose end this one awaits, because of a redirect; guarded by queues.mu
}

// newFlight makes a flight that its maker waits for.
func newFlight(name string, prev *record.Record) *Flight {
	f := &Flight{
		Origin: name, RobotsURL: origin.RobotsTxt(name), Prev: prev, copy: prev, waiting: 1,
		done: make(chan struct{}), moved: make(chan struct{}),
	}
	f.ctx, f.drop = context.WithCancel(context.Background())
	return f
}

// end tells all who wait.
func (f *Flight) end(rec *record.Record, err error) {
	f.rec, f.err = rec, err
	close(f.done)
	f.drop() // nothing listens any more: it only frees the context
}

// Context ends when the flight is dropped.
func (f *Flight) Context() context.Context { return f.ctx }

// Expect says when the fetch is expected to get its slot; the zero time, that
// it has one.
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

// Found says that there is a later record than Prev, in the Store.
func (f *Flight) Found(rec *record.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.copy = rec
}

// Dropped returns, of a flight that was dropped, when it would have got its
// slot; else nil. With again, it is for its maker to begin it again then: it is
// a refresh.
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

// Leave is for one whom Begin gave the flight, and who does not wait for it.
func (f *Flight) Leave() { f.leave(false) }

// GoOn is Leave, and lets the flight go on though nobody waits.
func (f *Flight) GoOn() { f.leave(true) }

func (f *Flight) leave(refresh bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting--
	f.refresh = f.refresh || refresh
	f.settle()
}

// settle drops the flight if it waits for its slot in vain. f.mu is held.
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

// join lets one more wait, unless the flight is dropped.
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

// Instead returns what serves in the flight's place while its host rests: the
// good copy that was there before, marked as such; else nil. If it is not nil,
// its caller does not wait any more, and the flight goes on.
func (f *Flight) Instead() *record.Record {
	_, instead, _ := f.expected()
	if instead != nil {
		f.GoOn()
	}
	return instead
}

// Wait is for one whom Begin gave the flight. It ends with the flight; with the
// context; at once if the flight cannot begin before the context's deadline; or
// with the good copy that there was before, at once if the host rests.
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

// queues say which flight awaits which, so that none awaits itself.
type queues struct{ mu sync.Mutex }

// Queue notes that f awaits other, unless other awaits f.
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

// WaitBehind is Wait for another flight, behind which f is queued: f goes on
// when other has ended, and passes on to its own callers how long that will
// take. If f is dropped meanwhile, the error is its delay.
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
