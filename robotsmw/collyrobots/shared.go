package collyrobots

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"reflect"
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

// In tests with testing/synctest, bubble is used in place of common.
var bubble struct {
	sync.Mutex
	base    http.RoundTripper
	limiter *politeness.Limiter
}

// commonLimiter returns the Limiter of all collectors that were attached
// without a Limiter. Each testing/synctest bubble has a time of its own, and no
// Limiter can serve two bubbles. So in a bubble, collectors share a Limiter if
// their Base is the same fake network.
func commonLimiter(base http.RoundTripper) *politeness.Limiter {
	now := time.Now()
	if now != now.Round(0) { // a time has a monotonic part, except in a bubble
		return &common
	}
	if base == nil || !reflect.ValueOf(base).Comparable() {
		return new(politeness.Limiter)
	}
	bubble.Lock()
	defer bubble.Unlock()
	if bubble.base != base {
		bubble.base, bubble.limiter = base, new(politeness.Limiter)
	}
	return bubble.limiter
}

// shared has the robots.txt records of the process's collectors. Collectors
// share records if they have the same key. The records live as long as their
// Limiter.
var shared struct {
	sync.Mutex
	records map[sharedKey]*records
}

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

// maxShared bounds the records under a key. What does not fit is fetched again.
const maxShared = 32 << 20

// recordsFor returns the records that collectors with these options share.
// opts.Limiter must be set.
func recordsFor(opts robotsmw.Options) *records {
	key := sharedKey{weak.Make(opts.Limiter), fmt.Sprintf("%q %q %v %v %v %v %q", opts.UserAgent, opts.ProductTokens,
		opts.RobotsTimeout, opts.KeepFiles, opts.DisallowForbidden, opts.AllowAfter30Days, opts.Override)}
	shared.Lock()
	defer shared.Unlock()
	r := shared.records[key]
	if r == nil {
		if shared.records == nil {
			shared.records = make(map[sharedKey]*records)
		}
		r = &records{list: make(map[string]stored)}
		shared.records[key] = r
		if opts.Limiter != &common {
			runtime.AddCleanup(opts.Limiter, dropRecords, key)
		}
	}
	return r
}

func dropRecords(key sharedKey) {
	shared.Lock()
	defer shared.Unlock()
	delete(shared.records, key)
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
	for other := range s.list {
		if s.bytes+len(value) <= maxShared {
			break
		}
		s.drop(other)
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
