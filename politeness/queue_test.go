package politeness

import (
	"context"
	"sync"
	"testing"
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
			t.Errorf("the next is due in %v", got)
		}
		g := &Grant{request: schedule.Request{Exempt: true, Overtakes: true, Deadline: forever}, limiter: l, key: "www.example.com"}
		best := time.Hour
		for range 50 { // on a busy machine, most rounds are interrupted
			start := time.Now()
			for range 200 {
				g.outlook()
			}
			best = min(best, time.Since(start))
		}
		if got, want := g.outlook().Round(time.Hour), time.Duration(waiters+1)*time.Hour; got != want {
			t.Errorf("behind %d that wait one is due in %v, want %v", waiters, got, want)
		}
		cancel()
		wg.Wait()
		if h := l.hosts["www.example.com"]; h.Waiting() != 0 {
			t.Errorf("%d wait in an empty queue", h.Waiting())
		}
		return best
	}
	few, many := asking(10), asking(10_000)
	if many > 30*few {
		t.Errorf("200 looks took %v with 10 waiting, and %v with 10,000", few, many)
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
				g := &Grant{request: schedule.Request{Declared: true, CrawlDelay: time.Duration(10+i%2) * time.Second, Deadline: forever}, limiter: l, key: "www.example.com"}
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
		t.Errorf("200 requests took %v to queue behind 10, and %v behind 10,000", few, many)
	}
}
