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

// A Flight is one fetch of an origin's robots.txt, shared by all who need it.
// It belongs to none of them: a caller that gives up leaves it to the
// others, and when all have left, it still ends by itself and what it found
// is kept.
type Flight struct {
	Origin    string
	RobotsURL string
	Prev      *record.Record // what was known before; nil: nothing

	// Depth is how many flights stand before it: it was begun for a redirect
	// of another, and so on. Who begins it sets it before it flies.
	Depth int

	done chan struct{} // closed at the end; then rec and err are set
	rec  *record.Record
	err  error // *politeness.DelayError: not tried at all

	mu    sync.Mutex    // guards the two below
	until time.Time     // when the fetch's slot is expected; zero: it does not wait
	moved chan struct{} // closed when until changes

	behind *Flight // the one whose end this one awaits, because of a redirect; guarded by queues.mu
}

func newFlight(name string, prev *record.Record) *Flight {
	return &Flight{
		Origin: name, RobotsURL: origin.RobotsTxt(name), Prev: prev,
		done: make(chan struct{}), moved: make(chan struct{}),
	}
}

// end tells all who wait.
func (f *Flight) end(rec *record.Record, err error) {
	f.rec, f.err = rec, err
	close(f.done)
}

// Expect says when the fetch is expected to get its slot.
func (f *Flight) Expect(until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.until.Equal(until) {
		return
	}
	f.until = until
	close(f.moved)
	f.moved = make(chan struct{})
}

func (f *Flight) expected() (until time.Time, moved <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.until, f.moved
}

// Wait is for a caller with a context: it ends with the flight, with the
// context, or at once if the flight cannot begin before the context's
// deadline.
func (f *Flight) Wait(ctx context.Context) (*record.Record, error) {
	deadline, limited := ctx.Deadline()
	for {
		until, moved := f.expected()
		select {
		case <-f.done:
			return f.rec, f.err
		default:
		}
		if limited && until.After(deadline) {
			return nil, &politeness.DelayError{Host: origin.Host(f.Origin), Until: until}
		}
		select {
		case <-f.done:
			return f.rec, f.err
		case <-moved:
		case <-ctx.Done():
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
// take.
func (q *queues) WaitBehind(f, other *Flight) (*record.Record, error) {
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		f.behind = nil
	}()
	for {
		until, moved := other.expected()
		f.Expect(until)
		select {
		case <-other.done:
			f.Expect(time.Time{})
			return other.rec, other.err
		case <-moved:
		}
	}
}
