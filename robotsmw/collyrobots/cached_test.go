package collyrobots_test

import (
	"errors"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// Colly caches a redirected page under its first URL. The extension checks each
// URL on the way to the page.
func TestCachedRedirectIsJudgedByItsWholeChain(t *testing.T) {
	for _, c := range []struct {
		name     string
		disallow map[string]string // host → rule; set after the page was cached
		served   bool
	}{
		{"nothing has changed", nil, true},
		{"the first is disallowed", map[string]string{"in.example": "/go"}, false},
		{"one on the way is disallowed", map[string]string{"on.example": "/step"}, false},
		{"the last is disallowed", map[string]string{"a.example": "/page"}, false},
		{"others are disallowed", map[string]string{"a.example": "/pages", "on.example": "/go"}, true},
	} {
		dir := t.TempDir()
		web := new(robotstest.Internet)
		rules := map[string]robotstest.Site{}
		for host, page := range map[string]http.Handler{
			"in.example": http.RedirectHandler("http://on.example/step", http.StatusFound),
			"on.example": http.RedirectHandler("http://a.example/page", http.StatusMovedPermanently),
			"a.example":  robotstest.Site{"/page": "<p>the page"},
		} {
			rules[host] = robotstest.Site{"/robots.txt": ""}
			mux := http.NewServeMux()
			mux.Handle("/robots.txt", rules[host])
			mux.Handle("/", page)
			web.Handle(host, mux)
		}
		visit := func() (served int, sent []string, err error) {
			collector, _ := polite(t, web, colly.CacheDir(dir))
			collector.OnResponse(func(r *colly.Response) {
				served++
				if !strings.Contains(string(r.Body), "the page") {
					t.Errorf("%s: got %q", c.name, r.Body)
				}
			})
			before := len(asked(web))
			err = collector.Visit("http://in.example/go")
			return served, asked(web)[before:], err
		}
		if served, sent, err := visit(); served != 1 || len(sent) != 3 {
			t.Fatalf("%s: the first time: served %d times, %v, asked for %v", c.name, served, err, sent)
		}
		for host, rule := range c.disallow {
			rules[host]["/robots.txt"] = "User-agent: *\nDisallow: " + rule + "$"
		}
		served, sent, err := visit()
		switch {
		case c.served && (served != 1 || err != nil || len(sent) != 0):
			t.Errorf("%s: served %d times, %v, asked for %v", c.name, served, err, sent)
		case !c.served && (served != 0 || !errors.Is(err, robotsmw.ErrDisallowed)):
			t.Errorf("%s: served %d times, %v, asked for %v", c.name, served, err, sent)
		}
		for _, url := range sent {
			for host, rule := range c.disallow {
				if strings.HasSuffix(url, host+rule) {
					t.Errorf("%s: %s was sent", c.name, url)
				}
			}
		}
	}
}

// A page that was cached before Attach has no chain, so only its first URL is
// checked.
func TestCachedRedirectWithoutItsChain(t *testing.T) {
	dir := t.TempDir()
	web := shop()
	web.Handle("in.example", redirectTo("http://shop.example/shoes"))
	warm := plain(web, colly.CacheDir(dir), colly.IgnoreRobotsTxt())
	warm.Visit("http://in.example/")
	c, _ := polite(t, web, colly.CacheDir(dir))
	if err := c.Visit("http://in.example/"); err != nil {
		t.Error(err)
	}
	if got := len(asked(web)); got != 2 {
		t.Errorf("asked for %v", asked(web))
	}
	filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
		if strings.HasSuffix(path, ".redirects") {
			t.Errorf("%s was made of nothing", path)
		}
		return nil
	})
}
