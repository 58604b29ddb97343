package collyrobots_test

import (
	"errors"
	"testing"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/extensions"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func TestRandomUserAgent(t *testing.T) {
	world := func() *robotstest.Internet {
		web := new(robotstest.Internet)
		web.Handle("a.example", robotsText("User-agent: ExampleBot\nDisallow: /examplebot\n\nUser-agent: *\nDisallow: /others"))
		return web
	}
	web := world()
	c := plain(web)
	extensions.RandomUserAgent(c)
	blocked := c.Visit("http://a.example/examplebot")
	if c.Visit("http://a.example/others"); !errors.Is(blocked, colly.ErrRobotsTxtBlocked) || len(asked(web)) != 1 ||
		web.Log()[1].Header.Get("User-Agent") == agent {
		t.Errorf("plain colly: error %v, requests %v; want robots.txt to be read for one name, and the page requested by another"+collyChanged,
			blocked, asked(web))
	}

	web = world()
	c, _ = polite(t, web)
	extensions.RandomUserAgent(c)
	if err := c.Visit("http://a.example/examplebot"); !errors.Is(err, robotsmw.ErrDisallowed) {
		t.Errorf("attached: Visit = %v, want ErrDisallowed", err)
	}
	c.Visit("http://a.example/others")
	wantAsked(t, web, "GET http://a.example/others")

	web = world()
	c = colly.NewCollector()
	attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: unpaced(), StrictIdentity: true})
	extensions.RandomUserAgent(c)
	err := c.Visit("http://a.example/others")
	if _, ok := errors.AsType[*robotsmw.IdentityError](err); !ok {
		t.Errorf("attached, StrictIdentity: Visit = %v, want an IdentityError", err)
	}
}

func TestMozillaUserAgent(t *testing.T) {
	const mozilla = "Mozilla/5.0 (compatible; ExampleBot/1.0; +https://example.com/bot)"
	world := func() *robotstest.Internet {
		web := new(robotstest.Internet)
		web.Handle("a.example", robotsText("User-agent: ExampleBot\nDisallow: /"))
		return web
	}
	web := world()
	c := plain(web)
	c.UserAgent = mozilla
	c.Visit("http://a.example/")
	wantAsked(t, web, "GET http://a.example/")

	web = world()
	c = colly.NewCollector(colly.UserAgent(mozilla))
	attach(t, c, robotsmw.Options{UserAgent: mozilla, Base: web, Limiter: unpaced()})
	if err := c.Visit("http://a.example/"); !errors.Is(err, robotsmw.ErrDisallowed) {
		t.Errorf("attached: Visit = %v, want ErrDisallowed", err)
	}
}
