package robotsmw

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/politeness"
)

// A cannedConn responds to each request immediately, with a prepared robots.txt
// or page. Because this takes almost no time, a benchmark measures only the
// client.
type cannedConn struct {
	net.Conn     // nil, because none of its methods is called
	page, robots []byte
	answers      chan []byte
	closed       chan struct{}
	left         []byte // the part of the current response that has not been read yet
}

func (c *cannedConn) Write(p []byte) (int, error) {
	answer := c.page
	if bytes.HasPrefix(p, []byte("GET /robots.txt ")) {
		answer = c.robots
	}
	c.answers <- answer
	return len(p), nil
}

func (c *cannedConn) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		select {
		case c.left = <-c.answers:
		case <-c.closed:
			return 0, io.EOF
		}
	}
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

func (c *cannedConn) Close() error {
	close(c.closed)
	return nil
}

func (c *cannedConn) SetDeadline(time.Time) error      { return nil }
func (c *cannedConn) SetReadDeadline(time.Time) error  { return nil }
func (c *cannedConn) SetWriteDeadline(time.Time) error { return nil }

func cannedTransport(tb testing.TB, kind, page string) *http.Transport {
	answer := func(kind, body string) []byte {
		return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", kind, len(body),
			body)
	}
	text := answer("text/plain", typicalRobots())
	canned := answer(kind, page)
	t := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return &cannedConn{page: canned, robots: text, answers: make(chan []byte, 1), closed: make(chan struct{})}, nil
	}}
	tb.Cleanup(t.CloseIdleConnections)
	return t
}

// wholeRequests returns the names of four transports, in order, and the
// transports by name. Each has an http.Transport of its own, and all but "bare"
// add something to it. With a Delay of a nanosecond, no request waits, but the
// Limiter is used for each request.
func wholeRequests(tb testing.TB, kind, page string) (names []string, by map[string]http.RoundTripper) {
	limiter := func(o *Options) { o.Limiter = &politeness.Limiter{Delay: time.Nanosecond} }
	return []string{"bare", "robots", "paced", "robots+paced"}, map[string]http.RoundTripper{
		"bare":   cannedTransport(tb, kind, page),
		"robots": newTestTransport(tb, cannedTransport(tb, kind, page)),
		"paced": &politeness.Transport{Base: cannedTransport(tb, kind, page),
			Limiter: &politeness.Limiter{Delay: time.Nanosecond}},
		"robots+paced": newTestTransport(tb, cannedTransport(tb, kind, page), limiter),
	}
}

func fetchWhole(tb testing.TB, rt http.RoundTripper, req *http.Request, buf []byte) {
	resp, err := rt.RoundTrip(req)
	if err != nil {
		tb.Fatal(err)
	}
	for err == nil {
		_, err = resp.Body.Read(buf)
	}
	resp.Body.Close()
	if err != io.EOF {
		tb.Fatal(err)
	}
}

// BenchmarkWhole measures a whole request, from RoundTrip to the body's end,
// over a connection that takes almost no time.
func BenchmarkWhole(b *testing.B) {
	for _, page := range []struct{ name, kind, body string }{
		{"text", "text/plain", strings.Repeat("x", 1000)},
		{"html", "text/html", benchPage(4<<10, "")},
	} {
		req, _ := http.NewRequest("GET", "http://example.com/section-7/public/page.html", nil)
		req.Header.Set("User-Agent", testAgent)
		names, by := wholeRequests(b, page.kind, page.body)
		buf := make([]byte, 32<<10)
		for _, name := range names {
			b.Run(page.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					fetchWhole(b, by[name], req, buf)
				}
			})
		}
	}
}

// TestAllocationsOfAWholeRequest limits the allocations that robots.txt, the
// pace and page directives add to a bare http.Transport. robots.txt adds two
// allocations for the second check, after the wait for the host. Without a
// pace, it also adds seven for a context that ends when the body is closed
// early, and for what net/http allocates to watch this context. The pace adds
// allocations for a context with a timeout, for the hooks that report when
// net/http sends, and for what net/http allocates to watch the context. The
// limits are about twice what a request takes on a quiet machine.
func TestAllocationsOfAWholeRequest(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("with the race detector, the pools of net/http drop objects, which adds allocations")
	}
	req, _ := http.NewRequest("GET", "http://example.com/section-7/public/page.html", nil)
	req.Header.Set("User-Agent", testAgent)
	buf := make([]byte, 32<<10)
	for _, page := range []struct {
		name, kind, body string
		most             map[string]float64
	}{
		{"text", "text/plain", "a page", map[string]float64{"robots": 24, "paced": 46, "robots+paced": 56}},
		{"html", "text/html", "<p>a page</p>", map[string]float64{"robots": 26, "paced": 46, "robots+paced": 58}},
	} {
		names, by := wholeRequests(t, page.kind, page.body)
		cost := func(name string) float64 {
			return testing.AllocsPerRun(200, func() { fetchWhole(t, by[name], req, buf) })
		}
		bare := cost("bare")
		for _, name := range names[1:] {
			if n := cost(name) - bare; n > page.most[name] {
				t.Errorf("%s, %s: %v allocations more than the %v of a bare http.Transport, want at most %v",
					page.name, name, n, bare, page.most[name])
			}
		}
	}
}
