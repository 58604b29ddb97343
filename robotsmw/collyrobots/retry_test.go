package collyrobots_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// Retries of a refusal come to an end, even if OnError always calls Retry.
func TestRetryOfARefusalEnds(t *testing.T) {
	refusals := []struct {
		name, target string
		hits         int // how many pages the servers are asked for, in all tries together
	}{
		{"by a rule", "http://shop.example/cart", 0},
		{"with a password", "http://user:secret@shop.example/cart", 0},
		{"through a redirect", "http://in.example/", 1},
		{"unreachable robots.txt", "http://down.example/", 0},
		{"a post", "POST http://shop.example/cart", 0},
		{"a host that is not due", "http://slow.example/", 1},
	}
	for _, refusal := range refusals {
		for _, kind := range []string{"handler after Attach", "handler before Attach", "clone"} {
			for _, async := range []bool{false, true} {
				web := shop()
				web.Handle("in.example", redirectTo("http://shop.example/cart"))
				web.Handle("down.example", withRobots(robotstest.Status(503)))
				web.Handle("slow.example", robotsText("User-agent: *\nCrawl-delay: 3600"))
				c := colly.NewCollector(colly.Async(async))
				var calls atomic.Int32
				retry := func(r *colly.Response, err error) {
					if calls.Add(1) > 100 {
						return // too many: the check below fails
					}
					r.Request.Retry()
				}
				if kind == "handler before Attach" {
					c.OnError(retry)
				}
				ext := attachUnpaced(t, c, web)
				d := c
				switch kind {
				case "clone":
					d = c.Clone()
					if err := ext.Add(d); err != nil {
						t.Fatal(err)
					}
				}
				if kind != "handler before Attach" {
					d.OnError(retry)
				}
				if refusal.name == "a host that is not due" {
					d.Visit(refusal.target + "first")
					d.Wait()
				}
				var err error
				if method, target, ok := cut(refusal.target); ok {
					err = d.Request(method, target, nil, nil, nil)
				} else {
					err = d.Visit(refusal.target)
				}
				d.Wait()
				if err == nil && !async {
					t.Errorf("%s, %s: Visit returned no error", refusal.name, kind)
				}
				if got := calls.Load(); got != 1 {
					t.Errorf("%s, %s, async %v: OnError was called %d times", refusal.name, kind, async, got)
				}
				if got := len(asked(web)); got != refusal.hits {
					t.Errorf("%s, %s, async %v: the servers were asked for %v", refusal.name, kind, async, asked(web))
				}
			}
		}
	}
}

func cut(s string) (method, target string, ok bool) {
	n, _ := fmt.Sscan(s, &method, &target)
	return method, target, n == 2
}

// Each request for a refused URL gets the error, even if the requests share one
// header map.
func TestARefusalIsSaidEachTime(t *testing.T) {
	t.Parallel()
	web := shop()
	c, ext := polite(t, web, colly.AllowURLRevisit())
	told := 0
	c.OnError(func(*colly.Response, error) { told++ })
	header := http.Header{"Accept": {"text/html"}}
	for range 5 {
		if err := c.Request("GET", "http://shop.example/cart", nil, nil, header); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
			t.Error(err)
		}
		if err := c.Request("GET", "http://shop.example/shoes", nil, nil, header); err != nil {
			t.Error(err)
		}
	}
	if n := ext.Counts().Disallowed; told != 5 || n != 5 {
		t.Errorf("OnError was told %d times, %d counted", told, n)
	}
}

// After a real failure, Request.Retry repeats the request at the host's pace.
func TestRetryOfAFailure(t *testing.T) {
	const tries = 6
	for _, failure := range []string{"503", "reset", "refused connection"} {
		synctest.Test(t, func(t *testing.T) {
			web := new(robotstest.Internet)
			var n atomic.Int32
			mux := http.NewServeMux()
			mux.Handle("/robots.txt", robotstest.Site{})
			mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
				switch {
				case n.Add(1) >= tries:
					io.WriteString(w, "<p>here you are")
				case failure == "503":
					w.WriteHeader(http.StatusServiceUnavailable)
				default:
					robotstest.Reset("").ServeHTTP(w, r)
				}
			})
			web.Handle("a.example", mux)
			base := roundTripper(func(r *http.Request) (*http.Response, error) {
				if failure == "refused connection" && r.URL.Path != "/robots.txt" && n.Add(1) < tries {
					return nil, syscall.ECONNREFUSED
				}
				return web.RoundTrip(r)
			})
			c := colly.NewCollector()
			ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: base, Limiter: &politeness.Limiter{Delay: 2 * time.Second, BackOff: -1}})
			c.OnError(func(r *colly.Response, err error) { r.Request.Retry() })
			got := 0
			c.OnResponse(func(r *colly.Response) { got++ })
			start := time.Now()
			c.Visit("http://a.example/")
			if got != 1 || ext.Counts().Lost != 0 {
				t.Errorf("%s: %d pages after %d tries, %v", failure, got, n.Load(), ext.Counts())
			}
			if took := time.Since(start); took < tries*2*time.Second {
				t.Errorf("%s: %d tries took %v", failure, n.Load(), took)
			}
			wantPace(t, web, "a.example", 2*time.Second)
		})
	}
}

// Retry succeeds when robots.txt can be fetched again.
func TestRetryAfterTheRefusalIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := new(robotstest.Internet)
		var down atomic.Bool
		down.Store(true)
		web.Handle("a.example", withRobots(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if down.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})))
		c, ext := polite(t, web)
		c.OnError(func(r *colly.Response, err error) {
			down.Store(false)
			time.Sleep(2 * time.Hour)
			r.Request.Retry()
		})
		c.Visit("http://a.example/")
		wantAsked(t, web, "GET http://a.example/")
		if n := ext.Counts(); n.Lost != 0 || n.Pages != 1 {
			t.Errorf("counts: %v", n)
		}
	})
}

// OnError of an asynchronous collector holds a lock and repeats a request, for
// which the extension waits a minute. Retry returns at once, so that the pages
// of other hosts are not held up.
func TestRetryDoesNotHoldUpOtherHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := shop()
		web.Handle("down.example", robotstest.Status(http.StatusServiceUnavailable)) // for a minute at least
		c := colly.NewCollector(colly.Async())
		attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: unpaced(), Logger: slog.New(slog.DiscardHandler)})
		var lock sync.Mutex
		start := time.Now()
		var retried, fetched time.Duration
		c.OnError(func(r *colly.Response, err error) {
			lock.Lock()
			defer lock.Unlock()
			if retried == 0 {
				time.Sleep(time.Second) // a Retry at once would only return the error
				r.Request.Retry()
				retried = time.Since(start)
				c.Visit("http://shop.example/shoes")
			}
		})
		c.OnResponse(func(r *colly.Response) {
			lock.Lock()
			defer lock.Unlock()
			fetched = time.Since(start)
		})
		c.Visit("http://down.example/")
		c.Wait()
		if retried != time.Second || fetched != time.Second {
			t.Errorf("Retry returned after %v, and the page of the other host came after %v", retried, fetched)
		}
		if took := time.Since(start); took < time.Minute {
			t.Errorf("the repeat was made after %v", took)
		}
	})
}

func TestLostIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := shop()
		web.Handle("slow.example", robotsText("User-agent: *\nCrawl-delay: 3600"))
		web.Handle("reset.example", robotsAnd(robotstest.Reset("")))
		web.Handle("in.example", redirectTo("http://shop.example/shoes"))
		c := colly.NewCollector()
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: &politeness.Limiter{Delay: 3 * time.Second}})
		for _, target := range []string{
			"http://shop.example/", "http://shop.example/cart", "http://slow.example/1", "http://slow.example/2",
			"http://reset.example/", "http://in.example/",
		} {
			c.Visit(target)
		}
		n := ext.Counts()
		if n.Pages != 3 || n.Fetched != 4 || n.Disallowed != 1 || n.Lost != 2 {
			t.Errorf("counts: %v", n)
		}
		if n.LongestWait < 3*time.Second || n.Waited < n.LongestWait {
			t.Errorf("waited %v, at most %v", n.Waited, n.LongestWait)
		}
		ext.PutBack = true
		c.Visit("http://slow.example/3")
		if n := ext.Counts().Lost; n != 2 {
			t.Errorf("what was put back is lost: %d", n)
		}
		ext.Wait()
		if n := ext.Counts(); n.Lost != 2 || n.Pages != 4 {
			t.Errorf("counts: %v", n)
		}
	})
}

// Each hop of a redirect waits for its host. The counts of waits see it as a
// request of its own.
func TestWaitsOfRedirects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := moved(20) // robots.txt, then /old, /new and /newest, 20 s apart
		c := colly.NewCollector()
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)})
		if err := c.Visit("http://moved.example/old"); err != nil {
			t.Fatal(err)
		}
		if n := ext.Counts(); n.Waited != 41*time.Second || n.LongestWait != 20*time.Second {
			t.Errorf("waited %v, at most %v", n.Waited, n.LongestWait)
		}
	})
}

// robotsAnd returns a site without a robots.txt. The given handler answers all
// other paths.
func robotsAnd(others http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/robots.txt", robotstest.Site{})
	mux.Handle("/", others)
	return mux
}
