package collyrobots_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"runtime"
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
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A proxy that is set later changes the proxy alone. The rest of the program's
// transport stays: here, the header that its CONNECT requests carry.
func TestSetProxyKeepsTheTransport(t *testing.T) {
	for name, set := range map[string]func(c *colly.Collector, proxy string){
		"SetProxy": func(c *colly.Collector, proxy string) { c.SetProxy(proxy) },
		"SetProxyFunc": func(c *colly.Collector, proxy string) {
			c.SetProxyFunc(func(*http.Request) (*url.URL, error) { return url.Parse(proxy) })
		},
		"SetProxy on a clone, twice": func(c *colly.Collector, proxy string) {
			c.Clone().SetProxy("http://127.0.0.1:1")
			c.Clone().SetProxy(proxy)
		},
	} {
		var dialled atomic.Int32
		users := &http.Transport{MaxResponseHeaderBytes: 12345}
		users.DialContext = httpDialer(&dialled)
		web := shop()
		c := colly.NewCollector()
		c.WithTransport(users)
		attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: unpaced()})
		set(c, newProxy(t, web))
		if err := c.Visit("http://shop.example/shoes"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wantAsked(t, web, "GET http://shop.example/shoes")
		if dialled.Load() == 0 {
			t.Errorf("%s: the program's own DialContext was not asked", name)
		}
		if users.Proxy != nil || users.DisableKeepAlives {
			t.Errorf("%s: the program's own transport was changed", name)
		}
	}
}

func httpDialer(dialled *atomic.Int32) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}
}

// An OnError that sleeps and retries comes to an end, however many requests a
// rule refuses, and every allowed page is fetched.
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
				t.Errorf("async %v: OnError was called %d times for %d links", async, n, links)
			}
			if n := wrong.Load(); n != 0 {
				t.Errorf("async %v: %d Retries did not tell of the refusal", async, n)
			}
			if n := len(asked(web)); n != links+1 {
				t.Errorf("async %v: %d pages were fetched", async, n)
			}
		})
	}
}

// robotsFailingFor answers robots.txt with 503 for a time.
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

// A refusal that time heals: a Retry that comes later waits until the time that
// the error names, however often.
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
					t.Errorf("async %v, body %q: the page was not fetched in %d tries: %v", async, body, tries, ext.Counts())
				}
				for _, r := range web.Log() {
					if r.Method == "POST" && r.Header.Get("Content-Length") != "" && r.Header.Get("Content-Length") != "3" {
						t.Errorf("the body was sent as %v", r.Header)
					}
				}
			})
		}
	}
}

// Requests that a Limiter refuses because they would have to wait.
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
			t.Errorf("%d of 4 pages were fetched", got)
		}
		wantPace(t, web, "a.example", 5*time.Second)
	})
}

// What an unconditional Retry tells is the refusal.
func TestRetryAtOnceTellsTheRefusal(t *testing.T) {
	for _, target := range []string{"http://down.example/", "http://shop.example/cart"} {
		web := shop()
		web.Handle("down.example", withRobots(robotstest.Status(503)))
		c, _ := polite(t, web)
		var told error
		before := ""
		c.OnRequest(func(r *colly.Request) { before = fmt.Sprint(r.URL, *r.Headers, r.Depth, r.Method) })
		c.OnError(func(r *colly.Response, err error) {
			told = r.Request.Retry()
			if after := fmt.Sprint(r.Request.URL, *r.Request.Headers, r.Request.Depth, r.Request.Method); after != before {
				t.Errorf("the request was %s, and is %s", before, after)
			}
		})
		c.Visit(target)
		if !errors.Is(told, colly.ErrRobotsTxtBlocked) {
			t.Errorf("%s: Retry told %v", target, told)
		}
	}
}

// A refused request that goes back into a queue keeps its body.
func TestRefusedRequestCanBeQueued(t *testing.T) {
	c, _ := polite(t, shop(), colly.AllowURLRevisit())
	q, err := queue.New(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	added := false
	c.OnError(func(r *colly.Response, err error) {
		if !added {
			added = true
			q.AddRequest(r.Request)
		}
	})
	var body []byte
	c.PostRaw("http://shop.example/cart", []byte("a=b"))
	c.OnRequest(func(r *colly.Request) { body, _ = io.ReadAll(r.Body) })
	q.Run(c)
	if string(body) != "a=b" {
		t.Errorf("the queue got the body %q", body)
	}
}

// Follow and Visit ask robots.txt only of hosts that the collector would visit.
// For the others, they return colly's own errors.
func TestFollowAsksCollyFirst(t *testing.T) {
	web := new(robotstest.Internet)
	page := "<a href=/again>again</a> <a href=/seen>seen</a> <a href=/filtered>filtered</a>"
	for i := range 20 {
		host := fmt.Sprintf("h%d.example", i)
		web.Handle(host, robotsText(""))
		page += fmt.Sprintf("<a href=http://%s/>foreign</a>", host)
	}
	web.Handle("a.example", robotstest.Site{"/": page, "/again": "<a href=/deep>deep</a>", "/deep": "<p>", "/seen": "<p>"})
	c, ext := polite(t, web, colly.AllowedDomains("a.example"), colly.MaxDepth(2))
	c.DisallowedURLFilters = append(c.DisallowedURLFilters, regexp.MustCompile("filtered"))
	c.Visit("http://a.example/seen")
	var notes notes
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		err := ext.Follow(e)
		_, visited := errors.AsType[*colly.AlreadyVisitedError](err)
		switch {
		case errors.Is(err, colly.ErrForbiddenDomain):
			notes.add("domain")
		case errors.Is(err, colly.ErrForbiddenURL):
			notes.add("filter")
		case errors.Is(err, colly.ErrMaxDepth):
			notes.add("depth")
		case visited:
			notes.add("visited")
		case err != nil:
			t.Errorf("%s: %v", e.Text, err)
		}
	})
	c.Visit("http://a.example/")
	if got := slices.Compact(notes.sorted()); !slices.Equal(got, []string{"depth", "domain", "filter", "visited"}) || len(notes.list) != 23 {
		t.Errorf("refused: %v", notes.sorted())
	}
	if n := robotsFetches(web); n != 1 {
		t.Errorf("robots.txt was fetched %d times", n)
	}
	if err := ext.Visit("http://h1.example/"); !errors.Is(err, colly.ErrForbiddenDomain) || robotsFetches(web) != 1 {
		t.Errorf("Visit: %v, and %d fetches of robots.txt", err, robotsFetches(web))
	}
}

// A collector that allows revisits visits a URL again.
func TestVisitOfAVisitedURL(t *testing.T) {
	web := shop()
	c, ext := polite(t, web, colly.AllowURLRevisit())
	c.OnHTML("a[href='/shoes']", func(e *colly.HTMLElement) {
		for range 2 {
			if err := ext.Follow(e); err != nil {
				t.Error(err)
			}
		}
	})
	c.Clone().Visit("http://shop.example/")
	for range 2 {
		if err := ext.Visit("http://shop.example/#top"); err != nil {
			t.Error(err)
		}
	}
	if got := asked(web); len(got) != 7 {
		t.Errorf("asked for %v", got)
	}
	c.AllowURLRevisit = false
	if err := ext.Visit("http://shop.example/shoes"); err != nil {
		t.Error(err)
	}
	err := ext.Visit("http://shop.example/shoes")
	if _, ok := errors.AsType[*colly.AlreadyVisitedError](err); !ok {
		t.Errorf("without revisits: %v", err)
	}
	c.AllowURLRevisit = true
	if err := ext.Visit("http://shop.example/shoes"); err != nil {
		t.Error(err)
	}
}

// No loop of refusals spins: not a Visit in OnError, nor a queue that gets the
// request back, nor a Retry on a clone that was not added.
func TestLoopsOfRefusalsDoNotSpin(t *testing.T) {
	loops := map[string]func(t *testing.T, c *colly.Collector, round func() bool){
		"Visit in OnError": func(t *testing.T, c *colly.Collector, round func() bool) {
			c.OnError(func(r *colly.Response, err error) {
				if round() {
					c.Visit(r.Request.URL.String())
				}
			})
			c.Visit("http://shop.example/cart")
		},
		"a queue": func(t *testing.T, c *colly.Collector, round func() bool) {
			q, err := queue.New(1, nil)
			if err != nil {
				t.Fatal(err)
			}
			c.OnError(func(r *colly.Response, err error) {
				if round() {
					q.AddURL(r.Request.URL.String())
				}
			})
			q.AddURL("http://shop.example/cart")
			q.Run(c)
		},
		"Retry on a bare clone": func(t *testing.T, c *colly.Collector, round func() bool) {
			d := c.Clone()
			d.OnError(func(r *colly.Response, err error) {
				if round() {
					r.Request.Retry()
				}
				if got := r.Request.URL.String(); got != "http://shop.example/cart" {
					t.Errorf("the URL is %s", got)
				}
			})
			d.Visit("http://shop.example/cart")
		},
	}
	for name, loop := range loops {
		for _, delay := range []time.Duration{0, -1} {
			synctest.Test(t, func(t *testing.T) {
				web := shop()
				c := colly.NewCollector(colly.AllowURLRevisit())
				attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: &politeness.Limiter{Delay: delay}})
				start, rounds := time.Now(), 0
				loop(t, c, func() bool { rounds++; return time.Since(start) < 5*time.Second && rounds < 10000 })
				most := 8
				if delay < 0 {
					most = 53
				}
				if rounds > most || rounds < 4 {
					t.Errorf("%s, Delay %v: %d rounds in 5 s", name, delay, rounds)
				}
			})
		}
	}
}

// A refused link that each page has costs nothing.
func TestALinkThatEachPageHasCostsNothing(t *testing.T) {
	const pages = 50
	synctest.Test(t, func(t *testing.T) {
		site := robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /cart"}
		for i := range pages {
			site[fmt.Sprintf("/%d", i)] = fmt.Sprintf("<a href=/cart>cart</a> <a href=/%d>next</a>", i+1)
		}
		web := new(robotstest.Internet)
		web.Handle("a.example", site)
		c := colly.NewCollector(colly.AllowURLRevisit())
		attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)})
		c.OnHTML("a[href]", follow)
		start := time.Now()
		c.Visit("http://a.example/0")
		if took := time.Since(start); took != (pages+1)*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// A host that is paused for over a minute is named in the log, once a pause.
func TestLongPausesAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var log strings.Builder
		web := busy(http.StatusTooManyRequests, 1, "3600")
		c := colly.NewCollector(colly.Async())
		attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter),
			Logger: slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, nil))})
		c.Visit("http://busy.example/first")
		c.Wait()
		for i := range 3 {
			c.Visit(fmt.Sprintf("http://busy.example/%d", i))
		}
		time.Sleep(time.Second)
		mu.Lock()
		got := log.String()
		mu.Unlock()
		if strings.Count(got, "level=INFO") != 1 || !strings.Contains(got, "host=busy.example") || !strings.Contains(got, "reason=back-off") ||
			!strings.Contains(got, "until=2000-01-01T01:00:01") {
			t.Errorf("the log has\n%s", got)
		}
		c.Wait()
	})
}

// The program's own Delay is no pause, however long it is.
func TestLongDelaysAreNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		web := new(robotstest.Internet)
		web.Handle("a.example", robotsText(""))
		c := colly.NewCollector()
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: neverWait(2 * time.Minute),
			Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ext.PutBack = true
		for i := range 3 {
			c.Visit(fmt.Sprintf("http://a.example/%d", i))
		}
		ext.Wait()
		if got := len(asked(web)); got != 3 || log.String() != "" {
			t.Errorf("%d pages were fetched, and the log has\n%s", got, &log)
		}
	})
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Write(p)
}

// Collectors with the same options share robots.txt, until one of them gets a
// transport of its own.
// Several collectors are attached and begin to crawl at the same moment. Their
// robots.txt is fetched once if they have the same transport, whether that is
// the default one, or one that was set before or after Attach, or the Base.
func TestCollectorsThatStartTogetherFetchRobotsTxtOnce(t *testing.T) {
	var fetches atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			fetches.Add(1)
			time.Sleep(50 * time.Millisecond) // long enough for all to need it
			io.WriteString(w, "User-agent: *\nDisallow: /no\n")
		}
	}))
	defer server.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for name, setUp := range map[string]func(t *http.Transport, c *colly.Collector, limiter *politeness.Limiter){
		"no transport": func(_ *http.Transport, c *colly.Collector, limiter *politeness.Limiter) {
			attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: limiter})
		},
		"before": func(own *http.Transport, c *colly.Collector, limiter *politeness.Limiter) {
			c.WithTransport(own)
			attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: limiter})
		},
		"after": func(own *http.Transport, c *colly.Collector, limiter *politeness.Limiter) {
			attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: limiter})
			c.WithTransport(own)
		},
		"Base": func(own *http.Transport, c *colly.Collector, limiter *politeness.Limiter) {
			attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: limiter, Base: own})
		},
	} {
		fetches.Store(0)
		limiter, own := unpaced(), new(http.Transport)
		var wait sync.WaitGroup
		for range 3 {
			c := colly.NewCollector()
			setUp(own, c, limiter)
			wait.Go(func() {
				if err := c.Visit(server.URL + "/no"); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		wait.Wait()
		own.CloseIdleConnections()
		if n := fetches.Load(); n != 1 {
			t.Errorf("%s: robots.txt was fetched %d times", name, n)
		}
	}
}

func TestCollectorsShareRobotsTxt(t *testing.T) {
	var fetches atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			fetches.Add(1)
			io.WriteString(w, "User-agent: *\nDisallow: /no\n")
		}
	}))
	defer server.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	limiter := unpaced()
	own := func(c *colly.Collector) { c.WithTransport(&http.Transport{DisableKeepAlives: true}) }
	for _, c := range []struct {
		name   string
		opts   robotsmw.Options
		before func(*colly.Collector)
		after  func(*colly.Collector)
		want   int32
	}{
		{name: "the first", want: 1},
		{name: "the second"},
		{name: "another Logger and Observer", opts: robotsmw.Options{Logger: slog.New(slog.DiscardHandler), Observer: new(robotsmw.Observer)}},
		{name: "another agent", opts: robotsmw.Options{UserAgent: "OtherBot/1.0 (+https://example.com/bot)"}, want: 1},
		{name: "other tokens", opts: robotsmw.Options{ProductTokens: []string{"x"}}, want: 1},
		{name: "another Limiter", opts: robotsmw.Options{Limiter: unpaced()}, want: 1},
		{name: "an Override", opts: robotsmw.Options{Override: map[string]string{"http://x.example": ""}}, want: 1},
		{name: "a transport of its own", before: own, want: 1},
		{name: "a transport later", after: own, want: 1},
		{name: "a Base", opts: robotsmw.Options{Base: http.DefaultTransport}, want: 1},
		{name: "the last"},
	} {
		if c.opts.UserAgent == "" {
			c.opts.UserAgent = agent
		}
		if c.opts.Limiter == nil {
			c.opts.Limiter = limiter
		}
		visit := func() int32 {
			fetches.Store(0)
			collector := colly.NewCollector()
			if c.before != nil {
				c.before(collector)
			}
			attach(t, collector, c.opts)
			if c.after != nil {
				c.after(collector)
			}
			if err := collector.Visit(server.URL + "/"); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			if err := collector.Visit(server.URL + "/no"); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
				t.Errorf("%s: %v", c.name, err)
			}
			return fetches.Load()
		}
		n := visit()
		// What was fetched is shared a moment after it has been used, so a
		// collector that comes within that moment fetches too.
		for tries := 0; n > c.want && tries < 10; tries++ {
			runtime.Gosched()
			n = visit()
		}
		if n != c.want {
			t.Errorf("%s: robots.txt was fetched %d times, want %d", c.name, n, c.want)
		}
	}
}

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
				t.Error("two callbacks run at the same time")
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
			t.Errorf("%d pages were fetched", pages)
		}
	})
}

// After Collector.Init, requests still pass the guard, by what is set then.
func TestInitAfterAttach(t *testing.T) {
	for _, when := range []string{"at once", "after a page", "with a transport"} {
		web, other := shop(), shop()
		c, _ := polite(t, web)
		if when == "after a page" {
			c.Visit("http://shop.example/")
		}
		c.Init()
		if when == "with a transport" {
			c.WithTransport(other)
		}
		before := len(asked(web))
		if err := c.Visit("http://shop.example/cart"); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
			t.Errorf("%s: %v", when, err)
		}
		if err := c.Visit("http://shop.example/shoes"); err != nil {
			t.Errorf("%s: %v", when, err)
		}
		if err := c.Clone().Visit("http://shop.example/cart?2"); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
			t.Errorf("%s, a clone: %v", when, err)
		}
		sent := append(asked(web)[before:], asked(other)...)
		if !slices.Equal(sent, []string{"GET http://shop.example/shoes"}) {
			t.Errorf("%s: asked for %v", when, sent)
		}
	}
}

// CheckRedirect and Jar of the user's client are heeded when they change later.
func TestTheUsersClientChangesCheckRedirectAndJar(t *testing.T) {
	web := shop()
	web.Handle("in.example", redirectTo("http://shop.example/shoes"))
	users := &http.Client{Transport: web}
	c := colly.NewCollector()
	c.SetClient(users)
	attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: unpaced()})
	if err := c.Visit("http://in.example/1"); err != nil {
		t.Error(err)
	}
	errStop := errors.New("stop")
	users.CheckRedirect = func(*http.Request, []*http.Request) error { return errStop }
	if err := c.Visit("http://in.example/2"); !errors.Is(err, errStop) {
		t.Errorf("CheckRedirect: %v", err)
	}
	asked := 0
	users.Jar = countingJar(func() { asked++ })
	c.Visit("http://shop.example/")
	if asked == 0 {
		t.Error("the Jar was not asked")
	}
}

type countingJar func()

func (f countingJar) SetCookies(*url.URL, []*http.Cookie) {}
func (f countingJar) Cookies(*url.URL) []*http.Cookie     { f(); return nil }

// Request.Depth of a nofollow page is plain colly's in all callbacks, and its
// links are refused with an error and stay unvisited.
func TestDepthOfANoFollowPage(t *testing.T) {
	for _, path := range []string{"/closed", "/header"} {
		web := nofollowSite()
		c, _ := polite(t, web, colly.AllowURLRevisit())
		var depths notes
		note := func(r *colly.Request) { depths.add(fmt.Sprint(r.Depth)) }
		c.OnResponseHeaders(func(r *colly.Response) { note(r.Request) })
		c.OnResponse(func(r *colly.Response) { note(r.Request) })
		c.OnScraped(func(r *colly.Response) { note(r.Request) })
		c.OnHTML("a[href]", func(e *colly.HTMLElement) {
			note(e.Request)
			link := e.Request.AbsoluteURL(e.Attr("href"))
			made, err := e.Request.New("GET", link, nil)
			if err != nil {
				t.Fatal(err)
			}
			for name, err := range map[string]error{
				"Visit": e.Request.Visit(link), "Post": e.Request.Post(link, map[string]string{"a": "b"}), "Do": made.Do(),
			} {
				if err == nil {
					t.Errorf("%s: %s was not refused", path, name)
				}
			}
			if visited, err := e.Request.HasVisited(link); visited || err != nil {
				t.Errorf("%s: visited %v, %v", path, visited, err)
			}
		})
		c.Visit("http://site.example" + path)
		if got := slices.Compact(depths.sorted()); !slices.Equal(got, []string{"1"}) {
			t.Errorf("%s: depths %v", path, got)
		}
		if got := asked(web); len(got) != 1 {
			t.Errorf("%s: asked for %v", path, got)
		}
	}
}

// A LimitRule that several collectors have keeps its Parallelism and Delay over
// all of them.
func TestLimitRuleOfTwoCollectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		web := new(robotstest.Internet)
		web.Handle("a.example", robotsAnd(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Second)
			now.Add(-1)
		})))
		rule := &colly.LimitRule{DomainGlob: "*", Parallelism: 2, Delay: time.Second}
		var collectors []*colly.Collector
		for range 3 {
			c, _ := polite(t, web, colly.Async())
			if err := c.Limit(rule); err != nil {
				t.Fatal(err)
			}
			collectors = append(collectors, c)
		}
		start := time.Now()
		for i, c := range collectors {
			for page := range 4 {
				c.Visit(fmt.Sprintf("http://a.example/%d/%d", i, page))
			}
		}
		for _, c := range collectors {
			c.Wait()
		}
		if took := time.Since(start); most.Load() != 2 || took != 11*time.Second { // six pairs of pages, each with its delay
			t.Errorf("%d at once, in %v", most.Load(), took)
		}
	})
}

// A request passes at most four transports of ours.
func TestFourTransports(t *testing.T) {
	web, n := shop(), 0
	c := colly.NewCollector()
	attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: unpaced(), Base: roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path != "/robots.txt" {
			n = 0
			calls := make([]uintptr, 64)
			frames := runtime.CallersFrames(calls[:runtime.Callers(0, calls)])
			for f, more := frames.Next(); more; f, more = frames.Next() {
				if strings.HasPrefix(f.Function, "github.com/goodbots/courtesy/") && strings.HasSuffix(f.Function, ").RoundTrip") &&
					!strings.Contains(f.Function, "_test.") {
					n++
				}
			}
		}
		return web.RoundTrip(r)
	})})
	c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 2})
	c.Visit("http://shop.example/")
	if n > 4 || n == 0 {
		t.Errorf("the request passed %d", n)
	}
}
