//go:build unix

package queues

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goodbots/courtesy/examples/queues/internal/worker"
	"github.com/goodbots/courtesy/integration_test/testmain"
)

// A brokenSite is a proxy whose responses for some pages are 500: always for
// /broken, twice for /flaky.
type brokenSite struct {
	second chan bool // gets a value when /broken is requested for the second time

	mu    sync.Mutex
	times map[string][]time.Time // when each path was requested
}

func (s *brokenSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.times[r.URL.Path] = append(s.times[r.URL.Path], time.Now())
	n := len(s.times[r.URL.Path])
	s.mu.Unlock()
	switch {
	case r.URL.Path == "/robots.txt":
		http.NotFound(w, r)
	case r.URL.Path == "/broken", r.URL.Path == "/flaky" && n <= 2:
		w.WriteHeader(http.StatusInternalServerError)
	}
	if r.URL.Path == "/broken" && n == 2 {
		s.second <- true
	}
}

const (
	failureWait  = 2 * time.Second // the flag -retry
	failureLimit = 4               // the flag -failures

	// The times of asynq are in whole seconds.
	rounding = time.Second
)

// A page whose responses are always 500 is retried after a wait that doubles,
// and is dropped after the last permitted response. The queue stores the number
// of responses, so that a worker that is started meanwhile continues the count.
// The other pages of the host are fetched once.
func TestAlways500(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			flags := append(slices.Clip(e.flags),
				"-retry="+failureWait.String(),
				fmt.Sprintf("-failures=%d", failureLimit))
			r := newRun(t, e, flags, new(site))
			broken := &brokenSite{second: make(chan bool, 1), times: make(map[string][]time.Time)}
			proxy := httptest.NewServer(broken)
			t.Cleanup(proxy.Close)
			r.proxy = proxy.URL

			output := r.crawlBroken(broken)
			testmain.SkipIfOverloaded(t) // a worker that could not run may have lost its lease
			broken.check(t)
			for _, want := range []string{"500 Internal Server Error (4 of 4 times)", ", 1 dropped, "} {
				if !strings.Contains(output, want) {
					t.Errorf("output of the workers does not contain %q", want)
				}
			}
			if t.Failed() {
				t.Log(output)
			}
		})
	}
}

// crawlBroken crawls the site with two workers, of which the second replaces
// the first after the second request for /broken. It returns their output.
func (r *run) crawlBroken(broken *brokenSite) string {
	r.t.Helper()
	const host = "http://h00.example"
	r.put(host+"/broken", host+"/flaky", host+"/0", host+"/1")
	part, err := worker.Part(host, 3)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), 3*time.Minute)
	defer cancel()
	first := r.startWorker(part)
	select {
	case <-broken.second:
	case <-ctx.Done():
		r.t.Fatalf("/broken was not requested twice:\n%s", first.output())
	}
	first.cmd.Process.Signal(syscall.SIGTERM)
	if err := first.wait(ctx); err != nil {
		r.t.Fatalf("first worker ended with the error %v:\n%s", err, first.output())
	}
	second := r.startWorker(part)
	if err := second.wait(ctx); err != nil {
		r.t.Fatalf("second worker ended with the error %v:\n%s", err, second.output())
	}
	return first.output() + second.output()
}

// check checks how often each page was requested, and when.
func (s *brokenSite) check(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, want := range map[string]int{"/broken": failureLimit, "/flaky": 3, "/0": 1, "/1": 1} {
		if got := len(s.times[path]); got != want {
			t.Errorf("%s was requested %d times, want %d", path, got, want)
		}
	}
	for path, times := range s.times {
		wait := failureWait
		for i := 1; i < len(times); i++ {
			if gap := times[i].Sub(times[i-1]); gap < wait-stalls.lag(times[i-1])-rounding {
				t.Errorf("%s was retried after %v, want at least %v", path, gap, wait)
			}
			wait *= 2
		}
	}
}
