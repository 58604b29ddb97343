package main

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              0,
		"120":                           2 * time.Minute,
		" 3 ":                           3 * time.Second,
		"-1":                            0,
		"soon":                          0,
		"99999999999999999999":          0,
		"Sat, 21 Nov 2026 12:01:00 GMT": time.Minute,
		"Sat, 21 Nov 2026 11:59:00 GMT": 0,
	} {
		if got := retryAfter(&http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("Retry-After: %s is %v, want %v", value, got, want)
		}
	}
}

func TestNormalize(t *testing.T) {
	for raw, want := range map[string]string{
		"http://A.example":               "http://a.example/",
		"http://a.example/b?c=d#e":       "http://a.example/b?c=d",
		"https://a.example:443/x":        "https://a.example/x",
		"http://a.example/../b/./c":      "http://a.example/b/c",
		"http://bücher.example/ tuesday": "http://xn--bcher-kva.example/%20tuesday",
	} {
		u, err := normalize(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
		} else if u.String() != want {
			t.Errorf("%s: got %s, want %s", raw, u, want)
		}
	}
	for _, raw := range []string{"", "a.example", "//a.example/", "http://", "ftp://a.example/", "mailto:a@a.example", "http://a b/"} {
		if u, err := normalize(raw); err == nil {
			t.Errorf("%q: got %s, want an error", raw, u)
		}
	}
}

// A host that asks for a long time costs no worker: with one alone, the others are crawled meanwhile.
func TestCrawl_LongRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		var answered bool
		internet.Handle("busy.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" && !answered {
				answered = true
				w.Header().Set("Retry-After", "600")
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			page200("fine").ServeHTTP(w, r)
		}))
		internet.Handle("a.example", page200(`<a href=/1>1</a> <a href=/2>2</a>`))
		cfg := testConfig(&internet)
		cfg.hosts = 1
		cfg.userAgent = "ExampleBot/1.0"
		if err := cfg.sites([]string{"http://busy.example/", "http://a.example/"}, sameHost); err != nil {
			t.Fatal(err)
		}
		summary, lines := testCrawl(t, t.Context(), cfg, exitOK)
		if summary.Fetched != 4 || summary.Missing != 0 {
			t.Errorf("%d fetched, %d missing; want 4, 0", summary.Fetched, summary.Missing)
		}
		for _, l := range lines {
			switch {
			case l.Verdict != record.Fetched:
			case l.Host == "busy.example" && l.Seconds < 600:
				t.Errorf("%s was fetched after %.0f s, before its Retry-After was over", l.URL, l.Seconds)
			case l.Host == "a.example" && l.Seconds > 60:
				t.Errorf("%s was held up for %.0f s by another host", l.URL, l.Seconds)
			}
		}
	})
}

// Without a Retry-After the host has the Limiter's back-off, and the page its three more tries all the same.
func TestCrawl_NoRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("busy.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.NotFound(w, r)
				return
			}
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		summary, lines := crawlInternet(t, t.Context(), &internet, 100, exitFailed, "http://busy.example/")
		if summary.Missing != 1 || len(summary.Lost) != 1 {
			t.Errorf("%d missing, %d listed; want 1, 1", summary.Missing, len(summary.Lost))
		}
		var tries int
		for _, l := range lines {
			if l.Status == http.StatusTooManyRequests {
				tries++
			}
		}
		if tries != 1+maxPuts {
			t.Errorf("%d tries, want %d", tries, 1+maxPuts)
		}
		if log := internet.Log(); len(log) != 2+maxPuts {
			t.Errorf("%d requests were sent, want %d", len(log), 2+maxPuts)
		}
	})
}
