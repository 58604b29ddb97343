package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A page that cannot be stored comes again after a minute. The other pages of
// its host do not wait for it.
func TestFetch_NotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("example.com", http.NotFoundHandler())
		w, err := New(robotsmw.Options{
			UserAgent: "TestBot", Base: &web,
			Limiter: &politeness.Limiter{Delay: time.Second, MaxWait: -1},
		}, Retry{Failures: 1, Wait: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		full := errors.New("disk full")
		fetch := func(page string, want time.Duration) {
			t.Helper()
			again, err := w.Fetch(t.Context(), page, never, func(*http.Response) error { return full })
			if got := time.Until(again); got != want {
				t.Errorf("%s comes again in %v (%v), want %v", page, got, err, want)
			}
		}
		fetch("http://example.com/a", time.Second) // its robots.txt came just before
		time.Sleep(time.Second)
		fetch("http://example.com/a", time.Minute) // it was fetched, but not stored
		fetch("http://example.com/b", time.Second)
		fetch("http://example.com/c", 2*time.Second)
	})
}

// never is for pages that no server answers with 5xx.
func never() (int, error) { panic("a failure is counted") }

// A server answers a page with 500 for ever, or with 503 and a Retry-After, or
// the queue cannot say how often the page has failed. The page waits longer
// each time, and is dropped after the last permitted answer, while the other
// pages of the host go on.
func TestFetch_ServerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/broken":
				w.WriteHeader(http.StatusInternalServerError)
			case "/busy":
				w.Header().Set("Retry-After", "600")
				w.WriteHeader(http.StatusServiceUnavailable)
			case "/robots.txt":
				http.NotFound(w, r)
			}
		}))
		w, err := New(robotsmw.Options{
			UserAgent: "TestBot", Base: &web,
			Limiter: &politeness.Limiter{Delay: time.Second, MaxWait: -1},
		}, Retry{Failures: 8, Wait: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		fetch := func(page string, failures func() (int, error)) (time.Duration, error) {
			again, err := w.Fetch(t.Context(), "http://example.com"+page, failures, func(*http.Response) error { return nil })
			if again.IsZero() {
				return 0, err
			}
			return time.Until(again), err
		}
		fetch("/", never) // its robots.txt came just before
		for n, want := range []time.Duration{1 * time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 32 * time.Minute, time.Hour, 0} {
			time.Sleep(time.Second)
			wait, err := fetch("/broken", func() (int, error) { return n, nil })
			if wait != want || !errors.Is(err, ErrFailed) {
				t.Errorf("after %d failures, the page comes again in %v (%v), want %v", n, wait, err, want)
			}
			time.Sleep(time.Second)
			if _, err := fetch("/other", never); err != nil {
				t.Errorf("another page: %v", err)
			}
		}
		time.Sleep(time.Second)
		away := errors.New("connection refused")
		wait, err := fetch("/broken", func() (int, error) { return 0, away })
		if wait != time.Minute || errors.Is(err, ErrFailed) || !errors.Is(err, away) {
			t.Errorf("without a number of failures: %v, %v; want a minute, and no ErrFailed", wait, err)
		}
		time.Sleep(time.Second)
		wait, err = fetch("/busy", func() (int, error) { return 0, nil })
		if wait != 10*time.Minute || !errors.Is(err, ErrFailed) {
			t.Errorf("503 with a Retry-After of ten minutes: %v, %v", wait, err)
		}
	})
}

// The queue's server is away for a while. A worker says so and goes on. If the
// server is away when the worker starts, the worker ends.
func TestFollow_ServerAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("connection refused")
		var out strings.Builder
		answers := []error{nil, away, away, nil} // each is for as many pages as there are answers after it
		err := new(Tally).Follow(t.Context(), &out, func(context.Context) (int, error) {
			err := answers[0]
			answers = answers[1:]
			return len(answers), err
		})
		if err != nil || len(answers) != 0 || !strings.Contains(out.String(), "connection refused") || !strings.Contains(out.String(), "; pages left in the queue: 3\n") {
			t.Errorf("Follow returned %v, %d answers too soon, and printed\n%s", err, len(answers), &out)
		}
		err = new(Tally).Follow(t.Context(), &out, func(context.Context) (int, error) { return 0, away })
		if err != away {
			t.Errorf("a server that is away at the start: %v, want %v", err, away)
		}
	})
}

func TestURLs(t *testing.T) {
	const a, b = "http://a.example/", "https://b.example/"
	got, err := urls(nil, strings.NewReader(a+"\n\n "+b+"\r\n"))
	if want := []string{a, b}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if got, err := urls(nil, strings.NewReader(a+"\n"+b+strings.Repeat("x", bufio.MaxScanTokenSize)+"\n"+b)); !errors.Is(err, bufio.ErrTooLong) {
		t.Errorf("a line that is too long: %q, %v", got, err)
	}
	if got, err := urls([]string{"a.example"}, nil); err == nil {
		t.Errorf("an argument that is no URL: %q", got)
	}
}

// Pages of many hosts are put back, each with a URL of a megabyte. The worker
// remembers the hosts, and not the URLs.
func TestPlace_KeepsNoURL(t *testing.T) {
	var web robotstest.Internet
	w, err := New(robotsmw.Options{UserAgent: "TestBot", Base: &web, Limiter: &politeness.Limiter{Delay: time.Second, MaxWait: -1}}, Retry{Failures: 1, Wait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for i := range 30 {
		u, err := url.Parse(fmt.Sprintf("http://host%d.example/%s", i, strings.Repeat("x", 1<<20)))
		if err != nil {
			t.Fatal(err)
		}
		w.place(u, time.Now().Add(time.Hour))
	}
	if grown := heap() - before; grown > 10<<20 {
		t.Errorf("%d hosts take %d bytes", len(w.places), grown)
	}
	if len(w.places) != 30 {
		t.Errorf("%d hosts are known", len(w.places))
	}
}
