// Package storetest tests implementations of robotsmw.Store.
//
// Run should be called in a test of the implementation:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) robotsmw.Store { return New(t.TempDir()) })
//	}
//
// If the Store is also a robotsmw.Locker, its locks are tested, too.
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

// Run tests a Store. For each test, it calls open, which must return an empty
// Store and should use t.Cleanup to release its resources. The tests take a few
// seconds, because they wait for values to expire.
func Run(t *testing.T, open func(t *testing.T) robotsmw.Store) {
	testValues(t, open)
	testExpiry(t, open)
	t.Run("concurrent calls", func(t *testing.T) { testConcurrency(t, open(t)) })
	if _, ok := open(t).(robotsmw.Locker); ok {
		testLocker(t, open)
	}
}

const longTTL = time.Hour

// testValues tests Get, Put and Delete.
func testValues(t *testing.T, open func(t *testing.T) robotsmw.Store) {
	ctx := context.Background()

	t.Run("a missing value is fs.ErrNotExist", func(t *testing.T) {
		s := open(t)
		if v, err := s.Get(ctx, "https://example.com"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Get of a missing value returned %q and error %v, want an error that wraps fs.ErrNotExist", v, err)
		}
	})

	t.Run("values are returned unchanged", func(t *testing.T) {
		s := open(t)
		for key, value := range samples() {
			put(t, s, key, value, longTTL)
		}
		for key, value := range samples() {
			want(t, s, key, value)
		}
	})

	t.Run("Put replaces a value", func(t *testing.T) {
		s := open(t)
		put(t, s, "https://example.com", []byte("first and longer"), longTTL)
		put(t, s, "https://example.com", []byte("second"), longTTL)
		want(t, s, "https://example.com", []byte("second"))
	})

	t.Run("similar keys", func(t *testing.T) {
		s := open(t)
		keys := []string{"http://a.example", "https://a.example", "http://a.example:8080", "http://A.example", "http://a.example b.example", "http://a.example/", "http://a", "http:/", "h"}
		for _, key := range keys {
			put(t, s, key, []byte("value of "+key), longTTL)
		}
		for _, key := range keys {
			want(t, s, key, []byte("value of "+key))
		}
		remove(t, s, keys[0])
		for _, key := range keys[1:] {
			want(t, s, key, []byte("value of "+key))
		}
	})

	t.Run("values are copied", func(t *testing.T) {
		s := open(t)
		value := []byte("value")
		put(t, s, "https://example.com", value, longTTL)
		copy(value, "VALUE")
		got, err := s.Get(ctx, "https://example.com")
		if err != nil || string(got) != "value" {
			t.Fatalf("Get after the caller modified the value returned %q and error %v, want \"value\"", got, err)
		}
		copy(got, "VALUE")
		want(t, s, "https://example.com", []byte("value"))
	})

	t.Run("Delete", func(t *testing.T) {
		s := open(t)
		remove(t, s, "https://example.com")
		put(t, s, "https://example.com", []byte("value"), longTTL)
		remove(t, s, "https://example.com")
		if v, err := s.Get(ctx, "https://example.com"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Get after Delete returned %q and error %v, want an error that wraps fs.ErrNotExist", v, err)
		}
	})
}

// testExpiry tests that values expire and that calls respect their context.
func testExpiry(t *testing.T, open func(t *testing.T) robotsmw.Store) {
	ctx := context.Background()

	t.Run("values expire", func(t *testing.T) {
		s := open(t)
		began := time.Now()
		put(t, s, "https://short.example", []byte("value"), time.Second)
		put(t, s, "https://long.example", []byte("value"), longTTL)
		got, err := s.Get(ctx, "https://short.example")
		isWithinTTL := time.Since(began) < time.Second // otherwise the value may have expired
		if isWithinTTL && (err != nil || string(got) != "value") {
			t.Errorf("Get before the value expires = %q, %v, want %q", got, err, "value")
		}
		waitUntil(t, 20*time.Second, "the value has not expired", func() bool {
			_, err := s.Get(ctx, "https://short.example")
			return errors.Is(err, fs.ErrNotExist)
		})
		want(t, s, "https://long.example", []byte("value"))
		put(t, s, "https://short.example", []byte("again"), longTTL)
		want(t, s, "https://short.example", []byte("again"))
	})

	t.Run("canceled context", func(t *testing.T) {
		s := open(t)
		put(t, s, "https://example.com", []byte("value"), longTTL)
		canceled, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := s.Get(canceled, "https://example.com"); !errors.Is(err, context.Canceled) {
			t.Errorf("Get with a canceled context returned %v, want context.Canceled", err)
		}
		if err := s.Put(canceled, "https://example.com", []byte("new"), longTTL); !errors.Is(err, context.Canceled) {
			t.Errorf("Put with a canceled context returned %v, want context.Canceled", err)
		}
		if err := s.Delete(canceled, "https://example.com"); !errors.Is(err, context.Canceled) {
			t.Errorf("Delete with a canceled context returned %v, want context.Canceled", err)
		}
		want(t, s, "https://example.com", []byte("value"))
	})
}

// testConcurrency tests that concurrent calls of Get return values that were
// put, and not mixtures of several values.
func testConcurrency(t *testing.T, s robotsmw.Store) {
	ctx := context.Background()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 40 {
				key := fmt.Sprintf("https://h%d.example", i%5)
				value := bytes.Repeat([]byte{byte('a' + g)}, 1+rand.IntN(20_000))
				if err := s.Put(ctx, key, value, longTTL); err != nil {
					t.Errorf("Put returned error %v, want none", err)
				}
				got, err := s.Get(ctx, key)
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("Get returned error %v, want none or fs.ErrNotExist", err)
				}
				if err == nil && (len(got) == 0 || len(bytes.Trim(got, string(got[0]))) > 0) {
					t.Errorf("Get returned a mixture of values, want one value")
				}
				if i%10 == 0 {
					if err := s.Delete(ctx, key); err != nil {
						t.Errorf("Delete returned error %v, want none", err)
					}
				}
			}
		})
	}
	wg.Wait()
}

// testLocker tests a Store that is a robotsmw.Locker.
func testLocker(t *testing.T, open func(t *testing.T) robotsmw.Store) {
	ctx := context.Background()
	locker := func(t *testing.T) robotsmw.Locker { return open(t).(robotsmw.Locker) }
	lock := func(t *testing.T, l robotsmw.Locker, key string, ttl time.Duration) (func(), bool) {
		t.Helper()
		unlock, ok, err := l.TryLock(ctx, key, ttl)
		if err != nil {
			t.Fatalf("TryLock returned error %v, want none", err)
		}
		if ok && unlock == nil {
			t.Fatal("TryLock returned ok and a nil unlock function, want a function")
		}
		return unlock, ok
	}

	t.Run("locks are exclusive", func(t *testing.T) {
		l := locker(t)
		unlock, ok := lock(t, l, "https://example.com", time.Minute)
		if !ok {
			t.Fatal("TryLock returned false for a key that is not locked, want true")
		}
		if _, ok := lock(t, l, "https://example.com", time.Minute); ok {
			t.Error("TryLock returned true for a key that is locked, want false")
		}
		if _, ok := lock(t, l, "https://other.example", time.Minute); !ok {
			t.Error("TryLock returned false for a key that is not locked while another key is, want true")
		}
		unlock()
		if _, ok := lock(t, l, "https://example.com", time.Minute); !ok {
			t.Error("TryLock returned false after unlock, want true")
		}
	})

	t.Run("locks are not values", func(t *testing.T) {
		s := open(t)
		lock(t, s.(robotsmw.Locker), "https://example.com", time.Minute)
		if v, err := s.Get(ctx, "https://example.com"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Get of a locked key returned %q and error %v, want an error that wraps fs.ErrNotExist", v, err)
		}
		put(t, s, "https://example.com", []byte("value"), time.Hour)
		want(t, s, "https://example.com", []byte("value"))
	})

	t.Run("locks expire", func(t *testing.T) {
		l := locker(t)
		unlockExpired, ok := lock(t, l, "https://example.com", time.Second)
		if !ok {
			t.Fatal("TryLock returned false for a key that is not locked, want true")
		}
		waitUntil(t, 20*time.Second, "the lock has not expired", func() bool {
			_, ok := lock(t, l, "https://example.com", time.Minute)
			return ok
		})
		unlockExpired()
		if _, ok := lock(t, l, "https://example.com", time.Minute); ok {
			t.Error("unlocking an expired lock released the lock of another holder, want it to remain")
		}
	})

	t.Run("concurrent calls of TryLock", func(t *testing.T) {
		l := locker(t)
		var wg sync.WaitGroup
		var holders atomic.Int64
		for range 16 {
			wg.Go(func() {
				if _, ok, err := l.TryLock(ctx, "https://example.com", time.Minute); err != nil {
					t.Errorf("TryLock returned error %v, want none", err)
				} else if ok {
					holders.Add(1)
				}
			})
		}
		wg.Wait()
		if n := holders.Load(); n != 1 {
			t.Errorf("%d of 16 concurrent calls of TryLock returned true, want 1", n)
		}
	})
}

// samples returns keys and values such as those of a Checker, and unusual ones.
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
		t.Fatalf("Put(%q) returned error %v, want none", key, err)
	}
}

func remove(t *testing.T, s robotsmw.Store, key string) {
	t.Helper()
	if err := s.Delete(context.Background(), key); err != nil {
		t.Fatalf("Delete(%q) returned error %v, want none", key, err)
	}
}

func want(t *testing.T, s robotsmw.Store, key string, value []byte) {
	t.Helper()
	got, err := s.Get(context.Background(), key)
	if err != nil {
		t.Fatalf("Get(%q) returned error %v, want none", key, err)
	}
	if !bytes.Equal(got, value) {
		t.Fatalf("Get(%q) returned %d bytes, want the same %d bytes as Put",
			key, len(got), len(value))
	}
}

// waitUntil polls a condition, and fails the test if it is not met within the
// timeout. A fixed delay would not suffice, because the Store may use another
// clock.
func waitUntil(t *testing.T, timeout time.Duration, failure string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(timeout)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("%s after %v", failure, timeout)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
