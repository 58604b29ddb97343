package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// The rows of the table in the documentation of this program, and more. Each
// row is a call of the tool over the protocol.
func TestScenarios(t *testing.T) {
	robots := func(s string) map[string]http.HandlerFunc {
		return map[string]http.HandlerFunc{"/robots.txt": text(s), "/page": text("the page"), "/private": text("secret")}
	}
	with := func(pages map[string]http.HandlerFunc, path string, page http.HandlerFunc) map[string]http.HandlerFunc {
		pages[path] = page
		return pages
	}
	for _, tt := range []struct {
		name    string
		pages   map[string]http.HandlerFunc
		path    string
		refused bool
		says    string // in the result
		never   string // a URI that is never requested
	}{
		{name: "no robots.txt", pages: map[string]http.HandlerFunc{"/page": text("the page")}, path: "/page", says: "the page"},
		{name: "robots.txt answers 500", pages: with(robots(""), "/robots.txt", status(500)), path: "/page",
			refused: true, says: "The rules of the site are not known", never: "/page"},
		{name: "a disallowed page", pages: robots("User-agent: *\nDisallow: /private\n"), path: "/private",
			refused: true, says: `rule "Disallow: /private", line 2`, never: "/private"},
		{name: "Allow", pages: robots("User-agent: *\nDisallow: /\nAllow: /page\n"), path: "/page", says: "the page"},
		{name: "a wildcard", pages: robots("User-agent: *\nDisallow: /*vate$\n"), path: "/private",
			refused: true, says: "Disallow: /*vate$", never: "/private"},
		{name: "a rule with a query", pages: robots("User-agent: *\nDisallow: /page?print\n"), path: "/page?print=1",
			refused: true, says: "Disallow: /page?print", never: "/page?print=1"},
		{name: "a redirect to a disallowed page",
			pages: with(robots("User-agent: *\nDisallow: /private\n"), "/hop", redirectTo("/private")), path: "/hop",
			refused: true, says: "Disallow: /private", never: "/private"},
		{name: "a redirect to a private address", pages: with(robots(""), "/hop", redirectTo("http://127.0.0.2:1/")), path: "/hop",
			refused: true, says: "private network"},
		{name: "a redirect of robots.txt to a private address",
			pages: with(robots(""), "/robots.txt", redirectTo("http://127.0.0.2:1/robots.txt")), path: "/page",
			refused: true, says: "private network", never: "/page"},
		{name: "a challenge with status 200", pages: with(robots(""), "/page", challenge), path: "/page",
			refused: true, says: "does not serve this page to programs"},
		{name: "a 404", pages: robots(""), path: "/nothing", refused: true, says: "There is no such page"},
		{name: "an image", pages: with(robots(""), "/page", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/png")
		}), path: "/page", refused: true, says: `"image/png"`},
		{name: "preferences", pages: robots("User-agent: *\nContent-Signal: ai-input=no, search=yes\n"), path: "/page",
			says: "ai-input: deny by Content-Signal in robots.txt, line 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, tt.pages)
			got, refused := fetch(t, connect(t, newTestFetcher(t, nil)), map[string]any{"url": s.URL + tt.path})
			if refused != tt.refused || !strings.Contains(got, tt.says) {
				t.Errorf("refused %t, want %t and %q:\n%s", refused, tt.refused, tt.says, got)
			}
			if tt.never != "" && s.count(tt.never) > 0 {
				t.Errorf("%s was requested", tt.never)
			}
		})
	}
}

func redirectTo(url string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, url, http.StatusFound) }
}

// challenge is a page of bot protection with a status of success.
func challenge(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cf-Mitigated", "challenge")
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprint(w, "<title>Just a moment...</title>")
}

// A site whose robots.txt never comes is not waited for beyond the time limit.
func TestRobotsTxtDoesNotAnswer(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]http.HandlerFunc{
		"/robots.txt": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"/page":       text("the page"),
	})
	f := newTestFetcher(t, func(o *robotsmw.Options) { o.RobotsTimeout = time.Second })
	f.maxTime = 200 * time.Millisecond
	got, refused := fetch(t, connect(t, f), map[string]any{"url": s.URL + "/page"})
	if !refused || !strings.Contains(got, errTooSlow.Error()) || s.count("/page") > 0 {
		t.Errorf("refused %t, %d requests:\n%s", refused, s.count("/page"), got)
	}
}

// A 429 with Retry-After ends requests to the host until then.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]http.HandlerFunc{
		"/busy": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"/page": text("the page"),
	})
	c := connect(t, newTestFetcher(t, nil))
	if got, refused := fetch(t, c, map[string]any{"url": s.URL + "/busy"}); !refused {
		t.Error(got)
	}
	got, refused := fetch(t, c, map[string]any{"url": s.URL + "/page"})
	if !refused || !strings.Contains(got, "must not get a request before") || s.count("/page") > 0 {
		t.Errorf("refused %t, %d requests:\n%s", refused, s.count("/page"), got)
	}
}

// Two requests to a host are apart by the Crawl-delay.
func TestCrawlDelay(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]http.HandlerFunc{
		"/robots.txt": text("User-agent: *\nCrawl-delay: 1\n"), "/a": text("a"), "/b": text("b"),
	})
	c := connect(t, newTestFetcher(t, nil))
	began := time.Now()
	for _, path := range []string{"/a", "/b"} {
		if got, refused := fetch(t, c, map[string]any{"url": s.URL + path}); refused {
			t.Error(got)
		}
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("two pages in %v", took)
	}
}

// A Crawl-delay that is longer than the time limit is not waited for.
func TestCrawlDelay_TooLong(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]http.HandlerFunc{
		"/robots.txt": text("User-agent: *\nCrawl-delay: 50\n"), "/a": text("a"), "/b": text("b"),
	})
	c := connect(t, newTestFetcher(t, nil))
	if got, refused := fetch(t, c, map[string]any{"url": s.URL + "/a"}); refused {
		t.Error(got)
	}
	got, refused := fetch(t, c, map[string]any{"url": s.URL + "/b"})
	if !refused || !strings.Contains(got, "must not get a request before") || s.count("/b") > 0 {
		t.Errorf("refused %t, %d requests:\n%s", refused, s.count("/b"), got)
	}
}

// Of a page of 50 MB, 1 MiB is returned in parts, and the server does not send
// the rest.
func TestLargePage(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	s := newSite(t, map[string]http.HandlerFunc{"/large": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		for range 50 {
			n, err := io.WriteString(w, strings.Repeat("x", 1<<20))
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	}})
	c := connect(t, newTestFetcher(t, nil))
	got, refused := fetch(t, c, map[string]any{"url": s.URL + "/large", "start_index": maxBytes - 10, "max_length": 100})
	if refused || !strings.Contains(got, "longer than 1 MiB") || !strings.Contains(got, strings.Repeat("x", 10)+"\n---") {
		t.Errorf("refused %t:\n%.1000s", refused, got)
	}
	s.CloseClientConnections()
	if n := sent.Load(); n > 16<<20 {
		t.Errorf("the server sent %d MiB", n>>20)
	}
}

// A name that first has a public address and then a private one does not lead
// to the private one, because the address of each connection is checked.
func TestDNSRebinding(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]http.HandlerFunc{"/page": text("the page")})
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	dialer := &net.Dialer{Resolver: rebindingResolver(t), Control: robotsmw.DialControl(refusePrivate)}
	f := newTestFetcher(t, func(o *robotsmw.Options) {
		o.RefuseAddress = nil // the dialer has it
		o.Base = &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}
	})
	got, refused := fetch(t, connect(t, f), map[string]any{"url": "http://rebinding.test:" + port + "/page"})
	if !refused || !strings.Contains(got, "127.0.0.2 is private") || s.count("/robots.txt") != 1 || s.count("/page") != 0 {
		t.Errorf("refused %t, %q:\n%s", refused, s.requests, got)
	}
}

// The tool itself connects to public addresses only.
func TestPrivateAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]http.HandlerFunc{"/page": text("the page")})
	f := newTestFetcher(t, func(o *robotsmw.Options) {
		o.RefuseAddress = robotsmw.PublicOnly
		o.Limiter = &politeness.Limiter{}
	})
	got, refused := fetch(t, connect(t, f), map[string]any{"url": s.URL + "/page"})
	if !refused || !strings.Contains(got, "private network") || len(s.requests) > 0 {
		t.Errorf("refused %t, %q:\n%s", refused, s.requests, got)
	}
}
