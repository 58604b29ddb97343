package collyrobots_test

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

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// newJobs returns an extension with PutBack, and a collector for each job of a
// program. Each job has one of the given contexts.
func newJobs(t *testing.T, web *robotstest.Internet, limiter *politeness.Limiter, contexts ...context.Context) ([]*colly.Collector, *collyrobots.Extension) {
	ext := attach(t, colly.NewCollector(), robotsmw.Options{UserAgent: agent, Base: web, Limiter: limiter})
	ext.PutBack = true
	var list []*colly.Collector
	for _, ctx := range contexts {
		c := colly.NewCollector(colly.StdlibContext(ctx))
		if err := ext.Add(c); err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list, ext
}

// Two jobs of a program have a synchronous collector each, with one extension.
// One of them calls Wait while the other visits one page after the other. Wait
// used to wait for the WaitGroup of the other job's collector. This is a data
// race, and it panicked if the next page was visited before Wait had returned.
func TestWait_WhileAnotherJobVisitsPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := new(robotstest.Internet)
		site := robotsText("")
		web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Millisecond)
			site.ServeHTTP(w, r)
		}))
		jobs, ext := newJobs(t, web, unpaced(), t.Context(), t.Context())
		var visited atomic.Bool
		var wait sync.WaitGroup
		wait.Go(func() {
			for page := range 300 {
				if err := jobs[0].Visit(fmt.Sprintf("http://a.example/%d", page)); err != nil {
					t.Error(err)
				}
			}
			visited.Store(true)
		})
		for !visited.Load() {
			ext.Wait()
			time.Sleep(time.Millisecond / 2)
		}
		wait.Wait()
	})
}

// Three jobs have pages of the same host, which are put back. Each job calls
// Wait after its last Visit, while the others still visit pages. When Wait
// returns, the pages of the job are done, whichever job requested them.
func TestWait_ConcurrentJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := new(robotstest.Internet)
		web.Handle("a.example", robotsText(""))
		jobs, ext := newJobs(t, web, neverWait(30*time.Millisecond), t.Context(), t.Context(), t.Context())
		var wait sync.WaitGroup
		for job, c := range jobs {
			var pages atomic.Int32
			c.OnResponse(func(*colly.Response) {
				time.Sleep(20 * time.Millisecond)
				pages.Add(1)
			})
			wait.Go(func() {
				for page := range 10 {
					c.Visit(fmt.Sprintf("http://a.example/%d/%d", job, page))
				}
				ext.Wait()
				if n := pages.Load(); n != 10 {
					t.Errorf("job %d: %d pages were done when Wait returned, want 10", job, n)
				}
			})
		}
		wait.Wait()
	})
}

// A page of one job was put back. Another job makes the request, whose response
// is a 429 after one second. In this second, the first job calls Wait, which
// used to find no request in the queue, and returned before the page was
// requested again.
func TestWait_PageThatAnotherJobRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := new(robotstest.Internet)
		var requests atomic.Int32
		mux := http.NewServeMux()
		mux.Handle("/robots.txt", robotstest.Site{})
		mux.HandleFunc("/first", func(http.ResponseWriter, *http.Request) {})
		mux.HandleFunc("/second", func(w http.ResponseWriter, r *http.Request) {
			if requests.Add(1) == 1 {
				time.Sleep(time.Second)
				w.Header().Set("Retry-After", "30")
				w.WriteHeader(http.StatusTooManyRequests)
			}
		})
		web.Handle("a.example", mux)
		jobs, ext := newJobs(t, web, neverWait(10*time.Second), t.Context(), t.Context())
		ext.RetryThrottled = 3
		var pages atomic.Int32
		jobs[0].OnResponse(func(*colly.Response) { pages.Add(1) })
		jobs[0].Visit("http://a.example/first")
		jobs[0].Visit("http://a.example/second")
		var wait sync.WaitGroup
		wait.Go(ext.Wait) // of the other job
		for requests.Load() == 0 {
			time.Sleep(100 * time.Millisecond)
		}
		ext.Wait()
		if n := pages.Load(); n != 2 {
			t.Errorf("%d pages were done when Wait returned, want 2; Counts() = %v", n, ext.Counts())
		}
		wait.Wait()
	})
}

// The pages of each asynchronous collector lead to pages that the next one
// visits. Wait used to wait for the collectors in any order, and returned while
// a collector that it had already waited for received new requests. This is
// also a data race.
func TestWait_AsynchronousCollectorsOneAfterTheOther(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			const stages = 5
			web := new(robotstest.Internet)
			web.Handle("a.example", robotsText(""))
			first := colly.NewCollector(colly.Async())
			ext := attach(t, first, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)})
			var pages atomic.Int32
			last := first
			for stage := 1; stage < stages; stage++ {
				next := first.Clone()
				if err := ext.Add(next); err != nil {
					t.Fatal(err)
				}
				last.OnResponse(func(*colly.Response) {
					pages.Add(1)
					next.Visit(fmt.Sprintf("http://a.example/%d", stage))
				})
				last = next
			}
			last.OnResponse(func(*colly.Response) { pages.Add(1) })
			first.Visit("http://a.example/0")
			ext.Wait()
			if n := pages.Load(); n != stages {
				t.Errorf("%d pages were done when Wait returned, want %d", n, stages)
			}
		})
	}
}

// The context of a job is canceled while its pages are put back, behind those
// of another job for the same host, which has a long Crawl-delay. OnError used
// to receive each of the job's pages only when the pages of the other job
// before it had been requested.
func TestWait_CanceledJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := new(robotstest.Internet)
		web.Handle("a.example", robotsText("User-agent: *\nCrawl-delay: 60"))
		ctx, cancel := context.WithCancelCause(t.Context())
		jobs, ext := newJobs(t, web, neverWait(time.Second), t.Context(), ctx)
		pages := 0
		jobs[0].OnResponse(func(*colly.Response) { pages++ })
		var canceled []time.Duration
		start := time.Now()
		jobs[1].OnError(func(r *colly.Response, err error) {
			if ext.WillRepeat(r.Request) {
				return
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("OnError received %v, want context.Canceled", err)
			}
			canceled = append(canceled, time.Since(start))
		})
		for page := range 4 {
			for job, c := range jobs {
				c.Visit(fmt.Sprintf("http://a.example/%d/%d", job, page))
			}
		}
		time.AfterFunc(90*time.Second, func() { cancel(nil) })
		ext.Wait()
		if pages != 4 || len(canceled) == 0 {
			t.Errorf("the first job fetched %d pages, and %d pages of the other were canceled; want 4 and at least 1", pages, len(canceled))
		}
		for _, at := range canceled {
			if at > 91*time.Second {
				t.Errorf("a page failed after %v, want at most 1m31s, because its context was canceled after 1m30s", at)
			}
		}
	})
}
