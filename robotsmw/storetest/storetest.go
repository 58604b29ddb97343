// Package storetest checks that a robotsmw.Store does what a robotsmw.Checker
// relies on. Call Run in a test of your own Store:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) robotsmw.Store { return New(t.TempDir()) })
//	}
//
// A Store that is also a robotsmw.Locker is tested as a Locker too.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goodbots/courtesy/robotsmw"
)

// Run tests an implementation of Store. Each call of open() must return an
// empty Store, and clean up with t.Cleanup. The tests take a few seconds,
// because they wait until values expire.
func Run(t *testing.T, open func(t *testing.T) robotsmw.Store) {
	runValues(t, open)
	runTimes(t, open)
	t.Run("many at once see whole values", func(t *testing.T) { putAndGetAtOnce(t, open(t)) })
	if _, ok := open(t).(robotsmw.Locker); ok {
		runLocker(t, open)
	}
}

const long = time.Hour

// runValues tests that a Store has what was put there last.
func runValues(t *testing.T, open func(t *testing.T) robotsmw.Store) {
	ctx := context.Background()

	t.Run("a miss is fs.ErrNotExist", func(t *testing.T) {
		s := open(t)
		if v, err := s.Get(ctx, "https://example.com"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Get of what was never put: %q, %v", v, err)
		}
	})

	t.Run("values come back whole", func(t *testing.T) {
		s := open(t)
		for key, value := range samples() {
			put(t, s, key, value, long)
		}
		for key, value := range samples() {
			want(t, s, key, value)
		}
	})

	t.Run("the latest value counts", func(t *testing.T) {
		s := open(t)
		put(t, s, "https://example.com", []byte("first and longer"), long)
		put(t, s, "https://example.com", []byte("second"), long)
		want(t, s, "https://example.com", []byte("second"))
	})

	t.Run("keys do not run into each other", func(t *testing.T) {
		s := open(t)
		keys := []string{"http://a.example", "https://a.example", "http://a.example:8080", "http://A.example", "http://a.example b.example", "http://a.example/", "http://a", "http:/", "h"}
		for _, key := range keys {
			put(t, s, key, []byte("value of "+key), long)
		}
		for _, key := range keys {
			want(t, s, key, []byte("value of "+key))
		}
		remove(t, s, keys[0])
		for _, key := range keys[1:] {
			want(t, s, key, []byte("value of "+key))
		}
	})

	t.Run("a value is the store's own", func(t *testing.T) {
		s := open(t)
		value := []byte("value")
		put(t, s, "https://example.com", value, long)
		copy(value, "VALUE")
		got, err := s.Get(ctx, "https://example.com")
		if err != nil || string(got) != "value" {
			t.Fatalf("after its caller changed what was put: %q, %v", got, err)
		}
		copy(got, "VALUE")
		want(t, s, "https://example.com", []byte("value"))
	})

	t.Run("Delete", func(t *testing.T) {
		s := open(t)
		remove(t, s, "https://example.com")
		put(t, s, "https://example.com", []byte("value"), long)
		remove(t, s, "https://example.com")
		if v, err := s.Get(ctx, "https://example.com"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Get after Delete: %q, %v", v, err)
		}
	})

}

// runTimes tests that values and calls end.
func runTimes(t *testing.T, open func(t *testing.T) robotsmw.Store) {
	ctx := context.Background()

	t.Run("a value is forgotten after its time", func(t *testing.T) {
		s := open(t)
		began := time.Now()
		put(t, s, "https://short.example", []byte("value"), time.Second)
		put(t, s, "https://long.example", []byte("value"), long)
		got, err := s.Get(ctx, "https://short.example")
		if time.Since(began) < time.Second && (err != nil || string(got) != "value") { // on a busy machine, the ttl of one second may be over
			t.Errorf("before its time: %q, %v", got, err)
		}
		waitUntil(t, 20*time.Second, "the value is still there", func() bool {
			_, err := s.Get(ctx, "https://short.example")
			return errors.Is(err, fs.ErrNotExist)
		})
		want(t, s, "https://long.example", []byte("value"))
		put(t, s, "https://short.example", []byte("again"), long)
		want(t, s, "https://short.example", []byte("again"))
	})

	t.Run("an ended context", func(t *testing.T) {
		s := open(t)
		put(t, s, "https://example.com", []byte("value"), long)
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := s.Get(ended, "https://example.com"); !errors.Is(err, context.Canceled) {
			t.Errorf("Get: %v, want context.Canceled", err)
		}
		if err := s.Put(ended, "https://example.com", []byte("new"), long); !errors.Is(err, context.Canceled) {
			t.Errorf("Put: %v, want context.Canceled", err)
		}
		if err := s.Delete(ended, "https://example.com"); !errors.Is(err, context.Canceled) {
			t.Errorf("Delete: %v, want context.Canceled", err)
		}
		want(t, s, "https://example.com", []byte("value"))
	})

}

// putAndGetAtOnce tests that a value is always one that was put, and not a
// mixture of two.
func putAndGetAtOnce(t *testing.T, s robotsmw.Store) {
	ctx := context.Background()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 40 {
				key := fmt.Sprintf("https://h%d.example", i%5)
				value := bytes.Repeat([]byte{byte('a' + g)}, 1+rand.IntN(20_000))
				if err := s.Put(ctx, key, value, long); err != nil {
					t.Errorf("Put: %v", err)
				}
				got, err := s.Get(ctx, key)
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("Get: %v", err)
				}
				if err == nil && (len(got) == 0 || len(bytes.Trim(got, string(got[0]))) > 0) {
					t.Errorf("Get gave a mixture of values")
				}
				if i%10 == 0 {
					if err := s.Delete(ctx, key); err != nil {
						t.Errorf("Delete: %v", err)
					}
				}
			}
		})
	}
	wg.Wait()
}

func runLocker(t *testing.T, open func(t *testing.T) robotsmw.Store) {
	ctx := context.Background()
	locker := func(t *testing.T) robotsmw.Locker { return open(t).(robotsmw.Locker) }
	lock := func(t *testing.T, l robotsmw.Locker, key string, ttl time.Duration) (func(), bool) {
		t.Helper()
		unlock, ok, err := l.TryLock(ctx, key, ttl)
		if err != nil {
			t.Fatalf("TryLock: %v", err)
		}
		if ok && unlock == nil {
			t.Fatal("TryLock: ok without an unlock")
		}
		return unlock, ok
	}

	t.Run("a lock has one holder", func(t *testing.T) {
		l := locker(t)
		unlock, ok := lock(t, l, "https://example.com", time.Minute)
		if !ok {
			t.Fatal("nobody holds it, and TryLock says no")
		}
		if _, ok := lock(t, l, "https://example.com", time.Minute); ok {
			t.Error("two hold it")
		}
		if _, ok := lock(t, l, "https://other.example", time.Minute); !ok {
			t.Error("another key is locked too")
		}
		unlock()
		if _, ok := lock(t, l, "https://example.com", time.Minute); !ok {
			t.Error("it is still held after unlock")
		}
	})

	t.Run("a lock is no value", func(t *testing.T) {
		s := open(t)
		lock(t, s.(robotsmw.Locker), "https://example.com", time.Minute)
		if v, err := s.Get(ctx, "https://example.com"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Get: %q, %v", v, err)
		}
		put(t, s, "https://example.com", []byte("value"), time.Hour)
		want(t, s, "https://example.com", []byte("value"))
	})

	t.Run("a lock ends after its time, and its late unlock frees nobody else's", func(t *testing.T) {
		l := locker(t)
		late, ok := lock(t, l, "https://example.com", time.Second)
		if !ok {
			t.Fatal("TryLock says no")
		}
		waitUntil(t, 20*time.Second, "the lock of a holder that died is still held", func() bool {
			_, ok := lock(t, l, "https://example.com", time.Minute)
			return ok
		})
		late()
		if _, ok := lock(t, l, "https://example.com", time.Minute); ok {
			t.Error("a late unlock freed another's lock")
		}
	})

	t.Run("of many at once one gets it", func(t *testing.T) {
		l := locker(t)
		var wg sync.WaitGroup
		var holders atomic.Int64
		for range 16 {
			wg.Go(func() {
				if _, ok, err := l.TryLock(ctx, "https://example.com", time.Minute); err != nil {
					t.Errorf("TryLock: %v", err)
				} else if ok {
					holders.Add(1)
				}
			})
		}
		wg.Wait()
		if n := holders.Load(); n != 1 {
			t.Errorf("%d hold it", n)
		}
	})
}

// samples returns keys and values like those of a Checker, and some unusual
// ones.
func samples() map[string][]byte {
	binary := make([]byte, 600<<10)
	for i := range binary {
		binary[i] = byte(i * 7)
	}
	return map[string][]byte{
		"https://example.com":                          []byte("{}\nUser-agent: *\n"),
		"http://example.com:8080":                      {},
		"http://127.0.0.1:8080 xn--bcher-kva.example":  []byte("a Host of its own"),
		"http://[2001:db8::1]":                         {0},
		"https://" + strings.Repeat("a.", 126) + "a":   []byte("the longest host name"),
		"https://../../etc/passwd":                     []byte("no path"),
		"https://percent%2Fcolon:and*star?and\\slash|": []byte("no file name"),
		"https://large.example":                        binary,
	}
}

func put(t *testing.T, s robotsmw.Store, key string, value []byte, ttl time.Duration) {
	t.Helper()
	if err := s.Put(context.Background(), key, value, ttl); err != nil {
		t.Fatalf("Put(%q): %v", key, err)
	}
}

func remove(t *testing.T, s robotsmw.Store, key string) {
	t.Helper()
	if err := s.Delete(context.Background(), key); err != nil {
		t.Fatalf("Delete(%q): %v", key, err)
	}
}

func want(t *testing.T, s robotsmw.Store, key string, value []byte) {
	t.Helper()
	got, err := s.Get(context.Background(), key)
	if err != nil {
		t.Fatalf("Get(%q): %v", key, err)
	}
	if !bytes.Equal(got, value) {
		t.Fatalf("Get(%q): %d bytes, want %d, or others", key, len(got), len(value))
	}
}

// waitUntil calls ok again and again, until it returns true. The test
// fails if this takes longer than the limit. A wait of a fixed time would not
// do, because a Store may use another clock.
func waitUntil(t *testing.T, limit time.Duration, complaint string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s after %v", complaint, limit)
		}
	}
}
