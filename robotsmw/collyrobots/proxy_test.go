package collyrobots_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/proxy"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// Options.Proxy is used for pages and for robots.txt, even if it is one of
// colly's switchers.
func TestOptionsProxy(t *testing.T) {
	var seen notes
	site := robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /no", "/": "<p>", "/yes": "<p>"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.add(r.URL.String()) // a proxy receives absolute URLs
		site.ServeHTTP(w, r)
	}))
	defer server.Close()
	proxyURL, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	switcher, err := proxy.RoundRobinProxySwitcher(server.URL, server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for i, choose := range []func(*http.Request) (*url.URL, error){http.ProxyURL(proxyURL), switcher} {
		host := fmt.Sprintf("http://site%d.example", i)
		c := colly.NewCollector()
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Proxy: choose, Limiter: unpaced()})
		if err := c.Visit(host + "/yes"); err != nil {
			t.Error(err)
		}
		if err := c.Visit(host + "/no"); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
			t.Errorf("Visit of a disallowed page = %v, want ErrRobotsTxtBlocked", err)
		}
		if !ext.Active() {
			t.Error("Active() = false, want true")
		}
	}
	want := []string{"http://site0.example/robots.txt", "http://site0.example/yes", "http://site1.example/robots.txt", "http://site1.example/yes"}
	if got := seen.sorted(); !slices.Equal(got, want) {
		t.Errorf("the proxy received requests for %v, want %v", got, want)
	}
}

// With a transport that sets Protocols, requests are rate-limited too, and
// Extension.Counts and Request.ProxyURL are correct.
func TestTransportThatNamesItsProtocols(t *testing.T) {
	server := httptest.NewServer(robotstest.Site{"/": "<p>"}) // the proxy
	defer server.Close()
	switcher, err := proxy.RoundRobinProxySwitcher(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	base := &http.Transport{Proxy: switcher, Protocols: new(http.Protocols)}
	base.Protocols.SetHTTP1(true)
	defer base.CloseIdleConnections()
	c := colly.NewCollector(colly.AllowURLRevisit())
	ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: base, Limiter: &politeness.Limiter{Delay: 20 * time.Millisecond}})
	c.OnResponse(func(r *colly.Response) {
		if r.Request.ProxyURL != server.URL {
			t.Errorf("ProxyURL of %s = %q, want %q", r.Request.URL, r.Request.ProxyURL, server.URL)
		}
	})
	for range 2 {
		if err := c.Visit("http://shop.example/"); err != nil {
			t.Error(err)
		}
	}
	if n := ext.Counts(); n.Pages != 2 || n.LongestWait == 0 {
		t.Errorf("Counts() has Pages %d and LongestWait %v, want 2 and a positive wait", n.Pages, n.LongestWait)
	}
}

// A proxy closes the connection without responding to the request for a page.
// In OnError, Request.ProxyURL is the proxy that colly's switcher chose. In
// plain colly, this is the case only without a request timeout; with one, the
// client sends a copy of colly's request, and ProxyURL is empty.
func TestProxyURLOfAFailedRequest(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	for _, test := range []struct {
		name     string
		attach   bool
		timeout  time.Duration
		wantNone bool
	}{
		{name: "plain"},
		{name: "plain with a timeout", timeout: time.Minute, wantNone: true},
		{name: "attached", attach: true},
		{name: "attached with a timeout", attach: true, timeout: time.Minute},
	} {
		switcher, err := proxy.RoundRobinProxySwitcher(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		c := colly.NewCollector()
		c.SetProxyFunc(switcher)
		c.SetRequestTimeout(test.timeout)
		if test.attach {
			attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: unpaced()})
		}
		calls := 0
		c.OnError(func(r *colly.Response, err error) {
			calls++
			want := server.URL
			if test.wantNone {
				want = ""
			}
			if isNone := r.Request.ProxyURL == ""; isNone != test.wantNone || !isNone && r.Request.ProxyURL != server.URL {
				t.Errorf("%s: ProxyURL = %q in OnError, after %v; want %q", test.name, r.Request.ProxyURL, err, want)
			}
		})
		c.Visit("http://shop.example/")
		if calls != 1 {
			t.Errorf("%s: OnError was called %d times, want once", test.name, calls)
		}
	}
}

// A proxy that is set later replaces only the proxy of the program's transport.
// Other settings are unchanged, such as the header of CONNECT requests.
func TestSetProxyKeepsTheTransport(t *testing.T) {
	for name, set := range map[string]func(c *colly.Collector, proxy string){
		"SetProxy": func(c *colly.Collector, proxy string) { c.SetProxy(proxy) },
		"SetProxyFunc": func(c *colly.Collector, proxy string) {
			c.SetProxyFunc(func(*http.Request) (*url.URL, error) { return url.Parse(proxy) })
		},
		"SetProxy on a clone, twice": func(c *colly.Collector, proxy string) {
			c.Clone().SetProxy("http://127.0.0.1:1")
			c.Clone().SetProxy(proxy)
		},
	} {
		var dialed atomic.Int32
		users := &http.Transport{MaxResponseHeaderBytes: 12345}
		users.DialContext = httpDialer(&dialed)
		web := shop()
		c := colly.NewCollector()
		c.WithTransport(users)
		attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: unpaced()})
		set(c, newProxy(t, web))
		if err := c.Visit("http://shop.example/shoes"); err != nil {
			t.Errorf("%s: Visit = %v, want nil", name, err)
		}
		wantAsked(t, web, "GET http://shop.example/shoes")
		if dialed.Load() == 0 {
			t.Errorf("%s: the program's own DialContext was called 0 times, want at least once", name)
		}
		if users.Proxy != nil || users.DisableKeepAlives {
			t.Errorf("%s: the program's own transport has a Proxy: %v, and DisableKeepAlives = %v; want false and false",
				name, users.Proxy != nil, users.DisableKeepAlives)
		}
	}
}

func httpDialer(dialed *atomic.Int32) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}
}
