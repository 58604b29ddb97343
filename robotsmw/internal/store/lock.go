package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// ErrElsewhere says that another member of the fleet is fetching the
// robots.txt, or has just fetched it.
var ErrElsewhere = errors.New("robotsmw: another member of the fleet has fetched it, or fetches it now")

// A Lock is the right to fetch an origin's robots.txt. One member of a fleet
// has this right at a time. The right expires, perhaps while the host still
// rests. So the holder gives the right back while it waits for the host
// (Release), and takes it again when the host may be asked (Take). A Lock is
// safe for concurrent use.
type Lock struct {
	keeper  *Keeper
	name    string
	prev    *record.Record // the record that the fetch is to replace
	patient bool

	mu     sync.Mutex // guards the two fields below; held during calls of the Store
	unlock func()     // nil means the lock is not held
	taken  time.Time
}

// Lock waits until this member may fetch, so that only one member of a fleet
// fetches at a time. If another member has stored a record that is newer than
// prev and can be used as it is, Lock returns that record instead. If the
// member that holds the lock has died, Lock waits until that lock expires.
//
// If the last argument is false, Lock does not wait. Then it may return without
// the right, and two members may fetch. The same can happen if the Store fails,
// or if others keep the lock for longer than lockTTL. The Lock is never nil.
func (k *Keeper) Lock(name string, prev *record.Record, patient bool) (*record.Record, *Lock) {
	l := &Lock{keeper: k, name: name, prev: prev, patient: patient}
	if k.locker == nil {
		return nil, l
	}
	start := time.Now()
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		ok, err := l.try()
		switch {
		case err != nil:
			return nil, l
		case ok:
			return l.stored(), l
		case !patient:
			return nil, l
		case time.Since(start) > k.lockTTL+time.Second:
			return nil, l
		}
		time.Sleep(pause)
		if rec := l.stored(); rec != nil {
			return rec, l
		}
	}
}

// Release gives up the lock, for ever or until Take is called.
func (l *Lock) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.release()
}

// Take makes sure that the lock lasts long enough for one request to the
// origin. It takes the lock anew if the lock was released, or if it was taken
// more than slack ago. If another member has the lock at that time, or has
// stored a record that makes the fetch needless, Take returns ErrElsewhere. But
// if the Store fails, or if another member has the lock and this Lock is not
// patient, Take returns nil. The member then fetches without the lock.
func (l *Lock) Take(slack time.Duration) error {
	if l.keeper.locker == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unlock != nil && time.Since(l.taken) <= slack {
		return nil
	}
	l.release()
	ok, err := l.try()
	switch {
	case err != nil:
		return nil
	case !ok && l.patient, ok && l.stored() != nil:
		return ErrElsewhere
	}
	return nil
}

func (l *Lock) try() (ok bool, err error) {
	type lock struct {
		unlock func()
		ok     bool
	}
	k := l.keeper
	got, err := try(k, func(ctx context.Context) (lock, error) {
		unlock, ok, err := k.locker.TryLock(ctx, l.name, k.lockTTL)
		return lock{unlock, ok}, err
	})
	k.report("lock", err)
	if err == nil && got.ok {
		l.unlock, l.taken = got.unlock, time.Now()
	}
	return got.ok, err
}

func (l *Lock) release() {
	unlock := l.unlock
	if unlock == nil {
		return
	}
	l.unlock = nil
	_, err := try(l.keeper, func(context.Context) (struct{}, error) { unlock(); return struct{}{}, nil })
	l.keeper.report("unlock", err)
}

// The method "stored" returns the record in the Store if that record is newer
// than prev and can be used as it is. Otherwise it returns nil.
func (l *Lock) stored() *record.Record {
	rec := l.keeper.Get(l.name)
	if rec.NewerThan(l.prev) && rec.Use(time.Now()).AsIs() {
		return rec
	}
	return nil
}
