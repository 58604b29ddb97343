// Package load loads the record of an origin from memory, from the Store, or
// from the origin itself, to which it sends only one request for all callers
// that wait. It connects the other internal packages. A call uses them in this
// order:
//
//	Load → cache → flight
//	flight → store → fetch → record → cache, store
//
// load.go and again.go contain the API: Load and LoadPinned for a new request,
// and LoadAgain for one that has waited. flight.go runs one fetch from
// beginning to end. fetch.go sends requests to servers and creates records from
// their responses. loader.go contains what these files share. Each file uses
// only the files that are listed after it.
package load

import (
	"context"
	"fmt"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/cache"
	"github.com/goodbots/courtesy/robotsmw/internal/origin"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// Override returns the record that overrides an origin's robots.txt, or nil if
// there is none.
func (l *Loader) Override(name []byte) *record.Record { return l.overrides[string(name)] }

// Load returns the origin's record, and the time to use with it. If the record
// must be fetched first, Load begins a fetch or joins the running one, and
// waits for the result until ctx ends. If the fetch must wait because its host
// is paused, Load returns an expired good copy, if there is one. The error
// wraps the error of ctx or politeness.ErrInvalidLimiter, or is a
// *politeness.DelayError. Load ignores overrides: see Override.
func (l *Loader) Load(ctx context.Context, name []byte) (*record.Record, time.Time, error) {
	return l.load(ctx, name, l.cache.Get(name), time.Now())
}

// A Pin keeps an origin in memory until its Release, which must be called once
// only. The zero Pin keeps none.
type Pin = cache.Pin

// LoadPinned is like Load, for a request that will wait and then be checked
// again with LoadAgain. The origin stays in memory until Release is called on
// the Pin. If there is an error, the Pin is zero.
func (l *Loader) LoadPinned(
	ctx context.Context, name []byte,
) (*record.Record, time.Time, Pin, error) {
	now := time.Now()
	rec, pin := l.cache.Pin(name, now)
	isLoaded := false
	defer func() {
		if !isLoaded { // there is an error, or a callback has panicked
			pin.Release(time.Now())
		}
	}()
	rec, now, err := l.load(ctx, name, rec, now)
	if err != nil {
		return nil, now, Pin{}, err
	}
	isLoaded = true
	return rec, now, pin, nil
}

// load is Load for an origin whose record in memory is rec.
func (l *Loader) load(
	ctx context.Context, name []byte, rec *record.Record, now time.Time,
) (*record.Record, time.Time, error) {
	switch rec.Use(now) {
	case record.UseAndRefresh:
		if ctx.Err() == nil { // otherwise the caller wants only what is in memory
			l.refresh(string(name), now)
		}
	case record.UseFetch: // this is also the use of no record
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

// Size returns how many origins have a record in memory, without those with a
// fetch under way. It also returns roughly how many bytes all records and
// unfinished fetches take.
func (l *Loader) Size() (origins int, bytes int64) {
	origins, _, bytes = l.cache.Size()
	return origins, bytes
}

// wait begins a fetch of the origin's robots.txt, or joins the running one, and
// waits for its end.
func (l *Loader) wait(ctx context.Context, name string, now time.Time) (*record.Record, error) {
	if err := ctx.Err(); err != nil { // no caller would wait for the fetch
		return nil, fmt.Errorf("robotsmw: %s is not in memory: %w", origin.RobotsTxt(name), err)
	}
	rec, f, started := l.cache.Begin(name, now, false)
	switch {
	case rec != nil: // another caller has just fetched it
		return rec, nil
	case started:
		l.launch(f)
	}
	return f.Wait(ctx)
}
