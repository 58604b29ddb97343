package load

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/cache"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
	"github.com/goodbots/courtesy/robotsmw/internal/store"
)

var errEndedEarly = errors.New("robotsmw: the fetch of robots.txt ended without a result")

// launch runs a flight to its end in a goroutine. The flight ends even after a
// panic.
func (l *Loader) launch(f *cache.Flight) {
	go func() {
		var rec *record.Record
		var err error = errEndedEarly
		keep := func() {}
		defer func() {
			if p := recover(); p != nil {
				rec, err = l.panicked(f, f.Prev, p), nil
			}
			l.cache.End(f, rec, err, time.Now())
			keep()
			if delay, again := f.Dropped(); again {
				time.AfterFunc(time.Until(delay.Until), func() { l.refreshKnown(f.Origin) })
			}
		}()
		if f.After != nil {
			<-f.After
		}
		rec, keep, err = l.obtain(f)
	}()
}

// panicked logs a panic during a flight. It counts the panic as a failed fetch,
// and returns the record that replaces prev (see Record.Failed).
func (l *Loader) panicked(f *cache.Flight, prev *record.Record, p any) *record.Record {
	l.cfg.Logger.Error("robotsmw: panic while fetching robots.txt", "url", f.RobotsURL, "panic", p, "stack", string(debug.Stack()))
	return prev.Failed(f.RobotsURL, time.Now(), 0, fmt.Sprintf("panic: %v", p), 0)
}

// refresh begins a fetch that no caller waits for. If a fetch is under way
// already, or none is due any more, refresh does nothing.
func (l *Loader) refresh(name string, now time.Time) {
	_, f, started, err := l.cache.Begin(name, now, true)
	switch {
	case err != nil || f == nil:
	case started:
		l.launch(f)
		f.GoOn()
	default:
		f.Leave()
	}
}

// refreshKnown is like refresh, but does nothing if the cache has no record of
// the origin any more.
func (l *Loader) refreshKnown(name string) {
	if l.cache.Get([]byte(name)) != nil {
		l.refresh(name, time.Now())
	}
}

// obtain gets the record from the Store if the Store has a newer one, or else
// from the origin. It also returns a function that stores a fetched record and
// releases the lock. Call that function after the callers of the flight have
// their answer.
func (l *Loader) obtain(f *cache.Flight) (rec *record.Record, keep func(), err error) {
	if l.store == nil {
		rec, _, err = l.ask(f, f.Prev, nil)
		return rec, func() {}, err
	}
	forgotten := l.store.Forgotten()
	for tries := 1; ; tries++ {
		prev := f.Prev
		if stored := l.store.Get(f.Origin); stored.NewerThan(prev) {
			// A stored record that is due for a refresh is good enough for
			// callers that wait. The next call of Load for the origin begins
			// the refresh.
			now := time.Now()
			if u := stored.Use(now); u.AsIs() || u == record.UseAndRefresh && f.Prev.Use(now) == record.UseFetch {
				l.recalled(f, stored)
				return stored, func() {}, nil
			}
			prev = stored
			f.Found(stored)
		}
		// If Depth > 0, another flight waits for f and may hold a lock. Then f
		// must not wait for a lock. The member of the fleet that holds f's lock
		// may wait for the other flight's lock, and neither member would go on.
		stored, lock := l.store.Lock(f.Origin, prev, f.Depth == 0 && tries <= maxTries)
		if stored != nil {
			l.recalled(f, stored)
			return stored, lock.Release, nil
		}
		rec, body, err := l.ask(f, prev, lock)
		if errors.Is(err, store.ErrElsewhere) {
			lock.Release()
			continue
		}
		return rec, func() {
			defer lock.Release()
			if rec != nil {
				l.store.Put(f.Origin, rec, body, forgotten)
			}
		}, err
	}
}

// maxTries is how many times a fetch waits for the lock. While a fetch waits
// for its host, it gives the lock back. If another member of the fleet has the
// lock when the host may be asked, the fetch has to wait for the lock again.
// After maxTries waits, robots.txt is fetched even without the lock.
const maxTries = 3

// follow returns the record of another origin, to whose robots.txt f was
// redirected. The record comes from the cache, or from that origin's own fetch,
// which follow joins or starts. So a file that many origins point to is fetched
// once.
//
// If follow returns true, the flight of the other origin itself waits for f. If
// it returns neither true nor a record nor an error, f has to ask the other
// origin itself. This happens if there is no room for another record. It also
// happens if redirects have led from flight to flight so often that the chain
// may have no end.
func (l *Loader) follow(f *cache.Flight, name string) (rec *record.Record, loop bool, err error) {
	now := time.Now()
	known := l.cache.Get([]byte(name))
	if known.Use(now).AsIs() {
		return known, false, nil
	}
	if f.Depth >= l.cfg.MaxRedirects {
		return nil, false, nil
	}
	// The result of f will be a copy of the other origin's record. If that
	// record is due for a refresh, it is refreshed first. Otherwise the copy
	// would be due for a refresh from the start.
	rec, other, started, err := l.cache.Begin(name, now, true)
	if err != nil || rec != nil {
		return rec, false, nil
	}
	if started {
		other.Depth = f.Depth + 1
	}
	if !l.cache.Queue(f, other) {
		other.Leave()
		return nil, true, nil
	}
	if started {
		l.launch(other)
	}
	rec, err = l.cache.WaitBehind(f, other)
	if err != nil && known.Use(now) != record.UseFetch {
		return known, false, nil
	}
	return rec, false, err
}
