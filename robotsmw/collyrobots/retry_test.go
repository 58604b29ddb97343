package collyrobots_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
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

// Retries of a refusal end, even if OnError always calls Retry.
func TestRetryOfARefusalEnds(t *testing.T) {
	refusals := []struct {
		name, target string
		hits         int // requests for pages, in all attempts together
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
					t.Errorf("%s, %s: Visit returned no error, want one", refusal.name, kind)
				}
				if got := calls.Load(); got != 1 {
					t.Errorf("%s, %s, async %v: OnError was called %d times, want once", refusal.name, kind, async, got)
				}
				if got := len(asked(web)); got != refusal.hits {
					t.Errorf("%s, %s, async %v: the servers received %v, want %d requests", refusal.name, kind, async, asked(web), refusal.hits)
				}
			}
		}
	}
}

func cut(s string) (method, target string, ok bool) {
	n, _ := fmt.Sscan(s, &method, &target)
	return method, target, n == 2
}

// Each request for a refused URL fails with the error, even if the requests
// share one header map.
func TestARefusalIsSaidEachTime(t *testing.T) {
	t.Parallel()
	web := shop()
	c, ext := polite(t, web, colly.AllowURLRevisit())
	errs := 0
	c.OnError(func(*colly.Response, error) { errs++ })
	header := http.Header{"Accept": {"text/html"}}
	for range 5 {
		if err := c.Request("GET", "http://shop.example/cart", nil, nil, header); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
			t.Errorf("Request of a disallowed page = %v, want ErrRobotsTxtBlocked", err)
		}
		if err := c.Request("GET", "http://shop.example/shoes", nil, nil, header); err != nil {
			t.Error(err)
		}
	}
	if n := ext.Counts().Disallowed; errs != 5 || n != 5 {
		t.Errorf("OnError was called %d times, and Counts().Disallowed = %d; want 5 and 5", errs, n)
	}
}

// After a failure that is not a refusal, Request.Retry repeats the request
// after the delay of the host.
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
				t.Errorf("%s: got %d pages after %d attempts (%v), want 1 page and none lost", failure, got, n.Load(), ext.Counts())
			}
			if took := time.Since(start); took < tries*2*time.Second {
				t.Errorf("%s: %d attempts took %v, want at least %v", failure, n.Load(), took, tries*2*time.Second)
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
			t.Errorf("Counts() = %v, want Lost 0 and Pages 1", n)
		}
	})
}

// OnError of an asynchronous collector holds a lock while it repeats a request,
// for which the extension waits a minute. Retry returns immediately, so that
// the pages of other hosts are not delayed.
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
			t.Errorf("Retry returned after %v, and the page of the other host was fetched after %v; want 1s and 1s", retried, fetched)
		}
		if took := time.Since(start); took < time.Minute {
			t.Errorf("the repeat was made after %v, want at least 1m0s", took)
		}
	})
}

// robotsAnd returns a site without a robots.txt. The given handler serves all
// other paths.
func robotsAnd(others http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/robots.txt", robotstest.Site{})
	mux.Handle("/", others)
	return mux
}

// A crawl whose OnError sleeps and retries ends, however many requests a rule
// disallows, and every allowed page is fetched.
func TestRetriesOfAThousandDisallowedLinksEnd(t *testing.T) {
	const links = 1000
	for _, async := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var page strings.Builder
			site := robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /no/"}
			for i := range links {
				fmt.Fprintf(&page, "<a href=/no/%d>no</a> <a href=/yes/%d>yes</a>", i, i)
				site[fmt.Sprintf("/yes/%d", i)] = "<p>yes"
			}
			site["/"] = page.String()
			web := new(robotstest.Internet)
			web.Handle("a.example", site)
			c, _ := polite(t, web, colly.Async(async))
			var calls, wrong atomic.Int32
			c.OnError(func(r *colly.Response, err error) {
				calls.Add(1)
				time.Sleep(time.Second)
				if again := r.Request.Retry(); !errors.Is(again, colly.ErrRobotsTxtBlocked) {
					wrong.Add(1)
				}
			})
			c.OnHTML("a[href]", follow)
			c.Visit("http://a.example/")
			c.Wait()
			if n := calls.Load(); n != links {
				t.Errorf("async %v: OnError was called %d times, want %d", async, n, links)
			}
			if n := wrong.Load(); n != 0 {
				t.Errorf("async %v: %d Retries did not return ErrRobotsTxtBlocked, want 0", async, n)
			}
			if n := len(asked(web)); n != links+1 {
				t.Errorf("async %v: %d pages were fetched, want %d", async, n, links+1)
			}
		})
	}
}

// robotsFailingFor returns a site that responds with 503 to requests for
// robots.txt during the given time.
func robotsFailingFor(d time.Duration) *robotstest.Internet {
	web := new(robotstest.Internet)
	start := time.Now()
	web.Handle("a.example", withRobots(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if time.Since(start) < d {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})))
	return web
}

// If a refusal is temporary, a Retry waits until the time in the error, however
// often the request is repeated.
func TestRetryWaitsForWhatTimeHeals(t *testing.T) {
	for _, body := range []string{"", "a=b"} {
		for _, async := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				web := robotsFailingFor(10 * time.Second)
				c, ext := polite(t, web, colly.Async(async))
				tries := 0
				c.OnError(func(r *colly.Response, err error) {
					if tries++; tries <= 8 {
						time.Sleep(2 * time.Second)
						if err := r.Request.Retry(); err != nil {
							t.Error(err)
						}
					}
				})
				var got string
				c.OnResponse(func(r *colly.Response) { got = string(r.Body) })
				if body == "" {
					c.Visit("http://a.example/page")
				} else {
					c.PostRaw("http://a.example/page", []byte(body))
				}
				c.Wait()
				if got == "" || ext.Counts().Lost != 0 {
					t.Errorf("async %v, body %q: after %d failures, OnResponse received %q, and Counts() = %v; want a page and Lost 0", async, body, tries, got, ext.Counts())
				}
				for _, r := range web.Log() {
					if r.Method == "POST" && r.Header.Get("Content-Length") != "" && r.Header.Get("Content-Length") != "3" {
						t.Errorf("a POST was sent with the header %v, want no Content-Length or 3", r.Header)
					}
				}
			})
		}
	}
}

// A job has a deadline. A Retry of a page that may only be requested after the
// deadline returns the error at once, so that the other pages of the job can
// still be fetched.
func TestRetryBeyondTheDeadline(t *testing.T) {
	for name, text := range map[string]string{"unreachable": "", "Crawl-delay": "User-agent: *\nCrawl-delay: 30\n"} {
		synctest.Test(t, func(t *testing.T) {
			web := shop()
			web.Handle("slow.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" && text == "" {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				io.WriteString(w, text)
			}))
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			c := colly.NewCollector(colly.StdlibContext(ctx))
			attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)})
			var retried []error
			c.OnError(func(r *colly.Response, _ error) {
				if ctx.Err() != nil {
					return
				}
				time.Sleep(time.Second)
				retried = append(retried, r.Request.Retry())
			})
			c.Visit("http://slow.example/1")
			err := c.Visit("http://slow.example/2")
			if len(retried) == 0 {
				t.Fatalf("%s: Visit = %v, and OnError was not called", name, err)
			}
			for _, got := range retried {
				if _, isDelayed := errors.AsType[*politeness.DelayError](got); !isDelayed && !errors.Is(got, robotsmw.ErrUnreachable) {
					t.Errorf("%s: Retry = %v, want a DelayError or an ErrUnreachable", name, got)
				}
			}
			if ctx.Err() != nil {
				t.Errorf("%s: a Retry has returned only after the deadline of the job, want at once", name)
			}
			if err := c.Visit("http://shop.example/shoes"); err != nil {
				t.Errorf("%s: Visit of another host = %v, want nil", name, err)
			}
		})
	}
}

// The Limiter refuses requests that would have to wait. A Retry of such a
// request waits until the host is due.
func TestRetryWaitsForTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := new(robotstest.Internet)
		web.Handle("a.example", robotsText(""))
		c := colly.NewCollector(colly.Async())
		attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: neverWait(5 * time.Second)})
		var mu sync.Mutex
		tries := map[string]int{}
		c.OnError(func(r *colly.Response, err error) {
			mu.Lock()
			tries[r.Request.URL.Path]++
			n := tries[r.Request.URL.Path]
			mu.Unlock()
			if n <= 20 {
				time.Sleep(200 * time.Millisecond)
				r.Request.Retry()
			}
		})
		for i := range 4 {
			c.Visit(fmt.Sprintf("http://a.example/%d", i))
		}
		c.Wait()
		if got := len(asked(web)); got != 4 {
			t.Errorf("%d pages were fetched, want 4", got)
		}
		wantPace(t, web, "a.example", 5*time.Second)
	})
}

// A Retry immediately after a refusal returns the refusal, and does not change
// the request.
func TestRetryAtOnceTellsTheRefusal(t *testing.T) {
	for _, target := range []string{"http://down.example/", "http://shop.example/cart"} {
		web := shop()
		web.Handle("down.example", withRobots(robotstest.Status(503)))
		c, _ := polite(t, web)
		var retryErr error
		before := ""
		c.OnRequest(func(r *colly.Request) { before = fmt.Sprint(r.URL, *r.Headers, r.Depth, r.Method) })
		c.OnError(func(r *colly.Response, err error) {
			retryErr = r.Request.Retry()
			if after := fmt.Sprint(r.Request.URL, *r.Request.Headers, r.Request.Depth, r.Request.Method); after != before {
				t.Errorf("after the Retry, the request is %s, want it unchanged: %s", after, before)
			}
		})
		c.Visit(target)
		if !errors.Is(retryErr, colly.ErrRobotsTxtBlocked) {
			t.Errorf("%s: Retry returned %v, want ErrRobotsTxtBlocked", target, retryErr)
		}
	}
}

// A request that the extension repeats itself is sent once, even if an OnError
// handler repeats every failed request. The Retry then returns the error that
// OnError received.
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
			var failed, retried notes
			handler := func(r *colly.Response, err error) {
				failed.add(err.Error())
				if len(failed.sorted()) > 50 {
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
				t.Errorf("%+v: the servers received %v, want %v", o, got, want)
			}
			if len(failed.sorted()) == 0 || len(retried.sorted()) > 0 {
				t.Errorf("%+v: OnError received the errors %q, and the Retries returned the other errors %q; want at least one and none", o, failed.sorted(), retried.sorted())
			}
		})
	}
}

// Once the extension has given up, a Retry of the program is sent.
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
			t.Errorf("Counts() = %v, want Pages 4, Lost 0, Retried 2 and GivenUp 1", n)
		}
	})
}

// The URL has a user name, so the http.Client sends a copy of the request. The
// connection of the first attempt is reset, and the response to the Retry is a
// 307. The redirect is followed, because the repeat has no body.
func TestRetryOfAURLWithAUserNameFollowsA307(t *testing.T) {
	for _, trace := range []bool{false, true} {
		web := new(robotstest.Internet)
		var tries atomic.Int32
		mux := http.NewServeMux()
		mux.Handle("/robots.txt", http.NotFoundHandler())
		mux.HandleFunc("/old", func(w http.ResponseWriter, r *http.Request) {
			if tries.Add(1) == 1 {
				robotstest.Reset("").ServeHTTP(w, r)
				return
			}
			http.Redirect(w, r, "/new", http.StatusTemporaryRedirect)
		})
		mux.HandleFunc("/new", func(http.ResponseWriter, *http.Request) {})
		web.Handle("a.example", mux)
		c, _ := polite(t, web)
		c.TraceHTTP = trace
		var got []string
		c.OnResponse(func(r *colly.Response) { got = append(got, r.Request.URL.Path) })
		c.OnError(func(r *colly.Response, err error) {
			if r.StatusCode == 0 {
				r.Request.Retry()
			}
		})
		c.Visit("http://user:password@a.example/old")
		if !slices.Equal(got, []string{"/new"}) {
			t.Errorf("trace %v: OnResponse received %v, want [/new]; requests: %v", trace, got, asked(web))
		}
	}
}

// A program has the OnError handler of the package doc. Its first request for a
// page fails: the response to robots.txt is a 503, the response to the page is
// a 500, the connection is reset, or the host is not due. The page must be
// fetched nevertheless. The handler used to call Retry immediately, which only
// returned the error, so that the page was never requested.
func TestRetryInOnErrorAsInTheDoc(t *testing.T) {
	for name, tt := range map[string]struct {
		path    string // whose first response is a failure; "" means none
		failure http.Handler
		wait    time.Duration // Limiter.MaxWait
	}{
		"robots.txt is unreachable": {"/robots.txt", robotstest.Status(http.StatusServiceUnavailable), 0},
		"500":                       {"/page", robotstest.Status(http.StatusInternalServerError), 0},
		"503":                       {"/page", robotstest.Status(http.StatusServiceUnavailable), 0},
		"reset":                     {"/page", robotstest.Reset(""), 0},
		"the host is not due":       {"", nil, -1},
	} {
		for _, async := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				web := new(robotstest.Internet)
				site := robotsText("")
				failed := false
				web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == tt.path && !failed {
						failed = true
						tt.failure.ServeHTTP(w, r)
						return
					}
					site.ServeHTTP(w, r)
				}))
				c := colly.NewCollector(colly.Async(async))
				limiter := &politeness.Limiter{MaxWait: tt.wait}
				ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: limiter})
				c.OnError(func(r *colly.Response, err error) {
					if errors.Is(err, colly.ErrRobotsTxtBlocked) && !errors.Is(err, robotsmw.ErrUnreachable) {
						return // a rule or RefuseAddress forbids it, and that is final
					}
					isClientError := r.StatusCode >= 400 && r.StatusCode < 500
					if isClientError && r.StatusCode != http.StatusProxyAuthRequired {
						return // a Retry would get the same response; a 407 is from one proxy
					}
					if ext.WillRepeat(r.Request) {
						return // the extension repeats the request
					}
					key := "tries of " + r.Request.URL.String()
					tries, _ := r.Ctx.GetAny(key).(int)
					if tries == 3 {
						return
					}
					r.Ctx.Put(key, tries+1)
					time.Sleep(time.Second) // at least 100 ms
					if err := r.Request.Retry(); err != nil {
						t.Log(err)
					}
				})
				var got notes
				c.OnResponse(func(r *colly.Response) { got.add(r.Request.URL.Path) })
				c.Visit("http://a.example/page")
				c.Wait()
				if !slices.Equal(got.sorted(), []string{"/page"}) {
					t.Errorf("%s, async %v: OnResponse received %v, want [/page]; requests: %v", name, async, got.sorted(), asked(web))
				}
			})
		}
	}
}
