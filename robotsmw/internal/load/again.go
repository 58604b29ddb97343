package load

import (
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// Again returns the record that is in force now for an origin, for a request
// that Load has allowed by rec, and the time to use when the record is judged.
// Unlike Load it never waits: the record is nil if Load has to be called first.
func (l *Loader) Again(name string, rec *record.Record) (*record.Record, time.Time) {
	now := time.Now()
	known := l.cache.Get([]byte(name))
	if known == nil || known.Use(now) == record.UseFetch && rec.Use(now) == record.UseStale {
		// The record was dropped to make room, or rec stands for it while a
		// fetch waits for a host that rests.
		known = rec
	}
	switch known.Use(now) {
	case record.UseFetch:
		return nil, now
	case record.UseAndRefresh:
		l.refresh(name, now)
	}
	if known.Postponed(now) != nil {
		return nil, now
	}
	return known, now
}
