package collyrobots_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// With PutBack, the callbacks of a synchronous collector never run at the same
// time, as long as the program visits from one goroutine.
func TestPutBackCallsCallbacksOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := new(robotstest.Internet)
		c := colly.NewCollector()
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: neverWait(2 * time.Second)})
		ext.PutBack = true
		inside := false
		pages := 0
		c.OnResponse(func(r *colly.Response) {
			if inside {
				t.Error("two callbacks run at the same time, want one after the other")
			}
			inside = true
			time.Sleep(time.Second)
			inside = false
			pages++
		})
		for page := range 5 {
			for i := range 4 {
				web.Handle(fmt.Sprintf("h%d.example", i), robotsText(""))
				c.Visit(fmt.Sprintf("http://h%d.example/%d", i, page))
			}
		}
		ext.Wait()
		if pages != 20 {
			t.Errorf("%d pages were fetched, want 20", pages)
		}
	})
}

// neverWait returns a Limiter that refuses a request that would have to wait.
func neverWait(delay time.Duration) *politeness.Limiter {
	return &politeness.Limiter{Delay: delay, MaxWait: -1}
}

func TestSlowHostDoesNotHoldUpAQueue(t *testing.T) {
	const hosts, slowPages = 10, 5
	crawl := func(t *testing.T, putBack bool) (others, all time.Duration, web *robotstest.Internet) {
		web = new(robotstest.Internet)
		q, err := queue.New(2, nil)
		if err != nil {
			t.Fatal(err)
		}
		web.Handle("slow.example", robotsText("User-agent: *\nCrawl-delay: 20"))
		for i := range slowPages { // added before other pages, so that both threads of the queue get slow pages
			q.AddURL(fmt.Sprintf("http://slow.example/%d", i))
		}
		for i := range hosts {
			web.Handle(fmt.Sprintf("h%d.example", i), robotsText(""))
			q.AddURL(fmt.Sprintf("http://h%d.example/", i))
		}
		c := colly.NewCollector()
		opts := robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)}
		if putBack {
			opts.Limiter = neverWait(0)
		}
		ext := attach(t, c, opts)
		ext.PutBack = putBack
		start := time.Now()
		var mu sync.Mutex
		c.OnResponse(func(r *colly.Response) {
			if r.Request.URL.Host != "slow.example" {
				mu.Lock()
				defer mu.Unlock()
				others = time.Since(start)
			}
		})
		if err := q.Run(c); err != nil {
			t.Fatal(err)
		}
		ext.Wait()
		if got := len(asked(web)); got != hosts+slowPages {
			t.Errorf("PutBack %v: %d pages were fetched, want %d", putBack, got, hosts+slowPages)
		}
		if n := ext.Counts().PutBack; putBack && n > 4*(hosts+slowPages) {
			t.Errorf("%d requests were put back %d times, want at most %d times", hosts+slowPages, n, 4*(hosts+slowPages))
		}
		return others, time.Since(start), web
	}
	synctest.Test(t, func(t *testing.T) {
		if others, _, _ := crawl(t, false); others < time.Minute {
			t.Errorf("without PutBack, the other hosts were done after %v, want at least 1m0s, because the slow host occupies both threads", others)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		others, all, web := crawl(t, true)
		if others > 3*time.Second {
			t.Errorf("the other hosts were done after %v, want at most 3s", others)
		}
		// robots.txt is fetched at 0 s, the first page at 1 s, and four more
		// pages at intervals of 20 s.
		if all > 82*time.Second {
			t.Errorf("the slow host was done after %v, want at most 1m22s", all)
		}
		wantPace(t, web, "slow.example", 20*time.Second)
	})
}

// visitHosts visits pages of hosts named h0.example, h1.example and so on.
func visitHosts(c *colly.Collector, web *robotstest.Internet, hosts, pages int) {
	for i := range hosts {
		host := fmt.Sprintf("h%d.example", i)
		web.Handle(host, robotsText(""))
		for page := range pages {
			c.Visit(fmt.Sprintf("http://%s/%d", host, page))
		}
	}
}

func TestPutBackOnAnAsynchronousCollectorNeedsNoOtherWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := new(robotstest.Internet)
		c := colly.NewCollector(colly.Async())
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: neverWait(time.Second)})
		ext.PutBack = true
		visitHosts(c, web, 3, 30)
		start := time.Now()
		c.Wait()
		if got := len(asked(web)); got != 90 {
			t.Errorf("%d pages were fetched, want 90", got)
		}
		if took := time.Since(start); took > 31*time.Second {
			t.Errorf("the crawl took %v, want at most 31s", took)
		}
		for i := range 3 {
			wantPace(t, web, fmt.Sprintf("h%d.example", i), time.Second)
		}
		if n := ext.Counts().PutBack; n > 90*4 {
			t.Errorf("90 requests were put back %d times, want at most %d times", n, 90*4)
		}
	})
}

// A crawl of many hosts keeps no state of a host whose requests are done.
func TestPutBackKeepsNothingOfAHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := new(robotstest.Internet)
		c := colly.NewCollector(colly.Async())
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: neverWait(time.Second)})
		ext.PutBack = true
		visitHosts(c, web, 100, 3)
		c.Wait()
		time.Sleep(time.Second)
		if n := collyrobots.HostQueues(ext); n != 0 || len(asked(web)) != 300 {
			t.Errorf("%d hosts are left in hostQueues, and %d pages were fetched; want 0 and 300", n, len(asked(web)))
		}
	})
}

// Colly counts each request that it makes, including those that the Limiter
// refuses. MaxRequests ends the repeats, and GivenUp counts the requests that
// are given up.
func TestPutBackUnderMaxRequests(t *testing.T) {
	for most, want := range map[uint32]int{10: 0, 14: 4, 100: 10} {
		synctest.Test(t, func(t *testing.T) {
			web := new(robotstest.Internet)
			web.Handle("a.example", robotsText(""))
			c := colly.NewCollector(colly.MaxRequests(most))
			ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: neverWait(time.Second)})
			ext.PutBack = true
			for page := range 10 {
				c.Visit(fmt.Sprintf("http://a.example/%d", page))
			}
			ext.Wait()
			if n := ext.Counts(); len(asked(web)) != want || n.GivenUp != int64(10-want) {
				t.Errorf("MaxRequests %d: the servers received %v, and Counts() = %v; want %d requests and GivenUp %d", most, asked(web), n, want, 10-want)
			}
		})
	}
}

func TestCrawlDelayOfHoursIsPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := new(robotstest.Internet)
		web.Handle("patient.example", robotsText("User-agent: *\nCrawl-delay: 3600"))
		c := colly.NewCollector(colly.Async())
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)})
		ext.PutBack = true
		for page := range 5 {
			c.Visit(fmt.Sprintf("http://patient.example/%d", page))
		}
		c.Wait()
		if got := len(asked(web)); got != 5 {
			t.Errorf("%d pages were fetched, want 5", got)
		}
		wantPace(t, web, "patient.example", time.Hour)
		if n := ext.Counts(); n.PutBack != 4 || n.Waited > time.Minute {
			t.Errorf("Counts() = %v, want PutBack 4 and Waited at most 1m0s", n)
		}
	})
}

// moved returns a site whose page /old redirects to /new, and /new to /newest.
func moved(crawlDelay int) *robotstest.Internet {
	web := new(robotstest.Internet)
	mux := http.NewServeMux()
	mux.Handle("/robots.txt", robotsText(fmt.Sprintf("User-agent: *\nCrawl-delay: %d", crawlDelay)))
	mux.Handle("/old", http.RedirectHandler("/new", http.StatusFound))
	mux.Handle("/new", http.RedirectHandler("https://moved.example/newest", http.StatusMovedPermanently))
	mux.HandleFunc("/newest", func(http.ResponseWriter, *http.Request) {})
	web.Handle("moved.example", mux)
	return web
}

// A redirect to the same host waits for the host's interval, whatever MaxWait
// is, because a repeat of the request would only be redirected again.
func TestPutBackFollowsRedirectsOnTheirHost(t *testing.T) {
	for _, wait := range []time.Duration{-1, time.Second, 0} {
		for _, async := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				web := moved(20)
				c := colly.NewCollector(colly.Async(async), colly.AllowURLRevisit())
				ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: &politeness.Limiter{MaxWait: wait}})
				ext.PutBack = true
				var got notes
				c.OnResponse(func(r *colly.Response) { got.add(r.Request.URL.Path) })
				for page := range 3 {
					c.Visit(fmt.Sprintf("http://moved.example/old?%d", page))
				}
				ext.Wait()
				if want := []string{"/newest", "/newest", "/newest"}; !slices.Equal(got.sorted(), want) || len(asked(web)) != 9 {
					t.Errorf("MaxWait %v, async %v: OnResponse received %v, and the servers %v; want %v, and 9 requests", wait, async, got.sorted(), asked(web), want)
				}
				wantPace(t, web, "moved.example", 20*time.Second)
			})
		}
	}
}

// The target of a redirect is not due, so the request is put back. The repeat
// begins with the redirect again. The target is fetched when it is due.
func TestPutBackRepeatsWhatIsRefusedAfterARedirect(t *testing.T) {
	for name, tt := range map[string]struct {
		limiter    *politeness.Limiter
		crawlDelay int
		retryAfter string // of the first response to /old
		busy       bool   // another page's response is a 429 while the redirect's target waits
		pages      int
	}{
		"the redirect says Retry-After":     {&politeness.Limiter{MaxWait: 3 * time.Second}, 0, "120", false, 1},
		"the same, and no request waits":    {&politeness.Limiter{MaxWait: -1}, 0, "120", false, 1},
		"the host refuses another page":     {&politeness.Limiter{MaxWait: 3 * time.Second}, 0, "", true, 1},
		"a daily Budget":                    {&politeness.Limiter{Budget: politeness.Budget{Requests: 4}}, 0, "", false, 4},
		"a Crawl-delay that is waited for":  {&politeness.Limiter{MaxWait: -1, MaxCrawlDelay: time.Hour}, 90, "", false, 2},
		"more redirects than the wait lets": {&politeness.Limiter{MaxWait: 3 * time.Second}, 1, "", false, 300},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := new(robotstest.Internet)
				var old, busy atomic.Int32
				mux := http.NewServeMux()
				mux.Handle("/robots.txt", robotsText(fmt.Sprintf("User-agent: *\nCrawl-delay: %d", tt.crawlDelay)))
				mux.HandleFunc("/old", func(w http.ResponseWriter, r *http.Request) {
					if old.Add(1) == 1 {
						w.Header().Set("Retry-After", tt.retryAfter)
					}
					http.Redirect(w, r, "/new?"+r.URL.RawQuery, http.StatusFound)
				})
				mux.HandleFunc("/new", func(http.ResponseWriter, *http.Request) {})
				mux.HandleFunc("/busy", func(w http.ResponseWriter, r *http.Request) {
					if busy.Add(1) == 1 {
						w.Header().Set("Retry-After", "120")
						w.WriteHeader(http.StatusTooManyRequests)
					}
				})
				web.Handle("moved.example", mux)
				c := colly.NewCollector(colly.Async())
				ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: tt.limiter})
				ext.PutBack, ext.RetryThrottled = true, 3
				var got notes
				c.OnResponse(func(r *colly.Response) { got.add(r.Request.URL.String()) })
				want := tt.pages
				for i := range tt.pages {
					c.Visit(fmt.Sprintf("http://moved.example/old?%d", i))
				}
				if tt.busy {
					time.Sleep(100 * time.Millisecond)
					c.Visit("http://moved.example/busy")
					want++
				}
				ext.Wait()
				if len(got.sorted()) != want {
					t.Errorf("OnResponse received %v, want %d responses; Counts() = %v", got.sorted(), want, ext.Counts())
				}
			})
		})
	}
}

// A request that is put back before it was sent is checked like a first
// attempt: a redirect to a page that was visited in the meantime is not
// followed.
func TestPutBackRedirectsToAVisitedPage(t *testing.T) {
	for _, revisit := range []bool{false, true} {
		for _, async := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				web := new(robotstest.Internet)
				mux := http.NewServeMux()
				mux.Handle("/robots.txt", robotsText("User-agent: *\nCrawl-delay: 20"))
				mux.HandleFunc("/first", func(http.ResponseWriter, *http.Request) {})
				mux.Handle("/old", http.RedirectHandler("http://new.example/page", http.StatusFound))
				web.Handle("old.example", mux)
				web.Handle("new.example", robotsText(""))
				c := colly.NewCollector(colly.Async(async))
				c.AllowURLRevisit = revisit
				ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: neverWait(time.Second)})
				ext.PutBack = true
				var visited notes
				c.OnError(func(r *colly.Response, err error) {
					if _, ok := errors.AsType[*colly.AlreadyVisitedError](err); ok {
						visited.add(r.Request.URL.Path)
					}
				})
				for _, target := range []string{"http://old.example/first", "http://old.example/old", "http://new.example/page"} {
					c.Visit(target)
					time.Sleep(3 * time.Second)
				}
				ext.Wait()
				got := asked(web)
				slices.Sort(got)
				want := []string{"GET http://new.example/page", "GET http://old.example/first", "GET http://old.example/old"}
				if revisit {
					want = slices.Insert(want, 0, want[0])
				}
				if !slices.Equal(got, want) {
					t.Errorf("async %v, revisit %v: the servers received %v, want %v", async, revisit, got, want)
				}
				if n := len(visited.sorted()); (n == 1) == revisit || ext.Counts().Lost != 0 {
					t.Errorf("async %v, revisit %v: OnError received %d AlreadyVisitedErrors, and Counts() = %v; want 1, or 0 with revisit, and Lost 0", async, revisit, n, ext.Counts())
				}
			})
		}
	}
}

// If a request that the program repeats is put back, it is still treated as a
// Retry: its redirects may lead to visited pages.
func TestPutBackOfARetryMayFollowItsRedirectAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := new(robotstest.Internet)
		var tries atomic.Int32
		mux := http.NewServeMux()
		mux.Handle("/robots.txt", robotsText(""))
		mux.Handle("/old", http.RedirectHandler("/new", http.StatusFound))
		mux.HandleFunc("/new", func(w http.ResponseWriter, r *http.Request) {
			if tries.Add(1) == 1 {
				robotstest.Reset("").ServeHTTP(w, r)
			}
		})
		web.Handle("a.example", mux)
		c := colly.NewCollector()
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: neverWait(time.Second)})
		ext.PutBack = true
		c.OnError(func(r *colly.Response, err error) {
			if _, ok := errors.AsType[*colly.AlreadyVisitedError](err); !ok {
				r.Request.Retry()
			}
		})
		var got notes
		c.OnResponse(func(r *colly.Response) { got.add(r.Request.URL.Path) })
		c.Visit("http://a.example/old")
		ext.Wait()
		if n := ext.Counts(); !slices.Equal(got.sorted(), []string{"/new"}) || n.PutBack < 2 || n.Lost != 0 {
			t.Errorf("OnResponse received %v, and Counts() = %v; want [/new], PutBack at least 2 and Lost 0; requests: %v", got.sorted(), n, asked(web))
		}
	})
}

// Once a page that was put back has been fetched, a Retry of it is treated as
// in plain colly: its redirects may lead to visited pages.
func TestRetryOfAPageThatWasPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := new(robotstest.Internet)
		var tries atomic.Int32
		mux := http.NewServeMux()
		mux.Handle("/robots.txt", robotsText(""))
		mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) {})
		mux.HandleFunc("/page", func(w http.ResponseWriter, r *http.Request) {
			if tries.Add(1) == 1 {
				io.WriteString(w, "log in first")
				return
			}
			http.Redirect(w, r, "/", http.StatusFound)
		})
		web.Handle("a.example", mux)
		c := colly.NewCollector()
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: neverWait(time.Second)})
		ext.PutBack = true
		c.OnResponse(func(r *colly.Response) {
			if len(r.Body) > 0 {
				time.Sleep(2 * time.Second)
				r.Request.Retry()
			}
		})
		c.Visit("http://a.example/")
		c.Visit("http://a.example/page")
		ext.Wait()
		wantAsked(t, web, "GET http://a.example/", "GET http://a.example/page", "GET http://a.example/page", "GET http://a.example/")
	})
}

// If each repeat is refused after the same redirect, the extension gives up.
func TestPutBackGivesUpCirclesOfRedirects(t *testing.T) {
	t.Parallel()
	site := func(robots string, redirects map[string]string) http.Handler {
		mux := http.NewServeMux()
		mux.Handle("/robots.txt", robotsText(robots))
		for path, target := range redirects {
			mux.Handle(path, http.RedirectHandler(target, http.StatusFound))
		}
		return mux
	}
	const hourly = "User-agent: *\nCrawl-delay: 3600"
	for name, tt := range map[string]struct {
		key   func(context.Context, *url.URL) (string, error)
		sites map[string]http.Handler
	}{
		"on one host": {nil, map[string]http.Handler{"a.example": site(hourly, map[string]string{"/old": "/new"})}},
		"by way of another host": {nil, map[string]http.Handler{
			"a.example":       site(hourly, map[string]string{"/old": "http://consent.example/"}),
			"consent.example": site("", map[string]string{"/": "http://a.example/new"}),
		}},
		"within a domain that has one pace": {politeness.DomainKey, map[string]http.Handler{
			"a.example":     site(hourly, map[string]string{"/old": "http://www.a.example/new"}),
			"www.a.example": site(hourly, nil),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := new(robotstest.Internet)
				for host, h := range tt.sites {
					web.Handle(host, h)
				}
				c := colly.NewCollector()
				ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: &politeness.Limiter{Key: tt.key}})
				ext.PutBack = true
				var failed error
				c.OnError(func(_ *colly.Response, err error) { failed = err })
				c.Visit("http://a.example/old")
				ext.Wait()
				if n := ext.Counts(); n.GivenUp != 1 || n.PutBack != 4 || n.Lost != 1 {
					t.Errorf("Counts() = %v, want GivenUp 1, PutBack 4 and Lost 1; requests: %v", n, asked(web))
				}
				if delay, ok := errors.AsType[*politeness.DelayError](failed); !ok || delay.Reason != politeness.ReasonCrawlDelay {
					t.Errorf("OnError received %v, want a DelayError for the Crawl-delay", failed)
				}
			})
		})
	}
}

// Without PutBack and RetryThrottled, the extension repeats no request, so it
// gives none up. A program that retries a request whose redirect is refused
// each time used to be counted in GivenUp at the fifth refusal.
func TestGivenUp_RetriesOfTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mux := http.NewServeMux()
		mux.Handle("/robots.txt", robotsText("User-agent: *\nCrawl-delay: 3600"))
		mux.Handle("/old", http.RedirectHandler("/new", http.StatusFound))
		web := new(robotstest.Internet)
		web.Handle("a.example", mux)
		c := colly.NewCollector()
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)})
		refusals := 0
		c.OnError(func(r *colly.Response, err error) {
			delay, ok := errors.AsType[*politeness.DelayError](err)
			if !ok {
				t.Errorf("OnError received %v, want a *politeness.DelayError", err)
				return
			}
			time.Sleep(time.Until(delay.Until))
			refusals++
			if refusals < 7 {
				r.Request.Retry()
			}
		})
		c.Visit("http://a.example/old")
		if n := ext.Counts(); refusals != 7 || n.GivenUp != 0 {
			t.Errorf("after %d refusals, Counts().GivenUp = %d; want 7 refusals and 0", refusals, n.GivenUp)
		}
	})
}

func TestPutBackEndsWithTheContext(t *testing.T) {
	for _, async := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			web := new(robotstest.Internet)
			web.Handle("slow.example", robotsText("User-agent: *\nCrawl-delay: 3600"))
			ctx, cancel := context.WithCancel(t.Context())
			c := colly.NewCollector(colly.Async(async), colly.StdlibContext(ctx))
			ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)})
			ext.PutBack = true
			var last notes
			c.OnError(func(r *colly.Response, err error) {
				if errors.Is(err, context.Canceled) {
					last.add(r.Request.URL.Path)
				}
			})
			for page := range 4 {
				c.Visit(fmt.Sprintf("http://slow.example/%d", page))
			}
			time.AfterFunc(time.Minute, cancel)
			start := time.Now()
			ext.Wait()
			if took := time.Since(start); took > time.Minute {
				t.Errorf("async %v: Wait returned %v after the start, want at most 1m0s", async, took)
			}
			if got := last.sorted(); len(got) != 3 {
				t.Errorf("async %v: OnError received context.Canceled for %v, want 3 pages", async, got)
			}
		})
	}
}

func TestThousandHostsKeepTheirOwnPace(t *testing.T) {
	t.Parallel()
	const hosts, pages = 1000, 4
	synctest.Test(t, func(t *testing.T) {
		web := new(robotstest.Internet)
		c := colly.NewCollector(colly.Async())
		attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)})
		for i := range hosts {
			web.Handle(fmt.Sprintf("h%d.example", i), robotsText(fmt.Sprintf("User-agent: *\nCrawl-delay: %d", i%10)))
			for page := range pages {
				c.Visit(fmt.Sprintf("http://h%d.example/%d", i, page))
			}
		}
		start := time.Now()
		c.Wait()
		if got := len(asked(web)); got != hosts*pages {
			t.Errorf("%d pages were fetched, want %d", got, hosts*pages)
		}
		// Of the slowest hosts, robots.txt is fetched at 0 s, the first page at
		// 1 s, and the three other pages at intervals of 9 s.
		if took := time.Since(start); took != 28*time.Second {
			t.Errorf("the crawl took %v, want 28s", took)
		}
		last := map[string]time.Time{}
		for _, r := range web.Log() {
			var i int
			fmt.Sscanf(r.Host, "h%d.example", &i)
			interval := max(time.Second, time.Duration(i%10)*time.Second)
			if strings.HasSuffix(r.URL, "/robots.txt") {
				continue
			}
			if at, ok := last[r.Host]; ok && r.Time.Sub(at) < interval {
				t.Errorf("%s was requested %v after the page before it, want at least %v", r.URL, r.Time.Sub(at), interval)
			}
			last[r.Host] = r.Time
		}
	})
}

// Three requests are put back, because their host has a long Crawl-delay. None
// of them can be repeated: one has a body that can be read only once, and the
// repeats of the two others would exceed MaxRequests.
func TestPutBack_GivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := new(robotstest.Internet)
		web.Handle("slow.example", robotsText("User-agent: *\nCrawl-delay: 3600"))
		c := colly.NewCollector(colly.MaxRequests(4))
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)})
		ext.PutBack = true
		c.Visit("http://slow.example/")
		c.Visit("http://slow.example/max-requests")
		c.Request("POST", "http://slow.example/body", io.MultiReader(strings.NewReader("once")), nil, nil)
		c.Visit("http://slow.example/another")
		ext.Wait()
		if s := ext.Counts(); s.PutBack != 3 || s.GivenUp != 3 || s.Fetched != 1 {
			t.Errorf("Counts() = %v, want PutBack 3, GivenUp 3, Fetched 1", s)
		}
	})
}

func TestVisitOfAHostThatIsNotDueIsPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := new(robotstest.Internet)
		web.Handle("a.example", robotsText("")) // http and https: two origins on one host
		c := colly.NewCollector()
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: neverWait(0)})
		ext.PutBack = true
		ext.Visit("http://a.example/")
		ext.Visit("https://a.example/")
		ext.Wait()
		if got := asked(web); len(got) != 2 {
			t.Errorf("the servers received %v, want 2 requests", got)
		}
	})
}

func TestCheckHeadIsFollowedByItsGet(t *testing.T) {
	for _, async := range []bool{false, true} {
		for _, putBack := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				web := busy(http.StatusServiceUnavailable, 1, "5") // the first request gets 503: the HEAD, or a GET that overtakes it
				c := colly.NewCollector(colly.CheckHead(), colly.Async(async))
				ext := attachWithRetries(t, c, web, 3, putBack)
				var got notes
				c.OnResponse(func(r *colly.Response) { got.add(r.Request.Method) })
				c.Visit("http://busy.example/page")
				ext.Wait()
				if !slices.Equal(got.sorted(), []string{"GET", "HEAD"}) {
					t.Errorf("async %v, PutBack %v: OnResponse received responses to %v, want [GET HEAD]; requests: %v", async, putBack, got.sorted(), asked(web))
				}
			})
		}
	}
}

// A site refuses the first HEAD for its page with a 429, and a second one has a
// nofollow header. The extension repeats the HEAD. The GET that follows is a
// request of its own, which is also repeated up to RetryThrottled times.
func TestCheckHeadThatIsThrottledIsFollowedByItsGet(t *testing.T) {
	for _, putBack := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			web := new(robotstest.Internet)
			mux := http.NewServeMux()
			mux.Handle("/robots.txt", robotsText(""))
			requests := make(map[string]int) // by method
			mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
				requests[r.Method]++
				if requests[r.Method] == 1 {
					w.Header().Set("Retry-After", "5")
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				w.Header().Set("X-Robots-Tag", "nofollow")
			})
			web.Handle("busy.example", mux)
			c := colly.NewCollector(colly.CheckHead())
			ext := attachWithRetries(t, c, web, 1, putBack)
			c.Visit("http://busy.example/page")
			ext.Wait()
			wantAsked(t, web, "HEAD http://busy.example/page", "HEAD http://busy.example/page",
				"GET http://busy.example/page", "GET http://busy.example/page")
			if n := ext.Counts(); n.Retried != 2 || n.GivenUp != 0 {
				t.Errorf("PutBack %v: counts %v; want 2 retried, 0 given up", putBack, n)
			}
		})
	}
}

// A program sends a HEAD with a collector that has CheckHead, and the extension
// repeats it. No GET follows, as in plain colly. A GET follows the HEAD that
// Visit has sent, also if it is repeated more than once or if the program
// retries it.
func TestHeadOfTheProgramIsNotFollowedByAGet(t *testing.T) {
	const page = "http://busy.example/page"
	head := func(c *colly.Collector) { c.Head(page) }
	for name, test := range map[string]struct {
		send func(*colly.Collector)
		want []string // requests without PutBack
	}{
		"Head":          {head, []string{"HEAD", "HEAD", "HEAD"}},
		"Visit":         {func(c *colly.Collector) { c.Visit(page) }, []string{"HEAD", "HEAD", "HEAD", "GET"}},
		"Head, Visit":   {func(c *colly.Collector) { head(c); c.Visit(page) }, []string{"HEAD", "HEAD", "HEAD", "HEAD", "GET"}},
		"Request.Do":    {func(c *colly.Collector) { newRequest(c, http.MethodHead, page).Do() }, []string{"HEAD", "HEAD", "HEAD"}},
		"Request.Retry": {func(c *colly.Collector) { newRequest(c, http.MethodHead, page).Retry() }, []string{"HEAD", "HEAD", "HEAD"}},
	} {
		for _, putBack := range []bool{false, true} {
			for _, parseErrors := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/PutBack %v/ParseHTTPErrorResponse %v", name, putBack, parseErrors), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						web := busy(http.StatusTooManyRequests, 2, "5")
						c := colly.NewCollector(colly.CheckHead(), colly.AllowURLRevisit()) // otherwise a second GET is not sent
						c.ParseHTTPErrorResponse = parseErrors
						ext := attachWithRetries(t, c, web, 3, putBack)
						test.send(c)
						ext.Wait()
						var methods []string
						for _, request := range asked(web) {
							method, _, _ := strings.Cut(request, " ")
							methods = append(methods, method)
						}
						if putBack {
							slices.Sort(methods)
							slices.Sort(test.want)
						}
						if !slices.Equal(methods, test.want) {
							t.Errorf("the servers received requests with the methods %v, want %v", methods, test.want)
						}
					})
				})
			}
		}
	}
}

func newRequest(c *colly.Collector, method, target string) *colly.Request {
	stored, err := json.Marshal(map[string]string{"URL": target, "Method": method})
	if err != nil {
		panic(err)
	}
	r, err := c.UnmarshalRequest(stored)
	if err != nil {
		panic(err)
	}
	r.Body = nil
	return r
}

// With PutBack, an asynchronous collector waits for a host before it repeats a
// request. An OnError or OnResponse handler that was registered after Attach
// used to receive the failure only after this wait, and perhaps only after the
// response to the repeat. A handler may change the URL of the failed request.
func TestPutBack_HandlersRunBeforeTheWait(t *testing.T) {
	for _, test := range []struct {
		status int           // of the first response
		delay  time.Duration // of the Limiter
		parse  bool          // ParseHTTPErrorResponse
		cancel bool          // whether the collector's Context is canceled during the wait
		want   []string
	}{
		{429, -1, false, false, []string{"0s OnError 429", "1m0s OnResponse 200"}},
		{503, -1, false, false, []string{"0s OnError 503", "1m0s OnResponse 200"}},
		{429, -1, true, false, []string{"0s OnResponse 429", "1m0s OnResponse 200"}},
		{429, -1, false, true, []string{"0s OnError 429", "30s OnError 0"}},
		// The first request would have to wait, because robots.txt has just
		// been requested.
		{200, time.Minute, false, false, []string{"0s OnError 0", "1m0s OnResponse 200"}},
		{200, time.Minute, false, true, []string{"0s OnError 0", "30s OnError 0"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			c := colly.NewCollector(colly.Async(), colly.StdlibContext(ctx))
			c.ParseHTTPErrorResponse = test.parse
			ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: busy(test.status, 1, "60"), Limiter: neverWait(test.delay)})
			ext.PutBack = true
			ext.RetryThrottled = 1
			var got notes
			start := time.Now()
			record := func(r *colly.Response, handler string) {
				got.add(fmt.Sprint(time.Since(start), " ", handler, " ", r.StatusCode))
				r.Request.URL.Host = "changed.example"
			}
			c.OnError(func(r *colly.Response, _ error) { record(r, "OnError") })
			c.OnResponse(func(r *colly.Response) { record(r, "OnResponse") })
			c.Visit("http://busy.example/page")
			if test.cancel {
				time.AfterFunc(30*time.Second, cancel)
			}
			c.Wait()
			cancel()
			if !slices.Equal(got.sorted(), test.want) {
				t.Errorf("%+v: the handlers were called as %q", test, got.sorted())
			}
		})
	}
}

// An OnError handler changes the URL of a request that the extension puts back.
// The repeat requests the URL of the first attempt.
func TestPutBack_HandlerChangesTheURL(t *testing.T) {
	for _, async := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			web := busy(http.StatusTooManyRequests, 1, "60")
			c := colly.NewCollector()
			c.Async = async
			ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: neverWait(-1)})
			ext.PutBack = true
			ext.RetryThrottled = 1
			c.OnError(func(r *colly.Response, _ error) { r.Request.URL.Host = "changed.example" })
			c.Visit("http://busy.example/page")
			ext.Wait()
			wantAsked(t, web, "GET http://busy.example/page", "GET http://busy.example/page")
		})
	}
}

// An OnError handler reads the body of a POST that the extension puts back. The
// repeat sends the body again.
func TestPutBack_HandlerReadsTheBody(t *testing.T) {
	post := map[string]func(c *colly.Collector) error{
		"Post":    func(c *colly.Collector) error { return c.Post("http://a.example/", map[string]string{"a": "1"}) },
		"PostRaw": func(c *colly.Collector) error { return c.PostRaw("http://a.example/", []byte("a=1")) },
	}
	for name, send := range post {
		for _, async := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				var got string
				web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					if r.URL.Path == "/" {
						got = string(body)
					}
				}))
				c := colly.NewCollector()
				c.Async = async
				// The POST would have to wait, because robots.txt has just been
				// requested.
				ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: &web, Limiter: neverWait(time.Minute)})
				ext.PutBack = true
				c.OnError(func(r *colly.Response, _ error) { io.ReadAll(r.Request.Body) })
				send(c)
				ext.Wait()
				if got != "a=1" {
					t.Errorf("%s, asynchronous %t: the server received the body %q, want %q", name, async, got, "a=1")
				}
			})
		}
	}
}

// While a request that was put back waits for its host, it occupies no slot of
// its LimitRule, so that pages of other hosts are fetched.
func TestPutBack_WaitOccupiesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := busy(http.StatusTooManyRequests, 1, "60")
		web.Handle("other.example", robotsText(""))
		c := colly.NewCollector(colly.Async())
		c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 1})
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: neverWait(-1)})
		ext.PutBack = true
		ext.RetryThrottled = 1
		c.Visit("http://busy.example/page")
		synctest.Wait()
		c.Visit("http://other.example/")
		synctest.Wait()
		wantAsked(t, web, "GET http://busy.example/page", "GET http://other.example/")
		c.Wait()
	})
}

// A page that was put back has been fetched. A Retry of the page is the
// program's, and does not wait behind other requests that are put back.
func TestPutBack_RetryAfterTheRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := busy(http.StatusTooManyRequests, 1, "60")
		c := colly.NewCollector(colly.Async())
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: &politeness.Limiter{Delay: time.Minute}})
		ext.PutBack = true
		ext.RetryThrottled = 1
		var retried atomic.Bool
		c.OnResponse(func(r *colly.Response) {
			if !retried.Swap(true) {
				r.Request.Retry()
				time.Sleep(time.Second) // the host of the first repeat is forgotten
				if n := collyrobots.HostQueues(ext); n != 0 {
					t.Errorf("%d hosts are in hostQueues, want 0", n)
				}
			}
		})
		c.Visit("http://busy.example/page")
		c.Wait()
		wantAsked(t, web, "GET http://busy.example/page", "GET http://busy.example/page", "GET http://busy.example/page")
	})
}
