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

// launch runs a flight to its end. Whatever happens in Base, the flight
// ends: a panic there counts as a failed fetch.
func (l *Loader) launch(f *cache.Flight) {
	go func() {
		var rec *record.Record
		var err error = errEndedEarly
		keep := func() {}
		defer func() {
			if p := recover(); p != nil {
				l.cfg.Logger.Error("robotsmw: panic while fetching robots.txt", "url", f.RobotsURL, "panic", p, "stack", string(debug.Stack()))
				rec, err = f.Prev.Failed(f.RobotsURL, time.Now(), 0, fmt.Sprintf("panic: %v", p), 0), nil
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

// refresh begins a fetch that nobody waits for, unless one is under way.
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

// refreshKnown is refresh for an origin that may have been forgotten.
func (l *Loader) refreshKnown(name string) {
	if l.cache.Get([]byte(name)) != nil {
		l.refresh(name, time.Now())
	}
}

// obtain has the record from the Store if somebody else has fetched it, else
// from the origin. keep, to be called when the callers have their answer,
// puts it into the Store.
func (l *Loader) obtain(f *cache.Flight) (rec *record.Record, keep func(), err error) {
	if l.store == nil {
		rec, _, err = l.ask(f, f.Prev, nil)
		return rec, func() {}, err
	}
	forgotten := l.store.Forgotten()
	for tries := 1; ; tries++ {
		prev := f.Prev
		if stored := l.store.Get(f.Origin); stored.NewerThan(prev) {
			// One whose refresh is due is fit for those who wait; the next
			// check begins the refresh.
			now := time.Now()
			if u := stored.Use(now); u.AsIs() || u == record.UseAndRefresh && f.Prev.Use(now) == record.UseFetch {
				l.recalled(f, stored)
				return stored, func() {}, nil
			}
			prev = stored
			f.Found(stored)
		}
		// A flight for which another waits must not wait for a lock: the other
		// has a lock too, for which the holder of this one may be waiting.
		stored, lock := l.store.Lock(f.Origin, prev, f.Depth == 0 && tries <= maxTries)
		if stored != nil {
			l.recalled(f, stored)
			return stored, lock.Release, nil
		}
		rec, body, err := l.askLocked(f, prev, lock)
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

// maxTries is how often a fetch that had to wait for its slot, and found then
// that another member fetches, waits for what that finds.
const maxTries = 3

// askLocked is ask. If that panics, it releases the lock.
func (l *Loader) askLocked(f *cache.Flight, prev *record.Record, lock *store.Lock) (rec *record.Record, body []byte, err error) {
	panicked := true
	defer func() {
		if panicked {
			lock.Release()
		}
	}()
	rec, body, err = l.ask(f, prev, lock)
	panicked = false
	return rec, body, err
}

// follow has the record of another origin, whose robots.txt is where f was
// redirected to: from the cache, or by joining or starting that origin's own
// fetch, so that a file which many origins point to is fetched once.
// loop reports that the other origin in turn waits for f; neither record nor
// error, that f has to ask there itself: there is no room to keep the other's
// record, or redirects have led from flight to flight so often that a chain
// without an end must be feared.
func (l *Loader) follow(f *cache.Flight, name string) (rec *record.Record, loop bool, err error) {
	now := time.Now()
	known := l.cache.Get([]byte(name))
	if known.Use(now).AsIs() {
		return known, false, nil
	}
	if f.Depth >= l.cfg.MaxRedirects {
		return nil, false, nil
	}
	// A refresh of the other's that is due comes first: the record that f
	// makes of it would be due at once.
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
