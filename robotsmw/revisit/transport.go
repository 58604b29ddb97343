package revisit

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/goodbots/courtesy/internal/httputil"
	"github.com/goodbots/courtesy/robotsmw/internal/freshness"
)

// A Transport is an http.RoundTripper that caches responses without their
// bodies. The zero value is ready to use. A Transport is safe for concurrent
// use by multiple goroutines. Its fields must not be modified after the first
// request.
type Transport struct {
	// Base sends the requests. It should be the robots transport, or a
	// RoundTripper around it. If nil, http.DefaultTransport is used.
	Base http.RoundTripper

	// Store stores the cache across processes. If it is nil, the cache is in
	// memory. If the Store fails, requests do not fail, but more requests are
	// sent. A call to the Store is canceled after two seconds. Once a call has
	// failed, requests do not wait for the Store until it works again.
	Store Store

	// MinFresh is the minimum time for which a response is fresh, unless it has
	// no-cache or no-store. If MinFresh is zero or negative, there is no
	// minimum.
	MinFresh time.Duration

	// MaxFresh is the maximum time for which a response is fresh. It overrides
	// MinFresh. If MaxFresh is zero or negative, there is no maximum.
	MaxFresh time.Duration

	// MaxPages and MaxBytes limit the cache in memory. When a limit is
	// exceeded, the least recently used page is evicted. If zero or negative,
	// the limits are 100,000 pages and 128 MiB.
	MaxPages int
	MaxBytes int64

	// Logger receives a warning when the Store begins to fail. If nil,
	// slog.Default() is used.
	Logger *slog.Logger

	once  sync.Once
	cache cache
}

var _ http.RoundTripper = (*Transport)(nil)

const (
	defaultMaxPages = 100_000
	defaultMaxBytes = 128 << 20
)

func (t *Transport) init() {
	if t.Store != nil {
		t.cache = &storeCache{store: t.Store, logger: cmp.Or(t.Logger, slog.Default())}
		return
	}
	maxPages := t.MaxPages
	if maxPages <= 0 {
		maxPages = defaultMaxPages
	}
	maxBytes := t.MaxBytes
	if maxBytes <= 0 {
		maxBytes = defaultMaxBytes
	}
	t.cache = newMemoryCache(maxPages, maxBytes)
}

// RoundTrip returns a stored response if it is fresh, and otherwise sends the
// request. It returns an error of Base, or the error of the request's context.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	t.once.Do(t.init)
	key, ok := cacheKey(req)
	if ok && isUnsafe(req.Method) {
		return t.roundTripUnsafe(req, key)
	}
	if !ok || !isCacheable(req) {
		return t.base().RoundTrip(withoutVisit(req))
	}
	now := time.Now()
	v := &visit{
		base:     t.base(),
		cache:    t.cache,
		minFresh: t.MinFresh,
		maxFresh: t.MaxFresh,
		key:      key,
		request:  req,
		began:    now,
	}
	v.stored = t.cache.get(req.Context(), key)
	if r := v.stored.fresh(req, now); r != nil {
		if err := req.Context().Err(); err != nil {
			return nil, err
		}
		return v.reuse(r), nil
	}
	return v.send()
}

func (t *Transport) base() http.RoundTripper { return cmp.Or(t.Base, http.DefaultTransport) }

// roundTripUnsafe sends a request that may change the page. If it succeeds, the
// stored page becomes stale, and the result of a concurrent GET is not stored.
func (t *Transport) roundTripUnsafe(req *http.Request, key string) (*http.Response, error) {
	resp, err := t.base().RoundTrip(withoutVisit(req))
	if err != nil {
		return resp, err
	}
	if resp.StatusCode >= 200 && resp.StatusCode <= 399 {
		now := time.Now()
		page := t.cache.get(req.Context(), key).Page
		t.cache.put(key, cacheEntry{Page: page.stale(), Requested: now.UnixNano()}, now)
	}
	return resp, nil
}

// withoutVisit returns a request for which Of returns false, even if its
// context is that of an earlier response of a Transport.
func withoutVisit(req *http.Request) *http.Request {
	if requestVisit(req) == nil {
		return req
	}
	return req.WithContext(context.WithValue(req.Context(), visitKey{}, (*visit)(nil)))
}

// CloseIdleConnections calls the method CloseIdleConnections of Base, if it has
// one.
func (t *Transport) CloseIdleConnections() {
	httputil.CloseIdleConnections(t.base())
}

// isUnsafe reports whether a method may change the page (RFC 9110 §9.2.1).
func isUnsafe(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace,
		http.MethodConnect:
		return false
	}
	return true
}

// conditionalFields are the request fields because of which a response may not
// contain the whole page.
var conditionalFields = []string{
	"If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range", "Range",
}

// isCacheable reports whether a request is an unconditional GET of a whole
// page, and does not have no-store.
func isCacheable(req *http.Request) bool {
	if req.Method != "" && req.Method != http.MethodGet {
		return false
	}
	if req.Body != nil && req.Body != http.NoBody {
		return false
	}
	for _, name := range conditionalFields {
		if len(req.Header[name]) > 0 {
			return false
		}
	}
	return !freshness.OfRequest(req.Header).NoStore
}
