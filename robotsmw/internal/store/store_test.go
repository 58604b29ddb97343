package store

import (
	"context"
	"errors"
	"io/fs"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// An aStore answers with its functions. If a function is nil, it answers like
// an empty Store.
type aStore struct {
	get     func(ctx context.Context) ([]byte, error)
	put     func(ttl time.Duration)
	tryLock func() (unlock func(), ok bool, err error)
}

func (s aStore) Get(ctx context.Context, _ string) ([]byte, error) {
	if s.get == nil {
		return nil, fs.ErrNotExist
	}
	return s.get(ctx)
}

func (s aStore) Put(_ context.Context, _ string, _ []byte, ttl time.Duration) error {
	if s.put != nil {
		s.put(ttl)
	}
	return nil
}

func (s aStore) Delete(context.Context, string) error { return nil }

func (s aStore) TryLock(context.Context, string, time.Duration) (func(), bool, error) {
	if s.tryLock == nil {
		return func() {}, true, nil
	}
	return s.tryLock()
}

const name = "http://a.example"

func newKeeper(t *testing.T, s Store, lockTTL time.Duration) *Keeper {
	return New(s, lockTTL, &record.Kind{Tokens: []string{"ExampleBot"}}, func(op string, err error) { t.Logf("%s: %v", op, err) })
}

// A record is stored for as long as it may be of use.
func TestHowLongARecordIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const month = 30 * 24 * time.Hour
		now := time.Now()
		k := &record.Kind{}
		body := []byte("User-agent: *\nDisallow: /\n")
		good := &record.Record{State: record.Good, Doc: k.Document(body), Fetched: now, Expires: now.Add(time.Hour)}
		none := &record.Record{State: record.Unavailable, Status: 404, Fetched: now, Expires: now.Add(7 * time.Hour)}
		for _, tt := range []struct {
			name string
			rec  *record.Record
			want time.Duration // 0 means it is not stored
		}{
			{"a file outlives an outage", good, month},
			{"a file whose refresh failed", good.Failed("", now, 503, "status 503", 0), month},
			{"no file, for its lifetime", none, 7 * time.Hour},
			{"no file, its lifetime over", &record.Record{State: record.Unavailable, Status: 404, Fetched: now.Add(-time.Hour), Expires: now}, 5 * time.Minute},
			{"since when it is unreachable", (*record.Record)(nil).Failed("", now, 503, "status 503", 0), month},
			{"no file, now unreachable", none.Failed("", now, 503, "status 503", 0), month},
		} {
			var got time.Duration
			newKeeper(t, aStore{put: func(ttl time.Duration) { got = ttl }}, time.Minute).Put(name, tt.rec, body, 0)
			if got != tt.want {
				t.Errorf("%s: stored for %v, want %v", tt.name, got, tt.want)
			}
		}
	})
}

// A member that waits for a lock asks less and less often, down to once a
// second.
func TestWaitForALockBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, start := 0, time.Now()
		k := newKeeper(t, aStore{tryLock: func() (func(), bool, error) { asked++; return nil, false, nil }}, 40*time.Second)
		if rec, lock := k.Lock(name, nil, true); rec != nil || lock == nil {
			t.Errorf("%v, lock %v", rec, lock)
		}
		if took := time.Since(start); took < 40*time.Second || took > 43*time.Second {
			t.Errorf("waited %v for a lock of 40 s whose holder died", took)
		}
		if asked < 40 || asked > 50 {
			t.Errorf("asked %d times in 41 s, want about once a second", asked)
		}
		asked, start = 0, time.Now()
		if k.Lock(name, nil, false); asked != 1 || time.Since(start) != 0 {
			t.Errorf("without patience: asked %d times in %v", asked, time.Since(start))
		}
	})
}

// A Store that hangs costs two seconds. After that, it is not called for ten
// seconds.
func TestStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		k := newKeeper(t, aStore{get: func(context.Context) ([]byte, error) {
			calls.Add(1)
			time.Sleep(time.Hour) // it ignores its context
			return nil, errors.New("late")
		}}, time.Minute)
		start := time.Now()
		for range 5 {
			k.Get(name)
		}
		if took := time.Since(start); took != 2*time.Second || calls.Load() != 1 {
			t.Errorf("5 calls took %v and reached the Store %d times", took, calls.Load())
		}
		time.Sleep(10*time.Second - 1)
		if k.Get(name); calls.Load() != 1 {
			t.Error("asked again before ten seconds were over")
		}
		time.Sleep(time.Nanosecond)
		if k.Get(name); calls.Load() != 2 {
			t.Error("not asked again after ten seconds")
		}
		time.Sleep(2 * time.Hour)
	})
}

// A lock is given back while its holder waits for a host. Before the host is
// asked, the holder takes the lock again, unless another member is fetching the
// file or has fetched it.
func TestLockIsTakenAnew(t *testing.T) {
	none := []byte(nil)
	k := &record.Kind{}
	body := []byte("User-agent: *\nDisallow: /\n")
	for _, tt := range []struct {
		name     string
		patient  bool
		released bool          // whether the holder gives the lock back while it waits
		wait     time.Duration // how long until the lock is taken again
		others   bool          // whether another member has the lock after the wait
		stored   bool          // whether another member has stored a record during the wait
		want     error
		asks     int // how many times the Locker is asked after the first time
	}{
		{"no wait", true, false, 0, false, false, nil, 0},
		{"a wait that the lock outlasts", true, false, 10 * time.Second, false, true, nil, 0},
		{"a longer one", true, false, 11 * time.Second, false, false, nil, 1},
		{"given back", true, true, time.Hour, false, false, nil, 1},
		{"given back, and another fetches", true, true, time.Hour, true, false, ErrElsewhere, 1},
		{"given back, and another has fetched", true, true, time.Hour, false, true, ErrElsewhere, 1},
		{"another fetches, and nobody may wait for that", false, true, time.Hour, true, false, nil, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asks, held, value := 0, 0, none
				keeper := newKeeper(t, aStore{
					get: func(context.Context) ([]byte, error) {
						if value == nil {
							return nil, fs.ErrNotExist
						}
						return value, nil
					},
					tryLock: func() (func(), bool, error) {
						if asks++; asks > 1 && tt.others {
							return nil, false, nil
						}
						held++
						return func() { held-- }, true, nil
					},
				}, 40*time.Second)
				rec, lock := keeper.Lock(name, nil, tt.patient)
				if rec != nil || held != 1 {
					t.Fatalf("%v, held %d times", rec, held)
				}
				if tt.released {
					if lock.Release(); held != 0 {
						t.Error("not given back")
					}
				}
				time.Sleep(tt.wait)
				if tt.stored {
					now := time.Now()
					good := &record.Record{State: record.Good, Status: 200, Doc: k.Document(body), Fetched: now, Expires: now.Add(time.Hour)}
					value = record.Encode(name, good, body)
				}
				if err := lock.Take(10 * time.Second); err != tt.want {
					t.Errorf("%v, want %v", err, tt.want)
				}
				if asks != 1+tt.asks {
					t.Errorf("asked %d times, want %d", asks, 1+tt.asks)
				}
				lock.Release()
				if lock.Release(); held != 0 {
					t.Errorf("held %d times at the end", held)
				}
			})
		})
	}
}
