// Package store stores records in a Store and protects the crawl from a Store
// that fails, blocks or returns wrong values. A call of the Store may take at
// most two seconds. Faults of the Store are not returned but passed to a
// function. After a fault, a robots.txt may be fetched unnecessarily.
package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

const (
	timeout    = 2 * time.Second  // how long a call may take
	pauseAfter = 10 * time.Second // how long the Store is not called after a call that did not end in time
)

// A Store is a robotsmw.Store, whose documentation describes the requirements.
type Store interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error
}

// A Locker is a robotsmw.Locker. Some Stores are also Lockers.
type Locker interface {
	TryLock(ctx context.Context, key string, ttl time.Duration) (unlock func(), ok bool, err error)
}

// A Keeper stores records and reads them again.
type Keeper struct {
	store   Store
	locker  Locker        // nil means the Store is not a Locker
	lockTTL time.Duration // how long a lock lasts if its holder dies
	slack   time.Duration // how old a lock may be when the request of its holder is sent
	kind    *record.Kind
	failed  func(op string, err error)
	pause   atomic.Int64 // until when the Store is not called, in Unix nanoseconds; 0 means not paused
}

// New returns the Keeper of a Store. The Kind determines how records are read.
// A lock lasts for request, the time that a request to the origin may take,
// plus slack, the time after locking within which the request must be sent. If
// a call of the Store fails, failed is called with "get", "put", "lock" or
// "unlock", and with the error.
func New(
	s Store, request, slack time.Duration, kind *record.Kind, failed func(op string, err error),
) *Keeper {
	k := &Keeper{store: s, lockTTL: request + slack, slack: slack, kind: kind, failed: failed}
	k.locker, _ = s.(Locker)
	return k
}

// Get returns the stored record of an origin. If there is none, or if it cannot
// be used, Get returns nil.
func (k *Keeper) Get(name string) *record.Record {
	value := k.getValue(name)
	if value == nil {
		return nil
	}
	rec, err := k.kind.Decode(name, value)
	if err != nil {
		k.failed("get", fmt.Errorf("robotsmw: the stored record of %s cannot be used: %w", name, err))
		return nil
	}
	return rec
}

func (k *Keeper) getValue(name string) []byte {
	key := k.kind.Key(name)
	value, err := try(k, func(ctx context.Context) ([]byte, error) { return k.store.Get(ctx, key) })
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			k.report("get", err)
		}
		return nil
	}
	return value
}

// Put stores a record with the body that it was created from. A record that was
// renewed, or whose fetch failed, has no body, so it is stored with the
// previous body.
func (k *Keeper) Put(name string, rec *record.Record, body []byte) {
	if f := rec.Failure; f != nil && (f.Delay != nil || f.AddressRefused()) {
		// A limiter has delayed the latest fetch, or this process rejects the
		// address. Neither concerns the other processes that share the Store.
		return
	}
	if rec.State == record.Good && body == nil {
		if body = record.Body(k.getValue(name), rec.Doc.Hash); body == nil {
			return // the body is not available; after a restart the file is fetched again
		}
	}
	ttl := record.ThirtyDays
	if rec.State != record.Good && rec.Failure == nil {
		ttl = max(time.Until(rec.Expires), record.MinLifetime)
	}
	key := k.kind.Key(name)
	value := k.kind.Encode(name, rec, body)
	_, err := try(k, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, k.store.Put(ctx, key, value, ttl)
	})
	k.report("put", err)
}

func (k *Keeper) report(op string, err error) {
	if err != nil {
		k.failed(op, err)
	}
}

// These errors mean that the Store was not called. Both wrap fs.ErrNotExist, so
// that Get treats them as a miss and does not report them.
var (
	errPaused = fmt.Errorf(
		"robotsmw: the Store did not respond within %v and is not used for %v: %w",
		timeout, pauseAfter, fs.ErrNotExist)
	errTooManyCalls = fmt.Errorf(
		"robotsmw: the Store is not used now, because too many calls of Stores have not returned: %w",
		fs.ErrNotExist)
)

// activeCalls counts the calls of all Stores that a caller waits for, and
// lateCalls those that have exceeded the timeout and have not returned. A call
// that does not return occupies its goroutine, so maxCalls limits both. Active
// calls may use only half of what the late calls leave, so that Stores which
// stop responding do not use up the limit at once.
var activeCalls, lateCalls atomic.Int64

const maxCalls = 1000

// try calls the Store in a goroutine and waits for the result, but no longer
// than timeout, even if the Store ignores its context. A panic becomes an
// error. After a call that took too long, the Store is not called until
// pauseAfter is over, and then by one call at a time until one returns in time.
func try[T any](k *Keeper, call func(context.Context) (T, error)) (T, error) {
	var zero T
	now := time.Now()
	pause := k.pause.Load()
	if pause != 0 && (now.UnixNano() < pause || !k.pause.CompareAndSwap(pause, pauseEnd(now))) {
		return zero, errPaused
	}
	defer activeCalls.Add(-1)
	if activeCalls.Add(1) > (maxCalls-lateCalls.Load())/2 {
		return zero, errTooManyCalls
	}
	type result struct {
		value T
		err   error
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	done, late := make(chan result), make(chan struct{})
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r.err = fmt.Errorf("robotsmw: the Store panicked: %v", p)
			}
			select {
			case done <- r:
			case <-late:
				lateCalls.Add(-1)
			}
		}()
		r.value, r.err = call(ctx)
	}()
	select {
	case r := <-done:
		if pause != 0 {
			k.pause.Store(0)
		}
		return r.value, r.err
	case <-ctx.Done():
		lateCalls.Add(1)
		close(late)
		k.pause.Store(pauseEnd(now))
		return zero, fmt.Errorf("robotsmw: the Store did not respond: %w", ctx.Err())
	}
}

// pauseEnd returns the time, in Unix nanoseconds, until which a Store is not
// called if a call that began at start does not return in time.
func pauseEnd(start time.Time) int64 { return start.Add(timeout + pauseAfter).UnixNano() }
