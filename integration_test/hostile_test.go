package integration

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// A hostileServer misbehaves in one way. Its function serves a request for the
// given path, and must return when stop is closed or earlier.
type hostileServer struct {
	name   string
	answer func(conn net.Conn, path string, stop <-chan struct{})

	// stream, if not nil, is called instead of answer, and serves the request
	// over HTTP/2.
	stream func(f *http2.Framer, id uint32)
}

func respond(conn net.Conn, status string, body []byte, header ...string) {
	conn.Write(answer(status, body, header...))
}

// answer returns a complete response. The function hostileServers makes each
// large response only once, so that the servers use little memory.
func answer(status string, body []byte, header ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %s\r\nContent-Length: %d\r\n", status, len(body))
	for _, line := range header {
		b.WriteString(line + "\r\n")
	}
	b.WriteString("\r\n")
	b.Write(body)
	return b.Bytes()
}

// drip writes a text repeatedly, and waits after each write for the given time.
// It returns when stop is closed or the client has closed the connection.
func drip(conn net.Conn, stop <-chan struct{}, text []byte, every time.Duration) {
	for {
		if _, err := conn.Write(text); err != nil {
			return
		}
		select {
		case <-stop:
			return
		case <-time.After(every):
		}
	}
}

func gzipped(text []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(text)
	z.Close()
	return b.Bytes()
}

// early is the header block of a response with status 103.
var early = func() []byte {
	var block bytes.Buffer
	hpack.NewEncoder(&block).WriteField(hpack.HeaderField{Name: ":status", Value: "103"})
	return block.Bytes()
}()

func hint(f *http2.Framer, id uint32) {
	f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: early, EndHeaders: true})
}

// The servers may name others of the web: neighbor and honest return the
// "host:port" of any.
func hostileServers(neighbor, honest func() string) []hostileServer {
	rules := []byte("User-agent: *\nDisallow: /private/\n")
	megabyte := bytes.Repeat([]byte("x"), 1<<20)
	bomb := gzipped(make([]byte, 64<<20))
	empty := gzipped(nil)
	members := bytes.Repeat(empty, 4<<20/len(empty))
	wild := []byte("User-agent: *\n" + strings.Repeat("Disallow: /*a*a*a*a*a*a*b\n", 10_000))
	names := []byte(strings.Repeat("User-agent: x\n", 20_000) + "Disallow: /\n")
	lines := bytes.Repeat([]byte("Allow: /"+strings.Repeat("%", 1000)+"\n"), 400)
	links := []byte("<html>" + strings.Repeat(`<a href="//ａ.test:080/./%2e%2e/x">x</a><meta name=robots `, 3000))
	html := func(answer func(net.Conn, <-chan struct{})) func(net.Conn, string, <-chan struct{}) {
		return func(conn net.Conn, path string, stop <-chan struct{}) {
			if path == "/robots.txt" {
				respond(conn, "200 OK", rules)
				return
			}
			answer(conn, stop)
		}
	}
	longStatus := answer("503 "+strings.Repeat("no ", 3<<20), nil)
	longLocation := answer("302 Found", nil, "Location: http://example.test/"+strings.Repeat("a", 9<<20))
	longFields := answer("200 OK", rules, "ETag: \""+strings.Repeat("e", 1<<20)+"\"", "Last-Modified: "+strings.Repeat("l", 1<<20))
	bombs := answer("200 OK", bomb, "Content-Encoding: gzip", "Content-Type: text/html")
	membersOnly := answer("200 OK", members, "Content-Encoding: gzip", "Content-Type: text/html")
	down := answer("503 Down", megabyte)
	challenge := answer("403 Forbidden", megabyte, "Cf-Mitigated: challenge", "Content-Type: text/html")
	items := answer("200 OK", rules, "RateLimit: "+strings.Repeat(`"a";r=1;t=1, `, 600)+`"a";r=0;t=86400`)
	reset := answer("429 Slow down", nil, "X-RateLimit-Reset: "+strings.Repeat("1", 4<<20))
	retries := answer("503 Down", nil, strings.Repeat("Retry-After: 1\r\n", 100_000)+"Retry-After: 1")
	asks := answer("401 Sign", rules, "Accept-Signature: "+strings.Repeat("a=(", 1<<18), "Content-Signal: "+strings.Repeat("a=b,", 1<<18))
	dripping := gzipped(links)
	// Full-width digits and dots of IDNA name the same address.
	wide := strings.NewReplacer("1", "\uff11", "2", "\uff12", "7", "\uff17", ".", "\u3002")
	var turn atomic.Int64
	servers := []hostileServer{
		{name: "never answers", answer: func(conn net.Conn, _ string, stop <-chan struct{}) { drip(conn, stop, nil, time.Hour) }},
		{name: "answers byte by byte", answer: func(conn net.Conn, _ string, stop <-chan struct{}) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
			drip(conn, stop, []byte("#"), 100*time.Millisecond)
		}},
		{name: "never ends its header", answer: func(conn net.Conn, _ string, stop <-chan struct{}) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
			drip(conn, stop, []byte("X-A: b\r\n"), 50*time.Millisecond)
		}},
		{name: "never ends", answer: func(conn net.Conn, _ string, stop <-chan struct{}) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
			drip(conn, stop, megabyte, time.Millisecond)
		}},
		{name: "has a status line of 9 MB", answer: func(conn net.Conn, _ string, _ <-chan struct{}) {
			conn.Write(longStatus)
		}},
		{name: "redirects to 9 MB", answer: func(conn net.Conn, _ string, _ <-chan struct{}) {
			conn.Write(longLocation)
		}},
		{name: "redirects in a circle", answer: func(conn net.Conn, path string, _ <-chan struct{}) {
			respond(conn, "302 Found", nil, "Location: "+path)
		}},
		{name: "redirects without end", answer: func(conn net.Conn, path string, _ <-chan struct{}) {
			respond(conn, "307 Temporary", nil, fmt.Sprintf("Location: %s%d", path, turn.Add(1)%10))
		}},
		{name: "redirects to nowhere", answer: func(conn net.Conn, _ string, _ <-chan struct{}) {
			respond(conn, "301 Moved", nil, "Location: http://"+strings.Repeat("ａ", 40_000)+"/")
		}},
		{name: "resets", answer: func(conn net.Conn, _ string, _ <-chan struct{}) {
			if tcp, ok := conn.(*net.TCPConn); ok {
				tcp.SetLinger(0)
			}
			conn.Close()
		}},
		{name: "resets in the middle", answer: func(conn net.Conn, _ string, _ <-chan struct{}) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nUser-agent: *\nDisallow:")
			if tcp, ok := conn.(*net.TCPConn); ok {
				tcp.SetLinger(0)
			}
			conn.Close()
		}},
		{name: "lies about its length", answer: func(conn net.Conn, _ string, _ <-chan struct{}) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\nConnection: close\r\n\r\nshort")
		}},
		{name: "sends chunks that are none", answer: func(conn net.Conn, _ string, _ <-chan struct{}) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n")
			conn.Close()
		}},
		{name: "sends a gzip bomb", answer: func(conn net.Conn, _ string, _ <-chan struct{}) {
			conn.Write(bombs)
		}},
		{name: "sends empty gzip members", answer: func(conn net.Conn, _ string, _ <-chan struct{}) {
			conn.Write(membersOnly)
		}},
		{name: "declares gzip and sends none", answer: func(conn net.Conn, _ string, _ <-chan struct{}) {
			respond(conn, "200 OK", rules, "Content-Encoding: gzip")
		}},
		{name: "sends many codings", answer: func(conn net.Conn, _ string, _ <-chan struct{}) {
			respond(conn, "200 OK", rules, "Content-Encoding: "+strings.Repeat("gzip, ", 5000)+"gzip")
		}},
		{name: "rests for a day", answer: func(conn net.Conn, _ string, _ <-chan struct{}) {
			respond(conn, "429 Slow down", nil, "Retry-After: 86400")
		}},
		{name: "is down", answer: func(conn net.Conn, _ string, _ <-chan struct{}) { conn.Write(down) }},
		{name: "challenges", answer: func(conn net.Conn, _ string, _ <-chan struct{}) {
			conn.Write(challenge)
		}},
		{name: "sends a part", answer: func(conn net.Conn, _ string, _ <-chan struct{}) {
			respond(conn, "206 Partial Content", rules, "Content-Range: bytes 0-10/20")
		}},
		{name: "has hints without end", answer: func(conn net.Conn, _ string, stop <-chan struct{}) {
			drip(conn, stop, []byte("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), time.Millisecond)
		}},
		{name: "speaks something else", answer: func(conn net.Conn, _ string, _ <-chan struct{}) {
			io.CopyN(conn, rand.Reader, 1<<16)
			conn.Close()
		}},
		{name: "has rules that cost much", answer: func(conn net.Conn, _ string, _ <-chan struct{}) { respond(conn, "200 OK", wild) }},
		{name: "has groups without end", answer: func(conn net.Conn, _ string, _ <-chan struct{}) { respond(conn, "200 OK", names) }},
		{name: "has paths of escapes", answer: func(conn net.Conn, _ string, _ <-chan struct{}) { respond(conn, "200 OK", lines) }},
		{name: "changes its mind", answer: func(conn net.Conn, path string, _ <-chan struct{}) {
			if turn.Add(1)%2 == 0 {
				respond(conn, "200 OK", rules, "Cache-Control: max-age=0")
				return
			}
			respond(conn, "404 Gone", []byte(path), "Cache-Control: max-age=0", "Expires: -1")
		}},
		{name: "sets headers without end", answer: func(conn net.Conn, _ string, _ <-chan struct{}) {
			conn.Write(longFields)
		}},
		{name: "has pages full of links and metas", answer: html(func(conn net.Conn, _ <-chan struct{}) {
			respond(conn, "200 OK", links, "Content-Type: text/html")
		})},
		{name: "has pages without end", answer: html(func(conn net.Conn, stop <-chan struct{}) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
			drip(conn, stop, []byte("<meta name=robots content=\""), time.Millisecond)
		})},
		{name: "closes what it should keep", answer: html(func(conn net.Conn, _ <-chan struct{}) {
			if turn.Add(1)%2 == 0 {
				conn.Close()
				return
			}
			respond(conn, "200 OK", []byte("<html>"), "Content-Type: text/html")
		})},
		{name: "floods RateLimit", answer: func(conn net.Conn, _ string, _ <-chan struct{}) { conn.Write(items) }},
		{name: "has a reset of 4 MB", answer: func(conn net.Conn, _ string, _ <-chan struct{}) { conn.Write(reset) }},
		{name: "repeats Retry-After without end", answer: func(conn net.Conn, _ string, _ <-chan struct{}) { conn.Write(retries) }},
		{name: "requests signatures without end", answer: func(conn net.Conn, _ string, _ <-chan struct{}) { conn.Write(asks) }},
		{name: "drips gzip", answer: html(func(conn net.Conn, stop <-chan struct{}) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n")
			for i := range dripping {
				if _, err := conn.Write(dripping[i : i+1]); err != nil {
					return
				}
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
			}
		})},
		{name: "redirects in a ring", answer: func(conn net.Conn, path string, _ <-chan struct{}) {
			respond(conn, "302 Found", nil, "Location: http://"+neighbor()+path)
		}},
		{name: "redirects to odd spellings", answer: html(func(conn net.Conn, _ <-chan struct{}) {
			host, port, _ := net.SplitHostPort(honest())
			if turn.Add(1)%2 == 0 {
				host = wide.Replace(host)
			}
			respond(conn, "302 Found", nil, "Location: http://"+host+":0"+port+[]string{"/", "/private/x", "/%70rivate/y", "//private/z"}[turn.Add(1)/2%4])
		})},
		{name: "switches protocols", answer: func(conn net.Conn, _ string, _ <-chan struct{}) {
			io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
		}},
	}
	for name, away := range map[string]func(f *http2.Framer, id uint32){
		"refuses streams":  func(f *http2.Framer, id uint32) { f.WriteRSTStream(id, http2.ErrCodeRefusedStream) },
		"goes away":        func(f *http2.Framer, id uint32) { f.WriteGoAway(id-1, http2.ErrCodeNo, nil) },
		"calms by streams": func(f *http2.Framer, id uint32) { f.WriteRSTStream(id, http2.ErrCodeEnhanceYourCalm) },
		"hints without end": func(f *http2.Framer, id uint32) {
			for range 20_000 {
				hint(f, id)
			}
		},
	} {
		servers = append(servers, hostileServer{name: name, stream: away}, hostileServer{name: name + " after a 103",
			stream: func(f *http2.Framer, id uint32) { hint(f, id); away(f, id) }})
	}
	return servers
}

// A hostileWeb runs malicious servers, and honest ones that log their requests.
type hostileWeb struct {
	stop    chan struct{}
	served  sync.WaitGroup
	servers []net.Listener

	hostile []string // "http://host:port" or https
	honest  []string // "host:port"

	mu       sync.Mutex
	open     map[net.Conn]bool
	starts   map[string][]time.Time // for each honest server: when it got requests
	breaches []string
	asked    atomic.Int64 // how many requests all servers got
}

// listen starts a server on its own IP address, because each address is a host
// of its own.
func (w *hostileWeb) listen(t *testing.T, n int, serve func(conn net.Conn)) string {
	ln, err := net.Listen("tcp", fmt.Sprintf("127.2.%d.%d:0", n/200, 1+n%200))
	if err != nil {
		t.Skipf("SKIPPED: the test requires more loopback addresses than this system has: %v", err)
	}
	w.servers = append(w.servers, ln)
	w.served.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			w.mu.Lock()
			w.open[conn] = true
			w.mu.Unlock()
			w.served.Go(func() {
				defer func() {
					conn.Close()
					w.mu.Lock()
					delete(w.open, conn)
					w.mu.Unlock()
				}()
				serve(conn)
			})
		}
	})
	return ln.Addr().String()
}

// serve expects requests without bodies.
func (w *hostileWeb) serve(conn net.Conn, handle func(conn net.Conn, path string)) {
	var head []byte
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		head = append(head, buf[:n]...)
		end := bytes.Index(head, []byte("\r\n\r\n"))
		if end < 0 {
			continue
		}
		fields := strings.Fields(string(head[:end]))
		head = head[end+4:]
		if len(fields) < 2 {
			return
		}
		w.asked.Add(1)
		handle(conn, fields[1])
	}
}

// serveStreams expects HTTP/2.
func (w *hostileWeb) serveStreams(conn net.Conn, answer func(f *http2.Framer, id uint32)) {
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(conn, conn)
	f.WriteSettings()
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				f.WriteSettingsAck()
			}
		case *http2.HeadersFrame:
			w.asked.Add(1)
			answer(f, frame.StreamID)
		}
	}
}

func startHostileWeb(t *testing.T, hostile, honest int) *hostileWeb {
	w := &hostileWeb{stop: make(chan struct{}), open: make(map[net.Conn]bool), starts: make(map[string][]time.Time)}
	anyOf := func(list *[]string) func() string {
		return func() string { return strings.TrimPrefix((*list)[mathrand.IntN(len(*list))], "http://") }
	}
	var plain []string // of the hostile, those that use HTTP/1
	kinds := hostileServers(anyOf(&plain), anyOf(&w.honest))
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	config := &tls.Config{Certificates: certified.TLS.Certificates, NextProtos: []string{"h2"}}
	certified.Close()
	for n := range hostile {
		kind := kinds[n%len(kinds)]
		if kind.stream != nil {
			w.hostile = append(w.hostile, "https://"+w.listen(t, n, func(conn net.Conn) { w.serveStreams(tls.Server(conn, config), kind.stream) }))
			continue
		}
		plain = append(plain, "http://"+w.listen(t, n, func(conn net.Conn) {
			w.serve(conn, func(conn net.Conn, path string) { kind.answer(conn, path, w.stop) })
		}))
	}
	w.hostile = append(w.hostile, plain...)
	for n := range honest {
		var addr string
		addr = w.listen(t, hostile+n, func(conn net.Conn) {
			w.serve(conn, func(conn net.Conn, path string) {
				w.mu.Lock()
				w.starts[addr] = append(w.starts[addr], time.Now())
				if strings.HasPrefix(path, "/private/") {
					w.breaches = append(w.breaches, addr+path)
				}
				w.mu.Unlock()
				if path == "/robots.txt" {
					respond(conn, "200 OK", []byte("User-agent: *\nDisallow: /private/\n"))
					return
				}
				respond(conn, "200 OK", []byte("<html><title>good</title></html>"), "Content-Type: text/html")
			})
		})
		w.honest = append(w.honest, addr)
	}
	return w
}

func (w *hostileWeb) close() {
	close(w.stop)
	for _, ln := range w.servers {
		ln.Close()
	}
	w.mu.Lock()
	for conn := range w.open {
		conn.Close()
	}
	w.mu.Unlock()
	w.served.Wait()
}

// A hangingStore stores nothing. One call in ten does not return until stop is
// closed, even if its context ends.
type hangingStore struct{ stop <-chan struct{} }

func (s hangingStore) hang() error {
	if mathrand.IntN(10) == 0 {
		<-s.stop
	}
	return fs.ErrNotExist
}

func (s hangingStore) Get(context.Context, string) ([]byte, error) { return nil, s.hang() }
func (s hangingStore) Delete(context.Context, string) error        { return s.hang() }
func (s hangingStore) Put(context.Context, string, []byte, time.Duration) error {
	s.hang()
	return nil
}

type resources struct {
	heap        uint64
	goroutines  int
	descriptors int // -1 if the system does not report it
}

func measureResources() resources {
	for range 3 { // one garbage collection does not free what finalizers and pools keep
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h := resources{m.HeapAlloc, runtime.NumGoroutine(), -1}
	if files, err := filepath.Glob("/proc/self/fd/*"); err == nil && len(files) > 0 {
		h.descriptors = len(files)
	}
	return h
}

// The test crawls 200 malicious and 20 honest servers. Afterwards the process
// does not have more goroutines or descriptors than before, and needs little
// more memory. Honest servers get no disallowed request, and no request sooner
// than their pace allows. No allowed request to an honest server is refused.
//
// The test takes some seconds. If COURTESY_SOAK is set, for example to 30m, the
// test takes that long.
func TestHostileServers(t *testing.T) {
	testmain.SkipIfOverloaded(t)
	if testing.Short() {
		t.Skip("SKIPPED: a crawl among hostile servers takes some seconds")
	}
	soak := 8 * time.Second
	if s := os.Getenv("COURTESY_SOAK"); s != "" {
		var err error
		if soak, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	const (
		delay         = 50 * time.Millisecond
		robotsTimeout = 2 * time.Second
	)
	stalls := startMetronome(t)
	before := measureResources()
	web := startHostileWeb(t, 200, 20)
	base := &http.Transport{MaxIdleConnsPerHost: 1, IdleConnTimeout: 5 * time.Second, DisableCompression: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	limiter := &politeness.Limiter{Delay: delay, MaxWait: 5 * time.Second}
	transport, err := robotsmw.NewTransport(robotsmw.Options{
		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)", Base: base, Limiter: limiter,
		AttemptTimeout: 2 * time.Second, RobotsTimeout: robotsTimeout,
		MaxOrigins: 1000, MaxBytes: 16 << 20, KeepFiles: true, Store: hangingStore{web.stop},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	ctx, cancel := context.WithTimeout(t.Context(), soak)
	defer cancel()

	var fetched, refused, failed, wrong atomic.Int64
	// late contains the honest servers whose robots.txt arrived too late
	// because the machine was busy. Their robots.txt is then correctly treated
	// as unreachable for some time.
	var late sync.Map
	isLate := func(addr string, err error) bool {
		if !errors.Is(err, robotsmw.ErrUnreachable) {
			return false
		}
		now := time.Now()
		if stalls.explain(now.Add(-2*robotsTimeout).UnixNano(), now.UnixNano()) > robotsTimeout/10 {
			late.Store(addr, true)
		}
		_, ok := late.Load(addr)
		return ok
	}
	paths := []string{"/", "/a.html", "/private/x", "/x/%2e%2e/private/y", "//private/z", "/private/", "/b?q=1", "/c/../private/w"}
	visit := func(addr, path string, honest bool) {
		deadline, done := context.WithTimeout(ctx, 10*time.Second)
		defer done()
		req, err := http.NewRequestWithContext(deadline, http.MethodGet, addr+path, nil)
		if err != nil {
			return
		}
		resp, err := client.Do(req)
		if err != nil {
			switch {
			case errors.Is(err, robotsmw.ErrDisallowed):
				refused.Add(1)
				isExcused := honest && isLate(addr, err) // also for a private path: the next one is refused without another fetch
				if honest && !isExcused && !strings.Contains(path, "private") {
					wrong.Add(1)
					t.Errorf("%s%s was disallowed, want it allowed: %v", addr, path, err)
				}
			case honest && ctx.Err() == nil && !isDelayError(err) && !errors.Is(err, context.DeadlineExceeded):
				wrong.Add(1)
				t.Errorf("%s%s: error %v, want a response, a DelayError or a timeout", addr, path, err)
			default:
				failed.Add(1)
			}
			return
		}
		defer resp.Body.Close()
		io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
		robotsmw.PageDirectives(resp)
		fetched.Add(1)
	}
	var workers sync.WaitGroup
	for range 64 {
		workers.Go(func() {
			for ctx.Err() == nil {
				path := paths[mathrand.IntN(len(paths))]
				if mathrand.IntN(4) == 0 {
					visit("http://"+web.honest[mathrand.IntN(len(web.honest))], path, true)
				} else {
					visit(web.hostile[mathrand.IntN(len(web.hostile))], path, false)
				}
			}
		})
	}
	var most resources
	workers.Go(func() {
		for tick := time.NewTicker(max(soak/20, time.Second)); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				h := measureResources()
				most = resources{max(most.heap, h.heap), max(most.goroutines, h.goroutines), max(most.descriptors, h.descriptors)}
				t.Logf("%d fetched, %d refused, %d failed; heap %d MB, %d goroutines, %d descriptors, %+v",
					fetched.Load(), refused.Load(), failed.Load(), h.heap>>20, h.goroutines, h.descriptors, transport.Checker().Stats())
			}
		}
	})
	workers.Wait()
	late.Range(func(addr, _ any) bool {
		t.Logf("%s sent its robots.txt too late: the machine was busy", addr)
		return true
	})
	web.close()
	base.CloseIdleConnections()

	for _, url := range web.breaches {
		t.Errorf("%s was requested, although robots.txt disallows it", url)
	}
	sooner := 0
	for addr, starts := range web.starts {
		slices.SortFunc(starts, time.Time.Compare)
		for i := 10; i < len(starts); i++ {
			// A request may be logged late, by as long as this process
			// could not run.
			from, to := starts[i-10], starts[i]
			late := stalls.explain(from.Add(-time.Second).UnixNano(), to.UnixNano())
			if to.Sub(from)+late < 9*delay {
				sooner++
				t.Logf("%s received 11 requests within %v, want at least 9 delays", addr, starts[i].Sub(starts[i-10]))
			}
		}
	}
	if sooner > 0 {
		t.Errorf("honest servers received requests too early %d times, want 0", sooner)
	}
	if fetched.Load() == 0 || refused.Load() == 0 || failed.Load() == 0 {
		t.Errorf("%d pages were fetched, %d were disallowed and %d failed; want some of each", fetched.Load(), refused.Load(), failed.Load())
	}

	var after resources
	for range 100 { // a fetch of robots.txt that no caller waits for may last until its timeout
		if after = measureResources(); after.goroutines <= before.goroutines+2 && after.descriptors <= before.descriptors+2 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	held := transport.Checker().Stats()
	t.Logf("before %+v, at most %+v, after %+v; the Checker holds %+v; %d requests reached a server", before, most, after, held, web.asked.Load())
	if after.goroutines > before.goroutines+2 {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines run after the crawl, want at most 2 more than the %d before it:\n%s", after.goroutines, before.goroutines, stacks[:runtime.Stack(stacks, true)])
	}
	if after.descriptors > before.descriptors+2 {
		t.Errorf("%d descriptors are open after the crawl, want at most 2 more than the %d before it", after.descriptors, before.descriptors)
	}
	if after.heap > before.heap+uint64(held.Bytes)+16<<20 {
		t.Errorf("the heap has %d MB after the crawl, want at most 16 MB more than the %d MB before and the %d MB that the Checker holds", after.heap>>20, before.heap>>20, held.Bytes>>20)
	}
	// net/http reads headers of up to 10 MB, and 64 requests run at once.
	if most.heap > before.heap+512<<20 {
		t.Errorf("during the crawl, the heap reached %d MB, want at most 512 MB more than the %d MB before it", most.heap>>20, before.heap>>20)
	}
	runtime.KeepAlive(transport)
}

func isDelayError(err error) bool {
	_, ok := errors.AsType[*politeness.DelayError](err)
	return ok
}
