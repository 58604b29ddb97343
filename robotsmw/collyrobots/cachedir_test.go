package collyrobots_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func TestCacheDirectory(t *testing.T) {
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
			t.Errorf("plain colly: %d calls of OnRequest, %d of OnRequestHeaders, requests %v; want 2, 1 and one request"+collyChanged,
				onRequest, onHeaders, asked(web))
		}

		if forbidden {
			robots["/robots.txt"] = "User-agent: *\nDisallow: /page"
		}
		c, _ := polite(t, web, colly.CacheDir(dir))
		c.Head("http://a.example/other") // robots.txt is in memory from now on
		served := 0
		header := ""
		var failed error
		c.OnResponse(func(*colly.Response) { served++ })
		c.OnError(func(r *colly.Response, err error) { failed, header = err, r.Request.Headers.Get("Cache-Control") })
		c.Request("GET", "http://a.example/page", nil, nil, http.Header{"Cache-Control": {"max-age=0"}})
		if forbidden && (served != 0 || !errors.Is(failed, robotsmw.ErrDisallowed) || header != "max-age=0") {
			t.Errorf("attached: a cached page that is now disallowed was served %d times, and OnError received %v with Cache-Control %q; want 0, ErrDisallowed and max-age=0", served, failed, header)
		}
		if !forbidden && (served != 1 || failed != nil) {
			t.Errorf("attached: a cached page that is allowed was served %d times, and OnError received %v; want 1 and no error", served, failed)
		}
		if got := asked(web); len(got) != 2 {
			t.Errorf("attached: the servers received %v, want 2 requests", got)
		}
	}
}

// An offline program processes pages again that an earlier run has stored in
// the cache directory. All pages are served. No robots.txt is requested for
// them, nor for a request that a later handler aborts. A page that is not in
// the cache requires a robots.txt, which is unreachable. After that, the other
// pages are still served.
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
		t.Errorf("%d cached pages were served, and the servers received %v; want %d pages and no requests", served, got, hosts)
	}
	if err := c.Visit("http://host-0.example/other"); !errors.Is(err, robotsmw.ErrUnreachable) {
		t.Errorf("Visit of a page that is not in the cache = %v, want ErrUnreachable", err)
	}
	if err := c.Visit(page(0)); err != nil {
		t.Errorf("Visit of a cached page while robots.txt is unreachable = %v, want nil", err)
	}
	if n := ext.Counts().Unreachable; n != 1 {
		t.Errorf("Counts().Unreachable = %d, want 1, for the page that is not in the cache", n)
	}
}

// A page was cached before robots.txt began to disallow it. A new run of the
// program has no robots.txt in memory. Collector.Visit serves the page, until a
// Check of any URL of the site has fetched the file. Extension.Visit fetches
// the file itself, and cannot serve the page if the site is unreachable.
func TestCacheDirectoryAfterRobotsTxtHasChanged(t *testing.T) {
	const page = "http://a.example/page"
	dir := t.TempDir()
	web := new(robotstest.Internet)
	web.Handle("a.example", robotsText("User-agent: *\nDisallow: /page"))
	plain(web, colly.CacheDir(dir), colly.IgnoreRobotsTxt()).Visit(page)

	c, ext := polite(t, web, colly.CacheDir(dir), colly.AllowURLRevisit())
	if err := c.Visit(page); err != nil {
		t.Errorf("Visit without robots.txt in memory = %v, want nil, for the cached page", err)
	}
	if _, err := ext.Checker().Check(t.Context(), &url.URL{Scheme: "http", Host: "a.example", Path: "/"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Visit(page); !errors.Is(err, robotsmw.ErrDisallowed) {
		t.Errorf("Visit with robots.txt in memory = %v, want ErrDisallowed", err)
	}

	_, ext = polite(t, web, colly.CacheDir(dir))
	if err := ext.Visit(page); !errors.Is(err, robotsmw.ErrDisallowed) {
		t.Errorf("Extension.Visit = %v, want ErrDisallowed", err)
	}
	_, ext = polite(t, new(robotstest.Internet), colly.CacheDir(dir))
	if err := ext.Visit(page); !errors.Is(err, robotsmw.ErrUnreachable) {
		t.Errorf("Extension.Visit while the site is down = %v, want ErrUnreachable", err)
	}
}

// A synchronous program processes the cache directory offline. A link to a page
// that is not in the directory fails with ErrUnreachable. If OnError returns,
// as the package doc requires for an offline program, the next page is served
// immediately. If OnError calls Retry, the Retry waits for the next attempt to
// fetch robots.txt: for a minute, then for two, and so on.
func TestCacheDirectoryOfflineWithRetries(t *testing.T) {
	for _, test := range []struct {
		retries int
		want    time.Duration
	}{{0, 0}, {1, time.Minute}, {2, 3 * time.Minute}} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			web := new(robotstest.Internet)
			web.Handle("a.example", robotsText(""))
			plain(web, colly.CacheDir(dir), colly.IgnoreRobotsTxt()).Visit("http://a.example/cached")

			c, _ := polite(t, new(robotstest.Internet), colly.CacheDir(dir))
			tries := 0
			c.OnError(func(r *colly.Response, err error) {
				if !errors.Is(err, robotsmw.ErrUnreachable) {
					t.Errorf("OnError received %v, want ErrUnreachable", err)
				}
				if tries < test.retries {
					tries++
					time.Sleep(time.Second)
					r.Request.Retry()
				}
			})
			served := false
			c.OnResponse(func(*colly.Response) { served = true })
			start := time.Now()
			c.Visit("http://a.example/not-cached")
			c.Visit("http://a.example/cached")
			took := time.Since(start)
			if !served || took < test.want || took > test.want*3/2 {
				t.Errorf("%d retries: the cached page was served: %v, after %v; want true, after %v to %v", test.retries, served, took, test.want, test.want*3/2)
			}
		})
	}
}
