package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// ErrElsewhere says that another member of the fleet fetches the robots.txt, or
// has just done so.
var ErrElsewhere = errors.New("robotsmw: another member of the fleet has fetched it, or fetches it now")

// A Lock is the right to fetch an origin's robots.txt, of one member of a fleet
// at a time. It does not last for as long as a host may rest, so it is given
// back while its holder waits for the host (Release), and taken anew when the
// host may be asked (Take). It is safe for concurrent use.
type Lock struct {
	keeper  *Keeper
	name    string
	prev    *record.Record // what the fetch is to replace
	patient bool

	mu     sync.Mutex // guards the two below; held while the Store is asked
	unlock func()     // nil: it is not held
	taken  time.Time
}

// Lock makes sure that only one member of a fleet fetches: it returns when this
// one may, or with the record that another has meanwhile stored, newer than
// prev. A holder that died is waited for until its lock expires; without
// patience no holder is waited for, and two members may fetch. The Lock is
// never nil.
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

// Release gives the lock back, for good or until Take.
func (l *Lock) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.release()
}

// Take sees to it that the lock lasts for as long as a question takes, before
// one is asked: it takes it anew if it was given back, or for so much as slack.
// The error is ErrElsewhere. A lock without patience goes without, as
// Keeper.Lock does.
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

// stored is what another member has stored meanwhile, if that makes the fetch
// needless.
func (l *Lock) stored() *record.Record {
	rec := l.keeper.Get(l.name)
	if rec.NewerThan(l.prev) && rec.Use(time.Now()).AsIs() {
		return rec
	}
	return nil
}
