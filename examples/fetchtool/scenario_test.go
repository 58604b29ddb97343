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

// withRobots returns a site with this robots.txt.
func withRobots(robots string) map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"/robots.txt": text(robots),
		"/page":       text("the page"),
		"/private":    text("secret"),
	}
}

// withPage returns a site with this page at the path, and an empty robots.txt
// unless the path is that of robots.txt.
func withPage(path string, page http.HandlerFunc) map[string]http.HandlerFunc {
	pages := withRobots("")
	pages[path] = page
	return pages
}

// TestScenarios contains the rows of the table in the documentation of this
// program, and more. Each row is a call of the tool over the protocol.
func TestScenarios(t *testing.T) {
	redirectToPrivate := withRobots("User-agent: *\nDisallow: /private\n")
	redirectToPrivate["/hop"] = redirectTo("/private")
	for _, tt := range []struct {
		name    string
		pages   map[string]http.HandlerFunc
		path    string
		isError bool
		want    string // a part of the result
		never   string // a URI that must not be requested; "" means none
	}{
		{
			name:  "a missing robots.txt",
			pages: map[string]http.HandlerFunc{"/page": text("the page")},
			path:  "/page",
			want:  "the page",
		},
		{
			name:    "a robots.txt with status 500",
			pages:   withPage("/robots.txt", status(500)),
			path:    "/page",
			isError: true,
			want:    "The robots.txt of the site is unreachable",
			never:   "/page",
		},
		{
			name:    "a disallowed page",
			pages:   withRobots("User-agent: *\nDisallow: /private\n"),
			path:    "/private",
			isError: true,
			want:    `rule "Disallow: /private", line 2`,
			never:   "/private",
		},
		{
			name:  "an Allow rule",
			pages: withRobots("User-agent: *\nDisallow: /\nAllow: /page\n"),
			path:  "/page",
			want:  "the page",
		},
		{
			name:    "a wildcard",
			pages:   withRobots("User-agent: *\nDisallow: /*vate$\n"),
			path:    "/private",
			isError: true,
			want:    "Disallow: /*vate$",
			never:   "/private",
		},
		{
			name:    "a rule with a query",
			pages:   withRobots("User-agent: *\nDisallow: /page?print\n"),
			path:    "/page?print=1",
			isError: true,
			want:    "Disallow: /page?print",
			never:   "/page?print=1",
		},
		{
			name:    "a redirect to a disallowed page",
			pages:   redirectToPrivate,
			path:    "/hop",
			isError: true,
			want:    "Disallow: /private",
			never:   "/private",
		},
		{
			name:    "a redirect to a private address",
			pages:   withPage("/hop", redirectTo("http://127.0.0.2:1/")),
			path:    "/hop",
			isError: true,
			want:    "private network",
		},
		{
			name:    "a redirect of robots.txt to a private address",
			pages:   withPage("/robots.txt", redirectTo("http://127.0.0.2:1/robots.txt")),
			path:    "/page",
			isError: true,
			want:    "private network",
			never:   "/page",
		},
		{
			name:    "a challenge with status 200",
			pages:   withPage("/page", challenge),
			path:    "/page",
			isError: true,
			want:    "does not serve this page to programs",
		},
		{
			name:    "a missing page",
			pages:   withRobots(""),
			path:    "/nothing",
			isError: true,
			want:    "There is no such page",
		},
		{
			name: "an image",
			pages: withPage("/page", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "image/png")
			}),
			path:    "/page",
			isError: true,
			want:    `"image/png"`,
		},
		{
			name:  "preferences",
			pages: withRobots("User-agent: *\nContent-Signal: ai-input=no, search=yes\n"),
			path:  "/page",
			want:  "ai-input: deny by Content-Signal in robots.txt, line 2",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, tt.pages)
			result := fetch(t, connect(t, newTestFetcher(t, nil)), map[string]any{"url": s.URL + tt.path})
			result.check(t, tt.isError, []string{tt.want})
			if tt.never != "" {
				s.wantRequests(t, tt.never, 0)
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

// If there is no response for robots.txt, the tool gives up at its time limit.
func TestFetch_NoRobotsResponse(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]http.HandlerFunc{
		"/robots.txt": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"/page":       text("the page"),
	})
	f := newTestFetcher(t, func(o *robotsmw.Options) { o.RobotsTimeout = time.Second })
	f.maxTime = 200 * time.Millisecond
	fetch(t, connect(t, f), map[string]any{"url": s.URL + "/page"}).wantError(t, errTooSlow.Error())
	s.wantRequests(t, "/page", 0)
}

// After a 429 with Retry-After, no request is sent to the host before the time
// in Retry-After.
func TestFetch_RetryAfter(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]http.HandlerFunc{
		"/busy": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"/page": text("the page"),
	})
	c := connect(t, newTestFetcher(t, nil))
	fetch(t, c, map[string]any{"url": s.URL + "/busy"}).wantError(t)
	fetch(t, c, map[string]any{"url": s.URL + "/page"}).wantError(t, "must not get a request before")
	s.wantRequests(t, "/page", 0)
}

// The tool waits for the Crawl-delay between two pages.
func TestFetch_CrawlDelay(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]http.HandlerFunc{
		"/robots.txt": text("User-agent: *\nCrawl-delay: 1\n"),
		"/a":          text("a"),
		"/b":          text("b"),
	})
	c := connect(t, newTestFetcher(t, nil))
	began := time.Now()
	for _, path := range []string{"/a", "/b"} {
		fetch(t, c, map[string]any{"url": s.URL + path}).wantPage(t)
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("two pages took %v, want at least the Crawl-delay of 1s", took)
	}
}

// The tool does not wait for a Crawl-delay that is longer than its time limit.
func TestFetch_LongCrawlDelay(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]http.HandlerFunc{
		"/robots.txt": text("User-agent: *\nCrawl-delay: 50\n"),
		"/a":          text("a"),
		"/b":          text("b"),
	})
	c := connect(t, newTestFetcher(t, nil))
	fetch(t, c, map[string]any{"url": s.URL + "/a"}).wantPage(t)
	fetch(t, c, map[string]any{"url": s.URL + "/b"}).wantError(t, "must not get a request before")
	s.wantRequests(t, "/b", 0)
}

// The tool reads 1 MiB of a page of 50 MB. The server cannot send the rest.
func TestFetch_LargePage(t *testing.T) {
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
	lastCharacters := map[string]any{
		"url":         s.URL + "/large",
		"start_index": maxBytes - 10,
		"max_length":  100,
	}
	fetch(t, c, lastCharacters).wantPage(t, "longer than 1 MiB", strings.Repeat("x", 10)+"\n---")
	s.CloseClientConnections()
	if n := sent.Load(); n > 16<<20 {
		t.Errorf("server has sent %d MiB, want at most 16", n>>20)
	}
}

// A name that first has a public address and then a private one does not lead
// to the private one, because the address of each connection is checked.
func TestFetch_DNSRebinding(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]http.HandlerFunc{"/page": text("the page")})
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	dialer := &net.Dialer{Resolver: rebindingResolver(t), Control: robotsmw.DialControl(refusePrivate)}
	f := newTestFetcher(t, func(o *robotsmw.Options) {
		o.RefuseAddress = nil // the dialer checks addresses
		o.Base = &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}
	})
	url := "http://rebinding.test:" + port + "/page"
	fetch(t, connect(t, f), map[string]any{"url": url}).wantError(t, "127.0.0.2 is private")
	s.wantRequests(t, "/robots.txt", 1)
	s.wantRequests(t, "/page", 0)
}

// By default, the tool connects only to public addresses.
func TestFetch_PrivateAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]http.HandlerFunc{"/page": text("the page")})
	f := newTestFetcher(t, func(o *robotsmw.Options) {
		o.RefuseAddress = robotsmw.PublicOnly
		o.Limiter = &politeness.Limiter{}
	})
	fetch(t, connect(t, f), map[string]any{"url": s.URL + "/page"}).wantError(t, "private network")
	if len(s.requests) > 0 {
		t.Errorf("the site at a private address received requests for %q, want none", s.requests)
	}
}
