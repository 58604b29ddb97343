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

// A site records what it is asked for.
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

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, s)
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// privateForTests is the address that the tests take for a private one. The
// sites are on 127.0.0.1.
var privateForTests = netip.MustParseAddr("127.0.0.2")

func refusePrivate(a netip.Addr) error {
	if a == privateForTests {
		return fmt.Errorf("%v is private", a)
	}
	return nil
}

// newTestFetcher has no delay to speak of, so that tests do not wait.
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

// fetch calls the tool and returns its text, and whether it is a refusal.
func fetch(t *testing.T, s *mcp.ClientSession, args map[string]any) (text string, refused bool) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "fetch", Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, c := range result.Content {
		b.WriteString(c.(*mcp.TextContent).Text)
	}
	return b.String(), result.IsError
}

// rebindingResolver answers the first question for an address of a name with
// 127.0.0.1, and all later ones with the private address.
func rebindingResolver(t *testing.T) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		answers := 0
		for buf := make([]byte, 512); ; {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response = true
			m.Additionals = nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				address := [4]byte{127, 0, 0, 1}
				if answers++; answers > 1 {
					address = privateForTests.As4()
				}
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.AResource{A: address},
				}}
			}
			if reply, err := m.Pack(); err == nil {
				conn.WriteTo(reply, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}
