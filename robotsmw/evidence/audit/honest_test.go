package audit_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/diskstore"
	"github.com/goodbots/courtesy/robotsmw/evidence"
	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// oddWeb returns a web with all kinds of responses to a request for robots.txt.
// The names of its hosts and pages have several spellings, which a record and
// an audit could interpret differently.
func oddWeb(isDown *atomic.Bool) *robotstest.Internet {
	web := new(robotstest.Internet)
	rules := "User-agent: *\nDisallow: /private\nCrawl-delay: 2\n"
	for _, host := range []string{"a.example", "a.example:8080", "xn--bcher-kva.example", "[::1]", "[::1]:8080", "127.0.0.1", "127.0.0.1:8080", "foo_bar.example"} {
		web.Handle(host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Duration(rand.IntN(700)) * time.Millisecond)
			switch {
			case isDown.Load():
				w.WriteHeader(http.StatusServiceUnavailable)
			case r.URL.Path == "/robots.txt" && r.Header.Get("If-None-Match") != "":
				w.WriteHeader(http.StatusNotModified)
			case r.URL.Path == "/robots.txt":
				w.Header().Set("ETag", `"1"`)
				io.WriteString(w, rules)
			case r.URL.Path == "/busy":
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(http.StatusTooManyRequests)
			}
		}))
	}
	moved := func(to string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.Redirect(w, r, to, http.StatusMovedPermanently)
			}
		})
	}
	web.Handle("moved.example", moved("HTTP://A.Example:80/robots.txt"))
	web.Handle("twice.example", moved("//moved.example/robots.txt#part"))
	web.Handle("loop.example", moved("http://loop2.example/robots.txt"))
	web.Handle("loop2.example", moved("http://loop.example/robots.txt"))
	web.Handle("self.example", moved("/robots.txt"))
	web.Handle("nowhere.example", moved("ftp://a.example/robots.txt"))
	web.Handle("query.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.Redirect(w, r, "/b%C3%BC?x=1#y", http.StatusFound)
		}
	}))
	web.Handle("wall.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cf-Mitigated", "challenge")
	}))
	web.Handle("long.example", robotstest.Site{"/robots.txt": rules + strings.Repeat("# long\n", 100_000), "/": "a page"})
	web.Handle("raw.example", robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /\xff\xfe\x00\n", "/": "a page"})
	web.Handle("empty.example", robotstest.Site{"/robots.txt": "", "/": "a page"})
	web.Handle("forbidden.example", robotstest.Status(403))
	web.Handle("broken.example", robotstest.Trickle{Chunk: "x", Every: time.Minute})
	return web
}

var oddURLs = []string{
	"http://a.example/1", "http://A.Example.:80/2", "http://a.example:8080/3", "http://bücher.example/4", "http://joe:secret@a.example/5", "http://a.example/private/6",
	"http://a.example/x/..//private/7?q=\xff", "http://[::1]/8", "http://[0:0::1]:8080/9", "http://127.0.0.1/10", "http://127.0.0.1:8080/11", "http://foo_bar.example/12",
	"http://moved.example/13", "http://twice.example/14", "http://loop.example/15", "http://self.example/16", "http://nowhere.example/17", "http://query.example/18",
	"http://wall.example/19", "http://long.example/", "http://raw.example/", "http://empty.example/", "http://forbidden.example/23", "http://nobody.example/24",
	"http://broken.example/25", "http://a.example/busy", "http://a.example/26", "http://a.example/robots.txt", "http://a.example/robots.txt?x", "http://a.example",
}

// An audit reports nothing about the record of a crawler that obeys the rules,
// for various options and hosts.
func TestReadRecord_HonestCrawlers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		limiter func() *politeness.Limiter
		opts    robotsmw.Options
		store   bool
		workers int
	}{
		{name: "the zero options"},
		{name: "from the end", limiter: func() *politeness.Limiter { return &politeness.Limiter{EndToStart: true} }, workers: 4},
		{name: "two at a time from the end", limiter: func() *politeness.Limiter { return &politeness.Limiter{EndToStart: true, Concurrency: 2} }, workers: 8},
		{name: "a key of its own", limiter: func() *politeness.Limiter {
			return &politeness.Limiter{Key: func(context.Context, *url.URL) (string, error) { return "all", nil }, Jitter: 0.5}
		}, workers: 3},
		{name: "adaptive", limiter: func() *politeness.Limiter {
			return &politeness.Limiter{Adaptive: 2, MaxCrawlDelay: -1, Delay: 10 * time.Millisecond}
		}, workers: 5},
		{name: "settings of single hosts", limiter: func() *politeness.Limiter {
			return &politeness.Limiter{Adaptive: 0.1, Concurrency: 2, PerHost: oddSettings}
		}, workers: 5},
		{name: "settings of single hosts, from the end", limiter: func() *politeness.Limiter {
			return &politeness.Limiter{EndToStart: true, PerHost: oddSettings}
		}, workers: 5},
		{name: "without a delay", limiter: func() *politeness.Limiter { return &politeness.Limiter{Delay: -1} }, workers: 5},
		{name: "a store", store: true, workers: 4},
		{name: "a store, from the end", store: true, limiter: func() *politeness.Limiter { return &politeness.Limiter{EndToStart: true} }},
		{name: "a cautious one", opts: robotsmw.Options{DisallowForbidden: true}, workers: 4},
		{name: "overrides", opts: robotsmw.Options{Override: map[string]string{"http://A.example:80": "User-agent: *\nAllow: /\nCrawl-delay: 3\n", "http://bücher.example/": "User-agent: *\nDisallow: /\n"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, kept := t.TempDir(), t.TempDir()
			var isDown atomic.Bool
			synctest.Test(t, func(t *testing.T) {
				web := oddWeb(&isDown)
				for session := range 4 {
					isDown.Store(session == 2)
					crawlOdd(t, web, dir, kept, tt.opts, tt.limiter, tt.store, max(tt.workers, 1))
					time.Sleep(time.Duration(session*session) * 5 * time.Hour) // the last session is 20 hours after a failure
				}
			})
			var found strings.Builder
			a := audit.Auditor{
				OnViolation: func(v audit.Violation) { fmt.Fprintln(&found, v) },
				OnBroken:    func(input string, line int, err error) { fmt.Fprintln(&found, input, line, err) },
			}
			if err := a.ReadRecord(t.Context(), "record", os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			r := a.Result()
			if r.Violations > 0 || r.Counts["broken"] > 0 || r.Counts["cut"] > 0 || r.Counts["unaudited"] > 0 || r.Requests < 60 {
				t.Errorf("got %d requests, %d violations, %d faults and %d unaudited requests, want at least 60, 0, 0 and 0\n%s", r.Requests, r.Violations, r.Counts["broken"], r.Counts["unaudited"], found.String())
			}
		})
	}
}

// oddSettings returns settings of a host that are shorter or longer than those
// of the Limiter and of robots.txt.
func oddSettings(key string) politeness.HostSettings {
	switch key {
	case "a.example":
		return politeness.HostSettings{Delay: 100 * time.Millisecond, Concurrency: 4, CrawlDelay: -1}
	case "127.0.0.1":
		return politeness.HostSettings{CrawlDelay: 90 * time.Second}
	case "moved.example":
		return politeness.HostSettings{Delay: 50 * time.Millisecond, CrawlDelay: 50 * time.Millisecond}
	case "raw.example":
		return politeness.HostSettings{Delay: -1, Concurrency: -1}
	}
	return politeness.HostSettings{}
}

func crawlOdd(t *testing.T, web http.RoundTripper, dir, kept string, opts robotsmw.Options, limiter func() *politeness.Limiter, isStored bool, workers int) {
	rec, err := evidence.Open(dir, evidence.Options{SegmentBytes: 200_000})
	if err != nil {
		t.Fatal(err)
	}
	opts.UserAgent, opts.Base, opts.Limiter = "ExampleBot/1.0", web, new(politeness.Limiter)
	opts.RobotsTimeout = 10 * time.Second
	if limiter != nil {
		opts.Limiter = limiter()
	}
	if isStored {
		if opts.Store, err = diskstore.Open(kept); err != nil {
			t.Fatal(err)
		}
	}
	if err := rec.Observe(&opts); err != nil {
		t.Fatal(err)
	}
	client, err := robotsmw.NewClient(opts)
	if err != nil {
		t.Fatal(err)
	}
	urls := make(chan string)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for u := range urls {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
				if err != nil {
					t.Error(err)
				} else if resp, err := client.Do(req); err == nil {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				cancel()
			}
		})
	}
	for round := range 3 {
		for _, u := range oddURLs {
			urls <- u
		}
		time.Sleep(time.Duration(round) * 5 * time.Hour)
	}
	close(urls)
	all.Wait()
	time.Sleep(2 * time.Hour) // for fetches in the background
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
}

// The robots.txt of one host redirects to that of another host, which is paused
// and whose copy has expired. The record of the first host shows that the
// expired copy was used, which is not a fault.
func TestReadRecord_RedirectToAStaleCopy(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("b.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/robots.txt":
				w.Header().Set("Cache-Control", "no-cache")
				io.WriteString(w, "User-agent: *\nDisallow: /private\n")
			case "/busy":
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(http.StatusTooManyRequests)
			}
		}))
		web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.Redirect(w, r, "http://b.example/robots.txt", http.StatusMovedPermanently)
			}
		}))
		rec, err := evidence.Open(dir, evidence.Options{})
		if err != nil {
			t.Fatal(err)
		}
		opts := robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: &web, Limiter: new(politeness.Limiter)}
		if err := rec.Observe(&opts); err != nil {
			t.Fatal(err)
		}
		client, err := robotsmw.NewClient(opts)
		if err != nil {
			t.Fatal(err)
		}
		client.Timeout = 30 * time.Second
		for _, u := range []string{"http://b.example/1", "http://b.example/busy", "http://b.example/2", "http://a.example/1", "http://a.example/private", "http://a.example/2"} {
			if resp, err := client.Get(u); err == nil {
				resp.Body.Close()
			}
			if u == "http://b.example/busy" {
				time.Sleep(6 * time.Minute)
			}
		}
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
	})
	a := audit.Auditor{OnViolation: func(v audit.Violation) { t.Errorf("got the violation %+v, want none", v) }}
	if err := a.ReadRecord(t.Context(), "record", os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	r := a.Result()
	if r.Requests != 6 || r.Counts["broken"] > 0 || r.Counts["unaudited"] > 0 {
		t.Errorf("got %d requests, %d faults and %d unaudited requests, want 6, 0 and 0",
			r.Requests, r.Counts["broken"], r.Counts["unaudited"])
	}
}
