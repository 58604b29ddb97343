package politeness

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A rudeServer answers requests on keep-alive connections. If rude() returns
// true for a request, the server closes the connection without an answer. The
// arguments of rude() are the numbers of earlier requests on that connection
// and on all connections.
type rudeServer struct {
	rude func(onConn, all int) bool

	mu    sync.Mutex
	seen  []time.Time
	lines []string // "GET /path body"
}

func (s *rudeServer) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for n := 0; ; n++ {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		body, _ := io.ReadAll(req.Body)
		s.mu.Lock()
		all := len(s.seen)
		s.seen = append(s.seen, time.Now())
		s.lines = append(s.lines, strings.TrimSpace(req.Method+" "+req.URL.Path+" "+string(body)))
		s.mu.Unlock()
		if s.rude(n, all) {
			return
		}
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	}
}

func (s *rudeServer) gaps() (gaps []time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := 1; i < len(s.seen); i++ {
		gaps = append(gaps, s.seen[i].Sub(s.seen[i-1]))
	}
	return gaps
}

// secondOfEach closes each connection at its second request.
func secondOfEach(onConn, _ int) bool { return onConn == 1 }

// pipes returns an http.Transport whose connections are pipes to the server,
// for tests in fake time.
func (s *rudeServer) pipes(t *testing.T) *http.Transport {
	tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go s.serve(far)
		return near, nil
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// listen makes the server serve real connections, and returns its address.
func (s *rudeServer) listen(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return ln.Addr().String()
}

func fetch(t *testing.T, rt http.RoundTripper, req *http.Request) error {
	t.Helper()
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 || string(body) != "ok" {
		t.Errorf("the response has status %d, body %q, error %v; want 200, %q, none", resp.StatusCode, body, err, "ok")
	}
	if resp.Request != req {
		t.Error("resp.Request is not the request that was passed to RoundTrip, want that one")
	}
	return nil
}

func newGet(t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestReplayKeepsThePace_RealConnections(t *testing.T) {
	t.Parallel()
	const delay = 150 * time.Millisecond
	server := &rudeServer{rude: secondOfEach}
	address := server.listen(t)
	var writes writeTimes
	base := &http.Transport{DialContext: writes.dial}
	defer base.CloseIdleConnections()
	tr := &Transport{Base: base, Limiter: &Limiter{Delay: delay}}
	for range 4 {
		if err := fetch(t, tr, newGet(t, "http://"+address+"/page")); err != nil {
			t.Error(err)
		}
	}
	gaps := writes.gaps()
	if len(gaps) < 5 {
		t.Errorf("%d requests were written, want 6 at least because some are sent again", len(gaps)+1)
	}
	for _, gap := range gaps {
		if gap < delay/2 { // a busy machine may shorten a gap; with net/http alone, a gap is below 1 ms
			t.Errorf("requests were written %v apart, want at least %v: %v", gap, delay/2, gaps)
		}
	}
}

// If a server refuses an HTTP/2 stream, the request is sent again on the same
// connection, after the host's delay.
func TestReplayKeepsThePace_RefusedStream(t *testing.T) {
	t.Parallel()
	plain := func() *http.Transport {
		base := &http.Transport{Protocols: new(http.Protocols)}
		base.Protocols.SetUnencryptedHTTP2(true)
		return base
	}
	t.Run("TLS", func(t *testing.T) {
		srv := httptest.NewUnstartedServer(nil) // used only for its certificate
		srv.EnableHTTP2 = true
		srv.StartTLS()
		base := srv.Client().Transport.(*http.Transport).Clone()
		config := srv.TLS.Clone()
		srv.Close()
		config.NextProtos = []string{"h2"}
		keepsPace(t, "https", base, base, func() net.Listener { return tls.NewListener(listen(t), config) })
	})
	t.Run("without TLS", func(t *testing.T) {
		base := plain()
		keepsPace(t, "http", base, base, func() net.Listener { return listen(t) })
	})
	t.Run("without TLS, wrapped", func(t *testing.T) {
		base := plain()
		keepsPace(t, "http", base, &wrapped{base}, func() net.Listener { return listen(t) })
	})
}

// keepsPace fetches pages from a server that refuses streams, and checks the
// intervals between the requests that the server receives. A busy machine may
// delay the server by more than the interval, so that it reads one request late
// and the next one in time. Without rate limiting, the requests are never an
// interval apart, so one good attempt of several is sufficient.
func keepsPace(t *testing.T, scheme string, dialer *http.Transport, base http.RoundTripper, listen func() net.Listener) {
	t.Helper()
	const delay = 150 * time.Millisecond
	var gaps []time.Duration
	for range 5 {
		gaps = refuseStreams(t, listen(), scheme, dialer, &Transport{Base: base, Limiter: &Limiter{Delay: delay}})
		if t.Failed() || slices.Min(gaps) >= delay/2 {
			return
		}
	}
	t.Errorf("the server saw requests %v apart, want %v", gaps, delay)
}

// wrapped is a RoundTripper around another, and hides what that is.
type wrapped struct{ http.RoundTripper }

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// refuseStreams starts an HTTP/2 server that refuses every second stream. It
// fetches three pages from this server through tr, which uses dialer, and
// returns the times between the requests that the server has seen.
func refuseStreams(t *testing.T, ln net.Listener, scheme string, dialer *http.Transport, tr *Transport) (gaps []time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var seen []time.Time
	serve := func(conn net.Conn) {
		defer conn.Close()
		io.ReadFull(conn, make([]byte, len(http2.ClientPreface)))
		var head bytes.Buffer
		enc := hpack.NewEncoder(&head)
		enc.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
		enc.WriteField(hpack.HeaderField{Name: "content-length", Value: "2"})
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
				mu.Lock()
				seen = append(seen, time.Now())
				refuse := len(seen)%2 == 0
				mu.Unlock()
				if refuse {
					f.WriteRSTStream(frame.StreamID, http2.ErrCodeRefusedStream)
					continue
				}
				f.WriteHeaders(http2.HeadersFrameParam{StreamID: frame.StreamID, BlockFragment: head.Bytes(), EndHeaders: true})
				f.WriteData(frame.StreamID, true, []byte("ok"))
			}
		}
	}
	defer ln.Close()
	var conns []net.Conn
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			served.Go(func() { serve(conn) })
		}
	})
	defer served.Wait()
	defer dialer.CloseIdleConnections()
	for range 3 {
		if err := fetch(t, tr, newGet(t, scheme+"://"+ln.Addr().String()+"/page")); err != nil {
			t.Error(err)
		}
	}
	ln.Close()
	mu.Lock()
	defer mu.Unlock()
	for _, conn := range conns {
		conn.Close()
	}
	if len(seen) != 5 || len(conns) != 1 {
		t.Errorf("the server received %d requests on %d connections, want 5 on 1", len(seen), len(conns))
	}
	for i := 1; i < len(seen); i++ {
		gaps = append(gaps, seen[i].Sub(seen[i-1]))
	}
	return gaps
}

// A server closes connections that were idle for 5 s, and its robots.txt has
// a Crawl-delay of 60 s. No page is lost, and no request starts too soon.
func TestReplayAndIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &rudeServer{rude: func(int, int) bool { return false }}
		base := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go server.serve(far)
			return &impatient{Conn: near, after: 5 * time.Second}, nil
		}}
		defer base.CloseIdleConnections()
		tr := &Transport{Base: base}
		for range 5 {
			req := newGet(t, "http://example.com/page")
			req = req.WithContext(WithCrawlDelay(req.Context(), 60*time.Second))
			if err := fetch(t, tr, req); err != nil {
				t.Error(err)
			}
		}
		gaps := server.gaps()
		if len(gaps) != 4 {
			t.Errorf("the server received %d requests, want 5", len(gaps)+1)
		}
		for _, gap := range gaps {
			if gap != 60*time.Second {
				t.Errorf("the server received requests %v apart, want 1m0s", gap)
			}
		}
	})
}

// impatient is a connection that closes itself when nothing has been written to
// it for a given time.
type impatient struct {
	net.Conn
	after time.Duration
	timer *time.Timer
}

func (c *impatient) Write(p []byte) (int, error) {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.timer = time.AfterFunc(c.after, func() { c.Conn.Close() })
	return c.Conn.Write(p)
}

func TestReplay(t *testing.T) {
	post := func(t *testing.T, withGetBody bool) *http.Request {
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://example.com/form", strings.NewReader("a=b"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Idempotency-Key", "1") // without this field, net/http never sends a POST again
		if !withGetBody {
			req.GetBody = nil
		}
		return req
	}
	tests := []struct {
		name    string
		rude    func(onConn, all int) bool
		limiter *Limiter
		request func(t *testing.T) *http.Request
		within  time.Duration // the caller's timeout; 0 means none
		gaps    []time.Duration
		lines   int
		fails   func(error) bool // nil means the request does not fail
	}{
		{
			name: "once", rude: secondOfEach, limiter: &Limiter{Delay: 3 * time.Second},
			request: func(t *testing.T) *http.Request { return newGet(t, "http://example.com/page") },
			gaps:    []time.Duration{3 * time.Second, 3 * time.Second},
		},
		{
			name: "with a body that can be read anew", rude: secondOfEach, limiter: &Limiter{Delay: 3 * time.Second},
			request: func(t *testing.T) *http.Request { return post(t, true) },
			gaps:    []time.Duration{3 * time.Second, 3 * time.Second},
		},
		{
			name: "a body that cannot be read anew is sent once", rude: secondOfEach, limiter: &Limiter{Delay: 3 * time.Second},
			request: func(t *testing.T) *http.Request { return post(t, false) },
			gaps:    []time.Duration{3 * time.Second},
			fails:   func(err error) bool { return err != nil },
		},
		{
			name: "a caller without the time for another interval gets a DelayError", rude: secondOfEach, limiter: &Limiter{Delay: 3 * time.Second},
			request: func(t *testing.T) *http.Request { return newGet(t, "http://example.com/page") },
			within:  5 * time.Second,
			gaps:    []time.Duration{3 * time.Second},
			fails: func(err error) bool {
				_, ok := errors.AsType[*DelayError](err)
				return ok
			},
		},
		{
			name: "MaxWait holds for the second time too", rude: secondOfEach, limiter: &Limiter{Delay: 3 * time.Second, MaxWait: 4 * time.Second},
			request: func(t *testing.T) *http.Request { return newGet(t, "http://example.com/page") },
			gaps:    []time.Duration{3 * time.Second, 3 * time.Second},
		},
		{
			name: "without an interval net/http does as it likes", rude: secondOfEach, limiter: &Limiter{Delay: -1},
			request: func(t *testing.T) *http.Request { return newGet(t, "http://example.com/page") },
			gaps:    []time.Duration{0, 0},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &rudeServer{rude: tt.rude}
				tr := &Transport{Base: server.pipes(t), Limiter: tt.limiter}
				if err := fetch(t, tr, newGet(t, "http://example.com/first")); err != nil {
					t.Fatal(err)
				}
				req := tt.request(t)
				if tt.within > 0 {
					ctx, cancel := context.WithTimeout(req.Context(), tt.within)
					defer cancel()
					req = req.WithContext(ctx)
				}
				err := fetch(t, tr, req)
				if tt.fails == nil && err != nil || tt.fails != nil && !tt.fails(err) {
					t.Errorf("RoundTrip: error %v, want the error of this test case, or none if it has none", err)
				}
				if got := server.gaps(); len(got) != len(tt.gaps) {
					t.Errorf("the server received requests %v apart, want %v: %q", got, tt.gaps, server.lines)
				} else {
					for i := range got {
						if got[i] != tt.gaps[i] {
							t.Errorf("the server received requests %v apart, want %v", got, tt.gaps)
						}
					}
				}
				last := server.lines[len(server.lines)-1]
				if req.Method == "POST" && last != "POST /form a=b" {
					t.Errorf("the server received %q, want %q", last, "POST /form a=b")
				}
				if n := busy(tr.Limiter); n != 0 {
					t.Errorf("%d slots are taken, want 0", n)
				}
			})
		})
	}
}

// Several connections are idle. The server closes each of them when the next
// request arrives on it. net/http alone would send the request again at once,
// on another idle connection. The Transport waits for the request's turn.
func TestReplayOnAnotherIdleConnection(t *testing.T) {
	for range 20 { // chance decides which connection net/http takes
		synctest.Test(t, func(t *testing.T) {
			rude := false
			server := &rudeServer{}
			server.rude = func(onConn, _ int) bool { return rude && onConn > 0 }
			base := server.pipes(t)
			base.MaxIdleConnsPerHost = 10
			var wg sync.WaitGroup
			open := &Transport{Base: base, Limiter: &Limiter{Delay: -1, Concurrency: 5}}
			for range 5 {
				wg.Go(func() { fetch(t, open, newGet(t, "http://example.com/open")) })
			}
			wg.Wait()
			time.Sleep(time.Minute)
			server.mu.Lock()
			server.seen, rude = nil, true
			server.mu.Unlock()
			tr := &Transport{Base: base}
			if err := fetch(t, tr, newGet(t, "http://example.com/page")); err != nil {
				t.Error(err)
			}
			for _, gap := range server.gaps() {
				if gap < time.Second {
					t.Errorf("the server received requests %v apart, want at least 1s", server.gaps())
				}
			}
		})
	}
}

// A server that never responds receives at most maxReplays+1 requests.
func TestReplayEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			requests++
			trace := httptrace.ContextClientTrace(req.Context())
			for range 2 {
				trace.GetConn("example.com:80")
				trace.WroteHeaders()
			}
			return nil, req.Context().Err()
		})
		tr := &Transport{Base: base}
		_, err := tr.RoundTrip(newGet(t, "http://example.com/"))
		if err == nil || !strings.Contains(err.Error(), "without a response") {
			t.Errorf("error %v, want one that contains %q", err, "without a response")
		}
		if requests != maxReplays+1 {
			t.Errorf("Base received %d requests, want %d", requests, maxReplays+1)
		}
	})
}

// Before a Base sends a request, it may send one to another host in the same
// context. The request that the Base sends after that is not a replay.
func TestBaseThatAsksAnotherHostFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &rudeServer{rude: func(int, int) bool { return false }}
		inner := server.pipes(t)
		base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			token, _ := http.NewRequestWithContext(req.Context(), "GET", "http://tokens.example/", nil)
			if err := fetch(t, inner, token); err != nil {
				return nil, err
			}
			return inner.RoundTrip(req)
		})
		tr := &Transport{Base: base}
		for range 3 {
			resp, err := tr.RoundTrip(newGet(t, "http://example.com/page"))
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if n := len(server.lines); n != 6 {
			t.Errorf("the server received %d requests, want 6: %q", n, server.lines)
		}
	})
}

// A Base may send two requests to the same host, the second time with
// credentials. The second request is not a replay, because the first request
// was answered.
func TestTransport_BaseSendsTwoRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &rudeServer{rude: func(int, int) bool { return false }}
		inner := server.pipes(t)
		base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			resp, err := inner.RoundTrip(req)
			if err != nil {
				return nil, err
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			again := req.Clone(req.Context())
			again.Header.Set("Authorization", "Digest x")
			return inner.RoundTrip(again)
		})
		tr := &Transport{Base: base}
		for range 3 {
			resp, err := tr.RoundTrip(newGet(t, "http://example.com/page"))
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if n := len(server.lines); n != 6 {
			t.Errorf("the server received %d requests, want 6: %q", n, server.lines)
		}
	})
}
