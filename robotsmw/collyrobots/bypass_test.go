package collyrobots_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/storage"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// ways are the methods that change the transport of a collector.
var ways = map[string]func(c *colly.Collector, other *robotstest.Internet, proxy string){
	"SetProxy":      func(c *colly.Collector, _ *robotstest.Internet, proxy string) { c.SetProxy(proxy) },
	"WithTransport": func(c *colly.Collector, other *robotstest.Internet, _ string) { c.WithTransport(other) },
	"SetClient": func(c *colly.Collector, other *robotstest.Internet, _ string) {
		c.SetClient(&http.Client{Transport: other})
	},
	"SetProxyFunc": func(c *colly.Collector, _ *robotstest.Internet, proxy string) {
		c.SetProxyFunc(func(*http.Request) (*url.URL, error) { return url.Parse(proxy) })
	},
}

// A request for a disallowed page is never sent, wherever and whenever a
// program sets a transport, a proxy or a client. A request for an allowed page
// is sent through the transport that was set.
func TestNothingIsSentPastTheGuard(t *testing.T) {
	once := func(f func()) func(*colly.Request) {
		var o sync.Once
		return func(*colly.Request) { o.Do(f) }
	}
	// Each function arranges for a call of its last argument, and returns the
	// collector with which the test visits the pages.
	places := map[string]func(c *colly.Collector, ext *collyrobots.Extension, set func(*colly.Collector)) *colly.Collector{
		"at once": func(c *colly.Collector, _ *collyrobots.Extension, set func(*colly.Collector)) *colly.Collector {
			set(c)
			return c
		},
		"a later OnRequest": func(c *colly.Collector, _ *collyrobots.Extension, set func(*colly.Collector)) *colly.Collector {
			c.OnRequest(once(func() { set(c) }))
			return c
		},
		"a later OnRequestHeaders": func(c *colly.Collector, _ *collyrobots.Extension, set func(*colly.Collector)) *colly.Collector {
			c.OnRequestHeaders(once(func() { set(c) }))
			return c
		},
		"OnRequestHeaders after the first page": func(c *colly.Collector, _ *collyrobots.Extension, set func(*colly.Collector)) *colly.Collector {
			c.Visit("http://shop.example/")
			c.Wait()
			c.OnRequestHeaders(once(func() { set(c) }))
			return c
		},
		"OnRequest of an added clone": func(c *colly.Collector, ext *collyrobots.Extension, set func(*colly.Collector)) *colly.Collector {
			d := c.Clone()
			ext.Add(d)
			d.OnRequest(once(func() { set(d) }))
			return d
		},
		"OnRequestHeaders of an added clone": func(c *colly.Collector, ext *collyrobots.Extension, set func(*colly.Collector)) *colly.Collector {
			d := c.Clone()
			ext.Add(d)
			d.OnRequestHeaders(once(func() { set(d) }))
			return d
		},
		"a bare clone": func(c *colly.Collector, _ *collyrobots.Extension, set func(*colly.Collector)) *colly.Collector {
			d := c.Clone()
			set(d)
			return d
		},
		"a clone of a clone": func(c *colly.Collector, _ *collyrobots.Extension, set func(*colly.Collector)) *colly.Collector {
			d := c.Clone().Clone()
			set(d)
			return d
		},
		"OnRequest of a bare clone": func(c *colly.Collector, _ *collyrobots.Extension, set func(*colly.Collector)) *colly.Collector {
			d := c.Clone()
			d.OnRequest(once(func() { set(d) }))
			return d
		},
		"a bare clone sets, the collector visits": func(c *colly.Collector, _ *collyrobots.Extension, set func(*colly.Collector)) *colly.Collector {
			set(c.Clone())
			return c
		},
	}
	for way, set := range ways {
		for place, arrange := range places {
			for _, async := range []bool{false, true} {
				web, other := shop(), shop()
				proxy := newProxy(t, other)
				c, ext := polite(t, web, colly.Async(async))
				d := arrange(c, ext, func(c *colly.Collector) { set(c, other, proxy) })
				d.Visit("http://shop.example/cart")
				d.Wait()
				d.Visit("http://shop.example/shoes")
				d.Wait()
				sent := append(asked(web), asked(other)...)
				if slices.Contains(sent, "GET http://shop.example/cart") {
					t.Errorf("%s in %s, async %v: the requests %v were sent, want none for /cart", way, place, async, sent)
				}
				if !slices.Contains(asked(other), "GET http://shop.example/shoes") {
					t.Errorf("%s in %s, async %v: the requests %v were sent, want /shoes through the transport that was set", way, place, async, sent)
				}
				if !ext.Active() {
					t.Errorf("%s in %s, async %v: Active() = false, want true", way, place, async)
				}
			}
		}
	}
}

// Extension.Add was not called for a clone, and the clone sets a transport in
// OnRequestHeaders. Only the extension's cookie jar can detect that, even if
// the program has set a jar with SetStorage or SetCookieJar.
func TestOnRequestHeadersOfABareClone(t *testing.T) {
	for name, prepare := range map[string]func(*colly.Collector){
		"the first jar": func(*colly.Collector) {},
		"SetStorage":    func(c *colly.Collector) { c.SetStorage(&storage.InMemoryStorage{}) },
		"SetCookieJar": func(c *colly.Collector) {
			jar, _ := cookiejar.New(nil)
			c.SetCookieJar(jar)
		},
	} {
		for _, way := range []string{"SetProxy", "SetProxyFunc", "WithTransport"} {
			web, other := shop(), shop()
			proxy := newProxy(t, other)
			c, _ := polite(t, web)
			prepare(c)
			d := c.Clone()
			d.OnRequestHeaders(func(*colly.Request) { ways[way](d, other, proxy) })
			if err := d.Visit("http://shop.example/cart"); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
				t.Errorf("%s, %s: Visit of a disallowed page = %v, want ErrRobotsTxtBlocked", name, way, err)
			}
			d.Visit("http://shop.example/shoes")
			wantAsked(t, web)
			wantAsked(t, other, "GET http://shop.example/shoes")
		}
	}
}

// In OnRequestHeaders, a clone sets a client, or sets a transport while cookies
// are disabled. If Extension.Add was not called for the clone, that request
// bypasses robots.txt, as the package documentation states. If this test fails
// because colly has changed, the documentation must change too.
func TestTheGapInOnRequestHeadersOfABareClone(t *testing.T) {
	for name, set := range map[string]func(c *colly.Collector, other *robotstest.Internet){
		"SetClient":                     func(c *colly.Collector, other *robotstest.Internet) { c.SetClient(&http.Client{Transport: other}) },
		"WithTransport without cookies": func(c *colly.Collector, other *robotstest.Internet) { c.WithTransport(other) },
	} {
		for _, added := range []bool{false, true} {
			web, other := shop(), shop()
			c, ext := polite(t, web)
			c.DisableCookies()
			d := c.Clone()
			if added {
				ext.Add(d)
			}
			var once sync.Once
			d.OnRequestHeaders(func(*colly.Request) { once.Do(func() { set(d, other) }) })
			if err := d.Visit("http://shop.example/cart"); errors.Is(err, colly.ErrRobotsTxtBlocked) != added {
				t.Errorf("%s, added %v: the first Visit = %v, want ErrRobotsTxtBlocked: %v", name, added, err, added)
			}
			if err := d.Visit("http://shop.example/cart?2"); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
				t.Errorf("%s, added %v: the second Visit = %v, want ErrRobotsTxtBlocked", name, added, err)
			}
			d.Visit("http://shop.example/shoes")
			want := []string{"GET http://shop.example/cart", "GET http://shop.example/shoes"}
			if added {
				want = want[1:]
			}
			wantAsked(t, web)
			wantAsked(t, other, want...)
		}
	}
}

func TestCloneMadeBeforeAttachSetsATransport(t *testing.T) {
	for way, set := range ways {
		web, other := shop(), shop()
		proxy := newProxy(t, other)
		c := colly.NewCollector()
		before := c.Clone()
		attachUnpaced(t, c, web)
		set(before, other, proxy)
		if err := before.Visit("http://shop.example/cart"); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
			t.Errorf("%s: Visit of a disallowed page = %v, want ErrRobotsTxtBlocked", way, err)
		}
		before.Visit("http://shop.example/shoes")
		wantAsked(t, web)
		wantAsked(t, other, "GET http://shop.example/shoes")
	}
}

// The first request holds the only slot of a LimitRule, and four more requests
// wait for it. Then the OnResponseHeaders handler of the first request sets a
// transport. The allowed requests must be sent through this transport, and the
// disallowed ones must not be sent.
func TestTransportIsSetWhileARequestWaitsInALimitRule(t *testing.T) {
	for way, set := range ways {
		for _, kind := range []string{"collector", "bare clone"} {
			web, other := shop(), shop()
			proxy := newProxy(t, other)
			var wait sync.WaitGroup // waits until each of the later requests is granted or refused
			arrived := make(chan struct{})
			web.Handle("slow.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/robots.txt" {
					close(arrived)
					wait.Wait()
				}
			}))
			limiter := unpaced()
			limiter.Observer = &politeness.Observer{Granted: func(_ context.Context, e politeness.Event) {
				if e.Host == "shop.example" && !e.Exempt {
					wait.Done()
				}
			}}
			c := colly.NewCollector(colly.Async())
			attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: limiter})
			c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 1, Delay: time.Millisecond})
			d := c
			if kind == "bare clone" {
				d = c.Clone()
			}
			d.OnError(func(*colly.Response, error) { wait.Done() })
			d.OnResponseHeaders(func(r *colly.Response) {
				if r.Request.URL.Host == "slow.example" {
					set(d, other, proxy)
				}
			})
			wait.Add(4)
			d.Visit("http://slow.example/")
			<-arrived
			for _, path := range []string{"/cart", "/shoes", "/cart?2", "/shoes?2"} {
				d.Visit("http://shop.example" + path)
			}
			d.Wait()
			got := asked(other)
			slices.Sort(got)
			if want := []string{"GET http://shop.example/shoes", "GET http://shop.example/shoes?2"}; !slices.Equal(got, want) {
				t.Errorf("%s on a %s: the transport that was set received %v, want %v", way, kind, got, want)
			}
			wantAsked(t, web, "GET http://slow.example/")
		}
	}
}
