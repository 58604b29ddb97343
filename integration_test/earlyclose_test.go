package integration

import (
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

const (
	socketBuffer = 48 << 10
	// maxUnread is what a server may write beyond what the client reads. The
	// full buffers of both sockets and of net/http hold 200 KiB on Linux, and
	// http.Transport of Go 1.27 reads 256 KiB more after an early close.
	maxUnread = 240 << 10
)

// A longSite serves pages and a robots.txt that have no end, and counts the
// bytes that it has written.
type longSite struct {
	*httptest.Server
	written  atomic.Int64
	finished chan struct{} // receives a value when an endless response is over
}

func newLongSite(t *testing.T, robots string) *longSite {
	t.Helper()
	site := &longSite{finished: make(chan struct{}, 1)}
	site.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" && robots != "" {
			io.WriteString(w, robots)
			return
		}
		site.writeWithoutEnd(w, r)
	}))
	site.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if tcp, ok := c.(*net.TCPConn); ok && state == http.StateNew {
			tcp.SetWriteBuffer(socketBuffer)
		}
	}
	site.Start()
	t.Cleanup(site.Close)
	return site
}

func (s *longSite) writeWithoutEnd(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	chunk := []byte(strings.Repeat("# not wanted here\n", 228)) // about 4 KiB
	for r.Context().Err() == nil {
		n, err := w.Write(chunk)
		s.written.Add(int64(n))
		if err != nil {
			break
		}
		http.NewResponseController(w).Flush()
	}
	s.finished <- struct{}{}
}

// wait returns how many bytes the server wrote before it noticed that the
// client had closed the connection.
func (s *longSite) wait(t *testing.T) int64 {
	t.Helper()
	select {
	case <-s.finished:
	case <-time.After(time.Minute):
		t.Fatal("the server still writes a minute after the close")
	}
	return s.written.Swap(0)
}

// least returns the fewest bytes that the server wrote for one of three
// requests. http.Transport may overlook a cancellation that comes before it
// begins to wait for the end of the body, which happens on a busy machine.
func (s *longSite) least(t *testing.T, request func()) int64 {
	t.Helper()
	fewest := int64(math.MaxInt64)
	for range 3 {
		request()
		fewest = min(fewest, s.wait(t))
	}
	return fewest
}

// narrowTransport has connections with small buffers, so that the kernel holds
// little of what a server writes.
func narrowTransport(t *testing.T) *http.Transport {
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if tcp, ok := conn.(*net.TCPConn); ok {
				tcp.SetReadBuffer(socketBuffer)
			}
			return conn, err
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// A crawler closes a page of many megabytes when it has seen the header. If the
// transport read on, the site would send data that the crawler does not want.
func TestEarlyClose_ServerStopsWriting(t *testing.T) {
	t.Parallel()
	const agent = "ExampleBot/1.0 (+https://example.com/bot)"
	for name, client := range map[string]func(base http.RoundTripper) (*http.Client, error){
		"NewClient": func(base http.RoundTripper) (*http.Client, error) {
			return robotsmw.NewClient(robotsmw.Options{UserAgent: agent, Base: base, Limiter: &politeness.Limiter{Delay: -1}})
		},
		"NewTransport without a Limiter": func(base http.RoundTripper) (*http.Client, error) {
			transport, err := robotsmw.NewTransport(robotsmw.Options{UserAgent: agent, Base: base})
			return &http.Client{Transport: transport}, err
		},
		"politeness.Transport": func(base http.RoundTripper) (*http.Client, error) {
			return &http.Client{Transport: &politeness.Transport{Base: base, Limiter: &politeness.Limiter{Delay: -1}}}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			site := newLongSite(t, "User-agent: *\nAllow: /")
			c, err := client(narrowTransport(t))
			if err != nil {
				t.Fatal(err)
			}
			n := site.least(t, func() {
				resp, err := c.Get(site.URL + "/page")
				if err != nil {
					t.Fatal(err)
				}
				if err := resp.Body.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
			if n > maxUnread {
				t.Errorf("the server wrote %d bytes of a page that was closed at once", n)
			}
		})
	}
}

// A program with colly aborts a request when it has seen the response's header.
func TestEarlyClose_CollyAborts(t *testing.T) {
	t.Parallel()
	site := newLongSite(t, "User-agent: *\nAllow: /")
	c := colly.NewCollector(colly.AllowURLRevisit())
	c.WithTransport(narrowTransport(t))
	if _, err := collyrobots.Attach(c, robotsmw.Options{
		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)", Limiter: &politeness.Limiter{Delay: -1},
	}); err != nil {
		t.Fatal(err)
	}
	c.OnResponseHeaders(func(r *colly.Response) { r.Request.Abort() })
	n := site.least(t, func() { c.Visit(site.URL + "/page") })
	if n > maxUnread {
		t.Errorf("the server wrote %d bytes of a page that was aborted at its header", n)
	}
}

// Only the first bytes of a robots.txt count. The rest stays on the server.
func TestEarlyClose_RobotsTxtWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, limiter := range map[string]*politeness.Limiter{
		"without a Limiter": nil,
		"with a Limiter":    {Delay: -1},
	} {
		t.Run(name, func(t *testing.T) {
			site := newLongSite(t, "")
			checker, err := robotsmw.NewChecker(robotsmw.Options{
				UserAgent: "ExampleBot/1.0 (+https://example.com/bot)", Base: narrowTransport(t), Limiter: limiter,
			})
			if err != nil {
				t.Fatal(err)
			}
			page, err := url.Parse(site.URL + "/page")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := checker.Check(t.Context(), page); err != nil {
				t.Fatal(err)
			}
			if n := site.wait(t); n > robotstxt.MaxSize+maxUnread {
				t.Errorf("the server wrote %d bytes of a robots.txt, of which %d count", n, robotstxt.MaxSize)
			}
		})
	}
}
