package politeness

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// A wire observes, by net/http's trace, when net/http sends an attempt's
// request, and keeps net/http from sending it again by itself.
//
// net/http sends a request again if the server closes a reused connection
// without a response or refuses an HTTP/2 stream. It does so at once, which
// breaks the host's delay. The wire cannot delay the request in a hook of
// net/http: other requests would be blocked, or this request would be lost with
// its connection. Instead, the wire ends the attempt before the request is sent
// again, and the Transport makes a new attempt under a new grant.
type wire struct {
	grant  *Grant
	cancel context.CancelFunc // ends the attempt
	trace  httptrace.ClientTrace
	host   string // of the request

	mu             sync.Mutex
	addresses      []string // of the connections that net/http has requested
	reachesHost    bool     // one of the addresses is that of the request's host
	requestedConns int      // connections requested since the last header was written
	headerSent     bool     // a header was written, and no response byte has been read
	http2          bool     // the header was written by HTTP/2
	bytes1xx       int      // the size of the 1xx responses
	stoppedReplay  bool     // the attempt was ended because net/http was about to send the request again
	err            error    // why the attempt was ended for good; nil means that it was not
}

const (
	// maxReplays is how many times a request is sent again if the server closes
	// the connection or refuses the stream. net/http has the same limit for
	// HTTP/2.
	maxReplays = 6

	// maxConnections is how many connections in a row an attempt may request
	// without sending anything. net/http has no limit, and sometimes uses none
	// of them.
	maxConnections = 20

	// max1xxBytes is how many bytes of 1xx responses an attempt may receive.
	// net/http does not limit them if there is a hook for them.
	max1xxBytes = 1 << 20

	// statusLineBytes and fieldBytes are the parts of a 1xx response that
	// Got1xxResponse does not receive: the status line, which is estimated, and
	// what surrounds the name and the value of a field.
	statusLineBytes = 64
	fieldBytes      = len(": \r\n")
)

// watch returns a context with which w observes what net/http does with a
// request for u. The functions of the trace follow in the order in which
// net/http calls them.
func (w *wire) watch(ctx context.Context, u *url.URL, g *Grant, cancel context.CancelFunc) context.Context {
	w.grant = g
	w.cancel = cancel
	w.host = u.Hostname()
	w.trace = httptrace.ClientTrace{
		GetConn:              w.getConn,
		GotConn:              w.gotConn,
		WroteHeaderField:     w.wroteField,
		WroteHeaders:         w.wroteHeaders,
		GotFirstResponseByte: w.gotFirstByte,
		Got1xxResponse:       w.got1xx,
	}
	return httptrace.WithClientTrace(ctx, &w.trace)
}

// getConn is called before a connection is dialed or taken from the pool. The
// pool for HTTP/2 is locked during this call, so getConn must not block.
func (w *wire) getConn(address string) {
	if w.mayConnect(address) {
		w.grant.setOnItsWay(true)
	} else {
		w.cancel()
	}
}

// mayConnect reports whether net/http may connect to address for the request.
// If the result is false, it has set stoppedReplay or err.
func (w *wire) mayConnect(address string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requestedConns++
	switch {
	case w.isReplayTo(address):
		w.stoppedReplay = true
		return false
	case w.requestedConns > maxConnections:
		w.err = fmt.Errorf("politeness: no request was sent to %s, although %d connections were made", address, maxConnections)
		return false
	case w.headerSent:
		// This is not a replay, so the header was written for a request to
		// another host, which Base has sent first, in the same context, and
		// which has no final response yet.
		w.addresses = nil
		w.headerSent = false
	}
	if !slices.Contains(w.addresses, address) {
		w.addresses = append(w.addresses, address)
		// With a proxy, HTTP/2 uses the proxy's address or the host's.
		host, _, _ := net.SplitHostPort(address)
		w.reachesHost = w.reachesHost || strings.EqualFold(host, w.host)
	}
	return true
}

// isReplayTo reports whether net/http is about to send the request again, if it
// requests a connection to address: it has written the header already, either
// to address or to the request's host.
func (w *wire) isReplayTo(address string) bool {
	return w.headerSent && (w.reachesHost || slices.Contains(w.addresses, address))
}

// gotConn is called with the connection that the request will be sent on. If
// the attempt was ended, the request must not be sent. HTTP/2 checks the
// context once more. HTTP/1 does not, so gotConn also makes the connection
// fail, which no other request uses.
func (w *wire) gotConn(info httptrace.GotConnInfo) {
	w.mu.Lock()
	if w.headerSent {
		// This is a replay, because mayConnect sets headerSent to false for a
		// request to another host. Either mayConnect has found the replay, or
		// HTTP/2 has taken this connection without calling getConn.
		w.stoppedReplay = true
	}
	mustFail := w.headerSent || w.err != nil
	http2 := w.http2
	w.mu.Unlock()
	if !mustFail {
		return
	}
	w.cancel()
	if !http2 {
		info.Conn.SetWriteDeadline(time.Unix(1, 0))
	}
}

// wroteField is called for each field of the header. Only HTTP/2 has fields
// that begin with a colon.
func (w *wire) wroteField(key string, _ []string) {
	if strings.HasPrefix(key, ":") {
		w.mu.Lock()
		w.http2 = true
		w.mu.Unlock()
	}
}

func (w *wire) wroteHeaders() {
	w.mu.Lock()
	w.headerSent = true
	w.requestedConns = 0
	w.mu.Unlock()
	w.grant.setOnItsWay(false)
}

// setOnItsWay notes in the Limiters whether the request is on its way:
// setOnItsWay(true) is called when net/http requests a connection, and
// setOnItsWay(false) when the header is written. Both restart the intervals.
//
// After the grant, a dial and a handshake may delay the request for an unknown
// time. Such a delay could make two requests reach the host at one moment,
// however far apart they were granted. To prevent that, no other request starts
// from the time when net/http requests a connection until the header is
// written. A delay before that is not covered. If Base does not use httptrace,
// setOnItsWay is not called, and a request counts from its grant.
func (g *Grant) setOnItsWay(onItsWay bool) {
	for ; g != nil; g = g.next {
		if !g.request.CountsFromSending {
			continue // no interval was known at the start: see schedule.Request.CountsFromSending
		}
		l := g.limiter
		l.mu.Lock()
		now := l.now()
		switch h := g.host; g.state {
		case inFlight:
			l.restartIntervals(h, &g.request, now)
			h.SetOnItsWay(&g.request, onItsWay)
			if !onItsWay && h.HasSlot(schedule.AnyRequest) {
				signalFirst(h) // the next requests may have waited for nothing else
			}
			l.checkIdle(h, now) // a fleet may have waited for the sending
		case expired: // its slot is free again, but the request reaches the host nevertheless
			l.findHost(g, now)
			l.restartIntervals(g.host, &g.request, now)
		}
		l.mu.Unlock()
	}
}

// gotFirstByte is called with the first byte of a response. After a response,
// Base may send another request in the same context, for example one with
// credentials after a 401. That is a new request and no replay.
func (w *wire) gotFirstByte() {
	w.mu.Lock()
	w.headerSent = false
	w.mu.Unlock()
}

// got1xx is called for each 1xx response, after gotFirstByte. With HTTP/2,
// net/http may still send the request again.
func (w *wire) got1xx(_ int, header textproto.MIMEHeader) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.headerSent = w.http2
	w.bytes1xx += statusLineBytes
	for name, values := range header {
		for _, value := range values {
			w.bytes1xx += len(name) + len(value) + fieldBytes
		}
	}
	if w.bytes1xx > max1xxBytes {
		w.err = fmt.Errorf("politeness: received more than %d bytes of 1xx responses, and no final response", max1xxBytes)
	}
	return w.err
}

// hasStoppedReplay reports whether the attempt was ended because net/http was
// about to send the request again.
func (w *wire) hasStoppedReplay() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stoppedReplay
}

// failure returns why the wire has ended the attempt for good, or nil.
func (w *wire) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// canReplay reports whether req can be sent twice.
func canReplay(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

// withNewBody returns a copy of req with a new body from GetBody. If req has no
// body, withNewBody returns req itself.
func withNewBody(req *http.Request) (*http.Request, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, fmt.Errorf("politeness: the request has to be sent again, and GetBody fails: %w", err)
	}
	replay := req.WithContext(req.Context())
	replay.Body = body
	return replay, nil
}

// replayError is the error of a request for which the server closed the
// connection or refused the stream maxReplays+1 times.
type replayError struct{ host string }

func (e *replayError) Error() string {
	return fmt.Sprintf("politeness: %s closed the connection or refused the stream %d times in a row without a response: try later", e.host, maxReplays+1)
}

func (e *replayError) Timeout() bool   { return false }
func (e *replayError) Temporary() bool { return true }
