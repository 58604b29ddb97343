//go:build unix

package queues

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goodbots/courtesy/examples/queues/internal/worker"
)

// A brokenSite is a proxy that answers some pages with 500: /broken always,
// /flaky twice.
type brokenSite struct {
	second chan bool // gets a value with the second request for /broken

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

// A page that is always answered with 500 comes again after a wait that
// doubles, and is dropped after the last permitted answer. The queue remembers
// the number of answers: a worker that is started in the middle goes on with
// it. The other pages of the host are fetched once, meanwhile.
func TestSteady500(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			const retry, failures = 2 * time.Second, 4
			const rounding = time.Second // asynq's times are in whole seconds
			flags := append(e.flags[:len(e.flags):len(e.flags)], "-retry="+retry.String(), fmt.Sprintf("-failures=%d",
				failures))
			r := newRun(t, e.name, e.parts, e.start(t), flags, new(site))
			broken := &brokenSite{second: make(chan bool, 1), times: make(map[string][]time.Time)}
			proxy := httptest.NewServer(broken)
			t.Cleanup(proxy.Close)
			r.proxy = proxy.URL

			const host = "http://h00.example"
			r.put(host+"/broken", host+"/flaky", host+"/0", host+"/1")
			part, err := worker.Part(host, 3)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			first := r.start(part)
			select {
			case <-broken.second:
			case <-ctx.Done():
				t.Fatalf("/broken was not requested twice:\n%s", first.output())
			}
			first.cmd.Process.Signal(syscall.SIGTERM)
			if err := first.wait(ctx); err != nil {
				t.Fatalf("%v\n%s", err, first.output())
			}
			second := r.start(part)
			if err := second.wait(ctx); err != nil {
				t.Fatalf("%v\n%s", err, second.output())
			}
			output := first.output() + second.output()

			broken.mu.Lock()
			defer broken.mu.Unlock()
			for path, want := range map[string]int{"/broken": failures, "/flaky": 3, "/0": 1, "/1": 1} {
				if got := len(broken.times[path]); got != want {
					t.Errorf("%s was requested %d times, want %d", path, got, want)
				}
			}
			for path, times := range broken.times {
				wait := retry
				for i := 1; i < len(times); i++ {
					if gap := times[i].Sub(times[i-1]); gap < wait-lag-rounding {
						t.Errorf("%s came again after %v, want at least %v", path, gap, wait)
					}
					wait *= 2
				}
			}
			if !strings.Contains(output, "500 Internal Server Error (4 of 4 times)") || !strings.Contains(output, ", 1 dropped, ") {
				t.Error("nothing is said of the dropped page")
			}
			if t.Failed() {
				t.Log(output)
			}
		})
	}
}
