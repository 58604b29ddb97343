package collyrobots

import (
	"context"
	"net/http"
	"sync"
	"unsafe"

	"github.com/gocolly/colly/v2"
)

// Why a transport that bypasses the guard sends no request:
//
// An http.Client reads its Transport immediately before it calls RoundTrip. If
// the program replaces the transport shortly before, while other requests are
// under way, the client passes the request to that transport instead of the
// guard, and no hook of the extension can run in between. Therefore the
// extension gives each request of an attached collector a context that has
// ended, so that a transport returns the cause instead of sending the request.
// Only the guard restores the context that the request had before.

// ended is a context that is canceled with the cause errReplaced.
var ended = func() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errReplaced)
	return ctx
}()

// isCancelKey reports whether key is the private key by which package context
// finds the cancellation of a context. ended has no other value.
func isCancelKey(key any) bool { return ended.Value(key) != nil }

// A sealed context has the values of a request's own context, but is canceled
// with the cause errReplaced.
type sealed struct {
	context.Context             // the request's own
	repeated        *repeatMark // the mark that was the request's Body; nil if it had none
	refused         error       // why the guard must not send the request; nil if it may
}

type sealedKey struct{}

func (s *sealed) Value(key any) any {
	if _, ok := key.(sealedKey); ok {
		return s
	}
	if isCancelKey(key) {
		return ended.Value(key)
	}
	return s.Context.Value(key)
}

func (s *sealed) Done() <-chan struct{} { return ended.Done() }

func (s *sealed) Err() error { return ended.Err() }

// seal gives the request that colly will send for r a sealed context, and the
// body that it would have without a repeatMark. It must be called before any
// other OnRequest handler, because a handler may replace r.Headers. seal
// returns nil if it cannot do that with this version of colly.
func seal(r *colly.Request) *sealed {
	if !sealable() || !collyLayout().has("requestCallbacks") {
		return nil
	}
	req := (*http.Request)(unsafe.Add(unsafe.Pointer(r.Headers), -int(unsafe.Offsetof(http.Request{}.Header))))
	if s := sealFrom(req.Context()); s != nil {
		return s // after a failed Attach, the callback of failClosed may have sealed it
	}
	s := &sealed{Context: req.Context()}
	if mark, ok := req.Body.(*repeatMark); ok {
		s.repeated = mark
		// The body is restored here and not in RoundTrip, because the
		// http.Client may pass a copy of the request to RoundTrip.
		mark.restore(req)
		s.Context = mark.restoreContext(s.Context)
	}
	*req = *req.WithContext(s)
	return s
}

// sealFrom returns the seal of a request with this context. It returns nil if
// the request has none, as the requests of clones that were not added.
func sealFrom(ctx context.Context) *sealed {
	s, _ := ctx.Value(sealedKey{}).(*sealed)
	return s
}

// unseal returns a request's own context, which lacks the values that colly has
// added to a sealed one.
func unseal(ctx context.Context) context.Context {
	if s := sealFrom(ctx); s != nil {
		return s.Context
	}
	return ctx
}

// unsealRedirect returns a CheckRedirect that calls f with the request's
// context unsealed, because f may use the context, for example for a DNS
// lookup. Afterwards the request is sealed again.
func unsealRedirect(f func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		s := sealFrom(req.Context())
		if s == nil {
			return f(req, via)
		}
		sealedContext := req.Context()
		*req = *req.WithContext(s.Context)
		defer func() {
			if req.Context() != s.Context {
				// f has replaced the context, so seal the new one.
				sealedContext = &sealed{Context: req.Context(), repeated: s.repeated, refused: s.refused}
			}
			*req = *req.WithContext(sealedContext)
		}()
		return f(req, via)
	}
}

// sealable reports whether Request.Headers points to the Header of the
// http.Request that is sent, as in colly v2.3.0. It determines this with a
// request that is not sent.
var sealable = sync.OnceValue(func() (same bool) {
	var headers *http.Header
	var c colly.Collector
	c.Init() // NewCollector would also read environment variables
	c.OnRequest(func(r *colly.Request) { headers = r.Headers })
	c.SetRequestTimeout(0) // otherwise the client sends a copy of the request
	c.WithTransport(roundTripper(func(req *http.Request) (*http.Response, error) {
		same = &req.Header == headers
		return nil, http.ErrNotSupported
	}))
	c.Visit("http://collyrobots.invalid/")
	return same
})

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
