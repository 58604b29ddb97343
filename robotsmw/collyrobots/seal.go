package collyrobots

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"unsafe"

	"github.com/gocolly/colly/v2"
)

// ErrBypassed is the error of a request that was not sent because the extension
// would not have checked it. errors.Is finds it. There are two reasons:
//
// A transport was set that hides addresses from Options.RefuseAddress: it has a
// dial function of its own, or is not an *http.Transport. All requests fail
// until another transport is set.
//
// A transport was set while the request was about to be sent. A Retry of the
// request goes through the extension.
var ErrBypassed = errors.New("collyrobots: the request was not sent, because the extension could not have checked it")

// How a request that another transport gets is kept from being sent:
//
// An http.Client reads its Transport last of all. If the program replaces the
// transport just before that, while other requests are under way, the client
// gives the request to a transport that knows nothing of robots.txt. The
// extension cannot run in between. Therefore it gives each request of an
// attached collector a context that has ended: a transport returns the cause
// instead of sending the request. Only the hub uses the request's own context.

// errReplaced is the cause of the end of each sealed context.
var errReplaced = fmt.Errorf("%w: a transport was set while the request was about to be sent", ErrBypassed)

// ended is a context that has ended with errReplaced.
var ended = func() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errReplaced)
	return ctx
}()

// isCancelKey reports whether key is the one by which package context finds the
// cancellation of a context.
func isCancelKey(key any) bool { return ended.Value(key) != nil }

// A sealed context has the values of a request's own context, but has ended
// with errReplaced.
type sealed struct{ context.Context }

type sealedKey struct{}

func (s sealed) Value(key any) any {
	if _, ok := key.(sealedKey); ok {
		return s.Context
	}
	if isCancelKey(key) {
		return ended.Value(key)
	}
	return s.Context.Value(key)
}

func (s sealed) Done() <-chan struct{} { return ended.Done() }

func (s sealed) Err() error { return ended.Err() }

// seal gives the request that colly will send for r a sealed context. It must
// be called before any other OnRequest handler, because a handler may replace
// r.Headers.
func seal(r *colly.Request) {
	if !sealable() || !known().has("requestCallbacks") {
		return
	}
	req := (*http.Request)(unsafe.Add(unsafe.Pointer(r.Headers), -int(unsafe.Offsetof(http.Request{}.Header))))
	if req.Context().Value(sealedKey{}) != nil {
		return
	}
	*req = *req.WithContext(sealed{Context: req.Context()})
}

// unseal returns a request's own context, which lacks the values that colly has
// added to a sealed one. The contexts of clones' requests are not sealed if the
// clones were not added.
func unseal(ctx context.Context) context.Context {
	if own, ok := ctx.Value(sealedKey{}).(context.Context); ok {
		return own
	}
	return ctx
}

// sealable reports whether Request.Headers points to the Header of the
// http.Request that is sent, as in colly v2.3.0. It tries that with a request
// that does not leave the process.
var sealable = sync.OnceValue(func() (same bool) {
	var headers *http.Header
	var c colly.Collector
	c.Init() // and not NewCollector, which also obeys the environment
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
