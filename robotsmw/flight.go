package robotsmw

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/origin"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// flight is one fetch of an origin's robots.txt, shared by all who need it.
// It belongs to none of them: a caller that gives up leaves it to the
// others, and when all have left, it still ends by itself and what it found
// is kept.
type flight struct {
	origin    string
	robotsURL string
	prev      *record.Record // what was known before; nil: nothing
	depth     int            // how many flights stand before it: it was begun for a redirect of another, and so on

	body []byte        // of a robots.txt fetched now, for the Store
	done chan struct{} // closed at the end; then rec and err are set
	rec  *record.Record
	err  error // *politeness.DelayError: not tried at all

	mu    sync.Mutex    // guards the two below
	until time.Time     // when the fetch's slot is expected; zero: it does not wait
	moved chan struct{} // closed when until changes

	behind *flight // the one whose end this one awaits, because of a redirect; guarded by Checker.links
}

func newFlight(origin, robotsURL string, prev *record.Record) *flight {
	return &flight{
		origin: origin, robotsURL: robotsURL, prev: prev,
		done: make(chan struct{}), moved: make(chan struct{}),
	}
}

// expect says when the fetch is expected to get its slot.
func (f *flight) expect(until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.until.Equal(until) {
		return
	}
	f.until = until
	close(f.moved)
	f.moved = make(chan struct{})
}

func (f *flight) expected() (until time.Time, moved <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.until, f.moved
}

// wait is for a caller with a context: it ends with the flight, with the
// context, or at once if the flight cannot begin before the context's
// deadline.
func (f *flight) wait(ctx context.Context) (*record.Record, error) {
	deadline, limited := ctx.Deadline()
	for {
		until, moved := f.expected()
		select {
		case <-f.done:
			return f.rec, f.err
		default:
		}
		if limited && until.After(deadline) {
			return nil, &politeness.DelayError{Host: origin.Host(f.origin), Until: until}
		}
		select {
		case <-f.done:
			return f.rec, f.err
		case <-moved:
		case <-ctx.Done():
			return nil, fmt.Errorf("robotsmw: waiting for %s: %w", f.robotsURL, ctx.Err())
		}
	}
}

// waitBehind is wait for another flight: f goes on when other has ended, and
// passes on to its own callers how long that will take.
func (f *flight) waitBehind(other *flight) (*record.Record, error) {
	for {
		until, moved := other.expected()
		f.expect(until)
		select {
		case <-other.done:
			f.expect(time.Time{})
			return other.rec, other.err
		case <-moved:
		}
	}
}

var errEndedEarly = errors.New("robotsmw: the fetch of robots.txt ended without a result")

// launch runs a flight to its end. Whatever happens in Base, the flight
// ends: a panic there counts as a failed fetch.
func (c *Checker) launch(f *flight) {
	go func() {
		var rec *record.Record
		var err error = errEndedEarly
		keep := func() {}
		defer func() {
			if p := recover(); p != nil {
				c.cfg.Logger.Error("robotsmw: panic while fetching robots.txt", "url", f.robotsURL, "panic", p, "stack", string(debug.Stack()))
				rec, err = f.prev.Failed(f.robotsURL, time.Now(), 0, fmt.Sprintf("panic: %v", p), 0), nil
			}
			c.cache.end(f, rec, time.Now())
			f.rec, f.err = rec, err
			close(f.done)
			keep()
		}()
		rec, keep, err = c.obtain(f)
	}()
}

// obtain has the record from the Store if somebody else has fetched it, else
// from the origin. keep, to be called when the callers have their answer,
// puts it into the Store.
func (c *Checker) obtain(f *flight) (rec *record.Record, keep func(), err error) {
	if c.store == nil {
		rec, err = c.fetch(f, f.prev)
		return rec, func() {}, err
	}
	prev, forgets := f.prev, c.store.forgets.Load()
	if stored := c.store.get(f.origin); stored.NewerThan(prev) {
		// One whose refresh is due is fit for those who wait; the next
		// check begins the refresh.
		now := time.Now()
		if u := stored.Use(now); u.AsIs() || u == record.UseAndRefresh && f.prev.Use(now) == record.UseFetch {
			return stored, func() {}, nil
		}
		prev = stored
	}
	stored, unlock := c.store.lock(f, prev)
	if stored != nil {
		return stored, unlock, nil
	}
	panicked := true
	defer func() {
		if panicked {
			unlock()
		}
	}()
	rec, err = c.fetch(f, prev)
	panicked = false
	return rec, func() {
		defer unlock()
		if rec != nil {
			c.store.putUnlessForgotten(forgets, f.origin, rec, f.body)
		}
	}, err
}

// follow has the record of another origin, whose robots.txt is where f was
// redirected to: from the cache, or by joining or starting that origin's own
// fetch, so that a file which many origins point to is fetched once.
// loop reports that the other origin in turn waits for f; neither record nor
// error, that f has to ask there itself: there is no room to keep the other's
// record, or redirects have led from flight to flight so often that a chain
// without an end must be feared.
func (c *Checker) follow(f *flight, origin string) (rec *record.Record, loop bool, err error) {
	now := time.Now()
	known := c.cache.get([]byte(origin))
	if known.Use(now).AsIs() {
		return known, false, nil
	}
	if f.depth >= c.cfg.MaxRedirects {
		return nil, false, nil
	}
	// A refresh of the other's that is due comes first: the record that f
	// makes of it would be due at once.
	rec, other, started, err := c.begin(origin, now, true)
	if err != nil || rec != nil {
		return rec, false, nil
	}
	if started {
		other.depth = f.depth + 1
	}
	if !c.queueBehind(f, other) {
		return nil, true, nil
	}
	if started {
		c.launch(other)
	}
	rec, err = f.waitBehind(other)
	c.links.Lock()
	f.behind = nil
	c.links.Unlock()
	if err != nil && known.Use(now) != record.UseFetch {
		return known, false, nil
	}
	return rec, false, err
}

// queueBehind notes that f awaits other, unless other awaits f.
func (c *Checker) queueBehind(f, other *flight) bool {
	c.links.Lock()
	defer c.links.Unlock()
	for g := other; g != nil; g = g.behind {
		if g == f {
			return false
		}
	}
	f.behind = other
	return true
}
