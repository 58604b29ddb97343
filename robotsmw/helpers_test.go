package robotsmw

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

const testAgent = "ExampleBot/1.0 (+https://example.com/bot)"

const shutRules = "User-agent: *\nDisallow: /\n"

// newTestTransport returns a Transport that sends through web and logs nothing.
func newTestTransport(t testing.TB, web http.RoundTripper, edit ...func(*Options)) *Transport {
	t.Helper()
	opts := Options{UserAgent: testAgent, Base: web, Logger: slog.New(slog.DiscardHandler)}
	for _, f := range edit {
		f(&opts)
	}
	tr, err := NewTransport(opts)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func decide(t testing.TB, c *Checker, rawURL string) Decision {
	t.Helper()
	d, err := c.Check(t.Context(), mustURL(t, rawURL))
	if err != nil {
		t.Fatalf("Check(%s): got error %v, want none", rawURL, err)
	}
	return d
}

// A checkResult contains the results of Check.
type checkResult struct {
	Decision Decision
	Err      error
}

// checkAll calls Check for all URLs at the same time.
func checkAll(ctx context.Context, c *Checker, urls []*url.URL) []checkResult {
	results := make([]checkResult, len(urls))
	var wg sync.WaitGroup
	for i, u := range urls {
		wg.Go(func() { results[i].Decision, results[i].Err = c.Check(ctx, u) })
	}
	wg.Wait()
	return results
}

func mustURL(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// robotsFetches counts the requests for robots.txt at host, or at all hosts if
// host is "".
func robotsFetches(web *robotstest.Internet, host string) int {
	n := 0
	for _, r := range web.Log() {
		u, err := url.Parse(r.URL)
		isAtHost := err == nil && (host == "" || u.Host == host)
		if isAtHost && u.Path == "/robots.txt" {
			n++
		}
	}
	return n
}

// A switchable is a handler that a test can replace.
type switchable struct {
	mu sync.Mutex
	h  http.Handler
}

func (s *switchable) set(h http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.h = h
}

func (s *switchable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	h := s.h
	s.mu.Unlock()
	h.ServeHTTP(w, r)
}

// robots returns a handler that serves text as robots.txt. The headers have the
// form "Name: value". All other paths are empty pages.
func robots(text string, headers ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			return
		}
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		io.WriteString(w, text)
	})
}

// status returns a handler that responds with this status. The headers have the
// form "Name: value".
func status(code int, headers ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(code)
	})
}

// events records the calls of the functions of the Observer that its method
// observer returns.
type events struct {
	mu        sync.Mutex
	decisions []Decision
	fetches   []Fetch
	failures  []string
}

func (e *events) observer() *Observer {
	return &Observer{Decided: e.decided, Fetched: e.fetched, StoreFailed: e.storeFailed}
}

func (e *events) decided(_ context.Context, d Decision) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.decisions = append(e.decisions, d)
}

func (e *events) fetched(_ context.Context, f Fetch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fetches = append(e.fetches, f)
}

func (e *events) storeFailed(_ context.Context, op string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failures = append(e.failures, op+": "+err.Error())
}

// newResponse returns a response to r, without a server.
func newResponse(r *http.Request, code int, body string, headers ...string) *http.Response {
	h := http.Header{}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		h.Set(name, value)
	}
	return &http.Response{
		StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h, Request: r,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// testKind is the Kind of the Checkers that newTestTransport creates. Its
// method Key returns the key of such a Checker's record in a Store.
var testKind = &record.Kind{UserAgent: testAgent, Tokens: []string{"ExampleBot"}}

// stored returns the value that a Store keeps for rec, the record of an origin.
// body is the origin's robots.txt.
func stored(origin, body string, rec record.Record) []byte {
	rec.State = record.Good
	rec.Status = 200
	rec.Doc = &record.Document{Hash: sha256.Sum256([]byte(body))}
	return testKind.Encode(origin, &rec, []byte(body))
}

func isDelay(err error) bool {
	_, ok := errors.AsType[*politeness.DelayError](err)
	return ok
}

func sha256Hex(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// newLoopback starts a server whose robots.txt allows everything, and returns
// the server's URL.
func newLoopback(t *testing.T) (url string) {
	t.Helper()
	s := httptest.NewServer(robots("User-agent: *\nDisallow:\n"))
	t.Cleanup(s.Close)
	return s.URL
}
