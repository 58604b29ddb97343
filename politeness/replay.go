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

// A wire watches what net/http does with one attempt: when the host feels the
// request, from which the interval counts, and whether it is sent twice.
//
// net/http sends a request again by itself when the server closes a reused
// connection without an answer, or refuses an HTTP/2 stream. It does so at
// once, which no pace allows, and to wait in one of its hooks would block other
// requests, or lose this one with its connection. So a wire ends the attempt
// before anything is sent, and the Transport tries again under a new grant.
type wire struct {
	attempt *attempt // which it is a part of
	plainH2 bool     // connections without TLS carry HTTP/2
	trace   httptrace.ClientTrace

	mu      sync.Mutex
	address string // of the connection that was last asked for
	wrote   bool   // the headers of a request to it, and nothing was answered
}

// hook sets the hooks, for an attempt under ctx. It returns the context to derive
// the attempt from, which has the hooks where the attempt's Value has not.
func (w *wire) hook(ctx context.Context) context.Context {
	w.trace.GetConn, w.trace.GotConn = w.getConn, w.gotConn
	w.trace.WroteHeaders, w.trace.GotFirstResponseByte = w.wroteHeaders, w.answered
	if clientTraceKey == nil || httptrace.ContextClientTrace(ctx) != nil { // which w.trace has to call, too
		return httptrace.WithClientTrace(ctx, &w.trace)
	}
	return ctx
}

// clientTraceKey is the key that httptrace looks a trace up by, so that an
// attempt can be the context that has it. One more, for each request, would cost
// as much as all four hooks.
var clientTraceKey = func() any {
	var asked keyOf
	httptrace.ContextClientTrace(&asked)
	return asked.key
}()

// keyOf is a context that keeps what it was last asked for.
type keyOf struct {
	context.Context
	key any
}

func (k *keyOf) Value(key any) any {
	k.key = key
	return nil
}

// getConn is called before a connection is dialled, or taken from the pool. For
// HTTP/2 that is under the pool's lock, so nothing here may block.
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
// HTTP/2 looks at the context once more before it sends, HTTP/1 does not: there
// the connection, which no other request uses, is made to refuse.
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

// answered is called with the first byte of an answer. What is sent after that
// in the same context is a request of Base's own, such as one with credentials
// after a 401, and no replay.
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

// sendsPlainHTTP2 reports whether base sends HTTP/2 without TLS. Of a Base that
// wraps another it is not known, and taken not to be so.
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

// maxReplays is how often a request is sent again that the server has taken no
// notice of. net/http tries HTTP/2 as often.
const maxReplays = 6

// replayError says that the server has taken no notice of a request, again and
// again.
type replayError struct{ host string }

func (e *replayError) Error() string {
	return fmt.Sprintf("politeness: %s closed the connection or refused the stream %d times in a row without an answer: try later", e.host, maxReplays+1)
}

func (e *replayError) Timeout() bool   { return false }
func (e *replayError) Temporary() bool { return true }
