package gate

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// send writes a raw request to a server, and returns the connection and a
// reader of the response.
func send(
	t *testing.T, server *httptest.Server, text string,
) (conn net.Conn, response *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// TestRawRequests checks unusual requests, most of which HTTP allows.
func TestRawRequests(t *testing.T) {
	t.Parallel()
	var web robotstest.Internet
	web.Handle("shop.example", robotstest.Site{"/": "shop"})
	h := newGate(t, &web, &politeness.Limiter{Delay: -1})
	server := httptest.NewServer(h)
	t.Cleanup(server.Close) // after the connections
	const check = "/check?url=http://shop.example/"
	for name, tt := range map[string]struct {
		request string
		status  int
	}{
		"a plain request": {
			request: "GET " + check + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
			status:  200,
		},
		"HTTP/1.0 without a Host": {"GET " + check + " HTTP/1.0\r\n\r\n", 401},
		"HTTP/1.0": {
			request: "GET " + check + " HTTP/1.0\r\nHost: localhost\r\n\r\n",
			status:  200,
		},
		"a target in absolute form": {
			request: "GET http://127.0.0.1" + check + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
			status:  200,
		},
		"a target in absolute form with another host": {
			request: "GET http://evil.example" + check + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
			status:  401,
		},
		"a request to a proxy": {
			request: "GET http://shop.example/ HTTP/1.1\r\nHost: shop.example\r\n\r\n",
			status:  401,
		},
		"a request to a proxy for the gate": {
			request: "GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
			status:  404,
		},
		"CONNECT": {
			request: "CONNECT shop.example:443 HTTP/1.1\r\nHost: shop.example:443\r\n\r\n",
			status:  401,
		},
		"CONNECT to itself": {
			request: "CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n",
			status:  404,
		},
		"CONNECT /check": {
			request: "CONNECT " + check + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
			status:  405,
		},
		"two Hosts": {
			request: "GET " + check + " HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
			status:  400,
		},
		"a user in Host": {
			request: "GET " + check + " HTTP/1.1\r\nHost: 127.0.0.1@evil.example\r\n\r\n",
			status:  400,
		},
		"a websocket": {
			request: "GET " + check + " HTTP/1.1\r\n" +
				"Host: 127.0.0.1\r\n" +
				"Connection: Upgrade\r\n" +
				"Upgrade: websocket\r\n" +
				"Sec-WebSocket-Version: 13\r\n" +
				"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n" +
				"\r\n",
			status: 200,
		},
		"h2c": {
			request: "GET " + check + " HTTP/1.1\r\n" +
				"Host: 127.0.0.1\r\n" +
				"Connection: Upgrade, HTTP2-Settings\r\n" +
				"Upgrade: h2c\r\n" +
				"HTTP2-Settings: AAMAAABkAAQAAP__\r\n" +
				"\r\n",
			status: 200,
		},
		"an h2c preface": {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 401},
		"a body": {
			request: "GET " + check + " HTTP/1.1\r\n" +
				"Host: 127.0.0.1\r\n" +
				"Content-Length: 4\r\n" +
				"\r\n" +
				"body",
			status: 400,
		},
		"a chunked body": {
			request: "GET " + check + " HTTP/1.1\r\n" +
				"Host: 127.0.0.1\r\n" +
				"Transfer-Encoding: chunked\r\n" +
				"\r\n" +
				"0\r\n" +
				"\r\n",
			status: 400,
		},
		"Expect: 100-continue": {
			request: "GET " + check + " HTTP/1.1\r\n" +
				"Host: 127.0.0.1\r\n" +
				"Content-Length: 9\r\n" +
				"Expect: 100-continue\r\n" +
				"\r\n",
			status: 400,
		},
		"a smuggled length": {
			request: "GET " + check + " HTTP/1.1\r\n" +
				"Host: 127.0.0.1\r\n" +
				"Content-Length: 4\r\n" +
				"Transfer-Encoding: chunked\r\n" +
				"\r\n" +
				"0\r\n" +
				"\r\n",
			status: 400,
		},
		"a smuggled line": {
			request: "GET " + check + " HTTP/1.1\r\n" +
				"Host: 127.0.0.1\r\n" +
				"X: a\n" +
				"Sec-Fetch-Site : none\r\n" +
				"\r\n",
			status: 400,
		},
		"a huge query": {
			request: "GET " + check + strings.Repeat("a", 512<<10) + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
			status:  400,
		},
		"a huge header": {
			request: "GET " + check + " HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + strings.Repeat("a", 2<<20) + "\r\n\r\n",
			status:  431,
		},
		"a request with X-Forwarded-For": {
			request: "GET " + check + " HTTP/1.1\r\n" +
				"Host: 127.0.0.1\r\n" +
				"X-Forwarded-For: 192.0.2.1\r\n" +
				"\r\n",
			status: 401,
		},
		"a request with Forwarded": {
			request: "GET " + check + " HTTP/1.1\r\n" +
				"Host: 127.0.0.1\r\n" +
				"Forwarded: for=192.0.2.1\r\n" +
				"\r\n",
			status: 401,
		},
	} {
		const maxBytes = 1<<20 + 8<<10 // then the server responds without reading the rest
		_, response := send(t, server, tt.request[:min(len(tt.request), maxBytes)])
		resp, err := http.ReadResponse(response, nil)
		if err != nil {
			t.Errorf("%s: got error %v, want a response", name, err)
			continue
		}
		if resp.StatusCode != tt.status {
			t.Errorf("%s: the status is %d, want %d", name, resp.StatusCode, tt.status)
		}
	}
}

// TestWait_UnreadBodies checks that requests with a body do not wait after
// their connections have been closed. net/http detects the end of a connection
// only if the body has been read.
func TestWait_UnreadBodies(t *testing.T) {
	t.Parallel()
	var web robotstest.Internet
	web.Handle("shop.example", shop)
	h := newGate(t, &web, &politeness.Limiter{Lease: time.Hour})
	server := httptest.NewServer(h)
	t.Cleanup(server.Close) // after the connections
	if v := waitFor(t, h); v.ID == "" {
		t.Fatalf("the verdict is %+v, want an id", v)
	}
	for range 1000 {
		conn, _ := send(
			t,
			server,
			"GET "+requestURL("/check", "http://shop.example/")+"&wait=1 HTTP/1.1\r\n"+
				"Host: 127.0.0.1\r\n"+
				"Content-Length: 9\r\n"+
				"\r\n",
		)
		conn.Close()
	}
	deadline := time.Now().Add(time.Minute)
	for h.limiter.Stats().Waiting > 0 || h.active.Load() > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("%d requests wait and %d are active, want none",
				h.limiter.Stats().Waiting, h.active.Load())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestDNSRebinding checks a name that first resolves to a public address, and
// then to a private one. In this test, 127.0.0.2 is public and 127.0.0.1 is
// private.
func TestDNSRebinding(t *testing.T) {
	public, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skipf("SKIPPED: 127.0.0.2 is not an address here, so DNS rebinding is not tested: %v", err)
	}
	_, port, _ := net.SplitHostPort(public.Addr().String())
	private, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Skipf("SKIPPED: port %s is in use, so DNS rebinding is not tested: %v", port, err)
	}
	var pages, secrets atomic.Int32
	serve := func(l net.Listener, n *atomic.Int32, location string) {
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n.Add(1)
			w.Header().Set("Connection", "close") // the next request resolves the name again
			if r.URL.Path == "/robots.txt" && r.Host != "rebind.example:"+port {
				http.Redirect(w, r, location, http.StatusFound)
			}
		})
		server := &httptest.Server{Listener: l, Config: &http.Server{Handler: handler}}
		server.Start()
		t.Cleanup(server.Close)
	}
	serve(public, &pages, "http://127.0.0.1:"+port+"/robots.txt")
	serve(private, &secrets, "/")

	var rebound atomic.Bool
	dns, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer dns.Close()
	go answerNames(dns, &rebound)
	before := net.DefaultResolver
	defer func() { net.DefaultResolver = before }()
	net.DefaultResolver = &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "udp", dns.LocalAddr().String())
		},
	}

	h, err := New(robotsmw.Options{
		UserAgent: "GateBot/1.0",
		Limiter:   &politeness.Limiter{Delay: -1},
		RefuseAddress: func(a netip.Addr) error {
			if a.Unmap() == netip.MustParseAddr("127.0.0.1") {
				return fmt.Errorf("%v is private", a)
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.robots.CloseIdleConnections()
	if w := request(h, "GET", requestURL("/fetch", "http://rebind.example:"+port+"/")); w.Code != 200 {
		t.Fatalf("before rebinding, /fetch returns status %d and %s, want 200", w.Code, w.Body)
	}
	rebound.Store(true)
	if w := request(h, "GET", requestURL("/fetch", "http://rebind.example:"+port+"/")); w.Code != 502 {
		t.Errorf("after rebinding, /fetch returns status %d and %s, want 502", w.Code, w.Body)
	}
	// robots.txt redirects to the private address.
	if w := request(h, "GET", requestURL("/fetch", "http://127.0.0.2:"+port+"/")); w.Code != 503 {
		t.Errorf("with a redirect, /fetch returns status %d and %s, want 503", w.Code, w.Body)
	}
	if n := secrets.Load(); n > 0 {
		t.Errorf("the private address received %d requests, want none", n)
	}
	if n := pages.Load(); n != 3 {
		t.Errorf("the public address received %d requests, want 3", n)
	}
}

// answerNames is a name server in which each name has one IPv4 address.
func answerNames(conn net.PacketConn, rebound *atomic.Bool) {
	packet := make([]byte, 4096)
	for {
		n, from, err := conn.ReadFrom(packet)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(packet[:n]) != nil {
			continue
		}
		m.Response = true
		m.Additionals = nil
		if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
			address := [4]byte{127, 0, 0, 2}
			if rebound.Load() {
				address[3] = 1
			}
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
				Body:   &dnsmessage.AResource{A: address},
			}}
		}
		if out, err := m.Pack(); err == nil {
			conn.WriteTo(out, from)
		}
	}
}

// TestFetch_SlowClient checks that a request ends if the client does not read
// the page.
func TestFetch_SlowClient(t *testing.T) {
	var web robotstest.Internet
	web.Handle("shop.example", robotstest.Site{"/page": strings.Repeat("x", 32<<20)})
	h := newGate(t, &web, nil)
	h.timeout = 100 * time.Millisecond
	server := httptest.NewServer(h)
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn,
		"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		requestURL("/fetch", "http://shop.example/page"))
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	for h.active.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
}
