package collyrobots_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A request timeout of 0 means no limit if it is set before Attach. After
// Attach, the client's Timeout is 0 already, so setting it to 0 has no effect.
func TestNoRequestTimeout(t *testing.T) {
	zero := func(c *colly.Collector) { c.SetRequestTimeout(0) }
	for name, tt := range map[string]struct {
		before, after  func(*colly.Collector)
		attemptTimeout time.Duration
		limited        bool
	}{
		"nothing is set":            {limited: true},
		"before Attach":             {before: zero},
		"after Attach":              {after: zero, limited: true},
		"a negative AttemptTimeout": {attemptTimeout: -1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := new(robotstest.Internet)
				web.Handle("slow.example", robotsAnd(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Minute) })))
				c := colly.NewCollector()
				if tt.before != nil {
					tt.before(c)
				}
				attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: unpaced(), AttemptTimeout: tt.attemptTimeout})
				if tt.after != nil {
					tt.after(c)
				}
				if err := c.Visit("http://slow.example/"); (err != nil) != tt.limited {
					t.Errorf("Visit = %v, want a timeout: %v", err, tt.limited)
				}
				time.Sleep(time.Minute) // until the handler has returned
			})
		})
	}
}

// Requests that wait for their host hold no slot of a LimitRule, so they do not
// delay requests to other hosts.
func TestLimitRuleIsNotFilledByWaiting(t *testing.T) {
	const hosts, pages = 12, 20
	crawl := func(t *testing.T, rule *colly.LimitRule, when string) time.Duration {
		web := new(robotstest.Internet)
		c := colly.NewCollector(colly.Async())
		if rule != nil && when == "before Attach" {
			c.Limit(rule)
		}
		attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)})
		if rule != nil && when != "before Attach" {
			c.Limit(rule)
		}
		if when == "bare clone" {
			c = c.Clone()
		}
		start := time.Now()
		for i := range hosts {
			host := fmt.Sprintf("h%d.example", i)
			web.Handle(host, robotsText(""))
			for page := range pages {
				c.Visit(fmt.Sprintf("http://%s/%d", host, page))
			}
		}
		c.Wait()
		if got := len(asked(web)); got != hosts*pages {
			t.Errorf("%d pages were fetched, want %d", got, hosts*pages)
		}
		return time.Since(start)
	}
	synctest.Test(t, func(t *testing.T) {
		without := crawl(t, nil, "")
		for _, when := range []string{"before Attach", "after Attach", "bare clone"} {
			with := crawl(t, &colly.LimitRule{DomainGlob: "*", Parallelism: 8}, when)
			if with > without*12/10 {
				t.Errorf("a rule set %s: the crawl took %v with a LimitRule and %v without, want at most %v", when, with, without, without*12/10)
			}
		}
	})
}

// The extension obeys a LimitRule: its Parallelism, and the delay after each
// request.
func TestLimitRuleIsObeyed(t *testing.T) {
	for _, rule := range []colly.LimitRule{
		{DomainGlob: "*", Parallelism: 1}, {DomainGlob: "*", Parallelism: 3}, {DomainRegexp: "example", Parallelism: 2},
		{DomainGlob: "*"}, {DomainGlob: "*", Delay: 5 * time.Second}, {DomainGlob: "*", Parallelism: 2, Delay: 5 * time.Second},
		{DomainGlob: "*", RandomDelay: 5 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			now, most := 0, 0
			web := new(robotstest.Internet)
			c := colly.NewCollector(colly.Async())
			attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: unpaced(), AttemptTimeout: 10 * time.Second})
			own := rule
			if err := c.Limit(&own); err != nil {
				t.Fatal(err)
			}
			const pages = 12
			for i := range pages {
				host := fmt.Sprintf("h%d.example", i)
				web.Handle(host, robotsAnd(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					now++
					most = max(most, now)
					mu.Unlock()
					time.Sleep(4 * time.Second)
					mu.Lock()
					now--
					mu.Unlock()
					io.WriteString(w, "<p>")
				})))
				c.Visit("http://" + host + "/")
			}
			start := time.Now()
			c.Wait()
			places := max(rule.Parallelism, 1)
			want := pages / time.Duration(places) * (4*time.Second + rule.Delay)
			took := time.Since(start) + rule.Delay // no request waits for the delay after the last page
			if got := len(asked(web)); got != pages {
				t.Errorf("%+v: %d pages were fetched, want %d", rule, got, pages)
			}
			if most != places || took < want || rule.RandomDelay == 0 && took > want+rule.Delay {
				t.Errorf("%+v: %d requests at once, in %v; want %d, in at least %v, and without a RandomDelay in at most %v", rule, most, took, places, want, want+rule.Delay)
			}
		})
	}
}

func TestLimitRuleWithoutAPatternIsAnErrorAsBefore(t *testing.T) {
	c, _ := polite(t, shop())
	if err := c.Limit(&colly.LimitRule{}); !errors.Is(err, colly.ErrNoPattern) {
		t.Errorf("Limit of a rule without a pattern = %v, want ErrNoPattern", err)
	}
}

// The time that a request waits for a LimitRule does not count toward its
// timeout. Requests that wait for a rule fail when the Context ends.
func TestTimeoutsUnderALimitRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := new(robotstest.Internet)
		web.Handle("a.example", robotsAnd(robotstest.Hang{}))
		web.Handle("b.example", robotsAnd(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, strings.Repeat("x", 50))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
		defer cancel()
		c := colly.NewCollector(colly.Async(), colly.StdlibContext(ctx))
		attachUnpaced(t, c, web)
		c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 1})
		c.SetRequestTimeout(30 * time.Second)
		var late, ended notes
		start := time.Now()
		c.OnError(func(r *colly.Response, err error) {
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				ended.add(r.Request.URL.String())
				return
			}
			e, ok := errors.AsType[timeoutError](err)
			late.add(fmt.Sprint(ok && e.Timeout(), " ", time.Since(start)))
		})
		for i := range 3 {
			c.Visit(fmt.Sprintf("http://a.example/%d", i))
			c.Visit(fmt.Sprintf("http://b.example/%d", i))
		}
		c.Wait()
		if got := late.sorted(); len(got) != 3 || got[0] != "true 1m0s" || got[1] != "true 1m30s" || got[2] != "true 30s" {
			t.Errorf("OnError before the end of the Context received %q (whether it is a timeout, and when), want true after 30s, 1m0s and 1m30s", got)
		}
		if got := ended.sorted(); len(got) != 3 {
			t.Errorf("the Context ended the requests %v, want 3 requests", got)
		}
	})
}

type timeoutError interface {
	error
	Timeout() bool
}

var _ timeoutError = (*url.Error)(nil)

// If several collectors share a LimitRule, its Parallelism and Delay apply to
// all of them together.
func TestLimitRuleOfTwoCollectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		web := new(robotstest.Internet)
		web.Handle("a.example", robotsAnd(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Second)
			now.Add(-1)
		})))
		rule := &colly.LimitRule{DomainGlob: "*", Parallelism: 2, Delay: time.Second}
		var collectors []*colly.Collector
		for range 3 {
			c, _ := polite(t, web, colly.Async())
			if err := c.Limit(rule); err != nil {
				t.Fatal(err)
			}
			collectors = append(collectors, c)
		}
		start := time.Now()
		for i, c := range collectors {
			for page := range 4 {
				c.Visit(fmt.Sprintf("http://a.example/%d/%d", i, page))
			}
		}
		for _, c := range collectors {
			c.Wait()
		}
		if took := time.Since(start); most.Load() != 2 || took != 11*time.Second { // six pairs of pages, each with its delay
			t.Errorf("%d requests at once, in %v; want 2, in 11s", most.Load(), took)
		}
	})
}

func TestOneLimitRuleForAllHosts(t *testing.T) {
	const hosts = 4
	crawl := func(c *colly.Collector) time.Duration {
		start := time.Now()
		for i := range hosts {
			c.Visit(fmt.Sprintf("http://h%d.example/", i))
		}
		c.Wait()
		return time.Since(start)
	}
	world := func() *robotstest.Internet {
		web := new(robotstest.Internet)
		for i := range hosts {
			web.Handle(fmt.Sprintf("h%d.example", i), robotsText(""))
		}
		return web
	}
	synctest.Test(t, func(t *testing.T) {
		c := plain(world(), colly.Async(), colly.IgnoreRobotsTxt())
		c.Limit(&colly.LimitRule{DomainGlob: "*", Delay: 200 * time.Millisecond})
		if took := crawl(c); took != hosts*200*time.Millisecond {
			t.Errorf("plain colly took %v, want %v, because hosts wait for each other"+collyChanged, took, hosts*200*time.Millisecond)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := colly.NewCollector(colly.Async())
		attach(t, c, robotsmw.Options{UserAgent: agent, Base: world(), Limiter: &politeness.Limiter{Delay: 200 * time.Millisecond}})
		if took := crawl(c); took != 200*time.Millisecond { // each page is requested one interval after its robots.txt
			t.Errorf("attached took %v, want 200ms", took)
		}
	})
}

func TestLimitRuleAndLimiterTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := new(robotstest.Internet)
		c := colly.NewCollector(colly.Async())
		c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 2, Delay: 100 * time.Millisecond})
		attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)})
		for i := range 5 {
			host := fmt.Sprintf("h%d.example", i)
			web.Handle(host, robotsText(""))
			for page := range 4 {
				c.Visit(fmt.Sprintf("http://%s/%d", host, page))
			}
		}
		c.Wait() // if this waits forever, synctest reports a deadlock
		if got := len(asked(web)); got != 20 {
			t.Errorf("%d pages were fetched, want 20", got)
		}
	})
}

// While a request waits for colly's LimitRule, robots.txt changes. The request
// is checked again before it is sent.
func TestLimitRule_JudgedAfterTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shut atomic.Bool
		web := new(robotstest.Internet)
		web.Handle("b.example", robotsText(""))
		web.Handle("a.example", withRobots(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cache-Control", "max-age=300")
			if shut.Load() {
				io.WriteString(w, "User-agent: *\nDisallow: /page")
			}
		})))
		c, ext := polite(t, web, colly.Async())
		c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 1, Delay: 10 * time.Minute})
		c.Visit("http://b.example/")
		synctest.Wait()
		c.Visit("http://a.example/page")
		synctest.Wait()
		time.Sleep(6 * time.Minute)
		shut.Store(true)
		page, err := url.Parse("http://a.example/page")
		if err != nil {
			t.Fatal(err)
		}
		if d, err := ext.Checker().Check(t.Context(), page); err != nil || d.Allowed {
			t.Fatalf("Check = %v, %v; want the page to be disallowed, and no error", d, err)
		}
		c.Wait()
		if got := asked(web); slices.Contains(got, "GET http://a.example/page") {
			t.Errorf("the servers received %q, want no request for /page, which is disallowed", got)
		}
		time.Sleep(time.Hour)
	})
}
