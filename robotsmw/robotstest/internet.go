// Package robotstest is an in-memory internet for tests of crawlers.
//
// An [Internet] is an [http.RoundTripper] whose hosts are http.Handlers:
//
//	var web robotstest.Internet
//	web.Handle("shop.example", robotstest.Site{
//		"/robots.txt": "User-agent: *\nDisallow: /cart",
//		"/":           "<a href=/cart>cart</a>",
//	})
//	client := &http.Client{Transport: &web}
//
// Give the Internet to the crawler under test as its base transport, let the
// crawler crawl, and see in [Internet.Log] what it requested.
//
// # What is real
//
// Client and server are net/http's own. A request is written, parsed, answered
// and read as on a socket, but through net.Pipe. So everything that a handler
// can do works as usual: streaming, flushing, trailers, HEAD, 204 and 304, a
// right or wrong Content-Length, hijacking, 101, a context that ends when the
// client goes away. Nothing is resolved, dialled or encrypted: https is plain
// HTTP, but its handler gets a non-nil [http.Request.TLS]. Compression is never
// negotiated, and every request has its own connection.
//
// # Time
//
// An Internet works inside [testing/synctest], where a crawl of hours runs in
// milliseconds. The goroutines of a request end when its response body is
// closed and its handler has returned. There are no other goroutines, so a test
// may also check for leaks.
package robotstest

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// An Internet maps hosts to handlers. The zero value is an internet without
// hosts, ready to use. It is safe for concurrent use, and must not be copied
// after first use.
type Internet struct {
	start  sync.Once
	client *http.Transport
	server *http.Server

	mu    sync.Mutex
	hosts map[string]host // by address, such as "http://a.example:80"
	log   []*Request
}

// A host answers through its handler. But if err is set, each connection to the
// host fails.
type host struct {
	handler http.Handler
	err     error
}

// Request is one call of RoundTrip as the Internet saw it.
type Request struct {
	Time   time.Time   // when RoundTrip was called
	Method string      // never empty: "" is written as GET
	URL    string      // as requested, absolute
	Host   string      // as requested: the request's own Host, or that of the URL
	Header http.Header // as given to RoundTrip, without what net/http adds
	Status int         // of the response; 0 before it comes, and after an error
	Err    error       // what RoundTrip returned
}

var _ http.RoundTripper = (*Internet)(nil)

// Handle lets h answer for a host. This replaces what an earlier call of Handle
// or Fail has set for the host. The host is written in one of these forms:
//
//	example.com             http on port 80 and https on port 443
//	example.com:8080        http and https on that port
//	http://example.com      one scheme alone; with or without a port
//
// A name is in ASCII (punycode), in any letter case. The scheme is in lower
// case. An IPv6 address is in brackets. A host without a handler does not
// exist: RoundTrip returns a *net.OpError that wraps a *net.DNSError.
//
// Handle panics if the host is malformed, as http.ServeMux does with a bad
// pattern.
//
// Only the URL's host decides which handler is called, just as the IP address
// does on a real network. If several names have one handler, the handler can
// tell them apart by [http.Request.Host], like a server with virtual hosts. An
// http.ServeMux with patterns such as "b.example/robots.txt" does so by itself.
func (in *Internet) Handle(name string, h http.Handler) { in.set(name, host{handler: h}) }

// Fail makes every connection to a host fail: RoundTrip returns a *net.OpError
// that wraps err. The host is written as for [Internet.Handle]. For a server
// that is down, use syscall.ECONNREFUSED. For a name server that is down, use a
// *net.DNSError with IsTimeout.
func (in *Internet) Fail(name string, err error) { in.set(name, host{err: err}) }

func (in *Internet) set(name string, h host) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.hosts == nil {
		in.hosts = make(map[string]host)
	}
	for _, a := range addresses(name) {
		in.hosts[a] = h
	}
}

// Log returns the requests so far, in the order in which they began. It
// includes requests under way, with Status 0.
func (in *Internet) Log() []Request {
	in.mu.Lock()
	defer in.mu.Unlock()
	log := make([]Request, len(in.log))
	for i, r := range in.log {
		log[i] = *r
	}
	return log
}

// RoundTrip sends the request to the handler of its host. As the contract of
// http.RoundTripper requires, RoundTrip does not change the request, always
// closes the request's body, and ends when the request's context ends.
//
// If a handler panics, for example with http.ErrAbortHandler, the connection is
// reset: RoundTrip returns an error that wraps syscall.ECONNRESET. If the
// handler has already flushed the header, reading the response's body returns
// this error.
func (in *Internet) RoundTrip(req *http.Request) (*http.Response, error) {
	in.start.Do(in.init)
	seen := in.record(req)
	resp, err := in.send(req)

	in.mu.Lock()
	defer in.mu.Unlock()
	seen.Err = err
	if resp != nil {
		seen.Status = resp.StatusCode
	}
	return resp, err
}

// send sends the request through net/http. If the response's body is closed
// early, the connection is closed first. Otherwise net/http would read on since
// Go 1.27, for up to 50 ms, and a handler that sends no more would wait for as
// long. In a synctest bubble it would wait forever, if the test has returned by
// then.
func (in *Internet) send(req *http.Request) (*http.Response, error) {
	var conn net.Conn
	out := req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { conn = info.Conn },
	}))
	resp, err := in.client.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	resp.Request = req
	if resp.Body != http.NoBody && resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body = &body{ReadCloser: resp.Body, conn: conn}
	}
	return resp, nil
}

// A body is the body of a response. No other request uses its connection.
type body struct {
	io.ReadCloser
	conn  net.Conn
	ended atomic.Bool // a Read has returned io.EOF or another error
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.ended.Store(true)
	}
	return n, err
}

func (b *body) Close() error {
	if !b.ended.Load() {
		b.conn.Close()
	}
	return b.ReadCloser.Close()
}

func (in *Internet) record(req *http.Request) *Request {
	seen := &Request{Time: time.Now(), Method: req.Method, Host: req.Host, Header: req.Header.Clone()}
	if seen.Method == "" {
		seen.Method = http.MethodGet
	}
	if req.URL != nil { // otherwise net/http returns an error
		seen.URL = req.URL.String()
		if seen.Host == "" {
			seen.Host = req.URL.Host
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.log = append(in.log, seen)
	return seen
}

func (in *Internet) init() {
	in.client = &http.Transport{
		DialContext:    func(_ context.Context, _, addr string) (net.Conn, error) { return in.dial("http", addr) },
		DialTLSContext: func(_ context.Context, _, addr string) (net.Conn, error) { return in.dial("https", addr) },
		// There are no idle connections, so nothing outlives a request.
		// DisableKeepAlives would do the same, but would change the header of
		// each request.
		MaxIdleConnsPerHost: -1,
		DisableCompression:  true,
	}
	in.server = &http.Server{
		Handler:     http.HandlerFunc(serve),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
	}
}

// dial connects to the host at addr, which is "name:port", and starts a server
// at the other end of the connection.
func (in *Internet) dial(scheme, addr string) (net.Conn, error) {
	addr = strings.ToLower(addr)
	name, port, _ := net.SplitHostPort(addr)
	in.mu.Lock()
	h, ok := in.hosts[scheme+"://"+net.JoinHostPort(strings.TrimSuffix(name, "."), port)]
	in.mu.Unlock()
	switch {
	case !ok:
		h.err = &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
		fallthrough
	case h.err != nil:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: h.err}
	}
	near, far := net.Pipe()
	reset := new(atomic.Bool)
	// Serve returns when it has accepted its only connection and started that
	// connection's goroutine.
	in.server.Serve(&listener{conn: &serverConn{Conn: far, scheme: scheme, handler: h.handler, reset: reset}})
	return &clientConn{Conn: near, reset: reset}, nil
}

type connKey struct{}

// serve calls the handler of the host that was dialled.
func serve(w http.ResponseWriter, r *http.Request) {
	conn := r.Context().Value(connKey{}).(*serverConn)
	if conn.scheme == "https" {
		r.TLS = &tls.ConnectionState{HandshakeComplete: true}
	}
	returned := false
	defer func() { conn.reset.Store(!returned) }() // this runs before the server closes the connection
	conn.handler.ServeHTTP(w, r)
	returned = true
}

type serverConn struct {
	net.Conn
	scheme  string
	handler http.Handler
	reset   *atomic.Bool
}

// A clientConn returns ECONNRESET if the connection was reset. A bare pipe
// would return io.EOF, as for a connection that was closed.
type clientConn struct {
	net.Conn
	reset *atomic.Bool
}

func (c *clientConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == io.EOF && c.reset.Load() {
		err = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	return n, err
}

// A listener accepts one connection and is then closed.
type listener struct{ conn net.Conn }

func (l *listener) Accept() (net.Conn, error) {
	c := l.conn
	if c == nil {
		return nil, net.ErrClosed
	}
	l.conn = nil
	return c, nil
}

func (l *listener) Close() error   { return nil }
func (l *listener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

var defaultPorts = []struct{ scheme, port string }{{"http", "80"}, {"https", "443"}}

// addresses returns the one or two addresses of a host. The name of the host is
// written as for Handle. Each address has the form "scheme://name:port".
func addresses(name string) []string {
	scheme, rest, ok := strings.Cut(name, "://")
	if !ok {
		scheme, rest = "", name
	}
	u, err := url.Parse("//" + strings.ToLower(rest))
	if err != nil || u.Hostname() == "" || u.Host != strings.ToLower(rest) ||
		!slices.Contains([]string{"", "http", "https"}, scheme) {
		panic("robotstest: bad host " + strings.TrimSpace(name) + `: want "example.com", "example.com:8080" or "http://example.com"`)
	}
	var list []string
	for _, d := range defaultPorts {
		if scheme != "" && scheme != d.scheme {
			continue
		}
		port := u.Port()
		if port == "" {
			port = d.port
		}
		list = append(list, d.scheme+"://"+net.JoinHostPort(strings.TrimSuffix(u.Hostname(), "."), port))
	}
	return list
}
