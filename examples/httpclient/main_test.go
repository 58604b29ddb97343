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

// A loopbackSite is a site on loopback that counts its requests.
type loopbackSite struct {
	*httptest.Server
	requests    atomic.Int64
	slowRequest chan struct{} // receives a value for each request for /slow
}

func newLoopbackSite(t *testing.T) *loopbackSite {
	site := &loopbackSite{slowRequest: make(chan struct{}, 1)}
	site.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site.requests.Add(1)
		if got := r.UserAgent(); got != testAgent {
			t.Errorf("the User-Agent of the request for %s is %q, want %q", r.URL, got, testAgent)
		}
		switch r.URL.Path {
		case "/robots.txt":
			io.WriteString(w, "User-agent: *\nDisallow: /no")
		case "/yes":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, "<title>Yes</title><script>no()</script><p>Good <b>news</b>.")
		case "/slow":
			site.slowRequest <- struct{}{}
			<-r.Context().Done()
		}
	}))
	t.Cleanup(site.Close)
	return site
}

// In the arguments, SITE represents the URL of a loopbackSite.
func TestRun(t *testing.T) {
	for _, tt := range []struct {
		name     string
		args     []string
		status   int
		stdout   string   // the whole standard output
		stderr   []string // parts of standard error; nil if it must be empty
		requests int64
	}{
		{
			name: "no arguments", status: wrongUsage,
			stderr: []string{"usage: httpclient [flags] URL\n", "-allow-private", "-user-agent"},
		},
		{
			name: "help", args: []string{"-h"}, status: printed,
			stderr: []string{"usage: httpclient [flags] URL\n"},
		},
		{
			name: "an unknown flag", args: []string{"-local", "SITE/yes"}, status: wrongUsage,
			stderr: []string{"-local"},
		},
		{
			name: "two URLs", args: []string{"SITE/yes", "SITE/no"}, status: wrongUsage,
			stderr: []string{"usage: httpclient"},
		},
		{
			name: "a URL without a scheme", args: []string{"example.com/a"}, status: wrongUsage,
			stderr: []string{`"example.com/a" is not an http or https URL`},
		},
		{
			name: "a URL without a host", args: []string{"https:///a"}, status: wrongUsage,
			stderr: []string{"is not an http or https URL"},
		},
		{
			name: "a file URL", args: []string{"file:///etc/passwd"}, status: wrongUsage,
			stderr: []string{"is not an http or https URL"},
		},
		{
			name: "the User-Agent of Go", status: wrongUsage,
			args:   []string{"-user-agent", "Go-http-client/1.1", "SITE/yes"},
			stderr: []string{"Go-http-client"},
		},
		{
			name: "an allowed page", args: []string{"-allow-private", "SITE/yes"}, status: printed,
			stdout: "Yes\nGood news.\n", requests: 2,
		},
		{
			name: "a disallowed page", args: []string{"-allow-private", "SITE/no/1"}, status: disallowed,
			stderr: []string{`rule "Disallow: /no"`, "line 2"}, requests: 1,
		},
		{
			name: "a private address", args: []string{"SITE/yes"}, status: disallowed,
			stderr: []string{"127.0.0.1 is not a public address"},
		},
		{
			name: "no server", args: []string{"-allow-private", "http://127.0.0.1:1/"}, status: notNow,
			stderr: []string{"connection refused"},
		},
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
				t.Errorf("exit status %d, standard output %q; want %d, %q",
					status, stdout.String(), tt.status, tt.stdout)
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
		<-site.slowRequest
		cancel()
	}()
	var stdout, stderr strings.Builder
	status := run(ctx, []string{"-allow-private", site.URL + "/slow"}, &stdout, &stderr)
	if status != interrupted {
		t.Errorf("exit status %d, want %d", status, interrupted)
	}
	if stdout.Len() > 0 {
		t.Errorf("standard output is %q, want nothing", stdout.String())
	}
	if want := "httpclient: interrupted\n"; stderr.String() != want {
		t.Errorf("standard error is %q, want %q", stderr.String(), want)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("the pipe is broken") }

// The exit status indicates that the page could not be printed.
func TestRun_OutputFails(t *testing.T) {
	t.Parallel()
	site := newLoopbackSite(t)
	var stderr strings.Builder
	status := run(t.Context(), []string{"-allow-private", site.URL + "/yes"}, brokenPipe{}, &stderr)
	if want := "httpclient: the pipe is broken\n"; status != noText || stderr.String() != want {
		t.Errorf("exit status %d, standard error %q; want %d, %q", status, stderr.String(), noText, want)
	}
}

// typed returns a handler that sends a body with this Content-Type. If it is
// empty, the response has no Content-Type.
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
		{
			name: "charset of the Content-Type",
			page: typed("text/plain; charset=iso-8859-1", "caf\xe9"), text: "café",
		},
		{
			name: "charset of a meta element",
			page: typed("text/html", "<meta charset=iso-8859-1>caf\xe9"), text: "café\n",
		},
		{name: "no Content-Type", page: typed("", "<!DOCTYPE html><p>a"), text: "a\n"},
		{name: "an empty body", page: typed("", "")},
		{
			name: "a PDF", page: typed("application/pdf", "%PDF-1.7"),
			status: noText, err: `the type of the page is "application/pdf"`,
		},
		{name: "1 MiB", page: typed("text/plain", long), text: long},
		{
			name: "more than 1 MiB", page: typed("text/plain", long+"x"), text: long,
			status: noText, err: "longer than 1 MiB",
		},
		{
			name: "status 404", page: robotstest.Status(404),
			status: noText, err: "http://a.example/page is 404 Not Found",
		},
		{
			name: "status 429", page: robotstest.Status(429),
			status: noText, err: "429 Too Many Requests",
		},
		{
			name: "a redirect", text: "other\n",
			page: http.RedirectHandler("/other", http.StatusFound),
		},
		{
			name: "a redirect to a disallowed page",
			page: http.RedirectHandler("/private", http.StatusFound), status: disallowed,
			err: `rule "Disallow: /private", line 2`,
		},
		{
			name: "a redirect to an unreachable host",
			page: http.RedirectHandler("http://down.example/", http.StatusFound), status: notNow,
			err: "503 Service Unavailable",
		},
		{
			name: "a Crawl-delay", robots: "User-agent: *\nCrawl-delay: 60",
			page: typed("text/plain", "a"), text: "a",
		},
		{
			name: "an endless body", page: http.HandlerFunc(serveEndlessBody),
			status: noText, err: "longer than 20 seconds",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := newClient(t, tt.robots, tt.page)
				start := time.Now()
				text, err := fetch(t.Context(), client, testPage)
				if text != tt.text {
					t.Errorf("the text is %.100q, want %.100q", text, tt.text)
				}
				if tt.err == "" && err != nil {
					t.Errorf("fetch: error %v, want none", err)
				}
				if tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
					t.Errorf("the error is %v, want it to contain %q", err, tt.err)
				}
				if err != nil && exitStatus(err) != tt.status {
					t.Errorf("exit status %d, want %d", exitStatus(err), tt.status)
				}
				if took := time.Since(start); took > maxTime {
					t.Errorf("fetch took %v, want at most %v", took, maxTime)
				}
			})
		})
	}
}

var testPage = &url.URL{Scheme: "http", Host: "a.example", Path: "/page"}

// newClient returns a client of an internet in which a.example has this page at
// testPage, and down.example is unreachable. If robots is empty, the robots.txt
// of a.example disallows /private.
func newClient(t *testing.T, robots string, page http.Handler) *http.Client {
	if robots == "" {
		robots = "User-agent: *\nDisallow: /private"
	}
	site := http.NewServeMux()
	site.Handle("/", robotstest.Site{"/robots.txt": robots, "/other": "<p>other"})
	site.Handle(testPage.Path, page)
	var web robotstest.Internet
	web.Handle("a.example", site)
	web.Handle("down.example", robotstest.Status(503))
	client, err := robotsmw.NewClient(robotsmw.Options{UserAgent: testAgent, Base: &web})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// serveEndlessBody sends the beginning of a body, and then nothing until the
// client cancels the request.
func serveEndlessBody(w http.ResponseWriter, r *http.Request) {
	io.WriteString(w, "the beginning")
	http.NewResponseController(w).Flush()
	<-r.Context().Done()
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
		fetch(t.Context(), client, testPage)
		retryTime := time.Now().Add(time.Hour).Format(time.RFC3339)
		requestsBefore := len(web.Log())
		text, err := fetch(t.Context(), client, testPage)
		if err == nil || !strings.Contains(err.Error(), retryTime) {
			t.Fatalf("the error is %v, want it to contain %s", err, retryTime)
		}
		if status := exitStatus(err); status != notNow {
			t.Errorf("exit status %d, want %d", status, notNow)
		}
		if text != "" {
			t.Errorf("the text is %q, want none", text)
		}
		if n := len(web.Log()) - requestsBefore; n != 0 {
			t.Errorf("%d requests were sent, want none", n)
		}
	})
}
