package politeness

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"
)

// A wire watches what net/http does with one attempt: when the request reaches
// the host, from which the interval counts, and whether net/http sends it
// twice.
//
// net/http sends a request again by itself if the server closes a reused
// connection without an answer or refuses an HTTP/2 stream. It does so at once,
// which breaks the pace. Waiting in one of its hooks would block other
// requests, or lose this one with its connection. So a wire ends the attempt
// before anything is sent, and the Transport tries again under a new grant.
type wire struct {
	attempt *attempt // the attempt that the wire is part of
	plainH2 bool     // connections without TLS carry HTTP/2
	trace   httptrace.ClientTrace

	mu      sync.Mutex
	address string // of the connection that was asked for last
	wrote   bool   // headers were written to it, and no answer came
}

// hook sets the hooks of an attempt under ctx. It returns the context to derive
// the attempt from. That context holds the hooks if the attempt's Value cannot.
func (w *wire) hook(ctx context.Context) context.Context {
	w.trace.GetConn, w.trace.GotConn = w.getConn, w.gotConn
	w.trace.WroteHeaders, w.trace.GotFirstResponseByte = w.wroteHeaders, w.answered
	if clientTraceKey == nil || httptrace.ContextClientTrace(ctx) != nil { // w.trace has to call that trace too
		return httptrace.WithClientTrace(ctx, &w.trace)
	}
	return ctx
}

// clientTraceKey is the key that httptrace looks up a trace by. With it the
// attempt itself can be the context that holds the trace. Another context for
// each request would cost as much as all four hooks.
var clientTraceKey = func() any {
	var asked keyOf
	httptrace.ContextClientTrace(&asked)
	return asked.key
}()

// keyOf is a context that remembers the last key it was asked for.
type keyOf struct {
	context.Context
	key any
}

func (k *keyOf) Value(key any) any {
	k.key = key
	return nil
}

// getConn is called before a connection is dialled or taken from the pool. For
// HTTP/2 the pool is locked then, so getConn must not block.
func (w *wire) getConn(address string) {
	w.mu.Lock()
	if address != w.address {
		// A Base may ask another host something first, in the same context.
		w.address, w.wrote = address, false
	}
	again := w.wrote
	w.mu.Unlock()
	if again {
		w.attempt.endReplay()
		return
	}
	w.attempt.grant.leaves()
}

// gotConn is called with the connection that the request will be sent on.
// Before it sends, HTTP/2 looks at the context once more. HTTP/1 does not, so
// the connection is made to fail: no other request uses it.
func (w *wire) gotConn(info httptrace.GotConnInfo) {
	w.mu.Lock()
	again := w.wrote
	w.mu.Unlock()
	if !again {
		return
	}
	w.attempt.endReplay()
	if !w.isHTTP2(info.Conn) {
		info.Conn.SetWriteDeadline(time.Unix(1, 0))
	}
}

func (w *wire) wroteHeaders() {
	w.mu.Lock()
	w.wrote = true
	w.mu.Unlock()
	w.attempt.grant.sent()
}

// answered is called with the first byte of an answer. If Base sends again in
// the same context after that, it is a request of its own and no replay, such
// as one with credentials after a 401.
func (w *wire) answered() {
	w.mu.Lock()
	w.wrote = false
	w.mu.Unlock()
}

func (w *wire) isHTTP2(c net.Conn) bool {
	if c, ok := c.(interface{ ConnectionState() tls.ConnectionState }); ok {
		return c.ConnectionState().NegotiatedProtocol == "h2"
	}
	return w.plainH2
}

// sendsPlainHTTP2 reports whether base sends HTTP/2 without TLS. For a base
// that wraps another this is unknown, and the result is false.
func sendsPlainHTTP2(base http.RoundTripper) bool {
	t, ok := base.(*http.Transport)
	return ok && t.Protocols != nil && t.Protocols.UnencryptedHTTP2() && !t.Protocols.HTTP1()
}

// canReplay reports whether req can be sent twice.
func canReplay(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

// replay returns a request like req with a body that has not been read.
func replay(req *http.Request) (*http.Request, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, fmt.Errorf("politeness: the request has to be sent again, and GetBody fails: %w", err)
	}
	again := req.WithContext(req.Context())
	again.Body = body
	return again, nil
}

// maxReplays is how many times a request is sent again after the server ignored
// it. net/http tries HTTP/2 as often.
const maxReplays = 6

// replayError says that the server ignored a request again and again.
type replayError struct{ host string }

func (e *replayError) Error() string {
	return fmt.Sprintf("politeness: %s closed the connection or refused the stream %d times in a row without an answer: try later", e.host, maxReplays+1)
}

func (e *replayError) Timeout() bool   { return false }
func (e *replayError) Temporary() bool { return true }
