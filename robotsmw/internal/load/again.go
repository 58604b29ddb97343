package load

import (
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// LoadAgain returns the record that is in force now for an origin, for a
// request that Load has allowed by rec, and the time to use when the record is
// judged.
// Unlike Load it never waits: the record is nil if Load has to be called first.
// With settle, the last record that is known is in force for a day: a host
// whose interval outlasts its file's lifetime, or a memory that is too small,
// must not hold up a request for ever.
func (l *Loader) LoadAgain(name string, rec *record.Record, settle bool) (*record.Record, time.Time) {
	now := time.Now()
	known := l.cache.Get([]byte(name))
	switch {
	case known == nil && settle:
		known = rec
	case known == nil:
		return nil, now // it was dropped to make room, and what came after it perhaps, too
	case known.Use(now) == record.UseFetch && rec.Use(now) == record.UseStale:
		known = rec // it stands for known while a fetch waits for a host that rests
	}
	switch use := known.Use(now); {
	case known.Postponed(now) != nil:
		return nil, now
	case settle && now.Sub(known.Fetched) < record.MaxLifetime: // whatever its use is
	case use == record.UseFetch:
		return nil, now
	case use == record.UseAndRefresh:
		l.refresh(name, now)
	}
	return known, now
}
