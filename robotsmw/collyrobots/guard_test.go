package collyrobots_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// Requests through a transport that hides addresses fail with an error that
// contains the code to use instead. One warning is logged.
func TestTransportThatHidesAddressesIsRefused(t *testing.T) {
	dialer := &http.Transport{DialContext: new(net.Dialer).DialContext}
	for name, refused := range map[string]func(*colly.Collector){
		"WithTransport": func(c *colly.Collector) { c.WithTransport(dialer) },
		"SetClient":     func(c *colly.Collector) { c.SetClient(&http.Client{Transport: dialer}) },
		"not net/http":  func(c *colly.Collector) { c.WithTransport(shop()) },
	} {
		var log strings.Builder
		c := colly.NewCollector()
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, RefuseAddress: robotsmw.PublicOnly, Limiter: unpaced(),
			Logger: slog.New(slog.NewTextHandler(&log, nil))})
		refused(c)
		for i := range 3 {
			if err := c.Visit(fmt.Sprintf("http://127.0.0.1/%d", i)); !errors.Is(err, collyrobots.ErrBypassed) {
				t.Errorf("%s: Visit = %v, want ErrBypassed", name, err)
			}
		}
		if ext.Active() || strings.Count(log.String(), "level=WARN") != 1 || !strings.Contains(log.String(), "DialControl") {
			t.Errorf("%s: Active() = %v, want false; got the log\n%s\nwant one warning, with %q", name, ext.Active(), &log, "DialControl")
		}
		// SetProxy sets a transport that has no dial function. The extension
		// can give it one.
		c.SetProxy("http://127.0.0.1:1")
		if err := c.Visit("http://shop.example/"); !ext.Active() || err == nil || errors.Is(err, collyrobots.ErrBypassed) ||
			!strings.Contains(err.Error(), "is not a public address") {
			t.Errorf("%s: with a proxy at a private address, Active() = %v and Visit = %v; want true and an error that contains %q",
				name, ext.Active(), err, "is not a public address")
		}
	}
}

// A transport that was set after Attach has a Limiter with an invalid field. If
// this were not checked, no robots.txt could be fetched, and each page would be
// refused because its robots.txt is unreachable.
func TestInvalidTransportAfterAttach(t *testing.T) {
	var log strings.Builder
	c := colly.NewCollector()
	ext := attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: unpaced(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	c.WithTransport(&politeness.Transport{Base: shop(), Limiter: &politeness.Limiter{Jitter: -1}})
	for i := range 3 {
		if err := c.Visit(fmt.Sprintf("http://shop.example/%d", i)); err == nil || !strings.Contains(err.Error(), "Limiter.Jitter is -1") || errors.Is(err, robotsmw.ErrUnreachable) {
			t.Errorf("Visit = %v, want an error that contains %q, and not ErrUnreachable", err, "Limiter.Jitter is -1")
		}
	}
	if ext.Active() || strings.Count(log.String(), "level=WARN") != 1 {
		t.Errorf("Active() = %v, want false; got the log\n%s\nwant one warning", ext.Active(), &log)
	}
	c.WithTransport(&politeness.Transport{Base: shop(), Limiter: unpaced()})
	if err := c.Visit("http://shop.example/"); err != nil || !ext.Active() {
		t.Errorf("with a valid transport, Active() = %v and Visit = %v; want true and nil", ext.Active(), err)
	}
}

func TestTransportInPlaceOfOptionsBaseIsSaid(t *testing.T) {
	var log strings.Builder
	web, other := shop(), shop()
	c := colly.NewCollector()
	attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: unpaced(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for range 3 {
		c.WithTransport(other)
		c.Visit("http://shop.example/")
	}
	if strings.Count(log.String(), "instead of the one in Options") != 1 {
		t.Errorf("got the log\n%s\nwant %q once", &log, "instead of the one in Options")
	}
}

// A program replaces http.DefaultTransport after Attach, for example with a
// test double or an instrumented transport. All requests are then sent through
// the new transport, including those for robots.txt, as in plain colly.
func TestDefaultTransportIsReplacedLater(t *testing.T) {
	real := http.DefaultTransport
	defer func() { http.DefaultTransport = real }()
	web := shop()
	c := colly.NewCollector()
	attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: unpaced()})
	http.DefaultTransport = web
	if err := c.Visit("http://shop.example/shoes"); err != nil {
		t.Error(err)
	}
	if err := c.Visit("http://shop.example/cart"); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
		t.Errorf("Visit of a disallowed page = %v, want ErrRobotsTxtBlocked", err)
	}
	wantAsked(t, web, "GET http://shop.example/shoes")
}

func TestTransportIsReplacedBetweenVisits(t *testing.T) {
	// Each function makes the collector send to another network, which is the
	// second argument. Some functions use the last argument, a proxy that leads
	// to that network.
	set := map[string]func(c *colly.Collector, other *robotstest.Internet, proxy string){
		"SetProxyFunc": func(c *colly.Collector, _ *robotstest.Internet, proxy string) {
			u, _ := url.Parse(proxy)
			c.SetProxyFunc(http.ProxyURL(u))
		},
		"SetProxy": func(c *colly.Collector, _ *robotstest.Internet, proxy string) { c.SetProxy(proxy) },
		"SetClient": func(c *colly.Collector, other *robotstest.Internet, _ string) {
			c.SetClient(&http.Client{Transport: other})
		},
		"WithTransport": func(c *colly.Collector, other *robotstest.Internet, _ string) { c.WithTransport(other) },
	}
	for name, set := range set {
		for _, async := range []bool{false, true} {
			web, other := shop(), shop()
			proxy := newProxy(t, other)
			c := plain(web, colly.IgnoreRobotsTxt(), colly.Async(async))
			set(c, other, proxy)
			c.Visit("http://shop.example/cart")
			if c.Wait(); len(web.Log()) != 0 || len(asked(other)) != 1 {
				t.Errorf("plain colly: after %s, the first network received %v and the new one %v, want no request and one"+collyChanged, name, asked(web), asked(other))
			}

			web, other = shop(), shop()
			proxy = newProxy(t, other)
			c, ext := polite(t, web, colly.Async(async))
			c.Visit("http://shop.example/")
			c.Wait()
			set(c, other, proxy)
			if !ext.Active() {
				t.Errorf("%s: Active() = false, want true", name)
			}
			var failed notes
			c.OnError(func(r *colly.Response, err error) {
				failed.add(fmt.Sprint(r.Request.URL.Path, " ", errors.Is(err, colly.ErrRobotsTxtBlocked)))
			})
			c.Visit("http://shop.example/cart")
			c.Visit("http://shop.example/shoes")
			c.Wait()
			if got := failed.sorted(); !slices.Equal(got, []string{"/cart true"}) {
				t.Errorf("%s: OnError received %q (path, and whether the error is ErrRobotsTxtBlocked), want [%q]", name, got, "/cart true")
			}
			wantAsked(t, web, "GET http://shop.example/")
			wantAsked(t, other, "GET http://shop.example/shoes")
		}
	}
}
