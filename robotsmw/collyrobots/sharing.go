package collyrobots

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"
	"weak"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw"
)

// processLimiter is the Limiter for collectors that were attached without one.
// The whole process shares it, so that the delay between requests to a host
// applies to all of these collectors together.
var processLimiter politeness.Limiter

// Collectors with the same sharedKey share robots.txt through a Store: of the
// collectors that need a file at the same time, one fetches it, and the others
// wait for the record. Nevertheless, each Extension has a Checker of its own. A
// single Checker for all of them would be simpler, but it would break three
// guarantees:
//
//   - Observers and Loggers may differ. A record of a crawl (package evidence)
//     needs Observer.Read and Loaded for each file on which a decision of its
//     own collector is based, but a Checker calls one Observer only.
//   - A transport may be set at any time, such as before each page. The files
//     that a collector has read by then remain in force. The Checker of another
//     transport would not have these files.
//   - Files outlive collectors, so that a program that makes a collector for
//     each job does not fetch them for each job. However, a Checker refers to
//     its Limiter and its transport, so a Checker that is never removed would
//     also keep these in memory.

// shared contains the *records of the process, by sharedKey. They are removed
// when the Limiter, the transport or the Detector of the key is garbage
// collected.
var shared sync.Map

type sharedKey struct {
	limiter   weak.Pointer[politeness.Limiter]
	transport weak.Pointer[http.Transport]   // nil means http.DefaultTransport
	refusals  weak.Pointer[refusal.Detector] // Options.Refusals
	options   string                         // all other options that a decision depends on
}

// records are the robots.txt records of collectors with the same sharedKey.
type records struct {
	mu       sync.Mutex
	byKey    map[string]storedRecord
	fetching map[string]bool // the keys whose robots.txt is being fetched
	bytes    int             // total length of all values
}

type storedRecord struct {
	value   []byte
	expires time.Time
}

// maxSharedBytes limits the records under a sharedKey. When it is exceeded, all
// of them are evicted, and each file is fetched again when it is needed.
const maxSharedBytes = 32 << 20

// recordsFor returns the records that collectors with these options and this
// transport share. opts.Limiter must be set. recordsFor returns nil if the
// collectors share none, because their transport may return different
// robots.txt files.
func recordsFor(opts robotsmw.Options, transport http.RoundTripper) *records {
	own, ok := transport.(*http.Transport)
	if _, isDefault := transport.(defaultTransport); !ok && !isDefault {
		return nil
	}
	key := sharedKey{
		limiter:   weak.Make(opts.Limiter),
		transport: weak.Make(own),
		refusals:  weak.Make(opts.Refusals),
		options: fmt.Sprintf("%q %q %v %v %v %v %q", opts.UserAgent, opts.ProductTokens, opts.RobotsTimeout,
			opts.KeepFiles, opts.DisallowForbidden, opts.AllowAfter30Days, opts.Override),
	}
	r, known := shared.LoadOrStore(key, &records{byKey: make(map[string]storedRecord), fetching: make(map[string]bool)})
	if known {
		return r.(*records)
	}
	life := new(lifetime)
	if opts.Limiter != &processLimiter {
		endWith(life, opts.Limiter, key)
	}
	if opts.Refusals != nil {
		endWith(life, opts.Refusals, key)
	}
	if own != nil {
		endWith(life, own, key)
	}
	return r.(*records)
}

// A lifetime removes a sharedKey from shared when the first of the objects in
// the key is garbage collected. It then stops the cleanups of the other
// objects. Otherwise a Limiter that is used with any number of transports would
// have a cleanup for each of them.
type lifetime struct {
	mu       sync.Mutex
	cleanups []runtime.Cleanup
}

// endWith lets the key be deleted when owner is garbage collected.
func endWith[T any](life *lifetime, owner *T, key sharedKey) {
	life.mu.Lock()
	defer life.mu.Unlock()
	life.cleanups = append(life.cleanups, runtime.AddCleanup(owner, life.end, key))
}

func (life *lifetime) end(key sharedKey) {
	shared.Delete(key)
	life.mu.Lock()
	defer life.mu.Unlock()
	for _, c := range life.cleanups {
		c.Stop()
	}
}

// sharedStore is the Store of an Extension. It contains the records of the
// transport through which the Extension currently fetches robots.txt.
type sharedStore struct{ x *Extension }

var _ robotsmw.Locker = sharedStore{}

func (s sharedStore) records() *records {
	base, _ := s.x.mainGuard().last()
	return recordsFor(s.x.opts, base)
}

func (s sharedStore) Get(_ context.Context, key string) ([]byte, error) {
	r := s.records()
	if r == nil {
		return nil, fs.ErrNotExist
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	stored, ok := r.byKey[key]
	if !ok || time.Now().After(stored.expires) {
		return nil, fs.ErrNotExist
	}
	return slices.Clone(stored.value), nil
}

func (s sharedStore) Put(_ context.Context, key string, value []byte, ttl time.Duration) error {
	r := s.records()
	if r == nil || len(value) > maxSharedBytes {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes -= len(r.byKey[key].value)
	if r.bytes+len(value) > maxSharedBytes {
		clear(r.byKey)
		r.bytes = 0
	}
	r.byKey[key] = storedRecord{slices.Clone(value), time.Now().Add(ttl)}
	r.bytes += len(value)
	return nil
}

// Delete does nothing, because a Checker never deletes.
func (s sharedStore) Delete(context.Context, string) error { return nil }

// TryLock makes sharedStore a robotsmw.Locker. The ttl is ignored, because the
// locks exist only in this process and end with it.
func (s sharedStore) TryLock(_ context.Context, key string, _ time.Duration) (unlock func(), ok bool, err error) {
	r := s.records()
	if r == nil {
		return func() {}, true, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fetching[key] {
		return nil, false, nil
	}
	r.fetching[key] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.fetching, key)
	}, true, nil
}
