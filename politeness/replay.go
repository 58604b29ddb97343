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

// A wire watches what net/http does with one attempt. It records when the
// request reaches the host, because the interval counts from then. It also
// notices when net/http is about to send the request again.
//
// net/http sends a request again by itself if the server closes a reused
// connection without an answer or refuses an HTTP/2 stream. It does so at once,
// which breaks the pace. The wire cannot delay the request in a hook of
// net/http: other requests would be blocked, or this request would be lost with
// its connection. Instead, the wire ends the attempt before the request is sent
// again, and the Transport makes a new attempt under a new grant.
type wire struct {
	attempt *attempt // the attempt that the wire is part of
	plainH2 bool     // connections without TLS carry HTTP/2
	trace   httptrace.ClientTrace

	mu      sync.Mutex
	address string // the address to which net/http last asked for a connection
	wrote   bool   // headers were written to that address, and no answer has come
}

// hook sets the hooks of an attempt. It returns the context to derive the
// attempt from. The result is ctx itself, unless ctx has a trace of its own or
// clientTraceKey is not known.
func (w *wire) hook(ctx context.Context) context.Context {
	w.trace.GetConn, w.trace.GotConn = w.getConn, w.gotConn
	w.trace.WroteHeaders, w.trace.GotFirstResponseByte = w.wroteHeaders, w.answered
	if clientTraceKey == nil || httptrace.ContextClientTrace(ctx) != nil { // w.trace has to call that trace too
		return httptrace.WithClientTrace(ctx, &w.trace)
	}
	return ctx
}

// clientTraceKey is the key under which httptrace looks up a context's trace.
// An attempt is a context, and its Value returns the trace for this key. So no
// additional context is needed for each request. It would cost as much as all
// four hooks.
var clientTraceKey = func() any {
	var asked keyOf
	httptrace.ContextClientTrace(&asked)
	return asked.key
}()

// keyOf is a context that remembers the latest key for which its Value was
// called.
type keyOf struct {
	context.Context
	key any
}

func (k *keyOf) Value(key any) any {
	k.key = key
	return nil
}

// getConn is called before a connection is dialled or taken from the pool. The
// pool for HTTP/2 is locked during this call, so getConn must not block.
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

// gotConn is called with the connection that the request will be sent on. If
// the request was sent before, gotConn ends the attempt, so that nothing more
// is sent. With HTTP/2, net/http checks the context once more, and so notices
// that the attempt has ended. With HTTP/1 it does not check, so gotConn also
// makes the connection fail. No other request uses that connection.
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

// answered is called with the first byte of an answer. After an answer, Base
// may send another request in the same context, for example one with
// credentials after a 401. That is a new request and no replay.
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

// sendsPlainHTTP2 reports whether base, or what it wraps, sends HTTP/2 without
// TLS.
func sendsPlainHTTP2(base http.RoundTripper) bool {
	for {
		if t, ok := base.(*http.Transport); ok {
			return t.Protocols != nil && t.Protocols.UnencryptedHTTP2() && !t.Protocols.HTTP1()
		}
		w, ok := base.(interface{ Unwrap() http.RoundTripper })
		if !ok {
			return false
		}
		base = w.Unwrap()
	}
}

// canReplay reports whether req can be sent twice.
func canReplay(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

// replay returns a copy of req with a new body from GetBody. If req has no
// body, replay returns req itself.
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

// maxReplays is how many times a request is sent again if the server closes the
// connection or refuses the stream. net/http has the same limit for HTTP/2.
const maxReplays = 6

// replayError says that the server ignored a request again and again.
type replayError struct{ host string }

func (e *replayError) Error() string {
	return fmt.Sprintf("politeness: %s closed the connection or refused the stream %d times in a row without an answer: try later", e.host, maxReplays+1)
}

func (e *replayError) Timeout() bool   { return false }
func (e *replayError) Temporary() bool { return true }
