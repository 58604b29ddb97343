package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
	"github.com/goodbots/courtesy/integration_test/redisserver"
)

// Crawls with different names can share a Redis. The output says how to
// continue a crawl, or that the crawl is complete.
func TestRun_RedisCrawls(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	site := &chain{pages: 2, at: func(*http.Request, int) {}}
	for _, tt := range []struct {
		name  string
		args  []string
		asked string // the paths that the site was asked for
		says  string
	}{
		{"the first pages", []string{"-crawl=a", "-max-pages=2"}, "/robots.txt /0 /1",
			"politespider: it goes on in its other processes, or when the same command is given again; add a larger -max-pages\n"},
		{"the rest", []string{"-crawl=a"}, "/2", "Earlier runs and other processes of this crawl have finished 2 other URLs."},
		{"nothing is left", []string{"-crawl=a"}, "", "politespider: the crawl \"a\" is complete: to crawl again, give it another name with -crawl\n"},
		{"under another name", []string{"-crawl=b"}, "/0 /1 /2", "1 host in "}, // robots.txt comes from Redis
	} {
		site.asked = nil
		// The proxy has a new address each time, but the site keeps its name.
		out := runThrough(t, site, append([]string{"-redis", "redis://" + server.Addr}, tt.args...)...)
		if got := strings.Join(site.asked, " "); got != tt.asked || !strings.Contains(out, tt.says) {
			t.Errorf("%s: it asked for %q, want %q, and said\n%s\nwant %q", tt.name, got, tt.asked, out, tt.says)
		}
	}
}

// If Redis goes away, the spider waits for it until -max-time has passed.
func TestRun_RedisGone(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	site := &chain{pages: 9, at: func(_ *http.Request, n int) {
		if n == 0 {
			server.Kill()
		}
	}}
	out := runThrough(t, site, "-redis", "redis://"+server.Addr, "-max-time=15s")
	for _, want := range []string{
		"Redis does not answer: the crawl waits for it",
		"politespider: it goes on in its other processes, or when the same command is given again\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it says nothing of %q:\n%s", want, out)
		}
	}
}

// runThrough crawls http://a.example/0 through a proxy that answers like site.
// It returns the output.
func runThrough(t *testing.T, site http.Handler, args ...string) string {
	t.Helper()
	proxy := httptest.NewServer(site)
	defer proxy.Close()
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), append([]string{"-delay=0", agent, "-proxy", proxy.URL, "http://a.example/0"}, args...), &stdout, &stderr); status != tool.ExitOK {
		t.Errorf("exit status %d: %s", status, stderr.String())
	}
	return stdout.String() + stderr.String()
}
