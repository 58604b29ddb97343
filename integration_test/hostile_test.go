package integration

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// A hostileServer misbehaves in one way. Its function answers a request for the
// given path. The function must return when stop is closed. It may also return
// earlier.
type hostileServer struct {
	name   string
	answer func(conn net.Conn, path string, stop <-chan struct{})
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

// drip() writes a text again and again, and waits after each write for the
// given time. It ends when stop is closed or the client has gone.
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

func hostileServers() []hostileServer {
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
	var turn atomic.Int64
	return []hostileServer{
		{"never answers", func(conn net.Conn, _ string, stop <-chan struct{}) { drip(conn, stop, nil, time.Hour) }},
		{"answers byte by byte", func(conn net.Conn, _ string, stop <-chan struct{}) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
			drip(conn, stop, []byte("#"), 100*time.Millisecond)
		}},
		{"never ends its header", func(conn net.Conn, _ string, stop <-chan struct{}) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
			drip(conn, stop, []byte("X-A: b\r\n"), 50*time.Millisecond)
		}},
		{"never ends", func(conn net.Conn, _ string, stop <-chan struct{}) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
			drip(conn, stop, megabyte, time.Millisecond)
		}},
		{"has a status line of 9 MB", func(conn net.Conn, _ string, _ <-chan struct{}) {
			conn.Write(longStatus)
		}},
		{"redirects to 9 MB", func(conn net.Conn, _ string, _ <-chan struct{}) {
			conn.Write(longLocation)
		}},
		{"redirects in a circle", func(conn net.Conn, path string, _ <-chan struct{}) {
			respond(conn, "302 Found", nil, "Location: "+path)
		}},
		{"redirects without end", func(conn net.Conn, path string, _ <-chan struct{}) {
			respond(conn, "307 Temporary", nil, fmt.Sprintf("Location: %s%d", path, turn.Add(1)%10))
		}},
		{"redirects to nowhere", func(conn net.Conn, _ string, _ <-chan struct{}) {
			respond(conn, "301 Moved", nil, "Location: http://"+strings.Repeat("ａ", 40_000)+"/")
		}},
		{"resets", func(conn net.Conn, _ string, _ <-chan struct{}) {
			if tcp, ok := conn.(*net.TCPConn); ok {
				tcp.SetLinger(0)
			}
			conn.Close()
		}},
		{"resets in the middle", func(conn net.Conn, _ string, _ <-chan struct{}) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nUser-agent: *\nDisallow:")
			if tcp, ok := conn.(*net.TCPConn); ok {
				tcp.SetLinger(0)
			}
			conn.Close()
		}},
		{"lies about its length", func(conn net.Conn, _ string, _ <-chan struct{}) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\nConnection: close\r\n\r\nshort")
		}},
		{"sends chunks that are none", func(conn net.Conn, _ string, _ <-chan struct{}) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n")
			conn.Close()
		}},
		{"sends a gzip bomb", func(conn net.Conn, _ string, _ <-chan struct{}) {
			conn.Write(bombs)
		}},
		{"sends empty gzip members", func(conn net.Conn, _ string, _ <-chan struct{}) {
			conn.Write(membersOnly)
		}},
		{"says gzip and sends none", func(conn net.Conn, _ string, _ <-chan struct{}) {
			respond(conn, "200 OK", rules, "Content-Encoding: gzip")
		}},
		{"sends many codings", func(conn net.Conn, _ string, _ <-chan struct{}) {
			respond(conn, "200 OK", rules, "Content-Encoding: "+strings.Repeat("gzip, ", 5000)+"gzip")
		}},
		{"rests for a day", func(conn net.Conn, _ string, _ <-chan struct{}) {
			respond(conn, "429 Slow down", nil, "Retry-After: 86400")
		}},
		{"is down", func(conn net.Conn, _ string, _ <-chan struct{}) { conn.Write(down) }},
		{"challenges", func(conn net.Conn, _ string, _ <-chan struct{}) {
			conn.Write(challenge)
		}},
		{"sends a part", func(conn net.Conn, _ string, _ <-chan struct{}) {
			respond(conn, "206 Partial Content", rules, "Content-Range: bytes 0-10/20")
		}},
		{"has hints without end", func(conn net.Conn, _ string, stop <-chan struct{}) {
			drip(conn, stop, []byte("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), time.Millisecond)
		}},
		{"speaks something else", func(conn net.Conn, _ string, _ <-chan struct{}) {
			io.CopyN(conn, rand.Reader, 1<<16)
			conn.Close()
		}},
		{"has rules that cost much", func(conn net.Conn, _ string, _ <-chan struct{}) { respond(conn, "200 OK", wild) }},
		{"has groups without end", func(conn net.Conn, _ string, _ <-chan struct{}) { respond(conn, "200 OK", names) }},
		{"has paths of escapes", func(conn net.Conn, _ string, _ <-chan struct{}) { respond(conn, "200 OK", lines) }},
		{"changes its mind", func(conn net.Conn, path string, _ <-chan struct{}) {
			if turn.Add(1)%2 == 0 {
				respond(conn, "200 OK", rules, "Cache-Control: max-age=0")
				return
			}
			respond(conn, "404 Gone", []byte(path), "Cache-Control: max-age=0", "Expires: -1")
		}},
		{"sets headers without end", func(conn net.Conn, _ string, _ <-chan struct{}) {
			conn.Write(longFields)
		}},
		{"has pages full of links and metas", html(func(conn net.Conn, _ <-chan struct{}) {
			respond(conn, "200 OK", links, "Content-Type: text/html")
		})},
		{"has pages without end", html(func(conn net.Conn, stop <-chan struct{}) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
			drip(conn, stop, []byte("<meta name=robots content=\""), time.Millisecond)
		})},
		{"closes what it should keep", html(func(conn net.Conn, _ <-chan struct{}) {
			if turn.Add(1)%2 == 0 {
				conn.Close()
				return
			}
			respond(conn, "200 OK", []byte("<html>"), "Content-Type: text/html")
		})},
	}
}

// A hostileWeb runs malicious servers, and honest ones that log their requests.
type hostileWeb struct {
	stop    chan struct{}
	served  sync.WaitGroup
	servers []net.Listener

	hostile []string // "host:port"
	honest  []string

	mu       sync.Mutex
	open     map[net.Conn]bool
	starts   map[string][]time.Time // for each honest server: when it got requests
	breaches []string
	asked    atomic.Int64 // how many requests all servers got
}

// listen starts a server on its own IP address, because each address is a host
// of its own.
func (w *hostileWeb) listen(t *testing.T, n int, handle func(conn net.Conn, path string)) string {
	ln, err := net.Listen("tcp", fmt.Sprintf("127.2.%d.%d:0", n/200, 1+n%200))
	if err != nil {
		t.Skipf("SKIPPED: this system has one loopback address alone: %v", err)
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
				w.serve(conn, handle)
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

func startHostileWeb(t *testing.T, hostile, honest int) *hostileWeb {
	w := &hostileWeb{stop: make(chan struct{}), open: make(map[net.Conn]bool), starts: make(map[string][]time.Time)}
	kinds := hostileServers()
	for n := range hostile {
		kind := kinds[n%len(kinds)]
		w.hostile = append(w.hostile, w.listen(t, n, func(conn net.Conn, path string) { kind.answer(conn, path, w.stop) }))
	}
	for n := range honest {
		var addr string
		addr = w.listen(t, hostile+n, func(conn net.Conn, path string) {
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

type house struct {
	heap        uint64
	goroutines  int
	descriptors int // -1 if the system does not report it
}

func lookAtHouse() house {
	for range 3 { // one garbage collection does not free what finalizers and pools keep
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h := house{m.HeapAlloc, runtime.NumGoroutine(), -1}
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
	before := lookAtHouse()
	web := startHostileWeb(t, 200, 20)
	base := &http.Transport{MaxIdleConnsPerHost: 1, IdleConnTimeout: 5 * time.Second, DisableCompression: true}
	limiter := &politeness.Limiter{Delay: delay, MaxWait: 5 * time.Second}
	transport, err := robotsmw.NewTransport(robotsmw.Options{
		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)", Base: base, Limiter: limiter,
		AttemptTimeout: 2 * time.Second, RobotsTimeout: robotsTimeout,
		MaxOrigins: 1000, MaxBytes: 16 << 20, KeepFiles: true,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	ctx, cancel := context.WithTimeout(t.Context(), soak)
	defer cancel()

	var fetched, refused, failed, wrong atomic.Int64
	// The map "late" has the honest servers whose robots.txt came too late
	// because the machine was busy. For some time, they rightly count as
	// unreachable.
	var late sync.Map
	isLate := func(addr string, err error) bool {
		if !errors.Is(err, robotsmw.ErrUnreachable) {
			return false
		}
		if now := time.Now(); stalls.busy(now.Add(-2*robotsTimeout).UnixNano(), now.UnixNano()) {
			late.Store(addr, true)
		}
		_, ok := late.Load(addr)
		return ok
	}
	paths := []string{"/", "/a.html", "/private/x", "/x/%2e%2e/private/y", "//private/z", "/private/", "/b?q=1", "/c/../private/w"}
	visit := func(addr, path string, honest bool) {
		deadline, done := context.WithTimeout(ctx, 10*time.Second)
		defer done()
		req, err := http.NewRequestWithContext(deadline, http.MethodGet, "http://"+addr+path, nil)
		if err != nil {
			return
		}
		resp, err := client.Do(req)
		if err != nil {
			switch {
			case errors.Is(err, robotsmw.ErrDisallowed):
				refused.Add(1)
				if honest && !strings.Contains(path, "private") && !isLate(addr, err) {
					wrong.Add(1)
					t.Errorf("%s%s was refused: %v", addr, path, err)
				}
			case honest && ctx.Err() == nil && !isDelayError(err) && !errors.Is(err, context.DeadlineExceeded):
				wrong.Add(1)
				t.Errorf("%s%s: %v", addr, path, err)
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
					visit(web.honest[mathrand.IntN(len(web.honest))], path, true)
				} else {
					visit(web.hostile[mathrand.IntN(len(web.hostile))], path, false)
				}
			}
		})
	}
	var most house
	workers.Go(func() {
		for tick := time.NewTicker(max(soak/20, time.Second)); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				h := lookAtHouse()
				most = house{max(most.heap, h.heap), max(most.goroutines, h.goroutines), max(most.descriptors, h.descriptors)}
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
		t.Errorf("%s was asked for, which robots.txt disallows", url)
	}
	sooner := 0
	for addr, starts := range web.starts {
		slices.SortFunc(starts, time.Time.Compare)
		for i := 10; i < len(starts); i++ { // on a busy machine, one request may be logged late, but not ten
			if starts[i].Sub(starts[i-10]) < 9*delay {
				sooner++
				t.Logf("%s saw 11 requests in %v", addr, starts[i].Sub(starts[i-10]))
			}
		}
	}
	if sooner > 0 {
		t.Errorf("%d times an honest server was asked sooner than its pace", sooner)
	}
	if fetched.Load() == 0 || refused.Load() == 0 || failed.Load() == 0 {
		t.Errorf("%d fetched, %d refused, %d failed: the crawl met too little", fetched.Load(), refused.Load(), failed.Load())
	}

	var after house
	for range 100 { // a fetch of robots.txt that nobody waits for may last until its timeout
		if after = lookAtHouse(); after.goroutines <= before.goroutines+2 && after.descriptors <= before.descriptors+2 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	held := transport.Checker().Stats()
	t.Logf("before %+v, at most %+v, after %+v; the Checker holds %+v; %d requests reached a server", before, most, after, held, web.asked.Load())
	if after.goroutines > before.goroutines+2 {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before:\n%s", after.goroutines, before.goroutines, stacks[:runtime.Stack(stacks, true)])
	}
	if after.descriptors > before.descriptors+2 {
		t.Errorf("%d descriptors, %d before", after.descriptors, before.descriptors)
	}
	if after.heap > before.heap+uint64(held.Bytes)+16<<20 {
		t.Errorf("a heap of %d MB, %d MB before, of which the Checker means to hold %d", after.heap>>20, before.heap>>20, held.Bytes>>20)
	}
	// net/http reads headers of up to 10 MB, and 64 requests run at once.
	if most.heap > before.heap+512<<20 {
		t.Errorf("a heap of %d MB on the way", most.heap>>20)
	}
	runtime.KeepAlive(transport)
}

func isDelayError(err error) bool {
	_, ok := errors.AsType[*politeness.DelayError](err)
	return ok
}
