package politeness

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A streamServer serves HTTP/2 on pipes, in fake time. It records when it
// receives each request, and responds unless turn rejects the request.
type streamServer struct {
	turn   func(f *http2.Framer, stream uint32, nth int) bool
	config *tls.Config // nil means without TLS

	mu    sync.Mutex
	seen  []time.Duration // since start
	conns int
	start time.Time
}

func headersOf(fields ...string) []byte {
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for i := 0; i < len(fields); i += 2 {
		enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return block.Bytes()
}

func (s *streamServer) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	s.mu.Lock()
	s.conns++
	s.mu.Unlock()
	go s.serve(far)
	return near, nil
}

// eager is a connection whose Write does not wait for the other side.
type eager struct {
	net.Conn
	out chan []byte
}

func newEager(conn net.Conn) *eager {
	e := &eager{conn, make(chan []byte, 1000)}
	go func() {
		for b := range e.out {
			conn.Write(b)
		}
		conn.Close()
	}()
	return e
}

func (e *eager) Write(p []byte) (int, error) {
	e.out <- bytes.Clone(p)
	return len(p), nil
}

func (e *eager) Close() error {
	close(e.out)
	return nil
}

func (s *streamServer) serve(pipe net.Conn) {
	var conn net.Conn = newEager(pipe)
	defer conn.Close()
	if s.config != nil {
		conn = tls.Server(conn, s.config)
	}
	io.ReadFull(conn, make([]byte, len(http2.ClientPreface)))
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
			s.mu.Lock()
			s.seen = append(s.seen, time.Since(s.start))
			nth := len(s.seen)
			s.mu.Unlock()
			if s.turn(f, frame.StreamID, nth) {
				f.WriteHeaders(http2.HeadersFrameParam{StreamID: frame.StreamID, BlockFragment: headersOf(":status", "200", "content-length", "2"), EndHeaders: true})
				f.WriteData(frame.StreamID, true, []byte("ok"))
			}
		}
	}
}

// viaProxy dials a proxy, which accepts a CONNECT request and then acts as the
// server.
func (s *streamServer) viaProxy(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	s.mu.Lock()
	s.conns++
	s.mu.Unlock()
	go func() {
		req, err := http.ReadRequest(bufio.NewReaderSize(far, 16))
		if err != nil || req.Method != "CONNECT" {
			far.Close()
			return
		}
		io.WriteString(far, "HTTP/1.1 200 OK\r\n\r\n")
		s.serve(far)
	}()
	return near, nil
}

// turnings are ways in which a server refuses a request before it responds.
var turnings = map[string]func(f *http2.Framer, stream uint32){
	"REFUSED_STREAM": func(f *http2.Framer, stream uint32) {
		f.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
	},
	"103, REFUSED_STREAM": func(f *http2.Framer, stream uint32) {
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: headersOf(":status", "103"), EndHeaders: true})
		f.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
	},
	"GOAWAY": func(f *http2.Framer, stream uint32) {
		f.WriteGoAway(stream-1, http2.ErrCodeNo, nil)
	},
	"103, GOAWAY": func(f *http2.Framer, stream uint32) {
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: headersOf(":status", "103"), EndHeaders: true})
		f.WriteGoAway(stream-1, http2.ErrCodeNo, nil)
	},
}

// tlsConfig returns a config with a certificate, for HTTP/2.
func tlsConfig(t *testing.T) *tls.Config {
	srv := httptest.NewUnstartedServer(nil)
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	config := srv.TLS.Clone()
	config.NextProtos = []string{"h2"}
	return config
}

// With each kind of connection and each way in which the server refuses
// requests, the requests reach the server an interval apart, and no page is
// lost.
func TestWire_StreamsThatAreTurnedAway(t *testing.T) {
	config := tlsConfig(t)
	trusting := &tls.Config{InsecureSkipVerify: true}
	bases := map[string]func(t *testing.T, s *streamServer) http.RoundTripper{
		"http.Transport": func(t *testing.T, s *streamServer) http.RoundTripper {
			base := &http.Transport{Protocols: new(http.Protocols), DialContext: s.dial}
			base.Protocols.SetUnencryptedHTTP2(true)
			return base
		},
		"http.Transport, wrapped": func(t *testing.T, s *streamServer) http.RoundTripper {
			base := &http.Transport{Protocols: new(http.Protocols), DialContext: s.dial}
			base.Protocols.SetUnencryptedHTTP2(true)
			t.Cleanup(base.CloseIdleConnections)
			return &wrapped{base}
		},
		"http.Transport, TLS": func(t *testing.T, s *streamServer) http.RoundTripper {
			s.config = config
			return &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: trusting, DialContext: s.dial}
		},
		"http.Transport, CONNECT": func(t *testing.T, s *streamServer) http.RoundTripper {
			s.config = config
			proxy := mustURL(t, "http://proxy.example:3128")
			return &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: trusting, DialContext: s.viaProxy, Proxy: http.ProxyURL(proxy)}
		},
	}
	for name, newBase := range bases {
		for how, turn := range turnings {
			t.Run(name+"/"+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := &streamServer{start: time.Now(), turn: func(f *http2.Framer, stream uint32, nth int) bool {
						if nth%2 == 1 {
							return true
						}
						turn(f, stream)
						return false
					}}
					base := newBase(t, server)
					scheme := "http"
					if server.config != nil {
						scheme = "https"
					}
					tr := &Transport{Base: base, Limiter: &Limiter{}}
					for range 4 {
						if err := fetch(t, tr, newGet(t, scheme+"://www.example.com/page")); err != nil {
							t.Error(err)
						}
					}
					if len(server.seen) != 7 {
						t.Errorf("the server received %d requests, want 7", len(server.seen))
					}
					for i := 1; i < len(server.seen); i++ {
						if gap := server.seen[i] - server.seen[i-1]; gap < time.Second {
							t.Errorf("the server received requests at %v, want them at least 1s apart", server.seen)
							break
						}
					}
					if goesOn := !strings.Contains(how, "GOAWAY"); goesOn && server.conns != 1 {
						t.Errorf("the server accepted %d connections, want 1", server.conns)
					}
					synctest.Wait()
					if c, ok := base.(interface{ CloseIdleConnections() }); ok {
						c.CloseIdleConnections()
					}
				})
			})
		}
	}
}

// A server that refuses every request receives only maxReplays+1 of them.
func TestWire_ServerThatTurnsAllAway(t *testing.T) {
	for how, turn := range turnings {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &streamServer{start: time.Now(), turn: func(f *http2.Framer, stream uint32, _ int) bool {
					turn(f, stream)
					return false
				}}
				base := &http.Transport{Protocols: new(http.Protocols), DialContext: server.dial}
				base.Protocols.SetUnencryptedHTTP2(true)
				defer func() { synctest.Wait(); base.CloseIdleConnections() }()
				tr := &Transport{Base: base, Limiter: &Limiter{Delay: -1}}
				if err := fetch(t, tr, newGet(t, "http://www.example.com/")); err == nil {
					t.Error("RoundTrip: no error, want one after the last try")
				}
				if n := len(server.seen); n != maxReplays+1 {
					t.Errorf("the server received %d requests, want %d", n, maxReplays+1)
				}
			})
		})
	}
}

// While one stream is refused, the other streams of its connection continue.
func TestWire_SharedConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held []uint32
		server := &streamServer{start: time.Now()}
		server.turn = func(f *http2.Framer, stream uint32, nth int) bool {
			switch nth {
			case 1: // is answered after the others
				held = append(held, stream)
				return false
			case 2:
				f.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
				return false
			}
			for _, stream := range held {
				f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: headersOf(":status", "200", "content-length", "2"), EndHeaders: true})
				f.WriteData(stream, true, []byte("ok"))
			}
			return true
		}
		base := &http.Transport{Protocols: new(http.Protocols), DialContext: server.dial}
		base.Protocols.SetUnencryptedHTTP2(true)
		defer func() { synctest.Wait(); base.CloseIdleConnections() }()
		tr := &Transport{Base: base, Limiter: &Limiter{Concurrency: 2}}
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if err := fetch(t, tr, newGet(t, "http://www.example.com/")); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if server.conns != 1 || len(server.seen) != 3 {
			t.Errorf("the server received %d requests on %d connections, want 3 on 1", len(server.seen), server.conns)
		}
	})
}

// The check of WithCheck is called for a replay too, when the replay may start.
func TestWire_ReplayIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &rudeServer{rude: func(_, all int) bool { return all > 0 }}
		tr := &Transport{Base: server.pipes(t), Limiter: &Limiter{Delay: -1}}
		enough := errors.New("enough")
		ctx := WithCheck(t.Context(), func(context.Context) error {
			server.mu.Lock()
			defer server.mu.Unlock()
			if len(server.seen) > 1 {
				return enough
			}
			return nil
		})
		for _, want := range []error{nil, enough} {
			req := newGet(t, "http://www.example.com/").WithContext(ctx)
			if err := fetch(t, tr, req); !errors.Is(err, want) {
				t.Errorf("error %v, want %v", err, want)
			}
		}
	})
}

// Over HTTP/2, net/http makes connections to a name in an unusual spelling
// without end. The name is sent in its canonical form instead.
func TestWire_UnusualNames(t *testing.T) {
	for spelling, name := range map[string]string{
		"ｖictim.example":  "victim.example",
		"BÜCHER.example":  "xn--bcher-kva.example",
		"Faß.example":     "xn--fa-hia.example",
		"１２７.0.0.1":       "127.0.0.1",
		"plain.example":   "plain.example",
		"bücher.example.": "xn--bcher-kva.example",
	} {
		var conns, requests int
		var mu sync.Mutex
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if requests++; r.Host != name {
				t.Errorf("%s: the server received a request for %s, want %s", spelling, r.Host, name)
			}
			io.WriteString(w, "ok")
		}))
		srv.EnableHTTP2 = true
		srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			mu.Lock()
			defer mu.Unlock()
			if s == http.StateNew {
				conns++
			}
		}
		srv.StartTLS()
		base := srv.Client().Transport.(*http.Transport)
		base.TLSClientConfig.InsecureSkipVerify = true
		base.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, srv.Listener.Addr().String())
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		req := newGet(t, "https://"+spelling+"/").WithContext(ctx)
		host := req.URL.Host
		tr := &Transport{Base: base, Limiter: &Limiter{Delay: -1}}
		for range 2 {
			if err := fetch(t, tr, req); err != nil {
				t.Errorf("RoundTrip for %s: error %v, want none", spelling, err)
			}
		}
		cancel()
		if req.URL.Host != host {
			t.Errorf("%s: RoundTrip changed the host of the request to %s, want %s", spelling, req.URL.Host, host)
		}
		mu.Lock()
		if conns != 1 || requests != 2 {
			t.Errorf("%s: the server received %d requests on %d connections, want 2 on 1", spelling, requests, conns)
		}
		mu.Unlock()
		srv.Close()
	}
}

// An attempt that requests connections without using one ends with an error.
func TestWire_ConnectionsThatAreNotUsed(t *testing.T) {
	asked := 0
	base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
		for req.Context().Err() == nil && asked < 1000 {
			asked++
			httptrace.ContextClientTrace(req.Context()).GetConn("www.example.com:443")
		}
		return nil, req.Context().Err()
	})
	tr := &Transport{Base: base, Limiter: &Limiter{Delay: -1}}
	_, err := tr.RoundTrip(newGet(t, "https://www.example.com/"))
	if err == nil || !strings.Contains(err.Error(), "connections") || asked > 2*maxConnections {
		t.Errorf("RoundTrip made %d calls of GetConn, error %v; want at most %d, and an error that mentions connections", asked, err, 2*maxConnections)
	}
}

// net/http does not limit the number of 1xx responses if a trace receives them.
func TestWire_EndlessInformation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		sent := 0
		go func() {
			defer far.Close()
			http.ReadRequest(bufio.NewReader(far))
			for sent < 100<<20 {
				n, err := fmt.Fprintf(far, "HTTP/1.1 103 Early Hints\r\nLink: </%s>; rel=preload\r\n\r\n", strings.Repeat("x", 8000))
				if err != nil {
					return
				}
				sent += n
			}
		}()
		base := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil }}
		tr := &Transport{Base: base, Limiter: &Limiter{Delay: -1}}
		_, err := tr.RoundTrip(newGet(t, "http://www.example.com/"))
		if err == nil || !strings.Contains(err.Error(), "1xx") {
			t.Errorf("RoundTrip: error %v, want one that mentions 1xx", err)
		}
		synctest.Wait()
		if sent > 2*max1xxBytes {
			t.Errorf("%d bytes of 1xx responses were read, want at most %d", sent, 2*max1xxBytes)
		}
	})
}
