package collyrobots_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func TestRobotsTxtAnswers503(t *testing.T) {
	world := func() *robotstest.Internet {
		web := new(robotstest.Internet)
		web.Handle("a.example", withRobots(robotstest.Status(503)))
		return web
	}
	web := world()
	if err := plain(web).Visit("http://a.example/secret"); err != nil || len(asked(web)) != 1 {
		t.Errorf("plain colly: error %v, requests %v; want one page"+collyChanged, err, asked(web))
	}

	web = world()
	c, ext := polite(t, web)
	err := c.Visit("http://a.example/secret")
	if !errors.Is(err, robotsmw.ErrUnreachable) || !errors.Is(err, colly.ErrRobotsTxtBlocked) {
		t.Errorf("attached: Visit = %v, want ErrUnreachable and ErrRobotsTxtBlocked", err)
	}
	wantAsked(t, web)
	if got := ext.Counts().Unreachable; got != 1 {
		t.Errorf("attached: Counts().Unreachable = %d, want 1", got)
	}
}

// Plain colly mistakes the second redirect for a visited page. An attached
// collector follows both.
func TestRobotsTxtOfTwoHostsRedirectsToOne(t *testing.T) {
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
		t.Errorf("plain colly: %v, want AlreadyVisitedError"+collyChanged, err)
	}
	c = plain(world(), colly.AllowedDomains("a.example"))
	if err := c.Visit("http://a.example/"); !errors.Is(err, colly.ErrForbiddenDomain) {
		t.Errorf("plain colly with AllowedDomains: %v, want ErrForbiddenDomain"+collyChanged, err)
	}

	web := world()
	c, _ = polite(t, web, colly.AllowedDomains("a.example", "b.example"))
	for _, target := range []string{"http://a.example/", "http://b.example/", "http://a.example/secret", "http://b.example/secret"} {
		err := c.Visit(target)
		if blocked := errors.Is(err, robotsmw.ErrDisallowed); blocked != strings.HasSuffix(target, "secret") || !blocked && err != nil {
			t.Errorf("attached: Visit(%q) = %v, want ErrDisallowed for /secret, otherwise nil", target, err)
		}
	}
	wantAsked(t, web, "GET http://a.example/", "GET http://b.example/")
}

func TestRobotsTxtNetworkError(t *testing.T) {
	const pages = 5
	crawl := func(c *colly.Collector) (failed, errs int) {
		c.OnError(func(*colly.Response, error) { errs++ })
		for i := range pages {
			if c.Visit(fmt.Sprintf("http://down.example/%d", i)) != nil {
				failed++
			}
		}
		return failed, errs
	}
	world := func() *robotstest.Internet {
		web := new(robotstest.Internet)
		web.Fail("down.example", syscall.ECONNREFUSED)
		return web
	}
	web := world()
	if failed, errs := crawl(plain(web)); failed != pages || errs != 0 || robotsFetches(web) != pages {
		t.Errorf("plain colly: %d failed, %d calls of OnError, %d fetches of robots.txt; want %d, 0, %d"+collyChanged,
			failed, errs, robotsFetches(web), pages, pages)
	}

	web = world()
	c, _ := polite(t, web)
	if failed, errs := crawl(c); failed != pages || errs != pages || robotsFetches(web) != 1 {
		t.Errorf("attached: %d failed, %d calls of OnError, %d fetches of robots.txt; want %d, %d, 1",
			failed, errs, robotsFetches(web), pages, pages)
	}
}

func TestAsyncVisitDoesNotWaitForRobotsTxt(t *testing.T) {
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
			t.Errorf("plain colly: Visit took %v, want %v, the time of the fetch of robots.txt"+collyChanged, visit, time.Second)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c, _ := polite(t, world(), colly.Async())
		if visit, all := crawl(c); visit != 0 || all != 50*time.Millisecond {
			t.Errorf("attached: Visit took %v and the request %v, want 0 and 50ms", visit, all)
		}
		time.Sleep(time.Second) // the fetch of robots.txt outlives the request
	})
}

func TestHeadIsChecked(t *testing.T) {
	t.Parallel()
	web := shop()
	c := plain(web)
	c.Head("http://shop.example/cart")
	c = plain(web, colly.CheckHead())
	c.Visit("http://shop.example/cart")
	if got := asked(web); !slices.Equal(got, []string{"HEAD http://shop.example/cart", "HEAD http://shop.example/cart"}) {
		t.Errorf("plain colly: requests %v, want two disallowed HEAD requests"+collyChanged, got)
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
			t.Errorf("attached: %s: error %v, want ErrDisallowed", name, err)
		}
	}
	wantAsked(t, web)
}

func TestQueryKeepsItsOrder(t *testing.T) {
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
		t.Errorf("attached: Visit of a disallowed page = %v, want ErrDisallowed", err)
	}
	if err := c.Visit("http://a.example/q?a=2&b=1"); err != nil {
		t.Errorf("attached: Visit with another order of the query = %v, want nil", err)
	}
}

func TestFirstRequestsAtOnce(t *testing.T) {
	const pages = 50
	crawl := func(t *testing.T, attachIt bool) int {
		web := new(robotstest.Internet)
		site := robotsText("")
		web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second) // until all callers need robots.txt
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
			t.Errorf("plain colly: %d fetches of robots.txt, want %d, one for each caller"+collyChanged, got, pages)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		if got := crawl(t, true); got != 1 {
			t.Errorf("attached: %d fetches of robots.txt, want 1", got)
		}
	})
}

func TestSchemesDoNotShareRobotsTxt(t *testing.T) {
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
