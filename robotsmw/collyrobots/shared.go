package collyrobots

import (
	"context"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// common is the Limiter for collectors that were attached without one. The
// whole process shares it. So a host has one pace, however many of these
// collectors crawl it.
var common politeness.Limiter

// commonLimiter returns the Limiter of a collector that was attached without
// one. A testing/synctest bubble has a time of its own, and no Limiter can
// serve two bubbles. So in a bubble, each of these collectors gets its own.
func commonLimiter() *politeness.Limiter {
	now := time.Now()
	if now == now.Round(0) { // outside a bubble, a time has a monotonic part
		return new(politeness.Limiter)
	}
	return &common
}

// shared has the robots.txt records of the process's collectors, by sharedKey.
// Collectors share *records if they have the same key. The records live as long
// as their Limiter.
var shared sync.Map

type sharedKey struct {
	limiter weak.Pointer[politeness.Limiter]
	options string // all options that a decision depends on
}

// records is a robotsmw.Store in memory.
type records struct {
	mu    sync.Mutex
	list  map[string]stored
	bytes int
}

type stored struct {
	value []byte
	until time.Time
}

// maxShared bounds the records under a key. Beyond it, all are forgotten, and
// each is fetched again when it is needed.
const maxShared = 32 << 20

// recordsFor returns the records that collectors with these options share.
// opts.Limiter must be set.
func recordsFor(opts robotsmw.Options) *records {
	key := sharedKey{weak.Make(opts.Limiter), fmt.Sprintf("%q %q %v %v %v %v %q", opts.UserAgent, opts.ProductTokens,
		opts.RobotsTimeout, opts.KeepFiles, opts.DisallowForbidden, opts.AllowAfter30Days, opts.Override)}
	r, known := shared.LoadOrStore(key, &records{list: make(map[string]stored)})
	if !known && opts.Limiter != &common {
		runtime.AddCleanup(opts.Limiter, func(key any) { shared.Delete(key) }, any(key))
	}
	return r.(*records)
}

// sharing is the Store of one Extension. When its collectors get a transport of
// their own, it leaves the others, because their answers may differ.
type sharing struct {
	*records
	left atomic.Bool
}

func (s *sharing) Get(_ context.Context, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.list[key]
	if !ok || s.left.Load() || time.Now().After(e.until) {
		return nil, fs.ErrNotExist
	}
	return slices.Clone(e.value), nil
}

func (s *sharing) Put(_ context.Context, key string, value []byte, ttl time.Duration) error {
	if s.left.Load() || len(value) > maxShared {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(key)
	if s.bytes+len(value) > maxShared {
		clear(s.list)
		s.bytes = 0
	}
	s.list[key] = stored{slices.Clone(value), time.Now().Add(ttl)}
	s.bytes += len(value)
	return nil
}

func (s *sharing) Delete(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(key)
	return nil
}

func (r *records) drop(key string) {
	r.bytes -= len(r.list[key].value)
	delete(r.list, key)
}
