package collyrobots_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A handler may visit another page before the body of its own response has been
// read. Usually the response's slot becomes free only when the body has ended.
// The extension reads the body ahead, so the visit gets the slot and succeeds.
func TestVisitBeforeTheBodyIsRead(t *testing.T) {
	body := strings.Repeat("the whole page ", 10_000)
	world := func() *robotstest.Internet {
		web := new(robotstest.Internet)
		mux := http.NewServeMux()
		mux.Handle("/robots.txt", robotstest.Site{})
		mux.Handle("/", robotstest.Site{"/": body, "/nested": body, "/more": body})
		mux.Handle("/moved", http.RedirectHandler("/", http.StatusFound))
		web.Handle("a.example", mux)
		web.Handle("b.example", withRobotsAnd(nil, body))
		return web
	}
	for _, c := range []struct {
		name   string
		set    func(c *colly.Collector, visit func())
		atOnce int // requests in flight to all hosts together; 0: no limit
		nested string
		rule   bool
	}{
		{name: "OnResponseHeaders", set: func(c *colly.Collector, visit func()) { c.OnResponseHeaders(func(*colly.Response) { visit() }) }},
		{name: "a redirect handler", set: func(c *colly.Collector, visit func()) {
			c.SetRedirectHandler(func(*http.Request, []*http.Request) error { visit(); return nil })
		}},
		{name: "a LimitRule for all hosts", rule: true, nested: "http://b.example/",
			set: func(c *colly.Collector, visit func()) { c.OnResponseHeaders(func(*colly.Response) { visit() }) }},
		{name: "one request at a time", atOnce: 1, nested: "http://b.example/",
			set: func(c *colly.Collector, visit func()) { c.OnResponseHeaders(func(*colly.Response) { visit() }) }},
	} {
		for _, bare := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				collector := colly.NewCollector()
				limiter := new(politeness.Limiter)
				if c.atOnce > 0 {
					all := func(context.Context, *url.URL) (string, error) { return "all", nil }
					limiter.Within = &politeness.Limiter{Delay: -1, Concurrency: c.atOnce, Key: all}
				}
				attach(t, collector, robotsmw.Options{UserAgent: agent, Base: world(), Limiter: limiter})
				if bare {
					collector = collector.Clone()
				}
				if c.rule {
					collector.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 1})
				}
				nested := c.nested
				if nested == "" {
					nested = "http://a.example/nested"
				}
				start, once := time.Now(), false
				var came time.Duration
				c.set(collector, func() {
					if !once {
						once = true
						if err := collector.Visit(nested); err != nil {
							t.Errorf("%s: the nested Visit = %v, want nil", c.name, err)
						}
						came = time.Since(start)
					}
				})
				pages := 0
				collector.OnResponse(func(r *colly.Response) {
					pages++
					if string(r.Body) != body {
						t.Errorf("%s: %s has a body of %d bytes, want the whole page, %d bytes", c.name, r.Request.URL, len(r.Body), len(body))
					}
				})
				if err := collector.Visit("http://a.example/moved"); err != nil {
					t.Errorf("%s: Visit = %v, want nil", c.name, err)
				}
				// robots.txt, the redirect, its target and the nested page are
				// requested at intervals of a second.
				if pages != 2 || !once || came > 5*time.Second {
					t.Errorf("%s, bare clone %v: %d pages were fetched, the nested one: %v, after %v; want 2, true, at most 5s", c.name, bare, pages, once, came)
				}
			})
		}
	}
}

// A long body of which a part was read ahead, because a handler was slow, is
// returned completely.
func TestLongBodyIsReadAheadInPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := strings.Repeat("0123456789abcdef", 17<<16)
		web := new(robotstest.Internet)
		web.Handle("a.example", withRobotsAnd(nil, body))
		c, _ := polite(t, web)
		c.MaxBodySize = 0
		c.OnResponseHeaders(func(*colly.Response) { time.Sleep(time.Second) })
		got := ""
		c.OnResponse(func(r *colly.Response) { got = string(r.Body) })
		if err := c.Visit("http://a.example/"); err != nil {
			t.Error(err)
		}
		if got != body {
			t.Errorf("OnResponse received a body of %d bytes, want the whole page, %d bytes", len(got), len(body))
		}
	})
}

// A body that is too long to be read ahead holds its slot until its attempt has
// ended, and no longer.
func TestBodyTooLongToBeReadAheadFreesItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := new(robotstest.Internet)
		web.Handle("a.example", robotsAnd(robotstest.Site{"/": strings.Repeat("0123456789abcdef", 17<<16), "/nested": "<p>"}))
		c := colly.NewCollector()
		attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)})
		start, came := time.Now(), time.Duration(0)
		c.OnResponseHeaders(func(r *colly.Response) {
			if r.Request.URL.Path == "/" {
				if err := c.Visit("http://a.example/nested"); err != nil {
					t.Error(err)
				}
				came = time.Since(start)
			}
		})
		if err := c.Visit("http://a.example/"); err != nil { // colly reads no more than MaxBodySize, which was read ahead
			t.Error(err)
		}
		if came < 11*time.Second || came > 12*time.Second { // robots.txt at 0 s, the page at 1 s; an attempt may take 10 s
			t.Errorf("the nested page was fetched after %v, want 11s to 12s", came)
		}
	})
}

// A download that OnResponseHeaders aborts is not read to its end.
func TestAbortedDownloadsAreNotRead(t *testing.T) {
	web := new(robotstest.Internet)
	written := make(chan int, 2)
	web.Handle("a.example", robotsAnd(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 0
		for r.Context().Err() == nil && n < 64<<20 {
			wrote, err := w.Write(make([]byte, 64<<10))
			if n += wrote; err != nil {
				break
			}
		}
		written <- n
	})))
	c, _ := polite(t, web)
	c.OnResponseHeaders(func(r *colly.Response) { r.Request.Abort() })
	for i := range 2 {
		if err := c.Visit(fmt.Sprintf("http://a.example/%d", i)); !errors.Is(err, colly.ErrAbortedAfterHeaders) {
			t.Errorf("Visit = %v, want ErrAbortedAfterHeaders", err)
		}
		if n := <-written; n >= 64<<20 {
			t.Errorf("the server sent %d bytes of an aborted download, want fewer than %d", n, 64<<20)
		}
	}
}
