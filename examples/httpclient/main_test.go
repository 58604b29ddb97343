package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

const testAgent = "ExampleBot/1.0 (+https://example.com/bot)"

// A loopback site counts its requests.
type loopbackSite struct {
	*httptest.Server
	requests atomic.Int64
	began    chan struct{} // receives a value when /slow is requested
}

func newLoopbackSite(t *testing.T) *loopbackSite {
	site := &loopbackSite{began: make(chan struct{}, 1)}
	site.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site.requests.Add(1)
		if got := r.UserAgent(); got != testAgent {
			t.Errorf("the User-Agent of %s is %q", r.URL, got)
		}
		switch r.URL.Path {
		case "/robots.txt":
			io.WriteString(w, "User-agent: *\nDisallow: /no")
		case "/yes":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, "<title>Yes</title><script>no()</script><p>Good <b>news</b>.")
		case "/slow":
			site.began <- struct{}{}
			<-r.Context().Done()
		}
	}))
	t.Cleanup(site.Close)
	return site
}

// The program runs with these arguments. SITE stands for the URL of a site on
// loopback.
func TestRun(t *testing.T) {
	for _, tt := range []struct {
		name     string
		args     []string
		status   int
		stdout   string   // the whole standard output
		stderr   []string // parts of standard error; nil means that it is empty
		requests int64
	}{
		{"no arguments", nil, wrongUsage, "", []string{"usage: httpclient [flags] URL\n", "-allow-private", "-user-agent"}, 0},
		{"help", []string{"-h"}, printed, "", []string{"usage: httpclient [flags] URL\n"}, 0},
		{"an unknown flag", []string{"-local", "SITE/yes"}, wrongUsage, "", []string{"-local"}, 0},
		{"two URLs", []string{"SITE/yes", "SITE/no"}, wrongUsage, "", []string{"usage: httpclient"}, 0},
		{"no scheme", []string{"example.com/a"}, wrongUsage, "", []string{`"example.com/a" is not an http or https URL`}, 0},
		{"no host", []string{"https:///a"}, wrongUsage, "", []string{"is not an http or https URL"}, 0},
		{"a file", []string{"file:///etc/passwd"}, wrongUsage, "", []string{"is not an http or https URL"}, 0},
		{"no name", []string{"-user-agent", "Go-http-client/1.1", "SITE/yes"}, wrongUsage, "", []string{"Go-http-client"}, 0},
		{"allowed", []string{"-allow-private", "SITE/yes"}, printed, "Yes\nGood news.\n", nil, 2},
		{"disallowed", []string{"-allow-private", "SITE/no/1"}, disallowed, "", []string{`rule "Disallow: /no"`, "line 2"}, 1},
		{"a private address", []string{"SITE/yes"}, disallowed, "", []string{"127.0.0.1 is not a public address"}, 0},
		{"no server", []string{"-allow-private", "http://127.0.0.1:1/"}, notNow, "", []string{"connection refused"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			site := newLoopbackSite(t)
			args := make([]string, len(tt.args))
			for i, arg := range tt.args {
				args[i] = strings.ReplaceAll(arg, "SITE", site.URL)
			}
			var stdout, stderr strings.Builder
			status := run(t.Context(), args, &stdout, &stderr)
			if status != tt.status || stdout.String() != tt.stdout {
				t.Errorf("exit status %d, want %d; standard output %q, want %q", status, tt.status, stdout.String(), tt.stdout)
			}
			if tt.stderr == nil && stderr.Len() > 0 {
				t.Errorf("standard error is %q, want nothing", stderr.String())
			}
			for _, part := range tt.stderr {
				if !strings.Contains(stderr.String(), part) {
					t.Errorf("standard error lacks %q:\n%s", part, stderr.String())
				}
			}
			if n := site.requests.Load(); n != tt.requests {
				t.Errorf("the site got %d requests, want %d", n, tt.requests)
			}
		})
	}
}

// Ctrl-C cancels the context while the site hangs.
func TestRun_Interrupted(t *testing.T) {
	t.Parallel()
	site := newLoopbackSite(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-site.began
		cancel()
	}()
	var stdout, stderr strings.Builder
	status := run(ctx, []string{"-allow-private", site.URL + "/slow"}, &stdout, &stderr)
	if status != interrupted || stdout.Len() > 0 || stderr.String() != "httpclient: interrupted\n" {
		t.Errorf("exit status %d, standard output %q, standard error %q", status, stdout.String(), stderr.String())
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("the pipe is broken") }

// A page that cannot be written is not a success.
func TestRun_OutputFails(t *testing.T) {
	t.Parallel()
	site := newLoopbackSite(t)
	var stderr strings.Builder
	status := run(t.Context(), []string{"-allow-private", site.URL + "/yes"}, brokenPipe{}, &stderr)
	if status != noText || stderr.String() != "httpclient: the pipe is broken\n" {
		t.Errorf("exit status %d, standard error %q", status, stderr.String())
	}
}

// typed answers with a body of this type. If the type is empty, the response
// has no Content-Type.
func typed(contentType, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		io.WriteString(w, body)
	})
}

func TestFetch(t *testing.T) {
	long := strings.Repeat("0123456789abcde\n", maxBytes/16)
	hang := func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "the beginning")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	for _, tt := range []struct {
		name   string
		robots string
		page   http.Handler
		text   string
		status int
		err    string // a part of the error
	}{
		{name: "HTML", page: typed("text/html", "<p>a<p>b"), text: "a\nb\n"},
		{name: "XHTML", page: typed("application/xhtml+xml", "<p>a</p>"), text: "a\n"},
		{name: "plain text", page: typed("text/plain", " <p>\n\ta  b"), text: " <p>\n\ta  b"},
		{name: "of another charset", page: typed("text/plain; charset=iso-8859-1", "caf\xe9"), text: "café"},
		{name: "of a charset in HTML", page: typed("text/html", "<meta charset=iso-8859-1>caf\xe9"), text: "café\n"},
		{name: "without a type", page: typed("", "<!DOCTYPE html><p>a"), text: "a\n"},
		{name: "empty", page: typed("", "")},
		{name: "a PDF", page: typed("application/pdf", "%PDF-1.7"), status: noText, err: `the type of the page is "application/pdf"`},
		{name: "1 MiB", page: typed("text/plain", long), text: long},
		{name: "more than 1 MiB", page: typed("text/plain", long+"x"), text: long, status: noText, err: "longer than 1 MiB"},
		{name: "404", page: robotstest.Status(404), status: noText, err: "http://a.example/page is 404 Not Found"},
		{name: "429", page: robotstest.Status(429), status: noText, err: "429 Too Many Requests"},
		{name: "redirect", page: http.RedirectHandler("/other", http.StatusFound), text: "other\n"},
		{name: "redirect to a disallowed page", page: http.RedirectHandler("/private", http.StatusFound), status: disallowed, err: `rule "Disallow: /private", line 2`},
		{name: "redirect to an unreachable host", page: http.RedirectHandler("http://down.example/", http.StatusFound), status: notNow, err: "503 Service Unavailable"},
		{name: "Crawl-delay", robots: "User-agent: *\nCrawl-delay: 60", page: typed("text/plain", "a"), text: "a"},
		{name: "endless", page: http.HandlerFunc(hang), status: noText, err: "longer than 20 seconds"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/page" {
						tt.page.ServeHTTP(w, r)
						return
					}
					rules := tt.robots
					if rules == "" {
						rules = "User-agent: *\nDisallow: /private"
					}
					robotstest.Site{"/robots.txt": rules, "/other": "<p>other"}.ServeHTTP(w, r)
				}))
				web.Handle("down.example", robotstest.Status(503))
				client, err := robotsmw.NewClient(robotsmw.Options{UserAgent: testAgent, Base: &web})
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				text, err := fetch(t.Context(), client, &url.URL{Scheme: "http", Host: "a.example", Path: "/page"})
				if text != tt.text {
					t.Errorf("the text is %.100q, want %.100q", text, tt.text)
				}
				if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
					t.Errorf("the error is %v, want %q", err, tt.err)
				}
				if err != nil && exitStatus(err) != tt.status {
					t.Errorf("exit status %d, want %d", exitStatus(err), tt.status)
				}
				if took := time.Since(start); took > maxTime {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// After a 429 with Retry-After, the error contains the time at which the host
// may get the next request, and no request is sent.
func TestFetch_Delayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/page" {
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(http.StatusTooManyRequests)
			}
		}))
		client, err := robotsmw.NewClient(robotsmw.Options{UserAgent: testAgent, Base: &web})
		if err != nil {
			t.Fatal(err)
		}
		page := &url.URL{Scheme: "http", Host: "a.example", Path: "/page"}
		fetch(t.Context(), client, page)
		again := time.Now().Add(time.Hour).Format(time.RFC3339)
		sent := len(web.Log())
		text, err := fetch(t.Context(), client, page)
		if err == nil || exitStatus(err) != notNow || text != "" || !strings.Contains(err.Error(), again) {
			t.Errorf("%q, %v; want an error with %s", text, err, again)
		}
		if n := len(web.Log()) - sent; n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}
