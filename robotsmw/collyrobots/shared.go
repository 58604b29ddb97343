package collyrobots

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
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

// shared has the robots.txt records of the process's collectors, by sharedKey.
// Collectors share *records if they have the same key. The records live as long
// as their Limiter and their transport.
var shared sync.Map

type sharedKey struct {
	limiter   weak.Pointer[politeness.Limiter]
	transport weak.Pointer[http.Transport] // nil means http.DefaultTransport
	options   string                       // all options that a decision depends on
}

// records is a robotsmw.Store in memory.
type records struct {
	mu    sync.Mutex
	list  map[string]stored
	locks map[string]bool // the keys whose robots.txt is being fetched
	bytes int
}

type stored struct {
	value []byte
	until time.Time
}

// maxShared bounds the records under a key. Beyond it, all are forgotten, and
// each is fetched again when it is needed.
const maxShared = 32 << 20

// recordsFor returns the records that collectors with these options and this
// transport share. opts.Limiter must be set. recordsFor returns nil if the
// collectors share none, because robots.txt may be another one by their
// transport.
func recordsFor(opts robotsmw.Options, transport http.RoundTripper) *records {
	own, ok := transport.(*http.Transport)
	if _, isDefault := transport.(defaultTransport); !ok && !isDefault {
		return nil
	}
	key := sharedKey{weak.Make(opts.Limiter), weak.Make(own), fmt.Sprintf("%q %q %v %v %v %v %q", opts.UserAgent, opts.ProductTokens,
		opts.RobotsTimeout, opts.KeepFiles, opts.DisallowForbidden, opts.AllowAfter30Days, opts.Override)}
	r, known := shared.LoadOrStore(key, &records{list: make(map[string]stored), locks: make(map[string]bool)})
	forget := func(key any) { shared.Delete(key) }
	if !known && opts.Limiter != &common {
		runtime.AddCleanup(opts.Limiter, forget, any(key))
	}
	if !known && own != nil {
		runtime.AddCleanup(own, forget, any(key))
	}
	return r.(*records)
}

// sharing is the Store of one Extension. It shares the records of the other
// Extensions that have the same transport now.
type sharing struct{ records atomic.Pointer[records] }

func (s *sharing) use(r *records) { s.records.Store(r) }

func (s *sharing) Get(_ context.Context, key string) ([]byte, error) {
	r := s.records.Load()
	if r == nil {
		return nil, fs.ErrNotExist
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.list[key]
	if !ok || time.Now().After(e.until) {
		return nil, fs.ErrNotExist
	}
	return slices.Clone(e.value), nil
}

func (s *sharing) Put(_ context.Context, key string, value []byte, ttl time.Duration) error {
	r := s.records.Load()
	if r == nil || len(value) > maxShared {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(key)
	if r.bytes+len(value) > maxShared {
		clear(r.list)
		r.bytes = 0
	}
	r.list[key] = stored{slices.Clone(value), time.Now().Add(ttl)}
	r.bytes += len(value)
	return nil
}

func (s *sharing) Delete(_ context.Context, key string) error {
	if r := s.records.Load(); r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.drop(key)
	}
	return nil
}

// TryLock makes sharing a robotsmw.Locker: of the collectors that need a
// robots.txt at the same time, one fetches it, and the others wait for the
// result. The ttl does not matter, because a process that dies takes all
// holders of its locks with it.
func (s *sharing) TryLock(_ context.Context, key string, _ time.Duration) (unlock func(), ok bool, err error) {
	r := s.records.Load()
	if r == nil {
		return func() {}, true, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.locks[key] {
		return nil, false, nil
	}
	r.locks[key] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.locks, key)
	}, true, nil
}

func (r *records) drop(key string) {
	r.bytes -= len(r.list[key].value)
	delete(r.list, key)
}
