package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// ErrElsewhere means that a Lock has expired or was released before the fetch
// began. In the meantime, another member of the fleet may have fetched the
// robots.txt.
var ErrElsewhere = errors.New("robotsmw: another member of the fleet may have fetched the robots.txt")

// A Lock is the right to fetch an origin's robots.txt, which only one member of
// a fleet has at a time. A Lock expires after a while. Its holder releases it
// before it waits for a paused host, so that other members may fetch. A nil
// Lock means that the caller fetches without the right. A Lock is safe for
// concurrent use.
type Lock struct {
	keeper *Keeper
	taken  time.Time

	mu     sync.Mutex
	unlock func() // nil means that the lock was released
}

// Lock waits until this member may fetch, so that only one member of a fleet
// fetches at a time. If another member has stored a record that is newer than
// prev and needs no fetch, Lock returns that record. If the member that
// holds the lock has died, Lock waits until that lock expires. The Lock is nil
// if the Store has no locks or fails, or if others keep the lock for longer
// than lockTTL. Then two members may fetch.
func (k *Keeper) Lock(name string, prev *record.Record) (*record.Record, *Lock) {
	if k.locker == nil {
		return nil, nil
	}
	start := time.Now()
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		l, err := k.tryLock(name)
		isTooLate := time.Since(start) > k.lockTTL+time.Second
		if err != nil || l == nil && isTooLate {
			return nil, nil
		}
		if l == nil {
			time.Sleep(pause)
		}
		rec := k.Get(name)
		if rec.NewerThan(prev) && rec.Use(time.Now()).AsIs() {
			return rec, l
		}
		if l != nil {
			return nil, l
		}
	}
}

// tryLock acquires the lock without waiting. If another member has the lock,
// the result is nil, without an error.
func (k *Keeper) tryLock(name string) (*Lock, error) {
	key := k.kind.Key(name)
	l, err := try(k, func(ctx context.Context) (*Lock, error) {
		unlock, ok, err := k.locker.TryLock(ctx, key, k.lockTTL)
		if err != nil || !ok {
			return nil, err
		}
		return &Lock{keeper: k, taken: time.Now(), unlock: unlock}, nil
	})
	k.report("lock", err)
	return l, err
}

// Check returns ErrElsewhere unless the lock lasts long enough for one request
// to the origin.
func (l *Lock) Check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unlock == nil || time.Since(l.taken) > l.keeper.slack {
		return ErrElsewhere
	}
	return nil
}

// Release releases the lock. It does nothing if l is nil or was already
// released.
func (l *Lock) Release() {
	if l == nil {
		return
	}
	l.mu.Lock()
	unlock := l.unlock
	l.unlock = nil
	l.mu.Unlock()
	if unlock != nil {
		_, err := try(l.keeper, func(context.Context) (struct{}, error) {
			unlock()
			return struct{}{}, nil
		})
		l.keeper.report("unlock", err)
	}
}
