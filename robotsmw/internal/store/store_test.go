package store

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// An aStore calls its functions. If a function is nil, the result is that of an
// empty Store.
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

func (s aStore) TryLock(context.Context, string, time.Duration) (func(), bool, error) {
	if s.tryLock == nil {
		return func() {}, true, nil
	}
	return s.tryLock()
}

const name = "http://a.example"

var kind = &record.Kind{Tokens: []string{"ExampleBot"}}

func newKeeper(t *testing.T, s Store) *Keeper {
	return New(s, 30*time.Second, 10*time.Second, kind, func(op string, err error) { t.Logf("%s: %v", op, err) })
}

// A record is stored for as long as it may be needed.
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
			{
				name: "no file, its lifetime over",
				rec:  &record.Record{State: record.Unavailable, Status: 404, Fetched: now.Add(-time.Hour), Expires: now},
				want: 5 * time.Minute,
			},
			{
				name: "since when it is unreachable",
				rec:  (*record.Record)(nil).Failed("", now, 503, "status 503", 0),
				want: month,
			},
			{"no file, now unreachable", none.Failed("", now, 503, "status 503", 0), month},
		} {
			var got time.Duration
			newKeeper(t, aStore{put: func(ttl time.Duration) { got = ttl }}).Put(name, tt.rec, body)
			if got != tt.want {
				t.Errorf("%s: the record is stored for %v, want %v", tt.name, got, tt.want)
			}
		}
	})
}

// A member that waits for a lock polls with increasing intervals of up to a
// second.
func TestWaitForALockBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, start := 0, time.Now()
		k := newKeeper(t, aStore{
			tryLock: func() (func(), bool, error) { asked++; return nil, false, nil },
		})
		if rec, lock := k.Lock(name, nil); rec != nil || lock != nil {
			t.Errorf("Lock = %v, %v, want no record and no lock", rec, lock)
		}
		if took := time.Since(start); took < 40*time.Second || took > 43*time.Second {
			t.Errorf("Lock waited for %v, want 40s, the lifetime of a lock, and up to 3s", took)
		}
		if asked < 40 || asked > 50 {
			t.Errorf("TryLock was called %d times in 41 s, want about once a second", asked)
		}
	})
}

// A call of a Store that does not respond ends after two seconds. After that,
// the Store is not called for ten seconds.
func TestStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		k := newKeeper(t, aStore{get: func(context.Context) ([]byte, error) {
			calls.Add(1)
			time.Sleep(time.Hour) // it ignores its context
			return nil, errors.New("late")
		}})
		start := time.Now()
		for range 5 {
			k.Get(name)
		}
		if took := time.Since(start); took != 2*time.Second || calls.Load() != 1 {
			t.Errorf("5 calls took %v and called the Store %d times, want 2s and once", took, calls.Load())
		}
		time.Sleep(10*time.Second - 1)
		if k.Get(name); calls.Load() != 1 {
			t.Error("the Store was called again within ten seconds, want no call")
		}
		time.Sleep(time.Nanosecond)
		if k.Get(name); calls.Load() != 2 {
			t.Error("the Store was not called again after ten seconds, want a call")
		}
		time.Sleep(2 * time.Hour)
	})
}

// A Store whose calls never return blocks at most a thousand goroutines,
// however many callers use it and for however long. Once it responds again, it
// is used within a minute, although the old calls do not return.
func TestStoreThatNeverReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answers atomic.Bool
		var stuck, calls atomic.Int64
		end := make(chan struct{})
		k := New(aStore{get: func(context.Context) ([]byte, error) {
			calls.Add(1)
			if !answers.Load() {
				stuck.Add(1)
				<-end
			}
			return nil, fs.ErrNotExist
		}}, time.Minute, time.Second, &record.Kind{}, func(string, error) {})
		for range 20 {
			var wg sync.WaitGroup
			for range 5000 {
				wg.Go(func() { k.Get(name) })
			}
			wg.Wait()
			time.Sleep(time.Minute)
		}
		if n := stuck.Load(); n > 1000 {
			t.Errorf("%d goroutines are blocked in the Store, want at most 1000", n)
		}
		answers.Store(true)
		before := calls.Load()
		for range 60 {
			k.Get(name)
			time.Sleep(time.Second)
		}
		if n := calls.Load() - before; n < 45 {
			t.Errorf("%d calls in the minute after the Store responds again, want at least 45", n)
		}
		close(end)
	})
}

// Check returns an error if the lock was released or may expire during the
// fetch.
func TestLockThatEndsDuringTheWait(t *testing.T) {
	for _, tt := range []struct {
		name     string
		released bool // whether the holder releases the lock while it waits
		wait     time.Duration
		want     error
	}{
		{"no wait", false, 0, nil},
		{"a wait that the lock outlasts", false, 10 * time.Second, nil},
		{"a longer one", false, 11 * time.Second, ErrElsewhere},
		{"released", true, time.Second, ErrElsewhere},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				held := 0
				keeper := newKeeper(t, aStore{tryLock: func() (func(), bool, error) {
					held++
					return func() { held-- }, true, nil
				}})
				rec, lock := keeper.Lock(name, nil)
				if rec != nil || held != 1 {
					t.Fatalf("Lock returned the record %v and holds %d locks, want no record and one lock", rec, held)
				}
				if tt.released {
					lock.Release()
				}
				time.Sleep(tt.wait)
				if err := lock.Check(); err != tt.want {
					t.Errorf("Check = %v, want %v", err, tt.want)
				}
				lock.Release()
				if lock.Release(); held != 0 {
					t.Errorf("%d locks are held at the end, want none", held)
				}
			})
		})
	}
}

// If another member stores a record while this one waits for the lock, the
// record is used.
func TestStoredWhileWaitingForTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		body := []byte("User-agent: *\nDisallow: /\n")
		good := &record.Record{State: record.Good, Status: 200, Doc: new(record.Kind).Document(body), Fetched: now, Expires: now.Add(time.Hour)}
		keeper := newKeeper(t, aStore{
			get: func(context.Context) ([]byte, error) {
				if time.Since(now) < 5*time.Second {
					return nil, fs.ErrNotExist
				}
				return kind.Encode(name, good, body), nil
			},
			tryLock: func() (func(), bool, error) { return nil, false, nil },
		})
		if rec, lock := keeper.Lock(name, nil); rec == nil || lock != nil || time.Since(now) > 7*time.Second {
			t.Errorf("Lock = %v, %v after %v, want the stored record and no lock within 7s", rec, lock, time.Since(now))
		}
	})
}
