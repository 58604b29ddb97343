// Package robotstest provides an in-memory internet for tests of crawlers.
//
// An [Internet] is an [http.RoundTripper] that maps hosts to handlers:
//
//	var web robotstest.Internet
//	web.Handle("shop.example", robotstest.Site{
//		"/robots.txt": "User-agent: *\nDisallow: /cart",
//		"/":           "<a href=/cart>cart</a>",
//	})
//	client := &http.Client{Transport: &web}
//
// A test should use the Internet as the base transport of a crawler, and check
// the requests that the crawler has sent with [Internet.Log].
//
// # Network
//
// Client and server are those of net/http, connected by net.Pipe. Everything
// that a handler can do works as usual, including streaming, flushing,
// trailers, HEAD, 204 and 304, wrong Content-Lengths, hijacking, status 101,
// and contexts that are canceled when the client disconnects. There are no DNS
// lookups and no sockets. https is not encrypted, but its handlers receive a
// non-nil [http.Request.TLS]. Compression is never negotiated, and each request
// has its own connection.
//
// # Time
//
// An Internet works in a bubble of [testing/synctest], where a crawl of hours
// takes milliseconds. It has no background goroutines: those of a request end
// when the response body has been closed and the handler has returned.
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

// An Internet maps hosts to handlers. The zero value is ready to use and has no
// hosts. An Internet is safe for concurrent use by multiple goroutines. It must
// not be copied after first use.
type Internet struct {
	start  sync.Once
	client *http.Transport
	server *http.Server

	mu    sync.Mutex
	hosts map[string]host // by address, such as "http://a.example:80"
	log   []*Request
}

// A host is a host of an Internet. If err is not nil, connections to the host
// fail.
type host struct {
	handler http.Handler
	err     error
}

// A Request is a request that an Internet has received.
type Request struct {
	Time   time.Time   // when RoundTrip was called
	Method string      // "GET" if the method of the request is empty
	URL    string      // absolute
	Host   string      // the host of the URL if the Host of the request is empty
	Header http.Header // without the fields that net/http adds
	Status int         // of the response; 0 if there is none, or none yet
	Err    error       // the error that RoundTrip returned
}

var _ http.RoundTripper = (*Internet)(nil)

// Handle sets the handler of a host. It replaces the effect of an earlier call
// of Handle or Fail for the host. The name has one of these forms:
//
//	example.com             http on port 80 and https on port 443
//	example.com:8080        http and https on port 8080
//	http://example.com      only http; a port is optional
//
// Names of hosts must be in ASCII (punycode), and are case-insensitive. Schemes
// must be in lower case, and IPv6 addresses in brackets. Handle panics if the
// name is invalid.
//
// Hosts without a handler do not exist: RoundTrip returns a *net.OpError that
// wraps a *net.DNSError.
//
// The handler is determined by the host of the URL, like the IP address in a
// real network. A handler for several names can distinguish them by
// [http.Request.Host], as an http.ServeMux does with patterns such as
// "b.example/robots.txt".
func (in *Internet) Handle(name string, h http.Handler) { in.set(name, host{handler: h}) }

// Fail makes all connections to a host fail. RoundTrip returns a *net.OpError
// that wraps err. The name has the form of [Internet.Handle]. The error of a
// server that is down is syscall.ECONNREFUSED, and that of an unreachable name
// server is a *net.DNSError with IsTimeout.
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

// Log returns all requests, in the order in which they began. The Status of
// requests in progress is 0.
func (in *Internet) Log() []Request {
	in.mu.Lock()
	defer in.mu.Unlock()
	log := make([]Request, len(in.log))
	for i, r := range in.log {
		log[i] = *r
	}
	return log
}

// RoundTrip implements [http.RoundTripper]. It sends the request to the handler
// of its host.
//
// If the handler panics, for example with http.ErrAbortHandler, the connection
// is reset: RoundTrip returns an error that wraps syscall.ECONNRESET. If the
// handler has already flushed the header, this error is returned when the body
// of the response is read.
func (in *Internet) RoundTrip(req *http.Request) (*http.Response, error) {
	in.start.Do(in.init)
	logged := in.addLog(req)
	resp, err := in.send(req)

	in.mu.Lock()
	defer in.mu.Unlock()
	logged.Err = err
	if resp != nil {
		logged.Status = resp.StatusCode
	}
	return resp, err
}

// send sends the request with net/http. If the body of the response is closed
// early, it closes the connection first. Otherwise, since Go 1.27, net/http
// would read up to 50 ms of the rest of the body, for which a handler that has
// stopped sending would wait. In a synctest bubble, it would wait forever if
// the test has returned.
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

// A body is the body of a response, which has its own connection.
type body struct {
	io.ReadCloser
	conn net.Conn
	done atomic.Bool // whether Read has returned an error, such as io.EOF
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.done.Store(true)
	}
	return n, err
}

func (b *body) Close() error {
	if !b.done.Load() {
		b.conn.Close()
	}
	return b.ReadCloser.Close()
}

// addLog adds a request to the log.
func (in *Internet) addLog(req *http.Request) *Request {
	logged := &Request{
		Time:   time.Now(),
		Method: req.Method,
		Host:   req.Host,
		Header: req.Header.Clone(),
	}
	if logged.Method == "" {
		logged.Method = http.MethodGet
	}
	if req.URL != nil { // if it is nil, net/http returns an error
		logged.URL = req.URL.String()
		if logged.Host == "" {
			logged.Host = req.URL.Host
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.log = append(in.log, logged)
	return logged
}

func (in *Internet) init() {
	in.client = &http.Transport{
		DialContext:    func(_ context.Context, _, addr string) (net.Conn, error) { return in.dial("http", addr) },
		DialTLSContext: func(_ context.Context, _, addr string) (net.Conn, error) { return in.dial("https", addr) },
		// A request must not leave an idle connection behind.
		// DisableKeepAlives would have the same effect, but would add a field
		// to the header of each request.
		MaxIdleConnsPerHost: -1,
		DisableCompression:  true,
	}
	in.server = &http.Server{
		Handler:     http.HandlerFunc(serve),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
	}
}

// dial connects to the host at addr, which has the form "name:port", and starts
// a server at the other end of the connection.
func (in *Internet) dial(scheme, addr string) (net.Conn, error) {
	h, err := in.lookup(scheme, addr)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	clientEnd, serverEnd := net.Pipe()
	reset := new(atomic.Bool)
	// Serve returns when it has accepted the only connection of the listener
	// and started its goroutine.
	in.server.Serve(&listener{
		conn: &serverConn{Conn: serverEnd, scheme: scheme, handler: h.handler, reset: reset},
	})
	return &clientConn{Conn: clientEnd, reset: reset}, nil
}

// lookup returns the host at addr, or the error of connecting to it.
func (in *Internet) lookup(scheme, addr string) (host, error) {
	name, port, _ := net.SplitHostPort(strings.ToLower(addr))
	in.mu.Lock()
	defer in.mu.Unlock()
	h, ok := in.hosts[newAddress(scheme, name, port)]
	if !ok {
		return host{}, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return h, h.err
}

type connKey struct{}

// serve calls the handler of the host that was dialed.
func serve(w http.ResponseWriter, r *http.Request) {
	conn := r.Context().Value(connKey{}).(*serverConn)
	if conn.scheme == "https" {
		r.TLS = &tls.ConnectionState{HandshakeComplete: true}
	}
	panicked := true
	defer func() { conn.reset.Store(panicked) }() // runs before the server closes the connection
	conn.handler.ServeHTTP(w, r)
	panicked = false
}

// A serverConn is the server's end of a connection.
type serverConn struct {
	net.Conn
	scheme  string
	handler http.Handler
	reset   *atomic.Bool // shared with the clientConn
}

// A clientConn is the client's end of a connection. Read returns ECONNRESET if
// the connection was reset; a net.Pipe would return io.EOF.
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

// A listener accepts a single connection.
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

// newAddress returns an address of the form "scheme://name:port".
func newAddress(scheme, name, port string) string {
	return scheme + "://" + net.JoinHostPort(strings.TrimSuffix(name, "."), port)
}

var defaultPorts = []struct{ scheme, port string }{{"http", "80"}, {"https", "443"}}

// addresses returns the addresses for a name in the form that Handle describes.
// It panics if the name is invalid.
func addresses(name string) []string {
	scheme, hostPort, ok := strings.Cut(strings.ToLower(name), "://")
	if !ok {
		scheme = ""
		hostPort = strings.ToLower(name)
	}
	u, err := url.Parse("//" + hostPort)
	isHost := err == nil && u.Hostname() != "" && u.Host == hostPort
	if !isHost || !isScheme(name, scheme) {
		panic("robotstest: invalid host " + strings.TrimSpace(name) + `: want "example.com", "example.com:8080" or "http://example.com"`)
	}
	var all []string
	for _, d := range defaultPorts {
		if scheme != "" && scheme != d.scheme {
			continue
		}
		port := u.Port()
		if port == "" {
			port = d.port
		}
		all = append(all, newAddress(d.scheme, u.Hostname(), port))
	}
	return all
}

// isScheme reports whether a scheme is empty, or valid and in lower case at the
// beginning of the name.
func isScheme(name, scheme string) bool {
	return slices.Contains([]string{"", "http", "https"}, scheme) && strings.HasPrefix(name, scheme)
}
