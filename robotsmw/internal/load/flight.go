package load

import (
	"errors"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/cache"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
	"github.com/goodbots/courtesy/robotsmw/internal/store"
)

var errEndedEarly = errors.New("robotsmw: the fetch of robots.txt ended without a result")

// launch runs a flight to its end in a goroutine. The flight ends even if Base
// ends the goroutine.
func (l *Loader) launch(f *cache.Flight) {
	go func() {
		var rec *record.Record
		err := errEndedEarly
		keep := func() {}
		defer func() {
			l.cache.End(f, rec, err, time.Now())
			keep()
		}()
		if f.After != nil {
			<-f.After
		}
		rec, keep, err = l.obtain(f)
	}()
}

// refresh begins a fetch that no caller waits for, unless a fetch is already
// running or no fetch is due any more.
func (l *Loader) refresh(name string, now time.Time) {
	_, f, started := l.cache.Begin(name, now, true)
	switch {
	case f == nil:
	case started:
		l.launch(f)
		f.GoOn()
	default:
		f.Leave()
	}
}

// obtain gets the record from the Store if the Store has a newer one, or else
// from the origin. It also returns a function that stores a fetched record and
// releases the lock. That function must be called after the callers of the
// flight have received the record. The slot of the last request is freed
// earlier, by f.FreeSlot: no request must start before the record is in force,
// and a caller needs the slot as soon as it has received the record.
func (l *Loader) obtain(f *cache.Flight) (rec *record.Record, keep func(), err error) {
	if l.store == nil {
		done, err := l.fetch(f, f.Prev, nil, false)
		f.FreeSlot = done.free
		return done.Record, func() {}, err
	}
	for tries := 1; ; tries++ {
		prev := f.Prev
		stored := l.store.Get(f.Origin)
		if stored.NewerThan(prev) {
			// A stored record that is due for a refresh is good enough for
			// callers that wait. The next call of Load for the origin begins
			// the refresh.
			now := time.Now()
			use := stored.Use(now)
			isBetter := use == record.UseAndRefresh && f.Prev.Use(now) == record.UseFetch
			if use.AsIs() || isBetter {
				l.recalled(f, stored)
				return stored, func() {}, nil
			}
			prev = stored
			f.Found(stored, func() { l.recalled(f, prev) })
		}
		var lock *store.Lock
		if tries <= maxTries {
			if stored, lock = l.store.Lock(f.Origin, prev); stored != nil {
				l.recalled(f, stored)
				return stored, lock.Release, nil
			}
		}
		done, err := l.fetch(f, prev, lock, tries == 1)
		if errors.Is(err, store.ErrElsewhere) {
			lock.Release()
			continue
		}
		f.FreeSlot = done.free
		return done.Record, func() {
			defer lock.Release()
			if err == nil {
				l.store.Put(f.Origin, done.Record, done.Body)
			}
		}, err
	}
}

// maxTries limits how often a fetch requests the lock. The first time, it
// releases the lock while its host is paused, and then has to request it again.
// After maxTries, robots.txt is fetched without the lock.
const maxTries = 3
