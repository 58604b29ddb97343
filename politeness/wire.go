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

// A wire knows when net/http sends an attempt's request, and when it may send
// it again. It learns both from net/http's trace.
//
// net/http sends a request again by itself if the server closes a reused
// connection without an answer or refuses an HTTP/2 stream. It does so at once,
// which breaks the pace. The wire cannot delay the request in a hook of
// net/http: other requests would be blocked, or this request would be lost with
// its connection. Instead, the wire ends the attempt before the request is sent
// again, and the Transport makes a new attempt under a new grant.
type wire struct {
	grant  *Grant
	cancel context.CancelFunc // ends the attempt
	trace  httptrace.ClientTrace
	host   string // of the request

	mu        sync.Mutex
	addresses []string // to which net/http has requested connections
	direct    bool     // one of them is of the request's host
	asked     int      // how often it has done so since it wrote something
	wrote     bool     // headers were written to one of them, and no answer has come
	http2     bool     // they were written by HTTP/2
	informed  int      // how many bytes of 1xx responses have come
	replays   bool     // net/http was about to send the request again
	err       error    // why the wire has ended the attempt for good; nil means it has not
}

const (
	// maxReplays is how many times a request is sent again if the server closes
	// the connection or refuses the stream. net/http has the same limit for
	// HTTP/2.
	maxReplays = 6

	// maxAsked is how many connections in a row an attempt may ask for without
	// sending anything. net/http has no limit, and sometimes uses none of them.
	maxAsked = 20

	// maxInformed is how many bytes of 1xx responses an attempt may receive.
	// net/http does not limit them if there is a hook for them.
	maxInformed = 1 << 20
)

// watch returns a context with which w observes what net/http does with a
// request for u.
func (w *wire) watch(ctx context.Context, u *url.URL, g *Grant, cancel context.CancelFunc) context.Context {
	w.grant, w.cancel, w.host = g, cancel, u.Hostname()
	w.trace = httptrace.ClientTrace{
		GetConn:              w.getConn,
		GotConn:              w.gotConn,
		WroteHeaderField:     w.wroteField,
		WroteHeaders:         w.wroteHeaders,
		GotFirstResponseByte: w.gotFirstByte,
		Got1xxResponse:       w.gotInformation,
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

func (w *wire) mayConnect(address string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := slices.Contains(w.addresses, address)
	switch w.asked++; {
	case w.wrote && (known || w.direct):
		w.replays = true
		return false
	case w.asked > maxAsked:
		w.err = fmt.Errorf("politeness: no request was sent to %s, although %d connections were made", address, maxAsked)
		return false
	case w.wrote: // Base sent a request to another host first, in the same context
		w.addresses, w.wrote = nil, false
	}
	if !known {
		w.addresses = append(w.addresses, address)
		// With a proxy, HTTP/2 uses the proxy's address or the host's.
		host, _, _ := net.SplitHostPort(address)
		w.direct = w.direct || strings.EqualFold(host, w.host)
	}
	return true
}

// gotConn is called with the connection that the request will be sent on. If
// the attempt is ended, nothing more may be sent. HTTP/2 looks at the context
// once more. HTTP/1 does not, so gotConn also makes the connection fail, which
// no other request uses.
func (w *wire) gotConn(info httptrace.GotConnInfo) {
	w.mu.Lock()
	ended := w.wrote || w.err != nil
	w.replays = w.replays || w.wrote
	http2 := w.http2
	w.mu.Unlock()
	if !ended {
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
	w.wrote, w.asked = true, 0
	w.mu.Unlock()
	w.grant.setOnItsWay(false)
}

// setOnItsWay notes in the Limiters that the request is on its way, and in the
// end that it has reached the host. After the grant, a busy scheduler, a dial
// and a handshake may delay the request for an unknown time. Such a delay could
// make two requests reach the host at one moment, however far apart they were
// granted. To prevent that, no other request starts until this one is sent. If
// Base does not use httptrace, setOnItsWay is not called, and a request counts
// from its grant.
func (g *Grant) setOnItsWay(onItsWay bool) {
	for ; g != nil; g = g.next {
		if !g.request.CountsFromSending {
			continue
		}
		l := g.limiter
		l.mu.Lock()
		switch h := g.host; g.state {
		case inFlight:
			l.countStart(h, &g.request, l.now())
			h.SetOnItsWay(&g.request, onItsWay)
			if !onItsWay && h.HasSlot(schedule.AnyRequest) {
				signalFirst(h) // the next requests may have waited for nothing else
			}
			l.markIdle(h) // a fleet may have waited for the sending
		case expired: // its slot is free again, but the request reaches the host nevertheless
			now := l.now()
			l.recall(g, now)
			l.countStart(g.host, &g.request, now)
		}
		l.mu.Unlock()
	}
}

// gotFirstByte is called with the first byte of an answer. After an answer,
// Base may send another request in the same context, for example one with
// credentials after a 401. That is a new request and no replay.
func (w *wire) gotFirstByte() {
	w.mu.Lock()
	w.wrote = false
	w.mu.Unlock()
}

// gotInformation is called for each 1xx response, after gotFirstByte. With
// HTTP/2, the request may still be sent again.
func (w *wire) gotInformation(_ int, header textproto.MIMEHeader) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrote = w.http2
	w.informed += 64
	for name, values := range header {
		for _, value := range values {
			w.informed += len(name) + len(value) + 4
		}
	}
	if w.informed > maxInformed {
		w.err = fmt.Errorf("politeness: more than %d bytes of 1xx responses came, and no answer", maxInformed)
	}
	return w.err
}

// isReplay reports whether the attempt was ended because net/http was about to
// send the request again.
func (w *wire) isReplay() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.replays
}

// failure returns why the wire has ended the attempt for good.
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
	again := req.WithContext(req.Context())
	again.Body = body
	return again, nil
}

// replayError says that the server ignored a request again and again.
type replayError struct{ host string }

func (e *replayError) Error() string {
	return fmt.Sprintf("politeness: %s closed the connection or refused the stream %d times in a row without an answer: try later", e.host, maxReplays+1)
}

func (e *replayError) Timeout() bool   { return false }
func (e *replayError) Temporary() bool { return true }
