package robotsmw

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/origin"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// A Store keeps robots.txt records beyond the life of a process, or shares
// them in a fleet. Keys are origins ("https://example.com"), at most a few
// hundred octets of printable text; values are opaque and at most 600 KiB.
//
// An implementation
//   - is safe for concurrent use, by several processes where it is shared;
//   - returns from Get what the latest Put of that key gave, whole, or a
//     miss: an error for which errors.Is(err, fs.ErrNotExist) holds;
//   - may forget a value at any time, and forgets it after its ttl;
//   - keeps no reference to a value it was given, and gives one away that
//     it does not keep;
//   - obeys the context, and returns its error when it ends;
//   - deletes what is not there without an error.
//
// The package storetest checks all of this. The checker gives a Store two
// seconds for each call, and goes on without it when it fails.
type Store interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error
	Delete(ctx context.Context, key string) error
}

// A Locker is what a shared Store may also be: with it, a fleet fetches each
// robots.txt once. TryLock does not wait; ok is false while another holds
// the key, which ends with its unlock or after its ttl, whichever is first.
// unlock is called once, by any goroutine, and must free nothing that has
// meanwhile become another's.
type Locker interface {
	TryLock(ctx context.Context, key string, ttl time.Duration) (unlock func(), ok bool, err error)
}

const (
	storeTimeout = 2 * time.Second  // for each call
	storePause   = 10 * time.Second // without calls, after one that did not end in time
)

// keeper puts records into a Store and gets them back, and shields the
// checker from whatever the Store does.
type keeper struct {
	store   Store
	locker  Locker // nil: the Store is none
	lockTTL time.Duration
	kind    *record.Kind
	failed  func(op string, err error)
	pause   atomic.Int64 // Unix nanoseconds until which the Store is left alone
	forgets atomic.Int64 // how often forget was called
}

// forget deletes the origin's record. What a flight under way has learnt is
// not kept: see putUnlessForgotten.
func (k *keeper) forget(name string) {
	k.forgets.Add(1)
	k.delete(name)
}

// putUnlessForgotten is put for a flight that began when forget had been
// called the given number of times. If any origin was forgotten since, nothing
// stays in the Store: that may cost a fetch.
func (k *keeper) putUnlessForgotten(forgets int64, name string, rec *record.Record, body []byte) {
	if k.forgets.Load() != forgets {
		return
	}
	if k.put(name, rec, body); k.forgets.Load() != forgets {
		k.delete(name)
	}
}

// get is the stored record, or nil.
func (k *keeper) get(name string) *record.Record {
	value := k.getValue(name)
	if value == nil {
		return nil
	}
	rec, err := k.kind.Decode(name, value, k.bodyOf)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		k.failed("get", fmt.Errorf("robotsmw: the stored record of %s cannot be used: %w", name, err))
		return nil
	}
	return rec
}

func (k *keeper) getValue(name string) []byte {
	value, err := try(k, func(ctx context.Context) ([]byte, error) { return k.store.Get(ctx, name) })
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			k.report("get", err)
		}
		return nil
	}
	return value
}

// put stores a record with the body it came from. A record that was renewed,
// or whose fetch failed, has no body with it: that is the one stored before.
// One that shares the robots.txt of another origin is stored without: the
// body is with that origin.
func (k *keeper) put(name string, rec *record.Record, body []byte) {
	if rec.Failure != nil && rec.Failure.Delay != nil {
		return // it is about a limiter, not about the origin
	}
	if rec.State == record.Good {
		if _, shared := origin.OfRobotsTxt(rec.From().URL); shared {
			body = nil
		} else if body == nil {
			if body = k.bodyOf(name, rec.Doc.Hash); body == nil {
				return // it is not there any more; the next start fetches it
			}
		}
	}
	ttl := record.ThirtyDays
	if rec.State != record.Good && rec.Failure == nil {
		ttl = max(time.Until(rec.Expires), record.MinLifetime)
	}
	value := record.Encode(name, rec, body)
	_, err := try(k, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, k.store.Put(ctx, name, value, ttl)
	})
	k.report("put", err)
}

// bodyOf is the stored robots.txt of an origin if it has the hash; nil if it
// is not there.
func (k *keeper) bodyOf(name string, hash [sha256.Size]byte) []byte {
	return record.Body(k.getValue(name), hash)
}

func (k *keeper) delete(name string) {
	_, err := try(k, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, k.store.Delete(ctx, name)
	})
	k.report("delete", err)
}

// lock makes sure that only one member of a fleet fetches: it returns when
// this one may, or with the record that another has meanwhile stored. A
// holder that died is waited for until its lock expires.
func (k *keeper) lock(f *flight, prev *record.Record) (rec *record.Record, unlock func()) {
	none := func() {}
	if k.locker == nil {
		return nil, none
	}
	fresh := func() *record.Record {
		rec := k.get(f.origin)
		if rec.NewerThan(prev) && rec.Use(time.Now()).AsIs() {
			return rec
		}
		return nil
	}
	type lock struct {
		unlock func()
		ok     bool
	}
	start := time.Now()
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		got, err := try(k, func(ctx context.Context) (lock, error) {
			unlock, ok, err := k.locker.TryLock(ctx, f.origin, k.lockTTL)
			return lock{unlock, ok}, err
		})
		switch {
		case err != nil:
			k.report("lock", err)
			return nil, none
		case got.ok:
			unlock = func() {
				_, err := try(k, func(context.Context) (struct{}, error) { got.unlock(); return struct{}{}, nil })
				k.report("unlock", err)
			}
			return fresh(), unlock
		case f.depth > 0:
			// Another flight waits for this one, with a lock of its own, for
			// which the holder of this lock may be waiting.
			return nil, none
		case time.Since(start) > k.lockTTL+time.Second:
			return nil, none
		}
		time.Sleep(pause)
		if rec := fresh(); rec != nil {
			return rec, none
		}
	}
}

func (k *keeper) report(op string, err error) {
	if err != nil {
		k.failed(op, err)
	}
}

var errStorePaused = fmt.Errorf("robotsmw: the store did not answer within %v and is left alone for %v: %w", storeTimeout, storePause, fs.ErrNotExist)

// try calls the Store in a goroutine of its own, so that one which hangs
// and does not obey its context, or panics, costs its time limit and no more.
func try[T any](k *keeper, call func(context.Context) (T, error)) (T, error) {
	var zero T
	now := time.Now()
	if now.UnixNano() < k.pause.Load() {
		return zero, errStorePaused
	}
	type result struct {
		value T
		err   error
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r.err = fmt.Errorf("robotsmw: the store panicked: %v", p)
			}
			done <- r
		}()
		r.value, r.err = call(ctx)
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		k.pause.Store(now.Add(storeTimeout + storePause).UnixNano())
		return zero, fmt.Errorf("robotsmw: the store did not answer: %w", ctx.Err())
	}
}
