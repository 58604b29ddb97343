package main

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A host that asks for a long time costs no worker: with one alone, the others
// are crawled meanwhile.
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
		summary, lines := crawlInternet(t, t.Context(), &internet, tool.ExitOK, "-hosts=1", "http://busy.example/", "http://a.example/")
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

// Without a Retry-After the host has the Limiter's back-off, and the page its
// three more tries all the same.
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
		summary, lines := crawlInternet(t, t.Context(), &internet, tool.ExitFailed, "http://busy.example/")
		if summary.Missing != 1 || len(summary.Lost) != 1 {
			t.Errorf("%d missing, %d listed; want 1, 1", summary.Missing, len(summary.Lost))
		}
		var tries int
		for _, l := range lines {
			if l.Status == http.StatusTooManyRequests {
				tries++
			}
		}
		if tries != 1+record.MaxPuts {
			t.Errorf("%d tries, want %d", tries, 1+record.MaxPuts)
		}
		if log := internet.Log(); len(log) != 2+record.MaxPuts {
			t.Errorf("%d requests were sent, want %d", len(log), 2+record.MaxPuts)
		}
	})
}
