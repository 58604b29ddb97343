package collyrobots_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func TestCountsString(t *testing.T) {
	for want, stats := range map[string]collyrobots.Counts{
		"fetched 0": {},
		"fetched 9, disallowed 1, unreachable 2, noindex 3, nofollow 4, links refused 5, put back 7, retried 8, given up 1": {
			Fetched: 9, Disallowed: 1, Unreachable: 2, NoIndex: 3, NoFollow: 4, LinksRefused: 5, PutBack: 7, Retried: 8, GivenUp: 1},
		"fetched 9, pages 7, lost 2, waited 1m3s (5.1s at most)": {Fetched: 9, Pages: 7, Lost: 2, Waited: 63 * time.Second, LongestWait: 5120 * time.Millisecond},
		"fetched 9": {Fetched: 9, Pages: 9, Waited: 400 * time.Millisecond, LongestWait: 300 * time.Millisecond},
	} {
		if got := fmt.Sprint(stats); got != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
	}
}

func TestLostIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := shop()
		web.Handle("slow.example", robotsText("User-agent: *\nCrawl-delay: 3600"))
		web.Handle("reset.example", robotsAnd(robotstest.Reset("")))
		web.Handle("in.example", redirectTo("http://shop.example/shoes"))
		c := colly.NewCollector()
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: &politeness.Limiter{Delay: 3 * time.Second}})
		for _, target := range []string{
			"http://shop.example/", "http://shop.example/cart", "http://slow.example/1", "http://slow.example/2",
			"http://reset.example/", "http://in.example/",
		} {
			c.Visit(target)
		}
		n := ext.Counts()
		if n.Pages != 3 || n.Fetched != 4 || n.Disallowed != 1 || n.Lost != 2 {
			t.Errorf("Counts() = %v, want Pages 3, Fetched 4, Disallowed 1 and Lost 2", n)
		}
		if n.LongestWait < 3*time.Second || n.Waited < n.LongestWait {
			t.Errorf("Counts() has Waited %v and LongestWait %v, want LongestWait at least 3s, and Waited at least LongestWait", n.Waited, n.LongestWait)
		}
		ext.PutBack = true
		c.Visit("http://slow.example/3")
		if n := ext.Counts().Lost; n != 2 {
			t.Errorf("after a request was put back, Counts().Lost = %d, want 2", n)
		}
		ext.Wait()
		if n := ext.Counts(); n.Lost != 2 || n.Pages != 4 {
			t.Errorf("after Wait, Counts() = %v, want Lost 2 and Pages 4", n)
		}
	})
}

// Each hop of a redirect waits for its host. Waited and LongestWait treat it as
// a separate request.
func TestWaitsOfRedirects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := moved(20) // robots.txt, then /old, /new and /newest, 20 s apart
		c := colly.NewCollector()
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)})
		if err := c.Visit("http://moved.example/old"); err != nil {
			t.Fatal(err)
		}
		if n := ext.Counts(); n.Waited != 41*time.Second || n.LongestWait != 20*time.Second {
			t.Errorf("Counts() has Waited %v and LongestWait %v, want 41s and 20s", n.Waited, n.LongestWait)
		}
	})
}
