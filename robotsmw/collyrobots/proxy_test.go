package collyrobots_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/proxy"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A proxy given as an option, also one of colly's own switchers, gets pages and
// robots.txt alike.
func TestOptionsProxy(t *testing.T) {
	var seen notes
	site := robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /no", "/": "<p>", "/yes": "<p>"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.add(r.URL.String()) // absolute, because it is for a proxy
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
			t.Error(err)
		}
		if !ext.Active() {
			t.Error("not active")
		}
	}
	want := []string{"http://site0.example/robots.txt", "http://site0.example/yes", "http://site1.example/robots.txt", "http://site1.example/yes"}
	if got := seen.sorted(); !slices.Equal(got, want) {
		t.Errorf("the proxy saw %v, want %v", got, want)
	}
}
