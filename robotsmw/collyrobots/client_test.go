package collyrobots_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// After Collector.Init, requests still pass through the guard, which uses the
// settings made since then.
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
			t.Errorf("%s: Visit of a disallowed page = %v, want ErrRobotsTxtBlocked", when, err)
		}
		if err := c.Visit("http://shop.example/shoes"); err != nil {
			t.Errorf("%s: Visit of an allowed page = %v, want nil", when, err)
		}
		if err := c.Clone().Visit("http://shop.example/cart?2"); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
			t.Errorf("%s: Visit of a disallowed page by a clone = %v, want ErrRobotsTxtBlocked", when, err)
		}
		sent := append(asked(web)[before:], asked(other)...)
		if !slices.Equal(sent, []string{"GET http://shop.example/shoes"}) {
			t.Errorf("%s: the servers received %v, want [GET http://shop.example/shoes]", when, sent)
		}
	}
}

// A robots.txt that will expire soon is fetched again in the background. This
// goes on when Visit has returned, and the program may set a transport then.
// Only the race detector can find the fault.
func TestWithTransportDuringARefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, other := shop(), shop()
		c := colly.NewCollector()
		attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Store: &slowStore{}, Limiter: unpaced()})
		if err := c.Visit("http://shop.example/shoes"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(23 * time.Hour)
		if err := c.Visit("http://shop.example/shoes?2"); err != nil {
			t.Fatal(err)
		}
		c.WithTransport(other)
		time.Sleep(time.Minute)
		robots := 0
		for _, r := range web.Log() {
			if strings.HasSuffix(r.URL, "/robots.txt") {
				robots++
			}
		}
		if robots != 2 {
			t.Errorf("robots.txt was requested %d times through the transport before Visit returned, want 2", robots)
		}
	})
}

// A slowStore contains nothing, and takes a second to find that out.
type slowStore struct{}

func (*slowStore) Get(context.Context, string) ([]byte, error) {
	time.Sleep(time.Second)
	return nil, fs.ErrNotExist
}

func (*slowStore) Put(context.Context, string, []byte, time.Duration) error { return nil }

func (*slowStore) Delete(context.Context, string) error { return nil }

// The first collector is initialized again, twice. Each time, a transport may
// be set on it. Then its pages, robots.txt and the pages of an added collector
// are requested through that transport, or else through the one from before
// Init. This is so whichever collector makes a request first.
func TestInitOfTheFirstCollector(t *testing.T) {
	setters := maps.Clone(ways)
	setters["nothing"] = func(*colly.Collector, *robotstest.Internet, string) {}
	requests := map[string]func(url string, first, added *colly.Collector, ext *collyrobots.Extension){
		"the first": func(url string, first, _ *colly.Collector, _ *collyrobots.Extension) { first.Visit(url) },
		"the added": func(url string, _, added *colly.Collector, _ *collyrobots.Extension) { added.Visit(url) },
		"a clone of the added": func(url string, _, added *colly.Collector, _ *collyrobots.Extension) {
			added.Clone().Visit(url)
		},
		"the Checker": func(s string, _, _ *colly.Collector, ext *collyrobots.Extension) {
			u, _ := url.Parse(s)
			ext.Checker().Check(t.Context(), u)
		},
	}
	for way, set := range setters {
		for requester, request := range requests {
			t.Run(way+"/"+requester, func(t *testing.T) {
				var webs [3]*robotstest.Internet
				var proxies [3]string
				for i := range webs {
					webs[i] = new(robotstest.Internet)
					webs[i].Handle("a1.example", robotsText(""))
					webs[i].Handle("a2.example", robotsText(""))
					proxies[i] = newProxy(t, webs[i])
				}
				first, added := colly.NewCollector(), colly.NewCollector()
				first.SetProxy(proxies[0])
				ext := attach(t, first, robotsmw.Options{UserAgent: agent, Limiter: unpaced()})
				if err := ext.Add(added); err != nil {
					t.Fatal(err)
				}
				for round := 1; round <= 2; round++ {
					first.Init()
					set(first, webs[round], proxies[round])
					site := fmt.Sprintf("http://a%d.example/", round)
					request(site+"0", first, added, ext)
					first.Visit(site + "1")
					added.Visit(site + "2")
					used := round
					if way == "nothing" {
						used = 0
					}
					for i, web := range webs {
						var got, want []string
						for _, r := range web.Log() {
							if strings.HasPrefix(r.URL, site) && r.URL != site+"0" {
								got = append(got, strings.TrimPrefix(r.URL, site))
							}
						}
						if i == used {
							want = []string{"robots.txt", "1", "2"}
						}
						if !slices.Equal(got, want) {
							t.Errorf("after Init %d, transport %d received requests for %q, want %q", round, i, got, want)
						}
					}
				}
			})
		}
	}
}

// Later changes of CheckRedirect and Jar on the user's client take effect.
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
		t.Errorf("Visit after CheckRedirect was set = %v, want the error of CheckRedirect", err)
	}
	asked := 0
	users.Jar = countingJar(func() { asked++ })
	c.Visit("http://shop.example/")
	if asked == 0 {
		t.Error("Jar.Cookies was called 0 times, want at least once")
	}
}

type countingJar func()

func (f countingJar) SetCookies(*url.URL, []*http.Cookie) {}

func (f countingJar) Cookies(*url.URL) []*http.Cookie { f(); return nil }

// A request passes through at most four transports of this module.
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
		t.Errorf("the request passed through %d transports of this module, want 1 to 4", n)
	}
}

func TestTheUsersClientIsNotChanged(t *testing.T) {
	web := shop()
	users := &http.Client{Transport: web, Timeout: time.Minute}
	for _, when := range []string{"before", "after"} {
		was := *users
		c := colly.NewCollector()
		if when == "before" {
			c.SetClient(users)
		}
		if _, err := collyrobots.Attach(c, robotsmw.Options{UserAgent: agent, Limiter: unpaced()}); err != nil {
			t.Fatal(err)
		}
		if when == "after" {
			c.SetClient(users)
		}
		c.Visit("http://shop.example/shoes")
		if err := c.Visit("http://shop.example/cart"); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
			t.Errorf("SetClient %s Attach: Visit of a disallowed page = %v, want ErrRobotsTxtBlocked", when, err)
		}
		c.SetRequestTimeout(time.Second)
		c.SetProxy("http://127.0.0.1:1")
		c.Visit("http://shop.example/again")
		if users.Transport != was.Transport || users.Timeout != was.Timeout || users.Jar != was.Jar {
			t.Errorf("SetClient %s Attach: the user's client is %+v, want it unchanged: %+v", when, *users, was)
		}
		resp, err := users.Get("http://shop.example/cart")
		if err != nil {
			t.Errorf("SetClient %s Attach: Get of a disallowed page with the user's client = %v, want no error", when, err)
			continue
		}
		resp.Body.Close()
	}
	c := colly.NewCollector()
	c.SetClient(http.DefaultClient)
	attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: unpaced()})
	if http.DefaultClient.Transport != nil {
		t.Errorf("http.DefaultClient has a Transport of type %T, want nil", http.DefaultClient.Transport)
	}
}

// A transport that the user sets on the client after Attach takes effect.
func TestTheUsersClientChangesLater(t *testing.T) {
	web, other := shop(), shop()
	users := &http.Client{Transport: web}
	c := colly.NewCollector()
	c.SetClient(users)
	attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: unpaced()})
	c.Visit("http://shop.example/")
	users.Transport = other
	c.Visit("http://shop.example/shoes")
	c.Visit("http://shop.example/cart")
	wantAsked(t, web, "GET http://shop.example/")
	wantAsked(t, other, "GET http://shop.example/shoes")
}

func TestSetClientKeepsTheUsersClient(t *testing.T) {
	c, _ := polite(t, shop())
	users := &http.Client{Transport: shop()}
	was := users.Transport
	c.SetClient(users)
	c.Visit("http://shop.example/")
	if users.Transport != was {
		t.Errorf("the user's client has another Transport, of type %T; want it unchanged", users.Transport)
	}
}
