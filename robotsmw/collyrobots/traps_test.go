package collyrobots_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/extensions"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// Each test in this file shows a trap: first what colly does by itself, then
// what an attached collector does. The first half fails if colly changes.

func robotsFetches(web *robotstest.Internet) (n int) {
	for _, r := range web.Log() {
		if strings.HasSuffix(r.URL, "/robots.txt") {
			n++
		}
	}
	return n
}

// withRobots answers /robots.txt with the given handler, and all other paths
// with a small page.
func withRobots(robots http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<p>"+r.URL.Path) })
	mux.Handle("/robots.txt", robots)
	return mux
}

// redirectTo redirects all paths except /robots.txt, which does not exist.
func redirectTo(target string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", http.RedirectHandler(target, http.StatusFound))
	mux.Handle("/robots.txt", http.NotFoundHandler())
	return mux
}

func robotsText(text string) http.Handler { return withRobots(robotstest.Site{"/robots.txt": text}) }

func TestTrapRobotsTxtAnswers503(t *testing.T) {
	world := func() *robotstest.Internet {
		web := new(robotstest.Internet)
		web.Handle("a.example", withRobots(robotstest.Status(503)))
		return web
	}
	web := world()
	if err := plain(web).Visit("http://a.example/secret"); err != nil || len(asked(web)) != 1 {
		t.Errorf("plain colly: %v, asked for %v; it used to allow everything", err, asked(web))
	}

	web = world()
	c, ext := polite(t, web)
	err := c.Visit("http://a.example/secret")
	if !errors.Is(err, robotsmw.ErrUnreachable) || !errors.Is(err, colly.ErrRobotsTxtBlocked) {
		t.Errorf("attached: %v, want ErrUnreachable", err)
	}
	wantAsked(t, web)
	if got := ext.Counts().Unreachable; got != 1 {
		t.Errorf("attached: %d unreachable", got)
	}
}

func TestTrapRobotsTxtOfTwoHostsRedirectsToOne(t *testing.T) {
	world := func() *robotstest.Internet {
		web := new(robotstest.Internet)
		web.Handle("www.example", robotsText("User-agent: *\nDisallow: /secret"))
		for _, host := range []string{"a.example", "b.example"} {
			web.Handle(host, withRobots(http.RedirectHandler("http://www.example/robots.txt", http.StatusMovedPermanently)))
		}
		return web
	}
	c := plain(world())
	c.Visit("http://a.example/")
	var visited *colly.AlreadyVisitedError
	if err := c.Visit("http://b.example/"); !errors.As(err, &visited) {
		t.Errorf("plain colly: %v; it used to take the second redirect for a page visited before", err)
	}
	c = plain(world(), colly.AllowedDomains("a.example"))
	if err := c.Visit("http://a.example/"); !errors.Is(err, colly.ErrForbiddenDomain) {
		t.Errorf("plain colly with AllowedDomains: %v; it used to refuse the redirect of robots.txt", err)
	}

	web := world()
	c, _ = polite(t, web, colly.AllowedDomains("a.example", "b.example"))
	for _, target := range []string{"http://a.example/", "http://b.example/", "http://a.example/secret", "http://b.example/secret"} {
		err := c.Visit(target)
		if blocked := errors.Is(err, robotsmw.ErrDisallowed); blocked != strings.HasSuffix(target, "secret") || !blocked && err != nil {
			t.Errorf("attached: %s: %v", target, err)
		}
	}
	wantAsked(t, web, "GET http://a.example/", "GET http://b.example/")
}

func TestTrapRobotsTxtNetworkError(t *testing.T) {
	const pages = 5
	crawl := func(c *colly.Collector) (failed, told int) {
		c.OnError(func(*colly.Response, error) { told++ })
		for i := range pages {
			if c.Visit(fmt.Sprintf("http://down.example/%d", i)) != nil {
				failed++
			}
		}
		return failed, told
	}
	world := func() *robotstest.Internet {
		web := new(robotstest.Internet)
		web.Fail("down.example", syscall.ECONNREFUSED)
		return web
	}
	web := world()
	if failed, told := crawl(plain(web)); failed != pages || told != 0 || robotsFetches(web) != pages {
		t.Errorf("plain colly: %d failed, OnError told of %d, %d fetches; it used to fetch for each page and tell nobody",
			failed, told, robotsFetches(web))
	}

	web = world()
	c, _ := polite(t, web)
	if failed, told := crawl(c); failed != pages || told != pages || robotsFetches(web) != 1 {
		t.Errorf("attached: %d failed, OnError told of %d, %d fetches", failed, told, robotsFetches(web))
	}
}

func TestTrapAsyncVisitWaitsForRobotsTxt(t *testing.T) {
	world := func() *robotstest.Internet {
		web := new(robotstest.Internet)
		web.Handle("slow.example", withRobots(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
		})))
		return web
	}
	crawl := func(c *colly.Collector) (visit, all time.Duration) {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		c.Context = ctx
		start := time.Now()
		c.Visit("http://slow.example/")
		visit = time.Since(start)
		c.Wait()
		return visit, time.Since(start)
	}
	synctest.Test(t, func(t *testing.T) {
		if visit, _ := crawl(plain(world(), colly.Async())); visit != time.Second {
			t.Errorf("plain colly: Visit took %v; it used to wait for robots.txt, whatever the Context", visit)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c, _ := polite(t, world(), colly.Async())
		if visit, all := crawl(c); visit != 0 || all != 50*time.Millisecond {
			t.Errorf("attached: Visit took %v, and the request %v", visit, all)
		}
		time.Sleep(time.Second) // the fetch of robots.txt outlives the request
	})
}

func TestTrapHead(t *testing.T) {
	t.Parallel()
	web := shop()
	c := plain(web)
	c.Head("http://shop.example/cart")
	c = plain(web, colly.CheckHead())
	c.Visit("http://shop.example/cart")
	if got := asked(web); !slices.Equal(got, []string{"HEAD http://shop.example/cart", "HEAD http://shop.example/cart"}) {
		t.Errorf("plain colly asked for %v; it used to send HEAD anywhere", got)
	}

	web = shop()
	c, _ = polite(t, web, colly.CheckHead())
	for name, err := range map[string]error{
		"HEAD":      c.Head("http://shop.example/cart"),
		"CheckHead": c.Visit("http://shop.example/cart?1"),
		"POST":      c.Post("http://shop.example/cart", map[string]string{"a": "b"}),
		"PUT":       c.Request("PUT", "http://shop.example/cart", strings.NewReader("x"), nil, nil),
		"OPTIONS":   c.Request("OPTIONS", "http://shop.example/cart", nil, nil, nil),
		"multipart": c.PostMultipart("http://shop.example/cart", map[string][]byte{"a": []byte("b")}),
	} {
		if !errors.Is(err, robotsmw.ErrDisallowed) {
			t.Errorf("attached: %s: %v", name, err)
		}
	}
	wantAsked(t, web)
}

func TestTrapQueryIsSorted(t *testing.T) {
	world := func() *robotstest.Internet {
		web := new(robotstest.Internet)
		web.Handle("a.example", robotsText("User-agent: *\nDisallow: /q?b=1&a=2"))
		return web
	}
	web := world()
	plain(web).Visit("http://a.example/q?b=1&a=2")
	wantAsked(t, web, "GET http://a.example/q?b=1&a=2")

	web = world()
	c, _ := polite(t, web)
	if err := c.Visit("http://a.example/q?b=1&a=2"); !errors.Is(err, robotsmw.ErrDisallowed) {
		t.Errorf("attached: %v", err)
	}
	if err := c.Visit("http://a.example/q?a=2&b=1"); err != nil {
		t.Errorf("attached: another order is another URL: %v", err)
	}
}

type slowly struct {
	web  http.RoundTripper
	wait time.Duration
}

func (s slowly) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case <-time.After(s.wait):
		return s.web.RoundTrip(req)
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

func TestTrapTimeoutCountsTheWait(t *testing.T) {
	world := func() *robotstest.Internet {
		web := new(robotstest.Internet)
		web.Handle("a.example", robotsText(""))
		return web
	}
	synctest.Test(t, func(t *testing.T) {
		c := plain(world())
		c.IgnoreRobotsTxt = true
		c.WithTransport(slowly{world(), 15 * time.Second})
		err := c.Visit("http://a.example/")
		if e, ok := errors.AsType[*url.Error](err); !ok || !e.Timeout() {
			t.Errorf("plain colly: %v; its 10 s used to count the time that a transport waits", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := colly.NewCollector()
		attach(t, c, robotsmw.Options{UserAgent: agent, Base: world(), Limiter: &politeness.Limiter{Delay: 15 * time.Second}})
		start := time.Now()
		for i := range 3 {
			if err := c.Visit(fmt.Sprintf("http://a.example/%d", i)); err != nil {
				t.Errorf("attached: %v", err)
			}
		}
		if got := time.Since(start); got != 45*time.Second { // robots.txt and three pages: three intervals
			t.Errorf("attached: four requests took %v", got)
		}
	})
	for _, timeout := range []time.Duration{0, 25 * time.Second} { // 0 leaves colly's default, 10 s
		synctest.Test(t, func(t *testing.T) {
			web := new(robotstest.Internet)
			mux := http.NewServeMux()
			mux.Handle("/robots.txt", robotstest.Site{})
			mux.Handle("/", robotstest.Hang{})
			web.Handle("a.example", mux)
			c := colly.NewCollector()
			if timeout != 0 {
				c.SetRequestTimeout(timeout)
			}
			attachUnpaced(t, c, web)
			start := time.Now()
			err := c.Visit("http://a.example/")
			if e, ok := errors.AsType[*url.Error](err); !ok || !e.Timeout() || time.Since(start) != max(timeout, 10*time.Second) {
				t.Errorf("attached: a server that hangs: %v after %v", err, time.Since(start))
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // for a timeout that is set after Attach, the wait does not count
		web := world()
		c := colly.NewCollector(colly.Async())
		attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: &politeness.Limiter{Delay: 500 * time.Millisecond}})
		c.SetRequestTimeout(200 * time.Millisecond)
		for i := range 8 {
			c.Visit(fmt.Sprintf("http://a.example/%d", i))
		}
		c.Wait()
		if got := len(asked(web)); got != 8 {
			t.Errorf("attached: %d of 8 pages were fetched", got)
		}
	})
	for _, clone := range []bool{false, true} { // for a timeout that is set after Attach, the server's time counts
		synctest.Test(t, func(t *testing.T) {
			web := new(robotstest.Internet)
			mux := http.NewServeMux()
			mux.Handle("/robots.txt", robotstest.Site{})
			mux.Handle("/", robotstest.Hang{})
			web.Handle("a.example", mux)
			c := colly.NewCollector()
			attachUnpaced(t, c, web)
			if clone {
				c = c.Clone()
			}
			c.SetRequestTimeout(25 * time.Second)
			start := time.Now()
			err := c.Visit("http://a.example/")
			if e, ok := errors.AsType[*url.Error](err); !ok || !e.Timeout() || time.Since(start) != 25*time.Second {
				t.Errorf("attached: a server that hangs: %v after %v", err, time.Since(start))
			}
		})
	}
}

func TestTrapTransportIsReplaced(t *testing.T) {
	// Each function makes the collector send to another network, which is the
	// second argument. Some functions use the last argument, a proxy that leads
	// to that network.
	set := map[string]func(c *colly.Collector, other *robotstest.Internet, proxy string){
		"SetProxyFunc": func(c *colly.Collector, _ *robotstest.Internet, proxy string) {
			u, _ := url.Parse(proxy)
			c.SetProxyFunc(http.ProxyURL(u))
		},
		"SetProxy": func(c *colly.Collector, _ *robotstest.Internet, proxy string) { c.SetProxy(proxy) },
		"SetClient": func(c *colly.Collector, other *robotstest.Internet, _ string) {
			c.SetClient(&http.Client{Transport: other})
		},
		"WithTransport": func(c *colly.Collector, other *robotstest.Internet, _ string) { c.WithTransport(other) },
	}
	for name, set := range set {
		for _, async := range []bool{false, true} {
			web, other := shop(), shop()
			proxy := newProxy(t, other)
			c := plain(web, colly.IgnoreRobotsTxt(), colly.Async(async))
			set(c, other, proxy)
			c.Visit("http://shop.example/cart")
			if c.Wait(); len(web.Log()) != 0 || len(asked(other)) != 1 {
				t.Errorf("plain colly: after %s requests do not go by what was set: %v", name, asked(web))
			}

			web, other = shop(), shop()
			proxy = newProxy(t, other)
			c, ext := polite(t, web, colly.Async(async))
			c.Visit("http://shop.example/")
			c.Wait()
			set(c, other, proxy)
			if !ext.Active() {
				t.Errorf("%s: not active", name)
			}
			var failed notes
			c.OnError(func(r *colly.Response, err error) {
				failed.add(fmt.Sprint(r.Request.URL.Path, " ", errors.Is(err, colly.ErrRobotsTxtBlocked)))
			})
			c.Visit("http://shop.example/cart")
			c.Visit("http://shop.example/shoes")
			c.Wait()
			if got := failed.sorted(); !slices.Equal(got, []string{"/cart true"}) {
				t.Errorf("%s: OnError was told of %v", name, got)
			}
			wantAsked(t, web, "GET http://shop.example/")
			wantAsked(t, other, "GET http://shop.example/shoes")
		}
	}
}

func TestTrapSetClientKeepsTheUsersClient(t *testing.T) {
	c, _ := polite(t, shop())
	users := &http.Client{Transport: shop()}
	was := users.Transport
	c.SetClient(users)
	c.Visit("http://shop.example/")
	if users.Transport != was {
		t.Error("the user's client, which may be in use elsewhere, got another transport")
	}
}

func TestTrapCloneHasNoCallbacks(t *testing.T) {
	calls := 0
	web := shop()
	c := plain(web)
	c.OnRequest(func(*colly.Request) { calls++ })
	c.Clone().Visit("http://shop.example/")
	if calls != 0 || len(asked(web)) != 1 {
		t.Errorf("plain colly: a clone called %d callbacks and asked for %v; it used to keep the transport alone", calls, asked(web))
	}

	web = shop()
	before := colly.NewCollector()
	older := before.Clone()
	attachUnpaced(t, before, web)
	for name, clone := range map[string]*colly.Collector{"a clone": before.Clone(), "a clone made before Attach": older} {
		if err := clone.Visit("http://shop.example/cart?" + url.QueryEscape(name)); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
			t.Errorf("attached: %s: %v", name, err)
		}
	}
	older.Visit("http://shop.example/")
	wantAsked(t, web, "GET http://shop.example/")
	for _, r := range web.Log() {
		if got := r.Header.Get("User-Agent"); got != agent {
			t.Errorf("attached: %s went out as %q", r.URL, got)
		}
	}
}

func TestTrapBlockedURLIsVisited(t *testing.T) {
	errBlocked := errors.New("blocked")
	c := plain(shop(), colly.IgnoreRobotsTxt())
	c.WithTransport(roundTripper(func(*http.Request) (*http.Response, error) { return nil, errBlocked }))
	c.Visit("http://shop.example/cart")
	if visited, _ := c.HasVisited("http://shop.example/cart"); !visited {
		t.Error("plain colly: a URL that the transport refuses used to count as visited")
	}
	c = plain(shop(), colly.IgnoreRobotsTxt())
	told := 0
	c.OnError(func(*colly.Response, error) { told++ })
	c.OnRequest(func(r *colly.Request) { r.Abort() })
	if err := c.Visit("http://shop.example/1"); err != nil || told != 0 {
		t.Errorf("plain colly: Abort in OnRequest: %v, OnError called %d times; it used to be silent", err, told)
	}
	c = plain(shop(), colly.IgnoreRobotsTxt())
	c.OnRequestHeaders(func(r *colly.Request) { r.Abort() })
	if err := c.Visit("http://shop.example/2"); !errors.Is(err, colly.ErrAbortedBeforeRequest) {
		t.Errorf("plain colly: Abort in OnRequestHeaders: %v", err)
	}

	web := shop()
	c, ext := polite(t, web, colly.MaxRequests(2))
	for range 5 {
		if err := ext.Visit("http://shop.example/cart"); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
			t.Fatalf("attached: Visit: %v", err)
		}
	}
	if visited, _ := c.HasVisited("http://shop.example/cart"); visited {
		t.Error("attached: Extension.Visit marked a blocked URL as visited")
	}
	for _, target := range []string{"http://shop.example/", "http://shop.example/shoes"} {
		if err := ext.Visit(target); err != nil {
			t.Errorf("attached: %s: %v; blocked URLs used up MaxRequests", target, err)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Programs retry if Headers is nil in OnError, which means in plain colly that
// the server did not answer. It is not nil if the extension refused the
// request, for which the server is not the reason.
func TestHeadersInOnErrorAreNilWithoutAnAnswer(t *testing.T) {
	web := shop()
	web.Handle("reset.example", withRobots(robotstest.Reset("")))
	web.Handle("pages.example", robotsAnd(robotstest.Reset("HTTP/1.1 200 OK\r\n")))
	web.Handle("broken.example", robotsAnd(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) })))
	for target, want := range map[string]string{
		"http://pages.example/":      "nil",   // the connection is reset
		"http://shop.example/cart":   "empty", // disallowed
		"http://reset.example/":      "empty", // robots.txt is unreachable
		"http://unknown.example/":    "empty", // robots.txt is unreachable: no such host
		"http://broken.example/page": "set",
	} {
		c, _ := polite(t, web)
		got := "OnError was not called"
		c.OnError(func(r *colly.Response, err error) {
			switch {
			case r.Headers == nil:
				got = "nil"
			case len(*r.Headers) == 0:
				got = "empty"
			default:
				got = "set"
			}
		})
		c.Visit(target)
		if got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}

	c := colly.NewCollector()
	attach(t, c, robotsmw.Options{UserAgent: agent, Base: shop(), Limiter: &politeness.Limiter{MaxWait: -1}})
	var headers []bool
	c.OnError(func(r *colly.Response, err error) { headers = append(headers, r.Headers != nil) })
	for _, path := range []string{"/", "/shoes"} {
		c.Visit("http://shop.example" + path)
	}
	if len(headers) == 0 || slices.Contains(headers, false) {
		t.Errorf("a host is not due: Headers is set: %v", headers)
	}
}

func TestTrapOnErrorWithoutHeaders(t *testing.T) {
	world := func() *robotstest.Internet {
		web := shop()
		web.Handle("out.example", withRobots(robotstest.Site{}))
		web.Handle("in.example", redirectTo("http://shop.example/cart"))
		return web
	}
	nilHeaders := false
	c := plain(new(robotstest.Internet), colly.IgnoreRobotsTxt())
	c.OnError(func(r *colly.Response, err error) { nilHeaders = r.Headers == nil && r.StatusCode == 0 })
	c.Visit("http://gone.example/")
	if !nilHeaders {
		t.Error("plain colly: Headers used to be nil in OnError")
	}

	web := world()
	c, ext := polite(t, web)
	var first, second string
	c.OnError(func(r *colly.Response, err error) {
		r.Headers.Get("Retry-After")
		first = r.Request.URL.String()
		if blocked, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
			second = blocked.Decision.URL.String()
		}
	})
	told := false
	ext.OnBlocked(func(*colly.Request, robotsmw.Decision) { told = true })
	c.Visit("http://gone.example/")
	c.Visit("http://in.example/here")
	if first != "http://in.example/here" || second != "http://shop.example/cart" || !told {
		t.Errorf("attached: a redirect from %q into %q", first, second)
	}
}

func TestTrapPageRedirect(t *testing.T) {
	world := func() *robotstest.Internet {
		web := shop()
		web.Handle("in.example", redirectTo("http://shop.example/cart"))
		return web
	}
	web := world()
	plain(web).Visit("http://in.example/")
	wantAsked(t, web, "GET http://in.example/", "GET http://shop.example/cart")

	web = world()
	c, _ := polite(t, web)
	if err := c.Visit("http://in.example/"); !errors.Is(err, robotsmw.ErrDisallowed) {
		t.Errorf("attached: %v", err)
	}
	wantAsked(t, web, "GET http://in.example/")
}

func TestTrapCacheDirectory(t *testing.T) {
	for _, forbidden := range []bool{false, true} {
		dir := t.TempDir()
		robots := robotstest.Site{"/robots.txt": ""}
		web := new(robotstest.Internet)
		web.Handle("a.example", withRobots(robots))
		onRequest, onHeaders := 0, 0
		warm := plain(web, colly.CacheDir(dir), colly.AllowURLRevisit(), colly.IgnoreRobotsTxt())
		warm.OnRequest(func(*colly.Request) { onRequest++ })
		warm.OnRequestHeaders(func(*colly.Request) { onHeaders++ })
		warm.Visit("http://a.example/page")
		warm.Visit("http://a.example/page")
		if onRequest != 2 || onHeaders != 1 || len(asked(web)) != 1 {
			t.Errorf("plain colly: %d, %d, %v; a page from disk used to come past OnRequestHeaders and the transport",
				onRequest, onHeaders, asked(web))
		}

		if forbidden {
			robots["/robots.txt"] = "User-agent: *\nDisallow: /page"
		}
		c, _ := polite(t, web, colly.CacheDir(dir))
		c.Head("http://a.example/other") // robots.txt is in memory from now on
		served, failed, header := 0, error(nil), ""
		c.OnResponse(func(*colly.Response) { served++ })
		c.OnError(func(r *colly.Response, err error) { failed, header = err, r.Request.Headers.Get("Cache-Control") })
		c.Request("GET", "http://a.example/page", nil, nil, http.Header{"Cache-Control": {"max-age=0"}})
		if forbidden && (served != 0 || !errors.Is(failed, robotsmw.ErrDisallowed) || header != "max-age=0") {
			t.Errorf("attached: a page that is forbidden by now: served %d times, %v, header %q", served, failed, header)
		}
		if !forbidden && (served != 1 || failed != nil) {
			t.Errorf("attached: a page that is allowed: served %d times, %v", served, failed)
		}
		if got := asked(web); len(got) != 2 {
			t.Errorf("attached: asked for %v", got)
		}
	}
}

// A program processes again, offline, what an earlier run has put into the
// cache directory. All pages are served. No robots.txt is requested for them,
// nor for a request that a later handler aborts. A page that is not in the
// cache needs its robots.txt, which is unreachable. After that, the others are
// still served.
func TestCacheDirectoryWorksOffline(t *testing.T) {
	dir := t.TempDir()
	web := new(robotstest.Internet)
	warm := plain(web, colly.CacheDir(dir), colly.IgnoreRobotsTxt())
	const hosts = 8
	page := func(i int) string { return fmt.Sprintf("http://host-%d.example/page", i) }
	for i := range hosts {
		web.Handle(fmt.Sprintf("host-%d.example", i), robotsText(""))
		if err := warm.Visit(page(i)); err != nil {
			t.Fatal(err)
		}
	}

	offline := new(robotstest.Internet)
	c, ext := polite(t, offline, colly.CacheDir(dir), colly.AllowURLRevisit())
	served := 0
	c.OnResponse(func(*colly.Response) { served++ })
	c.OnRequest(func(r *colly.Request) {
		if r.URL.Path == "/aborted" {
			r.Abort()
		}
	})
	c.Visit("http://host-0.example/aborted")
	for i := range hosts {
		if err := c.Visit(page(i)); err != nil {
			t.Error(err)
		}
	}
	if got := offline.Log(); served != hosts || len(got) != 0 {
		t.Errorf("%d of %d pages were served, with the requests %v", served, hosts, got)
	}
	if err := c.Visit("http://host-0.example/other"); !errors.Is(err, robotsmw.ErrUnreachable) {
		t.Errorf("a page that is not in the cache: %v", err)
	}
	if err := c.Visit(page(0)); err != nil {
		t.Errorf("robots.txt is unreachable: %v", err)
	}
	if n := ext.Counts().Unreachable; n != 1 {
		t.Errorf("%d requests were refused, want the one of the page that is not in the cache", n)
	}
}

func TestTrapRandomUserAgent(t *testing.T) {
	world := func() *robotstest.Internet {
		web := new(robotstest.Internet)
		web.Handle("a.example", robotsText("User-agent: ExampleBot\nDisallow: /examplebot\n\nUser-agent: *\nDisallow: /others"))
		return web
	}
	web := world()
	c := plain(web)
	extensions.RandomUserAgent(c)
	blocked := c.Visit("http://a.example/examplebot")
	if c.Visit("http://a.example/others"); !errors.Is(blocked, colly.ErrRobotsTxtBlocked) || len(asked(web)) != 1 ||
		web.Log()[1].Header.Get("User-Agent") == agent {
		t.Errorf("plain colly: %v, asked for %v; it used to read robots.txt by one name and go out by another", blocked, asked(web))
	}

	web = world()
	c, _ = polite(t, web)
	extensions.RandomUserAgent(c)
	if err := c.Visit("http://a.example/examplebot"); !errors.Is(err, robotsmw.ErrDisallowed) {
		t.Errorf("attached: %v", err)
	}
	c.Visit("http://a.example/others")
	wantAsked(t, web, "GET http://a.example/others")

	web = world()
	c = colly.NewCollector()
	attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: unpaced(), StrictIdentity: true})
	extensions.RandomUserAgent(c)
	if _, ok := errors.AsType[*robotsmw.IdentityError](c.Visit("http://a.example/others")); !ok {
		t.Error("attached, StrictIdentity: a request went out by another name")
	}
}

func TestTrapMozillaUserAgent(t *testing.T) {
	const mozilla = "Mozilla/5.0 (compatible; ExampleBot/1.0; +https://example.com/bot)"
	world := func() *robotstest.Internet {
		web := new(robotstest.Internet)
		web.Handle("a.example", robotsText("User-agent: ExampleBot\nDisallow: /"))
		return web
	}
	web := world()
	c := plain(web)
	c.UserAgent = mozilla
	c.Visit("http://a.example/")
	wantAsked(t, web, "GET http://a.example/")

	web = world()
	c = colly.NewCollector(colly.UserAgent(mozilla))
	attach(t, c, robotsmw.Options{UserAgent: mozilla, Base: web, Limiter: unpaced()})
	if err := c.Visit("http://a.example/"); !errors.Is(err, robotsmw.ErrDisallowed) {
		t.Errorf("attached: %v", err)
	}
}

func TestTrapContextIsShared(t *testing.T) {
	web := nofollowSite()
	c := plain(web)
	leaked := false
	c.OnResponse(func(r *colly.Response) {
		leaked = leaked || r.Request.URL.Path == "/open" && r.Ctx.Get("nofollow") != ""
		if r.Request.URL.Path == "/closed" {
			r.Ctx.Put("nofollow", "yes")
		}
	})
	c.OnHTML("a[href]", follow)
	c.Visit("http://site.example/")
	if !leaked {
		t.Error("plain colly: what a page puts into its Ctx used to be in its siblings' too")
	}
	// TestNoFollow shows what happens with Attach: although one page says
	// nofollow, the links of its siblings are followed.
}

func TestTrapRedirectHandler(t *testing.T) {
	world := func() *robotstest.Internet {
		web := new(robotstest.Internet)
		mux := http.NewServeMux()
		mux.Handle("/robots.txt", robotstest.Site{})
		mux.HandleFunc("/hop/{n}", func(w http.ResponseWriter, r *http.Request) {
			var n int
			fmt.Sscan(r.PathValue("n"), &n)
			if n == 20 {
				io.WriteString(w, "<p>arrived")
				return
			}
			http.Redirect(w, r, fmt.Sprintf("/hop/%d", n+1), http.StatusFound)
		})
		web.Handle("loop.example", mux)
		return web
	}
	web := world()
	c := plain(web, colly.IgnoreRobotsTxt())
	c.SetRedirectHandler(func(*http.Request, []*http.Request) error { return nil })
	c.Visit("http://loop.example/hop/0")
	if got := len(asked(web)); got != 21 {
		t.Errorf("plain colly: a redirect handler followed %d hops; it used to replace the limit of ten", got)
	}

	web = world()
	c, _ = polite(t, web)
	c.Visit("http://loop.example/hop/0")
	if got := len(asked(web)); got != 10 {
		t.Errorf("attached: %d hops, colly's limit is ten", got)
	}
	web = world()
	c = colly.NewCollector()
	hops := 0
	c.SetRedirectHandler(func(*http.Request, []*http.Request) error { hops++; return nil })
	attachUnpaced(t, c, web)
	c.Visit("http://loop.example/hop/0")
	if hops != 20 {
		t.Errorf("attached: the user's redirect handler was called %d times", hops)
	}
}

func TestTrapFirstRequestsAtOnce(t *testing.T) {
	const pages = 50
	crawl := func(t *testing.T, attachIt bool) int {
		web := new(robotstest.Internet)
		site := robotsText("")
		web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second) // until all callers have asked for robots.txt
			site.ServeHTTP(w, r)
		}))
		c := plain(web)
		if attachIt {
			c, _ = polite(t, web)
		}
		// Like the threads of a queue, these goroutines share a synchronous
		// collector.
		done := make(chan struct{})
		for i := range pages {
			go func() {
				c.Visit(fmt.Sprintf("http://a.example/%d", i))
				done <- struct{}{}
			}()
		}
		for range pages {
			<-done
		}
		return robotsFetches(web)
	}
	synctest.Test(t, func(t *testing.T) {
		if got := crawl(t, false); got != pages {
			t.Errorf("plain colly: %d fetches of robots.txt; it used to fetch it for every caller", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		if got := crawl(t, true); got != 1 {
			t.Errorf("attached: %d fetches of robots.txt", got)
		}
	})
}

func TestTrapSchemesShareRobotsTxt(t *testing.T) {
	world := func() *robotstest.Internet {
		web := new(robotstest.Internet)
		web.Handle("http://a.example:8000", robotsText(""))
		web.Handle("https://a.example:8000", robotsText("User-agent: *\nDisallow: /"))
		return web
	}
	crawl := func(c *colly.Collector) { c.Visit("http://a.example:8000/"); c.Visit("https://a.example:8000/") }
	web := world()
	crawl(plain(web))
	wantAsked(t, web, "GET http://a.example:8000/", "GET https://a.example:8000/")

	web = world()
	c, _ := polite(t, web)
	crawl(c)
	wantAsked(t, web, "GET http://a.example:8000/")
}

func TestTrapOneLimitRuleForAllHosts(t *testing.T) {
	const hosts = 4
	crawl := func(c *colly.Collector) time.Duration {
		start := time.Now()
		for i := range hosts {
			c.Visit(fmt.Sprintf("http://h%d.example/", i))
		}
		c.Wait()
		return time.Since(start)
	}
	world := func() *robotstest.Internet {
		web := new(robotstest.Internet)
		for i := range hosts {
			web.Handle(fmt.Sprintf("h%d.example", i), robotsText(""))
		}
		return web
	}
	synctest.Test(t, func(t *testing.T) {
		c := plain(world(), colly.Async(), colly.IgnoreRobotsTxt())
		c.Limit(&colly.LimitRule{DomainGlob: "*", Delay: 200 * time.Millisecond})
		if took := crawl(c); took != hosts*200*time.Millisecond {
			t.Errorf("plain colly took %v; hosts used to wait for each other", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := colly.NewCollector(colly.Async())
		attach(t, c, robotsmw.Options{UserAgent: agent, Base: world(), Limiter: &politeness.Limiter{Delay: 200 * time.Millisecond}})
		if took := crawl(c); took != 200*time.Millisecond { // each page comes one interval after its robots.txt
			t.Errorf("attached took %v", took)
		}
	})
}
