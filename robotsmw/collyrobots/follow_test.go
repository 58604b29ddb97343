package collyrobots_test

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"testing"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// Follow and Visit fetch robots.txt only from hosts that the collector would
// visit. For the others, they return colly's own errors.
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
			t.Errorf("Follow of the link %q = %v, want nil or an error of colly", e.Text, err)
		}
	})
	c.Visit("http://a.example/")
	if got := slices.Compact(notes.sorted()); !slices.Equal(got, []string{"depth", "domain", "filter", "visited"}) || len(notes.list) != 23 {
		t.Errorf("Follow returned errors of the kinds %v, want 23 errors: depth, domain, filter and visited", notes.sorted())
	}
	if n := robotsFetches(web); n != 1 {
		t.Errorf("robots.txt was fetched %d times, want once", n)
	}
	if err := ext.Visit("http://h1.example/"); !errors.Is(err, colly.ErrForbiddenDomain) || robotsFetches(web) != 1 {
		t.Errorf("Visit of another domain = %v, with %d fetches of robots.txt in all; want ErrForbiddenDomain and 1", err, robotsFetches(web))
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
		t.Errorf("the servers received %v, want 7 requests", got)
	}
	c.AllowURLRevisit = false
	if err := ext.Visit("http://shop.example/shoes"); err != nil {
		t.Error(err)
	}
	err := ext.Visit("http://shop.example/shoes")
	if _, ok := errors.AsType[*colly.AlreadyVisitedError](err); !ok {
		t.Errorf("Visit of a visited URL without AllowURLRevisit = %v, want an AlreadyVisitedError", err)
	}
	c.AllowURLRevisit = true
	if err := ext.Visit("http://shop.example/shoes"); err != nil {
		t.Error(err)
	}
}

func TestBlockedURLIsNotVisitedByFollow(t *testing.T) {
	errBlocked := errors.New("blocked")
	c := plain(shop(), colly.IgnoreRobotsTxt())
	c.WithTransport(roundTripper(func(*http.Request) (*http.Response, error) { return nil, errBlocked }))
	c.Visit("http://shop.example/cart")
	if visited, _ := c.HasVisited("http://shop.example/cart"); !visited {
		t.Error("plain colly: a URL that the transport refuses is not visited, want visited" + collyChanged)
	}
	c = plain(shop(), colly.IgnoreRobotsTxt())
	errs := 0
	c.OnError(func(*colly.Response, error) { errs++ })
	c.OnRequest(func(r *colly.Request) { r.Abort() })
	if err := c.Visit("http://shop.example/1"); err != nil || errs != 0 {
		t.Errorf("plain colly: Abort in OnRequest: error %v, %d calls of OnError; want none"+collyChanged, err, errs)
	}
	c = plain(shop(), colly.IgnoreRobotsTxt())
	c.OnRequestHeaders(func(r *colly.Request) { r.Abort() })
	if err := c.Visit("http://shop.example/2"); !errors.Is(err, colly.ErrAbortedBeforeRequest) {
		t.Errorf("plain colly: Abort in OnRequestHeaders: error %v, want ErrAbortedBeforeRequest"+collyChanged, err)
	}

	web := shop()
	c, ext := polite(t, web, colly.MaxRequests(2))
	for range 5 {
		if err := ext.Visit("http://shop.example/cart"); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
			t.Fatalf("attached: Extension.Visit of a disallowed page = %v, want ErrRobotsTxtBlocked", err)
		}
	}
	if visited, _ := c.HasVisited("http://shop.example/cart"); visited {
		t.Error("attached: after Extension.Visit of a disallowed page, HasVisited = true, want false")
	}
	for _, target := range []string{"http://shop.example/", "http://shop.example/shoes"} {
		if err := ext.Visit(target); err != nil {
			t.Errorf("attached: Extension.Visit(%q) = %v, want nil, because disallowed URLs do not count toward MaxRequests", target, err)
		}
	}
}
