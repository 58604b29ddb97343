package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
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

// newWorker returns a worker that sends requests to the internet.
func newWorker(t *testing.T, web http.RoundTripper, retry Retry) *Worker {
	t.Helper()
	w, err := New(robotsmw.Options{
		UserAgent: "TestBot",
		Base:      web,
		Limiter:   &politeness.Limiter{Delay: time.Second, MaxWait: -1},
	}, retry)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A page that cannot be stored is retried after a minute. The other pages of
// its host do not wait for it.
func TestFetch_NotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("example.com", http.NotFoundHandler())
		w := newWorker(t, &web, Retry{Failures: 1, Wait: time.Minute})
		errFull := errors.New("disk full")
		fetch := func(page string, want time.Duration) {
			t.Helper()
			again, err := w.Fetch(t.Context(), page, never, func(*http.Response) error { return errFull })
			if got := time.Until(again); got != want {
				t.Errorf("after a failed save, %s is retried in %v (error %v), want in %v", page, got, err, want)
			}
		}
		fetch("http://example.com/a", time.Second) // robots.txt was requested just before
		time.Sleep(time.Second)
		fetch("http://example.com/a", time.Minute) // it was fetched, but not stored
		fetch("http://example.com/b", time.Second)
		fetch("http://example.com/c", 2*time.Second)
	})
}

// never is for pages whose responses are not 5xx.
func never() (int, error) { panic("failures was called without a 5xx response") }

// failures returns a function that returns n.
func failures(n int) func() (int, error) {
	return func() (int, error) { return n, nil }
}

// A failingTest fetches pages of a site whose responses for some pages are 5xx.
type failingTest struct {
	*testing.T
	*Worker
}

func newFailingTest(t *testing.T) failingTest {
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
	w := failingTest{t, newWorker(t, &web, Retry{Failures: 8, Wait: time.Minute})}
	w.fetch("/", never) // requests robots.txt
	return w
}

// fetch fetches a page when its host is due. It returns when the page is
// retried, or 0 if it is not.
func (t failingTest) fetch(page string, failures func() (int, error)) (time.Duration, error) {
	time.Sleep(time.Second)
	save := func(*http.Response) error { return nil }
	again, err := t.Fetch(t.Context(), "http://example.com"+page, failures, save)
	if again.IsZero() {
		return 0, err
	}
	return time.Until(again), err
}

// wantRetry checks when the page is retried, and that its failure counts.
func (t failingTest) wantRetry(page string, failures func() (int, error), want time.Duration) {
	t.Helper()
	wait, err := t.fetch(page, failures)
	if wait != want || !errors.Is(err, ErrFailed) {
		t.Errorf("%s is retried in %v with the error %v, want in %v with ErrFailed", page, wait, err, want)
	}
}

// A page whose responses are always 500 waits longer each time, and is dropped
// after the last permitted response. The other pages of the host are fetched
// meanwhile.
func TestFetch_AlwaysFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFailingTest(t)
		for n, want := range []time.Duration{
			1 * time.Minute,
			2 * time.Minute,
			4 * time.Minute,
			8 * time.Minute,
			16 * time.Minute,
			32 * time.Minute,
			time.Hour,
			0,
		} {
			w.wantRetry("/broken", failures(n), want)
			if _, err := w.fetch("/other", never); err != nil {
				t.Errorf("fetch of /other returned the error %v, want none", err)
			}
		}
	})
}

// If the number of failures is unknown, the page is retried, and the failure
// does not count.
func TestFetch_UnknownFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFailingTest(t)
		errAway := errors.New("connection refused")
		wait, err := w.fetch("/broken", func() (int, error) { return 0, errAway })
		if wait != time.Minute {
			t.Errorf("/broken is retried in %v, want in a minute", wait)
		}
		if errors.Is(err, ErrFailed) || !errors.Is(err, errAway) {
			t.Errorf("fetch of /broken returned the error %v, want %v without ErrFailed", err, errAway)
		}
	})
}

// After a 503 with a Retry-After, the page waits at least for that time.
func TestFetch_RetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newFailingTest(t).wantRetry("/busy", failures(0), 10*time.Minute)
	})
}

// While the queue is unreachable, Follow prints the error and continues.
func TestFollow_QueueUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errAway := errors.New("connection refused")
		results := []error{nil, errAway, errAway, nil}
		left := func(context.Context) (int, error) { // the number of pages is that of the remaining results
			err := results[0]
			results = results[1:]
			return len(results), err
		}
		var out strings.Builder
		if err := new(Tally).Follow(t.Context(), &out, left); err != nil {
			t.Errorf("Follow returned %v, want no error", err)
		}
		if len(results) != 0 {
			t.Errorf("Follow returned before the last %d results, want after all", len(results))
		}
		for _, want := range []string{"connection refused", "; pages left in the queue: 3\n"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("output does not contain %q:\n%s", want, out.String())
			}
		}
	})
}

// If the queue is unreachable when the worker starts, Follow returns the error.
func TestFollow_QueueUnreachableAtStart(t *testing.T) {
	errAway := errors.New("connection refused")
	left := func(context.Context) (int, error) { return 0, errAway }
	if err := new(Tally).Follow(t.Context(), io.Discard, left); err != errAway {
		t.Errorf("Follow returned %v, want %v", err, errAway)
	}
}

// Without arguments, the URLs are the lines of the input.
func TestURLs(t *testing.T) {
	const a, b = "http://a.example/", "https://b.example/"
	got, err := urls(nil, strings.NewReader(a+"\n\n "+b+"\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{a, b}; !slices.Equal(got, want) {
		t.Errorf("urls returned %q, want %q", got, want)
	}
}

func TestURLs_LongLine(t *testing.T) {
	line := "http://a.example/" + strings.Repeat("x", bufio.MaxScanTokenSize) + "\n"
	if _, err := urls(nil, strings.NewReader(line)); !errors.Is(err, bufio.ErrTooLong) {
		t.Errorf("urls with a long line returned the error %v, want %v", err, bufio.ErrTooLong)
	}
}

func TestURLs_Invalid(t *testing.T) {
	if got, err := urls([]string{"a.example"}, nil); err == nil {
		t.Errorf("urls with the argument a.example returned %q, want an error", got)
	}
}

// Pages of many hosts are put back, each with a URL of a megabyte. The worker
// keeps the names of the hosts in memory, but not the URLs.
func TestSchedule_KeepsNoURL(t *testing.T) {
	w := newWorker(t, new(robotstest.Internet), Retry{Failures: 1, Wait: time.Minute})
	before := heap()
	for i := range 30 {
		u, err := url.Parse(fmt.Sprintf("http://host%d.example/%s", i, strings.Repeat("x", 1<<20)))
		if err != nil {
			t.Fatal(err)
		}
		w.schedule(u, time.Now().Add(time.Hour))
	}
	if grown := heap() - before; grown > 10<<20 {
		t.Errorf("%d hosts take %d bytes, want at most %d", len(w.lastRetries), grown, 10<<20)
	}
	if len(w.lastRetries) != 30 {
		t.Errorf("worker knows %d hosts, want 30", len(w.lastRetries))
	}
}

// heap returns the number of bytes that are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
