// Package load gets the record of an origin from wherever it is at hand:
// memory, the Store, or the origin itself, and asks there once however many
// wait. It is the only package that knows the parts, and joins them in one
// direction:
//
//	Load → cache → (a flight:) store → fetch → record → cache, store
//
// load.go is what callers use; flight.go is one fetch from its begin to its
// end; ask.go puts the questions to the servers and makes a record of the
// answers; loader.go has what they share. Each uses those after it, but for one
// call: a redirect to the robots.txt of another origin begins that origin's own
// flight, so ask.go calls flight.go (follow).
package load

import (
	"context"
	"fmt"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/origin"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// Override is the record of an origin whose robots.txt is overridden, else nil.
func (l *Loader) Override(name []byte) *record.Record { return l.overrides[string(name)] }

// Load returns the origin's record, and the time at which it is fit for use. If
// it is not at hand, Load fetches it, or waits for the fetch that is under way,
// until ctx ends. A good copy serves while that waits for a host that rests.
// The error is ctx's, wrapped, or a *politeness.DelayError. An override is not
// loaded: see Override.
func (l *Loader) Load(ctx context.Context, name []byte) (*record.Record, time.Time, error) {
	now := time.Now()
	rec := l.cache.Get(name)
	switch rec.Use(now) {
	case record.UseFresh:
		l.looked(ctx, Hit)
	case record.UseStale:
		l.looked(ctx, Stale)
	case record.UseAndRefresh:
		l.looked(ctx, Hit)
		l.refresh(string(name), now)
	case record.UseFetch:
		var err error
		if rec, err = l.wait(ctx, string(name), now); err != nil {
			return nil, now, err
		}
		now = time.Now()
	}
	if err := rec.Postponed(now); err != nil {
		return nil, now, err
	}
	return rec, now, nil
}

// Forget drops what is known of the origin, in memory and in the Store.
func (l *Loader) Forget(name string) {
	l.cache.Forget(name)
	if l.store != nil {
		l.store.Forget(name)
	}
}

// Size counts the origins in memory, and the bytes that they take, roughly.
func (l *Loader) Size() (origins int, bytes int64) { return l.cache.Size() }

// wait has the origin's record fetched and waits for it.
func (l *Loader) wait(ctx context.Context, name string, now time.Time) (*record.Record, error) {
	if err := ctx.Err(); err != nil { // nobody would wait for the fetch
		return nil, fmt.Errorf("robotsmw: %s is not at hand: %w", origin.RobotsTxt(name), err)
	}
	rec, f, started, err := l.cache.Begin(name, now, false)
	switch {
	case err != nil:
		l.looked(ctx, Refused)
		return nil, err
	case rec != nil: // fetched just now
		l.looked(ctx, Hit)
		return rec, nil
	case started:
		l.launch(f)
		l.looked(ctx, Miss)
	default:
		if rec := f.Instead(); rec != nil {
			l.looked(ctx, Stale)
			return rec, nil
		}
		l.looked(ctx, Joined)
	}
	return f.Wait(ctx)
}
