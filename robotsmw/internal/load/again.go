package load

import (
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// LoadAgain returns the record that decides now about a request that Load has
// allowed by rec, and the time to use when the record is judged. Unlike Load it
// never waits: the record is nil if Load has to be called first.
//
// With lastTurn, the last record that is known decides for a day: a host whose
// interval outlasts its file's lifetime, or a memory that is too small, must
// not hold up a request for ever.
func (l *Loader) LoadAgain(name string, rec *record.Record, lastTurn bool) (*record.Record, time.Time) {
	now := time.Now()
	inForce := l.cache.Get([]byte(name))
	switch {
	case inForce == nil && lastTurn:
		inForce = rec
	case inForce == nil:
		return nil, now // it was dropped to make room, and what came after it perhaps, too
	case inForce.Use(now) == record.UseFetch && rec.Use(now) == record.UseStale:
		// rec is the copy that Flight.Wait hands out while the host rests. It
		// is never in the cache, which has the expired record that it copies.
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
