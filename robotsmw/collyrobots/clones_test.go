package collyrobots_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func TestShortLivedClonesLeaveNothingBehind(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("the race detector uses additional memory")
	}
	web := shop()
	c, ext := polite(t, web)
	use := func(n int) {
		for i := range n {
			d := c.Clone()
			if err := ext.Add(d); err != nil {
				t.Fatal(err)
			}
			d.OnHTML("a[href]", func(*colly.HTMLElement) {})
			if i%100 == 0 {
				d.Visit(fmt.Sprintf("http://shop.example/shoes?%p", d))
			}
		}
	}
	use(1000)
	before := testmain.Heap()
	const clones = 20_000
	use(clones)
	// Cleanups run some time after a garbage collection: within a few
	// milliseconds, or much later on a busy machine.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		each := (testmain.Heap() - before) / clones
		if each < 200 {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("each clone leaves %d bytes behind, want fewer than 200", each)
			break
		}
	}
	ext.Wait()
	if err := c.Visit("http://shop.example/cart"); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
		t.Errorf("Visit of a disallowed page = %v, want ErrRobotsTxtBlocked", err)
	}
}

// Collectors with the same Limiter share the delay of a host. Collectors with
// different Limiters do not.
func TestCollectorsOfAProcessKeepOnePace(t *testing.T) {
	for _, own := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			web := new(robotstest.Internet)
			web.Handle("a.example", robotsText(""))
			done := make(chan error)
			one := new(politeness.Limiter)
			for i := range 2 {
				opts := robotsmw.Options{UserAgent: agent, Base: web, Limiter: one}
				if own {
					opts.Limiter = new(politeness.Limiter)
				}
				c := colly.NewCollector()
				attach(t, c, opts)
				go func() {
					var err error
					for page := range 3 {
						err = errors.Join(err, c.Visit(fmt.Sprintf("http://a.example/%d/%d", i, page)))
					}
					done <- err
				}()
			}
			start := time.Now()
			if err := errors.Join(<-done, <-done); err != nil {
				t.Error(err)
			}
			took := time.Since(start)
			if own && took != 3*time.Second { // each collector: robots.txt at 0 s, pages at 1, 2 and 3 s
				t.Errorf("with Limiters of their own, the crawls took %v, want 3s", took)
			}
			if !own {
				wantPace(t, web, "a.example", time.Second)
				if took != 7*time.Second { // two requests for robots.txt and six pages: seven intervals
					t.Errorf("with one Limiter, the crawls took %v, want 7s", took)
				}
			}
		})
	}
}

// Collectors that were attached without a Limiter share that of the process,
// even if their transports differ. The test does not run in a synctest bubble,
// because a bubble has a clock of its own.
func TestCollectorsWithTransportsOfTheirOwnKeepOnePace(t *testing.T) {
	t.Parallel()
	var came [2]time.Time
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			came[n] = time.Now()
			n++
		}
	}))
	defer server.Close()
	for i := range 2 {
		c := colly.NewCollector()
		c.WithTransport(new(http.Transport))
		attach(t, c, robotsmw.Options{UserAgent: agent})
		if err := c.Visit(fmt.Sprintf("%s/%d", server.URL, i)); err != nil {
			t.Error(err)
		}
	}
	if gap := came[1].Sub(came[0]); gap < time.Second {
		t.Errorf("the second page was requested %v after the first, want at least 1s", gap)
	}
}

func TestCloneObeysRobotsTxtWithoutCallbacks(t *testing.T) {
	calls := 0
	web := shop()
	c := plain(web)
	c.OnRequest(func(*colly.Request) { calls++ })
	c.Clone().Visit("http://shop.example/")
	if calls != 0 || len(asked(web)) != 1 {
		t.Errorf("plain colly: a clone called %d callbacks and sent %v; want no callbacks, and one request"+collyChanged, calls, asked(web))
	}

	web = shop()
	before := colly.NewCollector()
	older := before.Clone()
	attachUnpaced(t, before, web)
	for name, clone := range map[string]*colly.Collector{"a clone": before.Clone(), "a clone made before Attach": older} {
		if err := clone.Visit("http://shop.example/cart?" + url.QueryEscape(name)); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
			t.Errorf("attached: Visit of a disallowed page by %s = %v, want ErrRobotsTxtBlocked", name, err)
		}
	}
	older.Visit("http://shop.example/")
	wantAsked(t, web, "GET http://shop.example/")
	for _, r := range web.Log() {
		if got := r.Header.Get("User-Agent"); got != agent {
			t.Errorf("attached: %s was requested with User-Agent %q, want %q", r.URL, got, agent)
		}
	}
}
