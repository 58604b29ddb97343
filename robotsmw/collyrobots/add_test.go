package collyrobots_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

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
			t.Errorf("Add of the same collector again = %v, want an error that contains %q", err, "already")
		}
		list.Visit("http://site.example/")
		detail.Visit("http://site.example/closed")
		other.Visit("http://site.example/header")
		ext.Wait()
		if got := len(asked(web)); got != 3 {
			t.Errorf("the servers received %v, want 3 requests", asked(web))
		}
		if got := robotsFetches(web); got != 1 {
			t.Errorf("robots.txt was fetched %d times, want once", got)
		}
		wantPace(t, web, "site.example", time.Second)
		if got := ext.Counts(); got.NoFollow != 2 || got.Fetched != 3 {
			t.Errorf("Counts() = %v, want Fetched 3 and NoFollow 2", got)
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
			t.Errorf("Add of a collector that is %s returned no error, want one", name)
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
		t.Errorf("Visit of a disallowed page = %v, want ErrRobotsTxtBlocked", err)
	}
	wantAsked(t, web)
	wantAsked(t, other, "GET http://shop.example/shoes")
}
