package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

const agent = "TestBot/1.0 (+https://example.com/bot)"

// A site records the URIs that are requested.
type site struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string
}

// newSite starts a site on loopback. A path without a handler is a 404.
func newSite(t *testing.T, pages map[string]http.HandlerFunc) *site {
	t.Helper()
	s := new(site)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.URL.RequestURI())
		s.mu.Unlock()
		if page := pages[r.URL.Path]; page != nil {
			page(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// count returns how often a URI was requested.
func (s *site) count(uri string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, got := range s.requests {
		if got == uri {
			n++
		}
	}
	return n
}

// text returns a page of plain text.
func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, s)
	}
}

// status returns a page with a status and no text.
func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// privateForTests is the address that counts as private in the tests. The sites
// are at 127.0.0.1.
var privateForTests = netip.MustParseAddr("127.0.0.2")

func refusePrivate(a netip.Addr) error {
	if a == privateForTests {
		return fmt.Errorf("%v is private", a)
	}
	return nil
}

// newTestFetcher returns a fetcher without a delay. edit may change its
// options.
func newTestFetcher(t *testing.T, edit func(*robotsmw.Options)) *fetcher {
	t.Helper()
	opts := robotsmw.Options{
		UserAgent:     agent,
		Limiter:       &politeness.Limiter{Delay: -1},
		RefuseAddress: refusePrivate,
	}
	if edit != nil {
		edit(&opts)
	}
	f, err := newFetcher(opts)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// connect returns a client of a server in this process.
func connect(t *testing.T, f *fetcher) *mcp.ClientSession {
	t.Helper()
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := newServer(f).Connect(t.Context(), ours, nil); err != nil {
		t.Fatal(err)
	}
	return session(t, theirs)
}

// session connects a client through the transport.
func session(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A callResult is the result of a call of the tool.
type callResult struct {
	text    string
	isError bool
}

// fetch calls the tool.
func fetch(t *testing.T, s *mcp.ClientSession, args map[string]any) callResult {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "fetch", Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, c := range result.Content {
		b.WriteString(c.(*mcp.TextContent).Text)
	}
	return callResult{b.String(), result.IsError}
}

// wantPage checks that the result is not an error and contains all parts.
func (r callResult) wantPage(t *testing.T, parts ...string) {
	t.Helper()
	r.check(t, false, parts)
}

// wantError checks that the result is an error and contains all parts.
func (r callResult) wantError(t *testing.T, parts ...string) {
	t.Helper()
	r.check(t, true, parts)
}

func (r callResult) check(t *testing.T, wantError bool, parts []string) {
	t.Helper()
	if r.isError != wantError {
		t.Errorf("result is an error: %t, want %t:\n%.1000s", r.isError, wantError, r.text)
	}
	for _, part := range parts {
		if !strings.Contains(r.text, part) {
			t.Errorf("result does not contain %q:\n%.1000s", part, r.text)
		}
	}
}

// wantRequests checks how often a URI was requested.
func (s *site) wantRequests(t *testing.T, uri string, want int) {
	t.Helper()
	if got := s.count(uri); got != want {
		t.Errorf("%s was requested %d times, want %d", uri, got, want)
	}
}

// rebindingResolver returns a resolver whose first response is 127.0.0.1, and
// whose later responses are the private address.
func rebindingResolver(t *testing.T) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		queries := 0
		for buf := make([]byte, 512); ; {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			address := [4]byte{127, 0, 0, 1}
			if m.Questions[0].Type == dnsmessage.TypeA {
				queries++
			}
			if queries > 1 {
				address = privateForTests.As4()
			}
			answer(&m, address)
			if reply, err := m.Pack(); err == nil {
				conn.WriteTo(reply, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// answer turns a query into a response. If the query is for IPv4 addresses, the
// response contains the address.
func answer(m *dnsmessage.Message, address [4]byte) {
	m.Response = true
	m.Additionals = nil
	q := m.Questions[0]
	if q.Type != dnsmessage.TypeA {
		return
	}
	m.Answers = []dnsmessage.Resource{{
		Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
		Body:   &dnsmessage.AResource{A: address},
	}}
}
