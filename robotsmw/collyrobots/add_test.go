package collyrobots_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
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

// A transport or a proxy is set on the first collector after Add. The requests
// of an added collector, and of its clones, are sent through it, unless the
// added collector has a transport of its own.
func TestAdd_TransportOfTheFirstCollectorChanges(t *testing.T) {
	type network struct {
		web   *robotstest.Internet
		proxy string
	}
	setters := map[string]func(*colly.Collector, network){
		"WithTransport": func(c *colly.Collector, n network) { c.WithTransport(n.web) },
		"SetClient":     func(c *colly.Collector, n network) { c.SetClient(&http.Client{Transport: n.web}) },
		"SetProxy":      func(c *colly.Collector, n network) { c.SetProxy(n.proxy) },
		"SetProxyFunc": func(c *colly.Collector, n network) {
			c.SetProxyFunc(func(*http.Request) (*url.URL, error) { return url.Parse(n.proxy) })
		},
	}
	for name, set := range setters {
		for _, own := range []string{"none", "before Add", "after Add", "after a page"} {
			t.Run(name+"/own transport: "+own, func(t *testing.T) {
				var networks [4]network
				for i := range networks {
					networks[i].web = shop()
					networks[i].proxy = newProxy(t, networks[i].web)
				}
				original, next, last, ofAdded := networks[0], networks[1], networks[2], networks[3]
				first := colly.NewCollector()
				ext := attachUnpaced(t, first, original.web)
				c := colly.NewCollector()
				if own == "before Add" {
					set(c, ofAdded)
				}
				if err := ext.Add(c); err != nil {
					t.Fatal(err)
				}
				if own == "after Add" {
					set(c, ofAdded)
				}
				set(first, next)
				c.Visit("http://shop.example/1")
				if own == "after a page" {
					set(c, ofAdded)
				}
				set(first, last)
				c.Visit("http://shop.example/2")
				c.Clone().Visit("http://shop.example/3")
				wantAsked(t, original.web)
				switch own {
				case "none":
					wantAsked(t, next.web, "GET http://shop.example/1")
					wantAsked(t, last.web, "GET http://shop.example/2", "GET http://shop.example/3")
					wantAsked(t, ofAdded.web)
				case "after a page":
					wantAsked(t, next.web, "GET http://shop.example/1")
					wantAsked(t, last.web)
					wantAsked(t, ofAdded.web, "GET http://shop.example/2", "GET http://shop.example/3")
				default:
					wantAsked(t, next.web)
					wantAsked(t, last.web)
					wantAsked(t, ofAdded.web, "GET http://shop.example/1", "GET http://shop.example/2", "GET http://shop.example/3")
				}
			})
		}
	}
}

// The transport that is set on the first collector after Add hides addresses
// from RefuseAddress. The requests of the added collector fail too, until the
// first collector or the added one has a transport that can be used.
func TestAdd_TransportOfTheFirstCollectorIsRefused(t *testing.T) {
	for _, fixed := range []string{"first", "added"} {
		first := colly.NewCollector()
		ext := attach(t, first, robotsmw.Options{
			UserAgent:     agent,
			Limiter:       unpaced(),
			Logger:        slog.New(slog.DiscardHandler),
			RefuseAddress: func(netip.Addr) error { return errors.New("refused") },
		})
		c := colly.NewCollector(colly.AllowURLRevisit())
		if err := ext.Add(c); err != nil {
			t.Fatal(err)
		}
		first.WithTransport(shop())
		if err := c.Visit("http://shop.example/"); !errors.Is(err, collyrobots.ErrBypassed) {
			t.Errorf("Visit = %v, want ErrBypassed", err)
		}
		if fixed == "first" {
			first.WithTransport(nil)
		} else {
			c.WithTransport(new(http.Transport))
		}
		if err := c.Visit("http://127.0.0.1/"); fixed == "first" && !errors.Is(err, robotsmw.ErrAddressRefused) {
			t.Errorf("Visit after the transport of the first was set = %v, want ErrAddressRefused", err)
		} else if fixed == "added" && !errors.Is(err, robotsmw.ErrUnreachable) {
			// robots.txt is still fetched through the transport of the first.
			t.Errorf("Visit after the transport of the added was set = %v, want ErrUnreachable", err)
		}
	}
}

// A program rotates the transports of the first collector in the callbacks of
// an added one, whose requests follow each other, and may also initialize the
// first collector again. The race detector reports no data race, and each page
// is requested through the transport that was set last.
func TestAdd_CallbackSetsTheTransportOfTheFirst(t *testing.T) {
	for _, initialize := range []bool{false, true} {
		first := colly.NewCollector()
		webs := []*robotstest.Internet{shop(), shop(), shop()}
		ext := attachUnpaced(t, first, webs[0])
		c := colly.NewCollector()
		if err := ext.Add(c); err != nil {
			t.Fatal(err)
		}
		pages := 0
		c.OnResponse(func(*colly.Response) {
			pages++
			if initialize {
				first.Init()
			}
			first.WithTransport(webs[pages%len(webs)])
		})
		for i := range 6 {
			if err := c.Visit(fmt.Sprintf("http://shop.example/shoes?%d", i)); err != nil {
				t.Errorf("Init %v: %v", initialize, err)
			}
		}
		for i, web := range webs {
			wantAsked(t, web, fmt.Sprintf("GET http://shop.example/shoes?%d", i), fmt.Sprintf("GET http://shop.example/shoes?%d", i+3))
		}
	}
}

// The first collector and two added ones make requests at the same time, after
// a transport was set on the first while no request was under way. In the last
// round, the first was also initialized again. The race detector reports no
// data race.
func TestAdd_CollectorsFollowAtTheSameTime(t *testing.T) {
	first := colly.NewCollector(colly.Async())
	ext := attachUnpaced(t, first, shop())
	collectors := []*colly.Collector{first, colly.NewCollector(colly.Async()), colly.NewCollector(colly.Async())}
	for _, c := range collectors[1:] {
		if err := ext.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 3 {
		web := shop()
		if round == 2 {
			first.Init()
		}
		first.WithTransport(web)
		for i, c := range collectors {
			c.AllowURLRevisit = true
			for page := range 10 {
				c.Visit(fmt.Sprintf("http://shop.example/shoes?%d-%d", i, page))
			}
		}
		ext.Wait()
		if got := len(asked(web)); got != 30 {
			t.Errorf("%d requests were sent through the transport that was set last, want 30", got)
		}
	}
}
