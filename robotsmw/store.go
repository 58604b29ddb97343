package robotsmw

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"sync/atomic"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/origin"
)

// A Store keeps robots.txt records beyond the life of a process, or shares
// them in a fleet. Keys are origins ("https://example.com"), at most a few
// hundred octets of printable text; values are opaque and at most 600 KiB.
//
// An implementation
//   - is safe for concurrent use, by several processes where it is shared;
//   - returns from Get what the latest Put of that key gave, whole, or a
//     miss: an error for which errors.Is(err, fs.ErrNotExist) holds;
//   - may forget a value at any time, and forgets it after its ttl;
//   - keeps no reference to a value it was given, and gives one away that
//     it does not keep;
//   - obeys the context, and returns its error when it ends;
//   - deletes what is not there without an error.
//
// The package storetest checks all of this. The checker gives a Store two
// seconds for each call, and goes on without it when it fails.
type Store interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error
	Delete(ctx context.Context, key string) error
}

// A Locker is what a shared Store may also be: with it, a fleet fetches each
// robots.txt once. TryLock does not wait; ok is false while another holds
// the key, which ends with its unlock or after its ttl, whichever is first.
// unlock is called once, by any goroutine, and must free nothing that has
// meanwhile become another's.
type Locker interface {
	TryLock(ctx context.Context, key string, ttl time.Duration) (unlock func(), ok bool, err error)
}

const (
	storeTimeout = 2 * time.Second  // for each call
	storePause   = 10 * time.Second // without calls, after one that did not end in time
)

// keeper puts records into a Store and gets them back, and shields the
// checker from whatever the Store does.
type keeper struct {
	store   Store
	locker  Locker // nil: the Store is none
	lockTTL time.Duration
	decode  func(name, robotsURL string, value []byte) (*record, error)
	failed  func(op string, err error)
	pause   atomic.Int64 // Unix nanoseconds until which the Store is left alone
	forgets atomic.Int64 // how often forget was called
}

// forget deletes the origin's record. What a flight under way has learnt is
// not kept: see putUnlessForgotten.
func (k *keeper) forget(name string) {
	k.forgets.Add(1)
	k.delete(name)
}

// putUnlessForgotten is put for a flight that began when forget had been
// called the given number of times. If any origin was forgotten since, nothing
// stays in the Store: that may cost a fetch.
func (k *keeper) putUnlessForgotten(forgets int64, name string, rec *record, body []byte) {
	if k.forgets.Load() != forgets {
		return
	}
	if k.put(name, rec, body); k.forgets.Load() != forgets {
		k.delete(name)
	}
}

// get is the stored record, or nil.
func (k *keeper) get(name, robotsURL string) *record {
	value := k.getValue(name)
	if value == nil {
		return nil
	}
	rec, err := k.decode(name, robotsURL, value)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		k.failed("get", fmt.Errorf("robotsmw: the stored record of %s cannot be used: %w", name, err))
		return nil
	}
	return rec
}

func (k *keeper) getValue(name string) []byte {
	value, err := try(k, func(ctx context.Context) ([]byte, error) { return k.store.Get(ctx, name) })
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			k.report("get", err)
		}
		return nil
	}
	return value
}

// put stores a record with the body it came from. A record that was renewed,
// or whose fetch failed, has no body with it: that is the one stored before.
// One that shares the robots.txt of another origin is stored without: the
// body is with that origin.
func (k *keeper) put(name string, rec *record, body []byte) {
	if rec.failure != nil && rec.failure.delay != nil {
		return // it is about a limiter, not about the origin
	}
	if rec.state == stateGood {
		if _, shared := origin.OfRobotsTxt(rec.from().url); shared {
			body = nil
		} else if body == nil {
			if body = k.bodyOf(name, rec.doc.hash); body == nil {
				return // it is not there any more; the next start fetches it
			}
		}
	}
	ttl := thirtyDays
	if rec.state != stateGood && rec.failure == nil {
		ttl = max(time.Until(rec.expires), minLifetime)
	}
	value := encodeRecord(name, rec, body)
	_, err := try(k, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, k.store.Put(ctx, name, value, ttl)
	})
	k.report("put", err)
}

// bodyOf is the stored robots.txt of an origin if it has the hash; nil if it
// is not there. An empty one is not nil.
func (k *keeper) bodyOf(name string, hash [sha256.Size]byte) []byte {
	_, body, ok := bytes.Cut(k.getValue(name), []byte{'\n'})
	if !ok || sha256.Sum256(body) != hash {
		return nil
	}
	return body
}

func (k *keeper) delete(name string) {
	_, err := try(k, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, k.store.Delete(ctx, name)
	})
	k.report("delete", err)
}

// lock makes sure that only one member of a fleet fetches: it returns when
// this one may, or with the record that another has meanwhile stored. A
// holder that died is waited for until its lock expires.
func (k *keeper) lock(f *flight, prev *record) (rec *record, unlock func()) {
	none := func() {}
	if k.locker == nil {
		return nil, none
	}
	fresh := func() *record {
		rec := k.get(f.origin, f.robotsURL)
		if rec.newerThan(prev) && rec.use(time.Now()).asIs() {
			return rec
		}
		return nil
	}
	type lock struct {
		unlock func()
		ok     bool
	}
	start := time.Now()
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		got, err := try(k, func(ctx context.Context) (lock, error) {
			unlock, ok, err := k.locker.TryLock(ctx, f.origin, k.lockTTL)
			return lock{unlock, ok}, err
		})
		switch {
		case err != nil:
			k.report("lock", err)
			return nil, none
		case got.ok:
			unlock = func() {
				_, err := try(k, func(context.Context) (struct{}, error) { got.unlock(); return struct{}{}, nil })
				k.report("unlock", err)
			}
			return fresh(), unlock
		case f.depth > 0:
			// Another flight waits for this one, with a lock of its own, for
			// which the holder of this lock may be waiting.
			return nil, none
		case time.Since(start) > k.lockTTL+time.Second:
			return nil, none
		}
		time.Sleep(pause)
		if rec := fresh(); rec != nil {
			return rec, none
		}
	}
}

func (k *keeper) report(op string, err error) {
	if err != nil {
		k.failed(op, err)
	}
}

var errStorePaused = fmt.Errorf("robotsmw: the store did not answer within %v and is left alone for %v: %w", storeTimeout, storePause, fs.ErrNotExist)

// try calls the Store in a goroutine of its own, so that one which hangs
// and does not obey its context, or panics, costs its time limit and no more.
func try[T any](k *keeper, call func(context.Context) (T, error)) (T, error) {
	var zero T
	now := time.Now()
	if now.UnixNano() < k.pause.Load() {
		return zero, errStorePaused
	}
	type result struct {
		value T
		err   error
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r.err = fmt.Errorf("robotsmw: the store panicked: %v", p)
			}
			done <- r
		}()
		r.value, r.err = call(ctx)
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		k.pause.Store(now.Add(storeTimeout + storePause).UnixNano())
		return zero, fmt.Errorf("robotsmw: the store did not answer: %w", ctx.Err())
	}
}

// storedRecord is the first line of a stored value, as JSON; the body of the
// robots.txt follows, as it was served, so that a crawler with other product
// tokens can use it too.
type storedRecord struct {
	Version      int            `json:"v"`
	Origin       string         `json:"origin"`
	State        string         `json:"state"` // good, unavailable, none
	Status       int            `json:"status,omitzero"`
	Redirects    int            `json:"redirects,omitzero"`
	URL          string         `json:"url,omitempty"`
	ETag         string         `json:"etag,omitempty"`
	LastModified string         `json:"last_modified,omitempty"`
	SHA256       string         `json:"sha256,omitempty"`
	Fetched      time.Time      `json:"fetched,omitzero"`
	Expires      time.Time      `json:"expires,omitzero"`
	Failure      *storedFailure `json:"failure,omitempty"`
}

type storedFailure struct {
	Since  time.Time `json:"since"`
	Last   time.Time `json:"last"`
	Count  int       `json:"count"`
	Status int       `json:"status,omitzero"`
	Cause  string    `json:"cause"`
	Retry  time.Time `json:"retry"`
}

const storedVersion = 1

func encodeRecord(name string, rec *record, body []byte) []byte {
	s := storedRecord{
		Version: storedVersion, Origin: name, Status: int(rec.status), Redirects: int(rec.hops),
		Fetched: rec.fetched, Expires: rec.expires,
	}
	switch rec.state {
	case stateGood:
		s.State = "good"
		s.URL, s.ETag, s.LastModified = rec.from().url, rec.from().etag, rec.from().lastModified
		s.SHA256 = hex.EncodeToString(rec.doc.hash[:])
	case stateNone:
		s.State = "none"
	default:
		s.State = "unavailable"
	}
	if s.State != "good" {
		body = nil
	}
	if f := rec.failure; f != nil {
		s.Failure = &storedFailure{f.since, f.last, f.count, f.status, f.cause, f.retry}
	}
	head, err := json.Marshal(s)
	if err != nil { // a year beyond 9999: no such time comes from a clock
		panic(err)
	}
	return append(append(head, '\n'), body...)
}

// decodeRecord reads a stored value and trusts nothing in it: it must be of
// this origin, its body must have the hash it says, and no lifetime or pause
// may be longer than one that this package would have given.
func (c *Checker) decodeRecord(name, robotsURL string, value []byte) (*record, error) {
	head, body, ok := bytes.Cut(value, []byte{'\n'})
	if !ok {
		return nil, errors.New("it has no first line")
	}
	var s storedRecord
	if err := json.Unmarshal(head, &s); err != nil {
		return nil, fmt.Errorf("its first line is not JSON: %w", err)
	}
	switch {
	case s.Version != storedVersion:
		return nil, fmt.Errorf("it is of version %d, not %d", s.Version, storedVersion)
	case s.Origin != name:
		return nil, fmt.Errorf("it is of the origin %q", s.Origin)
	case s.Expires.Sub(s.Fetched) > maxLifetime:
		return nil, fmt.Errorf("it claims a lifetime of %v", s.Expires.Sub(s.Fetched))
	case s.Redirects < 0 || s.Redirects > 255 || s.Status < 0 || s.Status > 9999:
		return nil, fmt.Errorf("it claims %d redirects and the status %d", s.Redirects, s.Status)
	}
	rec := &record{
		url: robotsURL, hops: uint8(s.Redirects), status: int16(s.Status),
		fetched: s.Fetched, expires: s.Expires,
	}
	switch s.State {
	case "good":
		rec.state = stateGood
		var hash [sha256.Size]byte
		if h, err := hex.DecodeString(s.SHA256); err != nil || copy(hash[:], h) != len(hash) {
			return nil, fmt.Errorf("its hash is %q", s.SHA256)
		}
		if other, shared := origin.OfRobotsTxt(s.URL); shared && other != name && c.store != nil {
			if body = c.store.bodyOf(other, hash); body == nil {
				return nil, fmt.Errorf("the robots.txt that it shares with %s is not there: %w", other, fs.ErrNotExist)
			}
		} else if sha256.Sum256(body) != hash {
			return nil, fmt.Errorf("its %d octets of robots.txt do not have the hash %s", len(body), s.SHA256)
		}
		rec.doc = c.document(body)
		if src := (source{s.URL, validator(s.ETag), validator(s.LastModified)}); src != (source{}) {
			rec.source = &src
		}
	case "unavailable":
		rec.state = c.stateWithoutFile(s.Status)
	case "none":
		if s.Failure == nil {
			return nil, errors.New("it says nothing")
		}
	default:
		return nil, fmt.Errorf("its state is %q", s.State)
	}
	if f := s.Failure; f != nil {
		if f.Retry.Sub(f.Last) > maxLifetime || f.Last.Before(f.Since) || f.Count < 1 || f.Count > math.MaxInt32 {
			return nil, fmt.Errorf("it claims %d failures from %v to %v and the next try at %v", f.Count, f.Since, f.Last, f.Retry)
		}
		rec.failure = &failure{f.Since, f.Last, f.Count, f.Status, f.Cause, f.Retry, nil}
	}
	return rec, nil
}
