package revisit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/goodbots/courtesy/robotsmw"
)

// A Store stores the cache beyond the life of a process. Packages diskstore and
// redisstore implement it. Keys are hashes of URLs. Crawlers may share a Store
// only if they have the same User-Agent and product tokens, because the
// directives of a page may differ for other robots.
type Store = robotsmw.Store

// A storeCache is a cache in a Store. It protects the crawl from a Store that
// fails, blocks or returns invalid values.
type storeCache struct {
	store  Store
	logger *slog.Logger

	mu       sync.Mutex
	calls    int       // number of calls in progress
	failing  bool      // whether the latest call failed
	lastCall time.Time // when the latest call began
}

const (
	callTimeout  = 2 * time.Second
	probePeriod  = 10 * time.Second // between calls while the Store fails
	maxCalls     = 100              // in progress at the same time
	minRetention = 30 * 24 * time.Hour
	maxValue     = 512 << 10 // bytes
)

// A storedEntry is a value in the Store.
type storedEntry struct {
	URL string `json:"url"`
	cacheEntry
}

// isValid reports whether a value was written by this package for the given
// key.
func (s *storedEntry) isValid(key string) bool {
	if s.URL != key {
		return false
	}
	for _, r := range s.responses() {
		if !r.isValid() {
			return false
		}
	}
	return true
}

func (c *storeCache) get(ctx context.Context, key string) cacheEntry {
	value, err := c.call(ctx, "get", func(ctx context.Context) ([]byte, error) {
		return c.store.Get(ctx, storeKey(key))
	})
	if err != nil {
		return cacheEntry{}
	}
	var s storedEntry
	if err := json.Unmarshal(value, &s); err != nil || !s.isValid(key) {
		return cacheEntry{}
	}
	return s.cacheEntry
}

func (c *storeCache) put(key string, e cacheEntry, began time.Time) {
	ctx := context.Background()
	if c.get(ctx, key).Requested > began.UnixNano() {
		return
	}
	value, err := json.Marshal(storedEntry{key, e})
	if err != nil || e == (cacheEntry{}) || len(value) > maxValue {
		c.call(ctx, "delete", func(ctx context.Context) ([]byte, error) {
			return nil, c.store.Delete(ctx, storeKey(key))
		})
		return
	}
	c.call(ctx, "put", func(ctx context.Context) ([]byte, error) {
		return nil, c.store.Put(ctx, storeKey(key), value, retention(e))
	})
}

// retention returns the time to live of an entry in the Store.
func retention(e cacheEntry) time.Duration {
	ttl := minRetention
	for _, r := range e.responses() {
		ttl = max(ttl, time.Until(time.Unix(0, r.Until))+minRetention)
	}
	return ttl
}

// storeKey returns the key of a URL in the Store. The number in the prefix must
// be increased when the format of storedEntry changes.
func storeKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "revisit1-" + hex.EncodeToString(sum[:])
}

var errStoreUnavailable = errors.New("the Store does not respond")

// call calls the Store. While the Store fails, call returns an error
// immediately, but calls the Store in the background at most once per
// probePeriod, to detect when it works again.
func (c *storeCache) call(ctx context.Context, operation string, f func(context.Context) ([]byte, error)) ([]byte, error) {
	failing, ok := c.beginCall()
	if !ok {
		return nil, errStoreUnavailable
	}
	type result struct {
		value []byte
		err   error
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	done := make(chan result, 1)
	go func() {
		defer cancel()
		var r result
		defer func() {
			if p := recover(); p != nil {
				r.err = fmt.Errorf("the Store panicked: %v", p)
			}
			c.endCall(operation, r.err)
			done <- r
		}()
		r.value, r.err = f(ctx)
	}()
	if failing {
		return nil, errStoreUnavailable
	}
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	}
	select { // both channels may be ready
	case r := <-done:
		return r.value, r.err
	default:
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		c.report(operation, errStoreUnavailable)
	}
	return nil, errStoreUnavailable
}

// beginCall reports whether the latest call failed, and whether the Store may
// be called now.
func (c *storeCache) beginCall() (failing, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	isTooEarly := c.failing && time.Since(c.lastCall) < probePeriod
	if c.calls >= maxCalls || isTooEarly {
		return c.failing, false
	}
	c.calls++
	c.lastCall = time.Now()
	return c.failing, true
}

func (c *storeCache) endCall(operation string, err error) {
	c.report(operation, err)
	c.mu.Lock()
	c.calls--
	c.mu.Unlock()
}

// report records whether the Store works, and logs a warning when it begins to
// fail.
func (c *storeCache) report(operation string, err error) {
	if errors.Is(err, context.Canceled) {
		return // the caller canceled the request
	}
	works := err == nil || errors.Is(err, fs.ErrNotExist)
	c.mu.Lock()
	beginsToFail := !works && !c.failing
	c.failing = !works
	c.mu.Unlock()
	if beginsToFail {
		c.logger.Warn("revisit: the Store failed; until it works again, requests are sent without the validators in it",
			"call", operation, "error", err)
	}
}
