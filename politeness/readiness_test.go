package politeness

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/schedule"
)

// Even if many requests wait, the Limiter quickly estimates when one more
// request could start. A search of the queue would take a thousand times as
// long for a thousand times as many requests.
func TestPlaceInALongQueueIsFoundAtOnce(t *testing.T) {
	asking := func(waiters int) time.Duration {
		l := &Limiter{Delay: time.Hour}
		u := mustURL(t, "http://www.example.com/robots.txt")
		ctx, cancel := context.WithCancel(WithCrawlDelay(t.Context(), Exempt))
		var wg sync.WaitGroup
		for range 1 + waiters {
			wg.Go(func() { l.Acquire(ctx, u) })
		}
		for l.Stats().Waiting < waiters {
			time.Sleep(time.Millisecond)
		}
		if got, want := time.Until(l.Next(u)), time.Hour; got < want-time.Minute {
			t.Errorf("the next request is due in %v, want %v", got, want)
		}
		g := &Grant{request: schedule.Request{Exempt: true, Overtakes: true, Deadline: schedule.Forever}, limiter: l, key: "www.example.com"}
		best := time.Hour
		for range 50 { // on a busy machine, most rounds are interrupted
			start := time.Now()
			for range 200 {
				g.untilStart()
			}
			best = min(best, time.Since(start))
		}
		if got, want := g.untilStart().Round(time.Hour), time.Duration(waiters+1)*time.Hour; got != want {
			t.Errorf("behind %d waiting requests, another one is due in %v, want %v", waiters, got, want)
		}
		cancel()
		wg.Wait()
		if h := l.hosts.Get("www.example.com"); h.Waiting() != 0 {
			t.Errorf("%d requests wait after all were canceled, want 0", h.Waiting())
		}
		return best
	}
	few, many := asking(10), asking(10_000)
	if many > 30*few {
		t.Errorf("200 estimates took %v with 10,000 requests waiting, want at most 30 times the %v with 10", many, few)
	}
}

// A request joins a long queue quickly, even if the Crawl-delay changes with
// each request.
func TestCrawlDelayThatChangesWithEachRequest(t *testing.T) {
	joining := func(waiters int) time.Duration {
		l := &Limiter{Delay: time.Hour}
		u := mustURL(t, "http://www.example.com/")
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 1 + waiters {
			wg.Go(func() { l.Acquire(ctx, u) })
		}
		for l.Stats().Waiting < waiters {
			time.Sleep(time.Millisecond)
		}
		best := time.Hour
		for range 50 { // on a busy machine, most rounds are interrupted
			start := time.Now()
			for i := range 200 {
				g := &Grant{request: schedule.Request{Declared: true, CrawlDelay: time.Duration(10+i%2) * time.Second, Deadline: schedule.Forever}, limiter: l, key: "www.example.com"}
				g.try(true)
				g.leave(false)
			}
			best = min(best, time.Since(start))
		}
		cancel()
		wg.Wait()
		return best
	}
	few, many := joining(10), joining(10_000)
	if many > 30*few {
		t.Errorf("200 requests took %v to queue behind 10,000, want at most 30 times the %v behind 10", many, few)
	}
}

// Pages wait, and each will start in time for its deadline. Then requests for
// the robots.txt of other ports join, which take every second turn. The pages
// that can no longer start in time are rejected at once. The reason is the same
// as for a page that joins now: the requests ahead of it.
func TestExempt_RefusesPagesThatAreTooLateAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		page := mustURL(t, "http://example.com/")
		zero := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 15500*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		var mu sync.Mutex
		var granted []time.Duration
		rejected := 0
		for range 15 {
			wg.Go(func() {
				g, err := l.Acquire(ctx, page)
				g.Done(Outcome{})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					granted = append(granted, time.Since(zero))
					return
				}
				rejected++
				if d, ok := errors.AsType[*DelayError](err); !ok || d.Reason != ReasonQueue || time.Since(zero) != 500*time.Millisecond {
					t.Errorf("Acquire: error %v after %v, want a DelayError with Reason %q after 500ms", err, time.Since(zero), ReasonQueue)
				}
			})
		}
		time.Sleep(500 * time.Millisecond)
		for port := range 100 {
			u := mustURL(t, fmt.Sprintf("http://example.com:%d/robots.txt", 1000+port))
			wg.Go(func() {
				g, err := l.Acquire(WithCrawlDelay(ctx, Exempt), u)
				if err == nil {
					g.Done(Outcome{})
				}
			})
		}
		wg.Wait()
		// The robots.txt start at 1 s, 3 s and so on, and the pages in between.
		if len(granted) != 8 || granted[1] != 2*time.Second || granted[7] != 14*time.Second || rejected != 7 {
			t.Errorf("granted at %v, and %d rejected; want 8 grants from 0s to 14s, the second at 2s, and 7 rejected", granted, rejected)
		}
	})
}

// Thousands of requests wait, and each will start in time for its deadline.
// Then the host requests a pause that is longer. All requests are rejected
// within a few milliseconds, although no event examines all of them.
func TestPause_RefusesThousandsThatAreTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		u := mustURL(t, "http://example.com/")
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
		defer cancel()
		g, err := l.Acquire(ctx, u)
		if err != nil {
			t.Fatal(err)
		}
		const waiting = 5000
		var wg sync.WaitGroup
		var last atomic.Int64
		zero := time.Now()
		for range waiting {
			wg.Go(func() {
				if _, err := l.Acquire(ctx, u); err == nil {
					t.Error("a request starts in the pause, want an error")
				}
				last.Store(max(last.Load(), int64(time.Since(zero))))
			})
		}
		synctest.Wait()
		g.Done(Outcome{Status: 429, Header: http.Header{"Retry-After": {"10000"}}})
		wg.Wait()
		if got := time.Duration(last.Load()); got > 10*time.Millisecond {
			t.Errorf("the last request is rejected after %v, want at most 10ms", got)
		}
	})
}

// A robots.txt request of a filtered port has held the only slot for 30 s, and
// a page waits with a Crawl-delay. The next robots.txt request waits for as
// long as the first one took, although no page is due until shortly before. Its
// trace contains the time from the beginning.
func TestExempt_WaitsAsLongAsTheLastOneTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		zero := time.Now()
		acquire := func(ctx context.Context, url string) *Grant {
			g, err := l.Acquire(ctx, mustURL(t, url))
			if err != nil {
				t.Error(err)
			}
			return g
		}
		paged := WithCrawlDelay(t.Context(), time.Minute)
		acquire(paged, "http://example.com/1").Done(Outcome{})
		time.Sleep(time.Second)
		robots := acquire(WithCrawlDelay(t.Context(), Exempt), "http://example.com:1000/robots.txt")
		var wg sync.WaitGroup
		wg.Go(func() {
			acquire(paged, "http://example.com/2").Done(Outcome{})
			if got := time.Since(zero); got != time.Minute {
				t.Errorf("the page starts after %v, want 1m0s", got)
			}
		})
		time.Sleep(30 * time.Second)
		robots.Done(Outcome{})
		var queued []string
		ctx := WithTrace(WithCrawlDelay(t.Context(), Exempt), &Trace{Queued: func(until time.Time, why Reason) {
			queued = append(queued, fmt.Sprint(until.Sub(zero), " ", why))
		}})
		acquire(ctx, "http://example.com:1001/robots.txt").Done(Outcome{})
		if got := time.Since(zero); got != 61*time.Second {
			t.Errorf("the robots.txt starts after %v, want 1m1s", got)
		}
		if got := fmt.Sprint(queued); got != "[1m1s queue 1m1s delay]" {
			t.Errorf("Queued received %s, want %s", got, "[1m1s queue 1m1s delay]")
		}
		wg.Wait()
	})
}
