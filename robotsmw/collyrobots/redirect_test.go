package collyrobots_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func TestPageRedirect(t *testing.T) {
	world := func() *robotstest.Internet {
		web := shop()
		web.Handle("in.example", redirectTo("http://shop.example/cart"))
		return web
	}
	web := world()
	plain(web).Visit("http://in.example/")
	wantAsked(t, web, "GET http://in.example/", "GET http://shop.example/cart")

	web = world()
	c, _ := polite(t, web)
	if err := c.Visit("http://in.example/"); !errors.Is(err, robotsmw.ErrDisallowed) {
		t.Errorf("attached: Visit = %v, want ErrDisallowed", err)
	}
	wantAsked(t, web, "GET http://in.example/")
}

func TestRedirectHandler(t *testing.T) {
	world := func() *robotstest.Internet {
		web := new(robotstest.Internet)
		mux := http.NewServeMux()
		mux.Handle("/robots.txt", robotstest.Site{})
		mux.HandleFunc("/hop/{n}", func(w http.ResponseWriter, r *http.Request) {
			var n int
			fmt.Sscan(r.PathValue("n"), &n)
			if n == 20 {
				io.WriteString(w, "<p>arrived")
				return
			}
			http.Redirect(w, r, fmt.Sprintf("/hop/%d", n+1), http.StatusFound)
		})
		web.Handle("loop.example", mux)
		return web
	}
	web := world()
	c := plain(web, colly.IgnoreRobotsTxt())
	c.SetRedirectHandler(func(*http.Request, []*http.Request) error { return nil })
	c.Visit("http://loop.example/hop/0")
	if got := len(asked(web)); got != 21 {
		t.Errorf("plain colly: %d requests with a redirect handler, want 21, without the limit of ten redirects"+collyChanged, got)
	}

	web = world()
	c, _ = polite(t, web)
	c.Visit("http://loop.example/hop/0")
	if got := len(asked(web)); got != 10 {
		t.Errorf("attached: the server received %d requests, want 10, the limit of colly", got)
	}
	web = world()
	c = colly.NewCollector()
	hops := 0
	c.SetRedirectHandler(func(*http.Request, []*http.Request) error { hops++; return nil })
	attachUnpaced(t, c, web)
	c.Visit("http://loop.example/hop/0")
	if hops != 20 {
		t.Errorf("attached: the user's redirect handler was called %d times, want 20", hops)
	}
}

// A redirect handler may use the context of the request, for example for a
// lookup. The context has not ended.
func TestRedirectHandler_HasTheContext(t *testing.T) {
	web := new(robotstest.Internet)
	web.Handle("a.example", redirectTo("http://b.example/x"))
	web.Handle("b.example", robotsText(""))
	c, _ := polite(t, web)
	c.SetRedirectHandler(func(req *http.Request, _ []*http.Request) error { return context.Cause(req.Context()) })
	if err := c.Visit("http://a.example/"); err != nil {
		t.Error(err)
	}
}
