package collyrobots_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/debug"
	"github.com/gocolly/colly/v2/queue"
	"github.com/gocolly/colly/v2/storage"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// TestAttachAnywhere calls Attach before each step of a program's set-up, and
// after the last one.
func TestAttachAnywhere(t *testing.T) {
	steps := []struct {
		name string
		do   func(t *testing.T, c *colly.Collector)
	}{
		{"callbacks", func(t *testing.T, c *colly.Collector) {
			c.OnHTML("a[href]", follow)
			c.OnXML("//a", func(*colly.XMLElement) {})
		}},
		{"Limit", func(t *testing.T, c *colly.Collector) {
			if err := c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 2}); err != nil {
				t.Error(err)
			}
		}},
		{"SetRequestTimeout", func(t *testing.T, c *colly.Collector) { c.SetRequestTimeout(time.Minute) }},
		{"SetStorage", func(t *testing.T, c *colly.Collector) {
			if err := c.SetStorage(&storage.InMemoryStorage{}); err != nil {
				t.Error(err)
			}
		}},
		{"DisableCookies", func(t *testing.T, c *colly.Collector) { c.DisableCookies() }},
		{"a debugger", func(t *testing.T, c *colly.Collector) { c.SetDebugger(&debug.LogDebugger{Output: &strings.Builder{}}) }},
		{"TraceHTTP", func(t *testing.T, c *colly.Collector) {
			c.TraceHTTP = true
			c.OnResponse(func(r *colly.Response) {
				if r.Trace == nil {
					t.Errorf("%s has no trace", r.Request.URL)
				}
			})
		}},
		{"MaxDepth", func(t *testing.T, c *colly.Collector) { c.MaxDepth = 2 }},
		{"ParseHTTPErrorResponse", func(t *testing.T, c *colly.Collector) { c.ParseHTTPErrorResponse = true }},
		{"IgnoreRobotsTxt off", func(t *testing.T, c *colly.Collector) { c.IgnoreRobotsTxt = false }},
		{"DetectCharset", func(t *testing.T, c *colly.Collector) { c.DetectCharset = true }},
	}
	for _, async := range []bool{false, true} {
		for first := range len(steps) + 1 {
			web := shop()
			c := colly.NewCollector(colly.Async(async))
			var blocked notes
			c.OnError(func(r *colly.Response, err error) {
				if errors.Is(err, colly.ErrRobotsTxtBlocked) {
					blocked.add(r.Request.URL.Path)
				}
			})
			for i, step := range steps {
				if i == first {
					attachUnpaced(t, c, web)
				}
				step.do(t, c)
			}
			if first == len(steps) {
				attachUnpaced(t, c, web)
			}
			c.Visit("http://shop.example/")
			c.Wait()
			wantAsked(t, web, "GET http://shop.example/", "GET http://shop.example/shoes")
			// If colly's own check was switched on again, that check comes
			// first, and OnError is not called.
			if got := blocked.sorted(); !slices.Equal(got, []string{"/cart"}) && c.IgnoreRobotsTxt {
				t.Errorf("attached before step %d: OnError was told of %v", first, got)
			}
		}
	}
}

func TestQueueAndRetryObey(t *testing.T) {
	web := shop()
	c, ext := polite(t, web)
	q, err := queue.New(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/cart", "/cart?again", "/shoes"} {
		q.AddURL("http://shop.example" + path)
	}
	c.OnError(func(r *colly.Response, err error) { r.Request.Retry() })
	if err := q.Run(c); err != nil {
		t.Fatal(err)
	}
	got := asked(web)
	slices.Sort(got)
	if !slices.Equal(got, []string{"GET http://shop.example/", "GET http://shop.example/shoes"}) {
		t.Errorf("asked for %v", got)
	}
	if n := ext.Counts().Disallowed; n != 2 { // the Retry of a URL that a rule refuses is not even tried
		t.Errorf("%d were refused", n)
	}
}

func TestOneExtensionOnManyCollectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := nofollowSite()
		list := colly.NewCollector(colly.Async())
		ext := attach(t, list, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)})
		detail := list.Clone()
		other := colly.NewCollector(colly.Async())
		for _, c := range []*colly.Collector{detail, other} {
			if err := ext.Add(c); err != nil {
				t.Fatal(err)
			}
			c.OnHTML("a[href]", follow)
		}
		if err := ext.Add(detail); err == nil || !strings.Contains(err.Error(), "already") {
			t.Errorf("attached twice: %v", err)
		}
		list.Visit("http://site.example/")
		detail.Visit("http://site.example/closed")
		other.Visit("http://site.example/header")
		ext.Wait()
		if got := len(asked(web)); got != 3 {
			t.Errorf("asked for %v", asked(web))
		}
		if got := robotsFetches(web); got != 1 {
			t.Errorf("%d fetches of robots.txt", got)
		}
		wantPace(t, web, "site.example", time.Second)
		if got := ext.Counts(); got.NoFollow != 2 || got.Fetched != 3 {
			t.Errorf("stats: %v", got)
		}
	})
}

func TestAttachToFurtherCollectorsSaysWhatIsWrong(t *testing.T) {
	_, ext := polite(t, shop())
	foreign := colly.NewCollector()
	attach(t, foreign, robotsmw.Options{UserAgent: agent})
	for name, c := range map[string]*colly.Collector{
		"nil": nil, "never set up": new(colly.Collector), "of another extension": foreign,
	} {
		if err := ext.Add(c); err == nil {
			t.Errorf("a collector that is %s: no error", name)
		}
	}
}

// An added collector that is not a clone keeps its transport.
func TestAddedCollectorsKeepTheirTransport(t *testing.T) {
	web, other := shop(), shop()
	_, ext := polite(t, web)
	c := colly.NewCollector()
	c.WithTransport(other)
	if err := ext.Add(c); err != nil {
		t.Fatal(err)
	}
	c.Visit("http://shop.example/shoes")
	if err := c.Visit("http://shop.example/cart"); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
		t.Error(err)
	}
	wantAsked(t, web)
	wantAsked(t, other, "GET http://shop.example/shoes")
}

func TestCountsString(t *testing.T) {
	for want, stats := range map[string]collyrobots.Counts{
		"fetched 0": {},
		"fetched 9, disallowed 1, unreachable 2, noindex 3, nofollow 4, links refused 5, put back 7, retried 8, given up 1": {
			Fetched: 9, Disallowed: 1, Unreachable: 2, NoIndex: 3, NoFollow: 4, LinksRefused: 5, PutBack: 7, Retried: 8, GivenUp: 1},
		"fetched 9, pages 7, lost 2, waited 1m3s (5.1s at most)": {Fetched: 9, Pages: 7, Lost: 2, Waited: 63 * time.Second, LongestWait: 5120 * time.Millisecond},
		"fetched 9": {Fetched: 9, Pages: 9, Waited: 400 * time.Millisecond, LongestWait: 300 * time.Millisecond},
	} {
		if got := fmt.Sprint(stats); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPagesThatCannotBeExamined(t *testing.T) {
	nofollow := "<meta name=robots content=nofollow>"
	for _, c := range []struct {
		name   string
		header map[string]string
		body   string
		state  robotsmw.PageState
		says   bool
	}{
		{name: "HTML", header: map[string]string{"Content-Type": "text/html"}, body: nofollow, state: robotsmw.PageComplete, says: true},
		{name: "XHTML", header: map[string]string{"Content-Type": "Application/XHTML+XML; charset=utf-8"}, body: nofollow, state: robotsmw.PageComplete, says: true},
		{name: "a text", header: map[string]string{"Content-Type": "text/plain"}, body: nofollow, state: robotsmw.PageHeaderOnly},
		{name: "a text with a header", header: map[string]string{"Content-Type": "text/plain", "X-Robots-Tag": "none"}, state: robotsmw.PageHeaderOnly, says: true, body: "x"},
		{name: "no type", header: map[string]string{"Content-Type": ""}, body: "<!doctype html>" + nofollow, state: robotsmw.PageComplete, says: true},
		{name: "a type without its semicolon", header: map[string]string{"Content-Type": "text/html charset=utf-8"}, body: nofollow, state: robotsmw.PageComplete, says: true},
		{name: "brotli", header: map[string]string{"Content-Type": "text/html", "Content-Encoding": "br"}, body: "\x0b\x02\x80", state: robotsmw.PageNotExamined},
		{name: "empty", header: map[string]string{"Content-Type": "text/html"}, state: robotsmw.PageHeaderOnly},
	} {
		web := new(robotstest.Internet)
		web.Handle("a.example", withRobotsAnd(c.header, c.body))
		collector := colly.NewCollector()
		ext := attach(t, collector, robotsmw.Options{UserAgent: agent, Base: web, Limiter: unpaced()})
		seen := false
		collector.OnResponse(func(r *colly.Response) {
			seen = true
			if page := ext.Directives(r); page.State != c.state || page.NoFollow() != c.says {
				t.Errorf("%s: %v, nofollow %v; want %v, %v", c.name, page.State, page.NoFollow(), c.state, c.says)
			}
		})
		if err := collector.Visit("http://a.example/"); err != nil || !seen {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
