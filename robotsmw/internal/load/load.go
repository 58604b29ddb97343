// Package load gets the record of an origin from wherever it is at hand: memory,
// the Store, or the origin itself, and asks there once however many wait. It is
// the only package that knows the parts, and joins them in one direction:
//
//	Load → cache → (a flight:) store → fetch → record → cache, store
//
// load.go is what callers use; flight.go is one fetch from its begin to its end;
// ask.go puts the questions to the servers and makes a record of the answers.
// A redirect to the robots.txt of another origin begins that origin's own flight,
// so the last two call each other.
package load

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/cache"
	"github.com/goodbots/courtesy/robotsmw/internal/fetch"
	"github.com/goodbots/courtesy/robotsmw/internal/origin"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
	"github.com/goodbots/courtesy/robotsmw/internal/store"
)

// Config says how a Loader loads. The functions are told what happens, in the
// middle of it; each may be nil.
type Config struct {
	Base         http.RoundTripper // carries the questions
	UserAgent    string            // that they are asked under
	Timeout      time.Duration     // of each, without its wait for a slot
	Kind         *record.Kind      // its Documents are this Loader's
	Store        store.Store       // nil: memory alone
	Override     map[string]string // by origin: the robots.txt to obey in place of the one served
	MaxRedirects int
	MaxOrigins   int
	MaxBytes     int64
	Logger       *slog.Logger // of panics in Base

	Looked      func(context.Context, Lookup)
	Fetched     func(Fetch)
	StoreFailed func(op string, err error)
}

// A Lookup is what came of looking for an origin's record.
type Lookup string

// The lookups, as robotsmw tells them.
const (
	Hit     Lookup = "hit"     // in memory, fresh
	Stale   Lookup = "stale"   // in memory, past its lifetime or unreachable; the next try is not due
	Miss    Lookup = "miss"    // a fetch was begun
	Joined  Lookup = "joined"  // a fetch was under way and was waited for
	Refused Lookup = "refused" // memory is full of origins that must not be forgotten
)

// A Fetch is one fetch of a robots.txt, redirects included.
type Fetch struct {
	Origin   string
	URL      string         // of its robots.txt
	Record   *record.Record // what is known now
	Renewed  bool           // 304: the copy at hand was confirmed
	Bytes    int            // of the body, decoded
	Started  time.Time      // including the wait for a slot
	Duration time.Duration  // from Started to the last octet
}

// A Loader loads records. It is safe for concurrent use.
type Loader struct {
	cfg       Config
	client    fetch.Client
	overrides map[string]*record.Record // by origin
	cache     *cache.Cache
	store     *store.Keeper // nil: none
}

// lockSlack is how much longer a lock in the Store lasts than a question.
const lockSlack = 10 * time.Second

// New makes a Loader.
func New(cfg Config) *Loader {
	l := &Loader{
		cfg:       cfg,
		client:    fetch.Client{Base: cfg.Base, UserAgent: cfg.UserAgent, Timeout: cfg.Timeout},
		overrides: make(map[string]*record.Record),
		cache:     cache.New(cfg.MaxOrigins, cfg.MaxBytes, &cfg.Kind.Documents),
	}
	for name, text := range cfg.Override {
		l.overrides[name] = &record.Record{State: record.Override, Doc: cfg.Kind.Document([]byte(text))}
	}
	if cfg.Store != nil {
		l.store = store.New(cfg.Store, cfg.Timeout+lockSlack, cfg.Kind, l.storeFailed)
	}
	return l
}

// Override is the record of an origin whose robots.txt is overridden, else nil.
func (l *Loader) Override(name []byte) *record.Record { return l.overrides[string(name)] }

// Load returns the origin's record, and the time at which it is fit for use.
// If it is not at hand, Load fetches it, or waits for the fetch that is under
// way, until ctx ends. The error is ctx's, wrapped, or a *politeness.DelayError.
// An override is not loaded: see Override.
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

// Known is what is known of the origin in memory, or its override; nil: nothing.
func (l *Loader) Known(name []byte) *record.Record {
	if rec := l.Override(name); rec != nil {
		return rec
	}
	return l.cache.Get(name)
}

// Forget drops what is known of the origin, in memory and in the Store.
func (l *Loader) Forget(name string) {
	l.cache.Forget(name)
	if l.store != nil {
		l.store.Forget(name)
	}
}

// Size counts the origins in memory, and the octets that they take, roughly.
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
		l.looked(ctx, Joined)
	}
	return f.Wait(ctx)
}

// refresh begins a fetch that nobody waits for, unless one is under way.
func (l *Loader) refresh(name string, now time.Time) {
	if _, f, started, err := l.cache.Begin(name, now, true); err == nil && started {
		l.launch(f)
	}
}

func (l *Loader) looked(ctx context.Context, what Lookup) {
	if l.cfg.Looked != nil {
		l.cfg.Looked(ctx, what)
	}
}

func (l *Loader) fetched(f Fetch) {
	if l.cfg.Fetched != nil {
		l.cfg.Fetched(f)
	}
}

func (l *Loader) storeFailed(op string, err error) {
	if l.cfg.StoreFailed != nil {
		l.cfg.StoreFailed(op, err)
	}
}
