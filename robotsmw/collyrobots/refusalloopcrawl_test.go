package collyrobots_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/queue"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// All loops of refusals are slowed down: a Visit in OnError, a queue to which
// OnError adds the request again, and a Retry on a clone that was not added.
func TestLoopsOfRefusalsDoNotSpin(t *testing.T) {
	loops := map[string]func(t *testing.T, c *colly.Collector, round func() bool){
		"Visit in OnError": func(t *testing.T, c *colly.Collector, round func() bool) {
			c.OnError(func(r *colly.Response, err error) {
				if round() {
					c.Visit(r.Request.URL.String())
				}
			})
			c.Visit("http://shop.example/cart")
		},
		"a queue": func(t *testing.T, c *colly.Collector, round func() bool) {
			q, err := queue.New(1, nil)
			if err != nil {
				t.Fatal(err)
			}
			c.OnError(func(r *colly.Response, err error) {
				if round() {
					q.AddURL(r.Request.URL.String())
				}
			})
			q.AddURL("http://shop.example/cart")
			q.Run(c)
		},
		"Retry on a bare clone": func(t *testing.T, c *colly.Collector, round func() bool) {
			d := c.Clone()
			d.OnError(func(r *colly.Response, err error) {
				if round() {
					r.Request.Retry()
				}
				if got := r.Request.URL.String(); got != "http://shop.example/cart" {
					t.Errorf("OnError received a request for %s, want http://shop.example/cart", got)
				}
			})
			d.Visit("http://shop.example/cart")
		},
	}
	for name, loop := range loops {
		for _, delay := range []time.Duration{0, -1} {
			synctest.Test(t, func(t *testing.T) {
				web := shop()
				c := colly.NewCollector(colly.AllowURLRevisit())
				attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: &politeness.Limiter{Delay: delay}})
				start, rounds := time.Now(), 0
				loop(t, c, func() bool { rounds++; return time.Since(start) < 5*time.Second && rounds < 10000 })
				most := 8
				if delay < 0 {
					most = 53
				}
				if rounds > most || rounds < 4 {
					t.Errorf("%s, Delay %v: %d rounds in 5 s, want 4 to %d", name, delay, rounds, most)
				}
			})
		}
	}
}

// A disallowed link that every page has does not slow down the crawl.
func TestALinkThatEachPageHasCostsNothing(t *testing.T) {
	const pages = 50
	synctest.Test(t, func(t *testing.T) {
		site := robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /cart"}
		for i := range pages {
			site[fmt.Sprintf("/%d", i)] = fmt.Sprintf("<a href=/cart>cart</a> <a href=/%d>next</a>", i+1)
		}
		web := new(robotstest.Internet)
		web.Handle("a.example", site)
		c := colly.NewCollector(colly.AllowURLRevisit())
		attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)})
		c.OnHTML("a[href]", follow)
		start := time.Now()
		c.Visit("http://a.example/0")
		if took := time.Since(start); took != (pages+1)*time.Second {
			t.Errorf("the crawl took %v, want %v", took, (pages+1)*time.Second)
		}
	})
}

// Several jobs, each with a collector of its own, visit the same disallowed
// page at the same time. The third refusal used to count as a loop, so that
// the Visit of the third job only returned after the delay of the Limiter.
func TestRefusalsOfSeveralCollectorsAreNoLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ext := attach(t, colly.NewCollector(), robotsmw.Options{UserAgent: agent, Base: shop(), Limiter: new(politeness.Limiter)})
		start := time.Now()
		for range 5 {
			c := colly.NewCollector()
			if err := ext.Add(c); err != nil {
				t.Fatal(err)
			}
			if err := c.Visit("http://shop.example/cart"); !errors.Is(err, robotsmw.ErrDisallowed) {
				t.Errorf("Visit of a disallowed page = %v, want ErrDisallowed", err)
			}
		}
		if took := time.Since(start); took > 0 {
			t.Errorf("the refusals took %v, want 0s", took)
		}
	})
}
