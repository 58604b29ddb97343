package collyrobots_test

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A program ignores the error of Attach and crawls. No request may be sent,
// whatever transport, proxy or client the program sets, and even if it sets
// that on a clone.
func TestNothingIsSentAfterAnErrorOfAttach(t *testing.T) {
	noTransport := func(http.RoundTripper) http.RoundTripper { return nil }
	for name, opts := range map[string]robotsmw.Options{
		"no User-Agent":    {},
		"Wrap returns":     {UserAgent: agent, Wrap: noTransport},
		"hidden addresses": {UserAgent: agent, RefuseAddress: robotsmw.PublicOnly},
		"unknown colly":    {UserAgent: agent},
	} {
		for when, set := range map[string]func(c *colly.Collector, do func(*colly.Collector)){
			"at once":   func(c *colly.Collector, do func(*colly.Collector)) { do(c) },
			"OnRequest": func(c *colly.Collector, do func(*colly.Collector)) { c.OnRequest(func(*colly.Request) { do(c) }) },
			"OnRequestHeaders": func(c *colly.Collector, do func(*colly.Collector)) {
				c.OnRequestHeaders(func(*colly.Request) { do(c) })
			},
			"not at all": func(*colly.Collector, func(*colly.Collector)) {},
			"Init":       func(c *colly.Collector, do func(*colly.Collector)) { c.Init(); do(c) },
		} {
			for way, change := range ways {
				for _, clone := range []bool{false, true} {
					if name == "unknown colly" && (when != "at once" && when != "OnRequest" || clone) {
						continue // the public API of colly can prevent only the requests of the collector itself
					}
					if clone && (when == "OnRequestHeaders" || when == "Init") {
						continue // cannot be prevented, as the package documentation states
					}
					web, other := shop(), shop()
					c := colly.NewCollector()
					c.WithTransport(web)
					t.Run("", func(t *testing.T) {
						if name == "unknown colly" {
							collyrobots.WithoutField(t, "Client")
						}
						ext, want := collyrobots.Attach(c, opts)
						if ext != nil || want == nil {
							t.Fatalf("%s: Attach returned error %v (and an Extension: %v), want an error and no Extension", name, want, ext != nil)
						}
						d := c
						if clone {
							d = c.Clone()
						}
						set(d, func(c *colly.Collector) { change(c, other, "http://127.0.0.1:1") })
						var got error
						d.OnError(func(_ *colly.Response, err error) { got = err })
						d.Visit("http://shop.example/shoes")
						if !errors.Is(got, want) && !errors.Is(got, collyrobots.ErrBypassed) {
							t.Errorf("%s, %s in %s, clone %v: OnError received %v, want ErrBypassed or %v", name, way, when, clone, got, want)
						}
						d.Visit("http://shop.example/cart")
						for _, r := range append(web.Log(), other.Log()...) {
							if r.Status != 0 {
								t.Errorf("%s, %s in %s, clone %v: %s was requested, want no requests", name, way, when, clone, r.URL)
							}
						}
					})
				}
			}
		}
	}
}

// After an error, a program calls Attach again with valid options. Then the
// collector works with the transport that was set last.
func TestAttachAgainAfterAnError(t *testing.T) {
	web := shop()
	users := &http.Client{Transport: &http.Transport{DialContext: new(net.Dialer).DialContext}}
	c := colly.NewCollector()
	c.SetClient(users)
	for range 2 {
		if _, err := collyrobots.Attach(c, robotsmw.Options{UserAgent: agent, RefuseAddress: robotsmw.PublicOnly}); err == nil {
			t.Fatal("Attach with RefuseAddress and a DialContext returned no error, want one")
		}
	}
	c.WithTransport(web)
	attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: unpaced()})
	if err := c.Visit("http://shop.example/shoes"); err != nil {
		t.Error(err)
	}
	if err := c.Visit("http://shop.example/cart"); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
		t.Errorf("Visit of a disallowed page = %v, want ErrRobotsTxtBlocked", err)
	}
	wantAsked(t, web, "GET http://shop.example/shoes")
}

// A later version of colly may lack a field. If the field is not fatal, Attach
// succeeds and logs what does not work.
func TestAttachWithoutAField(t *testing.T) {
	for _, name := range collyrobots.NotFatal() {
		t.Run(name, func(t *testing.T) {
			collyrobots.WithoutField(t, name)
			var log strings.Builder
			web := shop()
			web.Handle("nofollow.example", withRobotsAnd(map[string]string{"X-Robots-Tag": "nofollow", "Content-Type": "text/html"}, "<a href=/link>a</a>"))
			c := colly.NewCollector()
			ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: unpaced(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if strings.Count(log.String(), "level=WARN") != 1 {
				t.Errorf("got the log\n%s\nwant one warning", &log)
			}
			c.OnHTML("a[href]", func(e *colly.HTMLElement) {
				follow(e)
				ext.Follow(e)
			})
			d := c.Clone()
			if err := ext.Add(d); err != nil {
				t.Error(err)
			}
			for _, c := range []*colly.Collector{c, d} {
				c.OnError(func(r *colly.Response, _ error) { r.Request.Retry() })
			}
			for _, c := range []*colly.Collector{c, d, c.Clone()} {
				c.AllowURLRevisit = true
				c.Visit("http://shop.example/")
				if err := c.Visit("http://shop.example/cart"); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
					t.Errorf("Visit of a disallowed page = %v, want ErrRobotsTxtBlocked", err)
				}
				ext.Visit("http://shop.example/cart")
			}
			c.Visit("http://nofollow.example/")
			got := asked(web)
			if slices.Contains(got, "GET http://shop.example/cart") || slices.Contains(got, "GET http://nofollow.example/link") ||
				!slices.Contains(got, "GET http://shop.example/shoes") || !slices.Contains(got, "GET http://nofollow.example/") {
				t.Errorf("requests %v; want the two pages that are allowed, and neither /cart nor /link", got)
			}
		})
	}
}

// After a failed Attach and a successful one, the collector works as after the
// successful one alone, even if it is initialized again.
func TestAttach_AfterAFailedOne(t *testing.T) {
	web := new(robotstest.Internet)
	web.Handle("a.example", robotsText("User-agent: *\nDisallow: /no"))
	c := colly.NewCollector()
	if _, err := collyrobots.Attach(c, robotsmw.Options{}); err == nil {
		t.Fatal("Attach without a UserAgent returned no error, want one")
	}
	attachUnpaced(t, c, web)
	if err := c.Visit("http://a.example/1"); err != nil {
		t.Error(err)
	}
	c.Init()
	if err := c.Visit("http://a.example/2"); err != nil {
		t.Errorf("Visit after Init = %v, want nil", err)
	}
	if err := c.Visit("http://a.example/no"); err == nil {
		t.Error("Visit of a disallowed page returned no error, want one")
	}
}

// What a program changes on its own http.Client takes effect, although an
// Attach has failed before.
func TestAttach_AfterAFailedOne_FollowsTheClient(t *testing.T) {
	first, second := new(robotstest.Internet), new(robotstest.Internet)
	first.Handle("a.example", robotsText(""))
	second.Handle("a.example", robotsText(""))
	client := &http.Client{Transport: first, CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}
	c := colly.NewCollector()
	c.SetClient(client)
	if _, err := collyrobots.Attach(c, robotsmw.Options{}); err == nil {
		t.Fatal("Attach without a UserAgent returned no error, want one")
	}
	attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: unpaced()})
	c.Visit("http://a.example/1")
	client.Transport = second
	c.Visit("http://a.example/2")
	if got := asked(second); !slices.Contains(got, "GET http://a.example/2") {
		t.Errorf("the new transport received %q, want GET http://a.example/2 among the requests", got)
	}
}
