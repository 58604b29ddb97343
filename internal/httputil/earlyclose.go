package httputil

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"sync/atomic"
)

// CloseEarly closes the body of a response that was not read to its end,
// without making the server send the rest. It cancels the request first. cancel
// must cancel the context that the request was sent with. CloseEarly returns
// the error of body.Close. If the body was read to its end, its connection can
// still be reused.
//
// Since Go 1.27, if a body of HTTP/1 is closed early, http.Transport continues
// to read it, up to 256 KiB or for 50 ms, so that the connection may be reused.
// A crawler often closes a body because it does not want the page, and the site
// should not have to send the rest of it. http.Transport does not continue to
// read if the context of the request has already been canceled.
func CloseEarly(cancel context.CancelFunc, body io.Closer) error {
	cancel()
	// A response is returned before the goroutine that reads its connection
	// begins to wait for the end of the body or of the context. If both have
	// ended by then, the goroutine selects one at random. Gosched lets the
	// goroutine begin to wait before the body is closed.
	runtime.Gosched()
	return body.Close()
}

// A CancelingTransport is an http.RoundTripper for requests whose contexts may
// live longer than the requests. It cancels each request when the body of its
// response is closed. It changes nothing else.
type CancelingTransport struct {
	Base http.RoundTripper // must not be nil
}

// RoundTrip sends the request with Base.
func (t *CancelingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	out := req.WithContext(ctx)
	resp, err := t.Base.RoundTrip(out)
	if resp == nil || err != nil {
		cancel()
		return resp, err
	}
	if resp.Request == out {
		// The context of out ends when the body is closed, but callers may use
		// the context of resp.Request for longer.
		resp.Request = req
	}
	switch {
	case resp.Body == nil || resp.Body == http.NoBody:
		cancel()
	case resp.StatusCode == http.StatusSwitchingProtocols:
		// The body is the connection itself, which is not drained when it is
		// closed, and which must also implement io.Writer. Therefore it is not
		// wrapped, and the request ends with the caller's context.
		context.AfterFunc(req.Context(), cancel)
	default:
		resp.Body = NewCancelingBody(resp.Body, cancel)
	}
	return resp, nil
}

// CloseIdleConnections closes the idle connections of Base, if Base has a
// method for that.
func (t *CancelingTransport) CloseIdleConnections() {
	CloseIdleConnections(t.Base)
}

// NewCancelingBody returns a body that reads body, the body of a response. It
// calls cancel, which must cancel the context that the request was sent with,
// when a Read returns io.EOF or another error, or else when it is closed: see
// CloseEarly.
func NewCancelingBody(body io.ReadCloser, cancel context.CancelFunc) io.ReadCloser {
	return &cancelingBody{ReadCloser: body, cancel: cancel}
}

type cancelingBody struct {
	io.ReadCloser
	cancel context.CancelFunc
	ended  atomic.Bool // whether a Read has returned an error, such as io.EOF
}

func (b *cancelingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.ended.Store(true)
		b.cancel()
	}
	return n, err
}

func (b *cancelingBody) Close() error {
	if b.ended.Load() {
		return b.ReadCloser.Close()
	}
	return CloseEarly(b.cancel, b.ReadCloser)
}
