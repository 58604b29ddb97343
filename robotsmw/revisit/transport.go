package revisit

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/goodbots/courtesy/internal/httputil"
	"github.com/goodbots/courtesy/robotsmw/internal/freshness"
)

// A Transport is an http.RoundTripper that remembers pages. The zero value is
// usable. It is safe for concurrent use. Its fields must not be changed after
// the first request. There is nothing to close.
type Transport struct {
	// Base sends the requests. It is the robots transport, or a RoundTripper
	// around it. Nil means http.DefaultTransport.
	Base http.RoundTripper

	// Store keeps what is known. A Store that fails or hangs costs requests,
	// never an error: a request waits for it for two seconds at most, and then
	// no request waits until it has answered again. Nil means memory.
	Store Store

	// MinFresh is how long a page or an answer counts as fresh at least, unless
	// it says no-cache or no-store. 0 or less means as long as it says.
	MinFresh time.Duration

	// MaxFresh is how long it counts as fresh at most, even if MinFresh is
	// longer. 0 or less means as long as it says.
	MaxFresh time.Duration

	// MaxPages and MaxBytes limit the memory, if Store is nil. The page that
	// was used longest ago is forgotten first. 0 or less means 100,000 pages
	// and 128 MiB.
	MaxPages int
	MaxBytes int64

	// Logger gets a warning when the Store begins to fail. Nil means
	// slog.Default().
	Logger *slog.Logger

	once  sync.Once
	pages pages
}

func (t *Transport) init() {
	if t.Store != nil {
		t.pages = &keeper{store: t.Store, logger: cmp.Or(t.Logger, slog.Default())}
		return
	}
	m := &memory{maxPages: t.MaxPages, maxBytes: t.MaxBytes, entries: make(map[string]*entry)}
	if m.maxPages <= 0 {
		m.maxPages = 100_000
	}
	if m.maxBytes <= 0 {
		m.maxBytes = 128 << 20
	}
	m.ring.next, m.ring.prev = &m.ring, &m.ring
	t.pages = m
}

// RoundTrip answers the request from what is known, or sends it. Its errors are
// those of Base, and the context's if that has ended.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	t.once.Do(t.init)
	key, ok := keyOf(req)
	switch {
	case ok && isUnsafe(req.Method):
		return t.change(req, key)
	case !ok || !isPlainGet(req):
		return t.base().RoundTrip(passing(req))
	}
	now := time.Now()
	v := &visit{base: t.base(), pages: t.pages, minFresh: t.MinFresh, maxFresh: t.MaxFresh, key: key, request: req, began: now}
	v.known = t.pages.get(req.Context(), key)
	if ver := v.known.fresh(req, now); ver != nil {
		if err := req.Context().Err(); err != nil {
			return nil, err
		}
		return v.answer(ver), nil
	}
	return v.send()
}

func (t *Transport) base() http.RoundTripper { return cmp.Or(t.Base, http.DefaultTransport) }

// change sends a request that may change the page. If it succeeds, the next GET
// is sent, and a GET that is under way now is not remembered.
func (t *Transport) change(req *http.Request, key string) (*http.Response, error) {
	resp, err := t.base().RoundTrip(passing(req))
	if err == nil && resp.StatusCode >= 200 && resp.StatusCode <= 399 {
		now := time.Now()
		k := t.pages.get(req.Context(), key)
		t.pages.put(key, known{Page: k.Page.stale(), Asked: now.UnixNano()}, now)
	}
	return resp, err
}

// passing returns a request that is not remembered. If its context is that of
// an earlier response, Of must not find that response's Visit.
func passing(req *http.Request) *http.Request {
	if visitOf(req) == nil {
		return req
	}
	return req.WithContext(context.WithValue(req.Context(), visitKey{}, (*visit)(nil)))
}

// CloseIdleConnections closes the idle connections of Base, if Base has a
// method for that.
func (t *Transport) CloseIdleConnections() {
	httputil.CloseIdleConnections(t.base())
}

// keyOf returns the name of a page. It returns false for a request that is none
// of http and https, for a URL of over 8 KiB, and for a host or a target that
// is indistinguishable from other parts of the name.
//
// A query may contain any text, so the Host header stands before the URL: no
// URL begins with "Host".
func keyOf(req *http.Request) (string, bool) {
	if req.URL == nil || req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return "", false
	}
	host := strings.ToLower(req.URL.Host)
	own := strings.ToLower(req.Host)
	target := req.URL.RequestURI()
	const ends = "/?# \t\r\n" // what may follow a host
	if strings.ContainsAny(host, ends) || strings.ContainsAny(own, ends) || !strings.HasPrefix(target, "/") {
		return "", false
	}
	key := req.URL.Scheme + "://" + host + target
	if own != "" && own != host {
		key = "Host: " + own + " " + key
	}
	return key, len(key) <= 8<<10
}

// isUnsafe reports whether a request may change the page (RFC 9110 §9.2.1).
func isUnsafe(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodConnect:
		return false
	}
	return true
}

// ownFields are fields of requests whose answer concerns the caller alone.
var ownFields = []string{"If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range", "Range"}

// isPlainGet reports whether a request asks for a page as a whole.
func isPlainGet(req *http.Request) bool {
	if req.Method != "" && req.Method != http.MethodGet || req.Body != nil && req.Body != http.NoBody {
		return false
	}
	for _, name := range ownFields {
		if len(req.Header[name]) > 0 {
			return false
		}
	}
	return !freshness.OfRequest(req.Header).NoStore
}

var _ http.RoundTripper = (*Transport)(nil)
