package load

import (
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// LoadAgain returns the record that now decides about a request that rec
// allowed, and the time to use with that record. rec must come from LoadPinned,
// and its Pin must not have been released: otherwise a newer record may have
// been evicted. Unlike Load it never waits: the record is nil if LoadPinned
// must be called first.
//
// With lastTurn, the last known record is used for up to a day, because a
// request must not wait forever for a host whose delay is longer than its
// file's lifetime.
func (l *Loader) LoadAgain(
	name string, rec *record.Record, lastTurn bool,
) (*record.Record, time.Time) {
	now := time.Now()
	inForce := l.cache.Get([]byte(name))
	switch {
	case inForce == nil && lastTurn:
		inForce = rec // a copy from the Store, which Flight.Wait has returned
	case inForce == nil:
		return nil, now
	case inForce.Use(now) == record.UseFetch && rec.Use(now) == record.UseStale:
		// rec is the copy that Flight.Wait returns while the host is paused. It
		// is never in the cache, which contains the expired record that it
		// copies.
		inForce = rec
	}
	switch use := inForce.Use(now); {
	case inForce.Postponed(now) != nil:
		return nil, now
	case lastTurn && now.Sub(inForce.Fetched) < record.MaxLifetime: // whatever its use is
	case use == record.UseFetch:
		return nil, now
	case use == record.UseAndRefresh:
		l.refresh(name, now)
	}
	return inForce, now
}
