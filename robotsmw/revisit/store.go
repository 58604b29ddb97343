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

// A Store keeps what is known of pages beyond the life of a process. Packages
// diskstore and redisstore have one. Keys are hashes of URLs. Only crawlers
// with the same User-Agent and product tokens may share a Store: what a page
// says to one robot need not be what it says to another.
type Store = robotsmw.Store

// A keeper keeps what is known in a Store, and shields the crawl from one that
// fails, hangs or lies.
type keeper struct {
	store  Store
	logger *slog.Logger

	mu      sync.Mutex
	calls   int       // under way
	failing bool      // since the last call that answered
	probed  time.Time // the last call since then
}

const (
	patience  = 2 * time.Second     // for one call
	probeGap  = 10 * time.Second    // between two calls while the Store fails
	maxCalls  = 100                 // under way at once
	leastLife = 30 * 24 * time.Hour // of validators
)

// stored is the value in the Store. A value of another URL, or one that this
// package has not written, is a miss.
type stored struct {
	URL string `json:"url"`
	known
}

func (k *keeper) get(ctx context.Context, key string) known {
	value, err := k.call(ctx, "get", func(ctx context.Context) ([]byte, error) { return k.store.Get(ctx, storeKey(key)) })
	var s stored
	if err != nil || json.Unmarshal(value, &s) != nil || s.URL != key || !s.Page.isWhole() || !s.Answer.isWhole() {
		return known{}
	}
	return s.known
}

func (k *keeper) put(key string, new known, began time.Time) {
	ctx := context.Background()
	if k.get(ctx, key).Asked > began.UnixNano() {
		return
	}
	if value, err := json.Marshal(stored{key, new}); err == nil && new != (known{}) && len(value) <= 512<<10 {
		ttl := leastLife
		for _, v := range []*version{new.Page, new.Answer} {
			if v != nil {
				ttl = max(ttl, time.Until(time.Unix(0, v.Until))+leastLife)
			}
		}
		k.call(ctx, "put", func(ctx context.Context) ([]byte, error) { return nil, k.store.Put(ctx, storeKey(key), value, ttl) })
		return
	}
	k.call(ctx, "delete", func(ctx context.Context) ([]byte, error) { return nil, k.store.Delete(ctx, storeKey(key)) })
}

// storeKey names a page in the Store. The number changes with the form of the
// value.
func storeKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "revisit1-" + hex.EncodeToString(sum[:])
}

var errAway = errors.New("the Store does not answer")

// call calls the Store. While the Store fails, a call is made now and then to
// see whether it answers again, and nobody waits for that call.
func (k *keeper) call(ctx context.Context, what string, f func(context.Context) ([]byte, error)) ([]byte, error) {
	k.mu.Lock()
	failing := k.failing
	if k.calls >= maxCalls || failing && time.Since(k.probed) < probeGap {
		k.mu.Unlock()
		return nil, errAway
	}
	k.calls++
	k.probed = time.Now()
	k.mu.Unlock()

	type result struct {
		value []byte
		err   error
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	done := make(chan result, 1)
	go func() {
		defer cancel()
		var r result
		defer func() {
			if p := recover(); p != nil {
				r.err = fmt.Errorf("the Store panicked: %v", p)
			}
			k.note(what, r.err)
			k.mu.Lock()
			k.calls--
			k.mu.Unlock()
			done <- r
		}()
		r.value, r.err = f(ctx)
	}()
	if failing {
		return nil, errAway
	}
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		select { // the call may have ended just now
		case r := <-done:
			return r.value, r.err
		default:
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			k.note(what, errAway)
		}
		return nil, errAway
	}
}

// note remembers whether the Store answers, and logs when it begins to fail. A
// caller that gives up says nothing about the Store.
func (k *keeper) note(what string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	ok := err == nil || errors.Is(err, fs.ErrNotExist)
	k.mu.Lock()
	news := !ok && !k.failing
	k.failing = !ok
	k.mu.Unlock()
	if news {
		k.logger.Warn("revisit: the Store fails: pages are asked for again until it answers", "call", what, "error", err)
	}
}
