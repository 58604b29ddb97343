package collyrobots_test

import (
	"errors"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
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
