package collyrobots_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/queue"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// What the extension repeats itself is fetched once, even if an OnError handler
// repeats all that fails. The Retry then returns what OnError was told.
func TestRetryOfWhatTheExtensionRepeats(t *testing.T) {
	type options struct{ async, before, throttled bool }
	for n := range 8 {
		o := options{n&1 != 0, n&2 != 0, n&4 != 0}
		synctest.Test(t, func(t *testing.T) {
			web := new(robotstest.Internet)
			web.Handle("slow.example", robotsText(""))
			limiter := neverWait(50 * time.Millisecond)
			want := []string{"GET http://slow.example/1", "GET http://slow.example/2", "POST http://slow.example/login"}
			if o.throttled {
				web = busy(http.StatusServiceUnavailable, 2, "5")
				limiter = new(politeness.Limiter)
				want = slices.Repeat([]string{"GET http://busy.example/page"}, 3)
			}
			c := colly.NewCollector(colly.Async(o.async))
			var told, retried notes
			handler := func(r *colly.Response, err error) {
				told.add(err.Error())
				if len(told.sorted()) > 50 {
					return // too many: the check below fails
				}
				time.Sleep(time.Second)
				if again := r.Request.Retry(); again != err {
					retried.add(fmt.Sprint(again))
				}
			}
			if o.before {
				c.OnError(handler)
			}
			ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: limiter})
			ext.PutBack, ext.RetryThrottled = !o.throttled, 3
			if !o.before {
				c.OnError(handler)
			}
			if o.throttled {
				c.Visit("http://busy.example/page")
			} else {
				c.Visit("http://slow.example/1")
				c.Visit("http://slow.example/2")
				c.Post("http://slow.example/login", map[string]string{"user": "ann"})
			}
			ext.Wait()
			got := asked(web)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%+v: the servers were asked for %v", o, got)
			}
			if len(told.sorted()) == 0 || len(retried.sorted()) > 0 {
				t.Errorf("%+v: OnError was told %v; the Retries returned %v", o, told.sorted(), retried.sorted())
			}
		})
	}
}

// Once the extension has given up, a Retry of the program's is sent.
func TestRetryAfterTheExtensionGaveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := busy(http.StatusServiceUnavailable, 3, "5")
		c := colly.NewCollector()
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)})
		ext.RetryThrottled = 2
		c.OnError(func(r *colly.Response, err error) { r.Request.Retry() })
		c.Visit("http://busy.example/page")
		wantAsked(t, web, slices.Repeat([]string{"GET http://busy.example/page"}, 4)...)
		if n := ext.Counts(); n.Pages != 4 || n.Lost != 0 || n.Retried != 2 || n.GivenUp != 1 {
			t.Errorf("counts: %v", n)
		}
	})
}

// In a callback, colly's AddURL does not wake a waiting thread of the queue.
// AddRequest does, but it blocks while the queue does not run.
func TestQueueInCallbacks(t *testing.T) {
	for _, way := range []string{"AddURL", "AddRequest"} {
		synctest.Test(t, func(t *testing.T) {
			web := new(robotstest.Internet)
			web.Handle("slow.example", robotsAnd(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(5 * time.Second) })))
			web.Handle("quick.example", robotstest.Site{"/": "<a href=/1>", "/1": "<p>"})
			c, _ := polite(t, web)
			q, err := queue.New(2, nil)
			if err != nil {
				t.Fatal(err)
			}
			c.OnHTML("a[href]", func(e *colly.HTMLElement) {
				target := e.Request.AbsoluteURL(e.Attr("href"))
				if way == "AddURL" {
					q.AddURL(target)
				} else if r, err := e.Request.New("GET", target, nil); err == nil {
					q.AddRequest(r)
				}
			})
			start := time.Now()
			took := time.Duration(-1)
			c.OnResponse(func(r *colly.Response) {
				if r.Request.URL.Path == "/1" {
					took = time.Since(start)
				}
			})
			q.AddURL("http://slow.example/")
			q.AddURL("http://quick.example/")
			q.Run(c)
			if quick := took < time.Second; took < 0 || quick != (way == "AddRequest") {
				t.Errorf("%s: the link was fetched after %v", way, took)
			}
			if way == "AddURL" {
				return
			}
			added := make(chan struct{})
			go func() {
				defer close(added)
				q.AddRequest(&colly.Request{Method: "GET", URL: &url.URL{Scheme: "http", Host: "quick.example", Path: "/later"}})
			}()
			synctest.Wait()
			select {
			case <-added:
				t.Error("AddRequest does not block any more while the queue does not run: the doc may say so")
			default:
				<-collyrobots.WakeOf(q)
			}
			<-added
		})
	}
}

// Retries that wait for a robots.txt which answers 503 without a Retry-After
// wait for a minute. That is in the log, although the minute has begun before.
func TestMinuteOfAnUnreachableRobotsTxtIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		var mu sync.Mutex
		tries := 0
		web := new(robotstest.Internet)
		web.Handle("a.example", withRobots(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(100 * time.Millisecond)
			if tries++; tries == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})))
		c := colly.NewCollector()
		attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter), Logger: slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, nil))})
		c.OnError(func(r *colly.Response, err error) {
			if errors.Is(err, robotsmw.ErrUnreachable) {
				time.Sleep(time.Second)
				r.Request.Retry()
			}
		})
		start := time.Now()
		c.Visit("http://a.example/")
		wantAsked(t, web, "GET http://a.example/")
		if took := time.Since(start); took < time.Minute || took > 2*time.Minute {
			t.Errorf("it took %v", took)
		}
		if got := log.String(); strings.Count(got, "a host is paused") != 1 || !strings.Contains(got, "robots.txt is unreachable") {
			t.Errorf("the log has\n%s", got)
		}
	})
}
