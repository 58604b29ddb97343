package collyrobots_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

type slowly struct {
	web  http.RoundTripper
	wait time.Duration
}

func (s slowly) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case <-time.After(s.wait):
		return s.web.RoundTrip(req)
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

func TestTimeoutDoesNotCountTheWait(t *testing.T) {
	world := func() *robotstest.Internet {
		web := new(robotstest.Internet)
		web.Handle("a.example", robotsText(""))
		return web
	}
	synctest.Test(t, func(t *testing.T) {
		c := plain(world())
		c.IgnoreRobotsTxt = true
		c.WithTransport(slowly{world(), 15 * time.Second})
		err := c.Visit("http://a.example/")
		if e, ok := errors.AsType[*url.Error](err); !ok || !e.Timeout() {
			t.Errorf("plain colly: got error %v, want a timeout, because its 10 s include the wait of a transport"+collyChanged, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := colly.NewCollector()
		attach(t, c, robotsmw.Options{UserAgent: agent, Base: world(), Limiter: &politeness.Limiter{Delay: 15 * time.Second}})
		start := time.Now()
		for i := range 3 {
			if err := c.Visit(fmt.Sprintf("http://a.example/%d", i)); err != nil {
				t.Errorf("attached: Visit = %v, want nil", err)
			}
		}
		if got := time.Since(start); got != 45*time.Second { // robots.txt and three pages: three intervals
			t.Errorf("attached: four requests took %v, want 45s", got)
		}
	})
	for _, timeout := range []time.Duration{0, 25 * time.Second} { // 0 leaves colly's default, 10 s
		synctest.Test(t, func(t *testing.T) {
			web := hangingWeb()
			c := colly.NewCollector()
			if timeout != 0 {
				c.SetRequestTimeout(timeout)
			}
			attachUnpaced(t, c, web)
			start := time.Now()
			err := c.Visit("http://a.example/")
			if e, ok := errors.AsType[*url.Error](err); !ok || !e.Timeout() || time.Since(start) != max(timeout, 10*time.Second) {
				t.Errorf("attached, a server that hangs: Visit = %v after %v, want a timeout after %v", err, time.Since(start), max(timeout, 10*time.Second))
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // for a timeout that is set after Attach, the wait does not count
		web := world()
		c := colly.NewCollector(colly.Async())
		attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: &politeness.Limiter{Delay: 500 * time.Millisecond}})
		c.SetRequestTimeout(200 * time.Millisecond)
		for i := range 8 {
			c.Visit(fmt.Sprintf("http://a.example/%d", i))
		}
		c.Wait()
		if got := len(asked(web)); got != 8 {
			t.Errorf("attached: %d pages were fetched, want 8", got)
		}
	})
	for _, clone := range []bool{false, true} { // for a timeout that is set after Attach, the server's time counts
		synctest.Test(t, func(t *testing.T) {
			web := hangingWeb()
			c := colly.NewCollector()
			attachUnpaced(t, c, web)
			if clone {
				c = c.Clone()
			}
			c.SetRequestTimeout(25 * time.Second)
			start := time.Now()
			err := c.Visit("http://a.example/")
			if e, ok := errors.AsType[*url.Error](err); !ok || !e.Timeout() || time.Since(start) != 25*time.Second {
				t.Errorf("attached, a server that hangs: Visit = %v after %v, want a timeout after 25s", err, time.Since(start))
			}
		})
	}
}

// hangingWeb returns a site without a robots.txt whose other responses never
// arrive.
func hangingWeb() *robotstest.Internet {
	web := new(robotstest.Internet)
	mux := http.NewServeMux()
	mux.Handle("/robots.txt", robotstest.Site{})
	mux.Handle("/", robotstest.Hang{})
	web.Handle("a.example", mux)
	return web
}

// A page takes longer than the Lease of the Limiter, but not longer than the
// timeout of the collector. No other request to its host starts before the page
// has been read.
func TestTimeoutLongerThanTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := new(robotstest.Internet)
		start := time.Now()
		var mu sync.Mutex
		var received []time.Duration
		web.Handle("a.example", robotsAnd(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			mu.Lock()
			received = append(received, time.Since(start))
			mu.Unlock()
			time.Sleep(20 * time.Minute)
		})))
		c := colly.NewCollector(colly.Async())
		c.SetRequestTimeout(30 * time.Minute)
		attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: &politeness.Limiter{Lease: time.Minute}})
		c.OnError(func(_ *colly.Response, err error) { t.Errorf("OnError received %v, want no call", err) })
		c.Visit("http://a.example/1")
		c.Visit("http://a.example/2")
		c.Wait()
		if len(received) != 2 || received[1]-received[0] < 20*time.Minute {
			t.Errorf("the host received the pages' requests at %v, want 20 minutes between them", received)
		}
	})
}

// A program sets the request timeout of a collector before Add, or after
// Collector.Init, or leaves colly's default. The timeout applies as in plain
// colly, whatever the timeout of the first collector is.
func TestTimeout_AddedCollector(t *testing.T) {
	const defaultTimeout = 10 * time.Second // of colly
	set := func(timeout time.Duration) func(*colly.Collector) {
		return func(c *colly.Collector) { c.SetRequestTimeout(timeout) }
	}
	for name, tt := range map[string]struct {
		first   time.Duration // the request timeout of the first collector
		options time.Duration // Options.AttemptTimeout
		later   time.Duration // the one that it gets after Add; 0 means none
		before  func(*colly.Collector)
		after   func(*colly.Collector)
		want    time.Duration // 0 means no limit

		// transport is the transport of the added collector. It has the Limiter
		// of the extension.
		transport *politeness.Transport
	}{
		"a timeout before Add":                          {first: 30 * time.Second, before: set(2 * time.Second), want: 2 * time.Second},
		"a timeout after Add":                           {first: 30 * time.Second, after: set(2 * time.Second), want: 2 * time.Second},
		"the default":                                   {first: 30 * time.Second, want: defaultTimeout},
		"the first has none":                            {before: set(2 * time.Second), want: 2 * time.Second},
		"the first has none, and the default":           {want: defaultTimeout},
		"the first gets another after Add":              {first: 30 * time.Second, later: 40 * time.Second, want: defaultTimeout},
		"an AttemptTimeout, and the first gets another": {options: 5 * time.Second, later: 40 * time.Second, want: 5 * time.Second},
		"none":                                   {first: 2 * time.Second, before: set(0)},
		"an AttemptTimeout":                      {first: 30 * time.Second, options: 5 * time.Second, before: set(2 * time.Second), want: 5 * time.Second},
		"an AttemptTimeout, and one after Add":   {options: 5 * time.Second, after: set(2 * time.Second), want: 2 * time.Second},
		"Init after Add":                         {first: 30 * time.Second, before: set(2 * time.Second), after: (*colly.Collector).Init, want: defaultTimeout},
		"a timeout after Init":                   {first: 30 * time.Second, after: func(c *colly.Collector) { c.Init(); set(2 * time.Second)(c) }, want: 2 * time.Second},
		"a politeness.Transport with a timeout":  {first: 30 * time.Second, transport: &politeness.Transport{AttemptTimeout: 3 * time.Second}, want: 3 * time.Second},
		"a politeness.Transport without timeout": {first: 30 * time.Second, transport: new(politeness.Transport), want: defaultTimeout},
		"a client before Add": {first: 30 * time.Second, before: func(c *colly.Collector) {
			c.SetClient(&http.Client{Timeout: 2 * time.Second})
		}, want: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first := colly.NewCollector()
				first.SetRequestTimeout(tt.first)
				limiter := unpaced()
				ext := attach(t, first, robotsmw.Options{UserAgent: agent, Base: hangingWeb(), Limiter: limiter, AttemptTimeout: tt.options})
				c := colly.NewCollector()
				if tt.before != nil {
					tt.before(c)
				}
				if tt.transport != nil {
					c.WithTransport(&politeness.Transport{
						Base:           hangingWeb(),
						Limiter:        limiter,
						AttemptTimeout: tt.transport.AttemptTimeout,
					})
				}
				if err := ext.Add(c); err != nil {
					t.Fatal(err)
				}
				if tt.after != nil {
					tt.after(c)
				}
				if tt.later != 0 {
					first.SetRequestTimeout(tt.later)
				}
				wantTimeout(t, c, tt.want)
				wantTimeout(t, c.Clone(), tt.want)
			})
		})
	}
}

// The transport of the collector or Options.Base is a politeness.Transport. A
// request timeout that was set before Attach applies, unless there is an
// AttemptTimeout.
func TestTimeout_PolitenessTransport(t *testing.T) {
	for name, tt := range map[string]struct {
		request   time.Duration // the request timeout of the collector
		options   time.Duration // Options.AttemptTimeout
		transport time.Duration // AttemptTimeout of the politeness.Transport
		want      time.Duration
	}{
		"a request timeout":                      {request: 5 * time.Second, want: 5 * time.Second},
		"a long request timeout":                 {request: time.Minute, want: time.Minute},
		"colly's default":                        {request: 10 * time.Second, want: 10 * time.Second},
		"no request timeout":                     {want: politeness.DefaultAttemptTimeout},
		"an AttemptTimeout of the transport":     {request: 5 * time.Second, transport: 7 * time.Second, want: 7 * time.Second},
		"an AttemptTimeout in Options":           {request: 5 * time.Second, options: 7 * time.Second, want: 7 * time.Second},
		"an AttemptTimeout in both":              {request: 5 * time.Second, options: 7 * time.Second, transport: 8 * time.Second, want: 8 * time.Second},
		"a negative AttemptTimeout in Options":   {request: 5 * time.Second, options: -1},
		"a negative AttemptTimeout of transport": {request: 5 * time.Second, transport: -1},
	} {
		for _, where := range []string{"collector", "Base", "collector with the Limiter of Options"} {
			if where == "collector with the Limiter of Options" && tt.request == 0 {
				continue // then there is no limit
			}
			t.Run(name+"/"+where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					paced := &politeness.Transport{Base: hangingWeb(), Limiter: unpaced(), AttemptTimeout: tt.transport}
					opts := robotsmw.Options{UserAgent: agent, AttemptTimeout: tt.options}
					c := colly.NewCollector()
					if where == "Base" {
						opts.Base = paced
					} else {
						c.WithTransport(paced)
					}
					if where == "collector with the Limiter of Options" {
						opts.Limiter = paced.Limiter
					}
					c.SetRequestTimeout(tt.request)
					attach(t, c, opts)
					wantTimeout(t, c, tt.want)
				})
			})
		}
	}
}

// wantTimeout checks that a request for a page of hangingWeb fails after the
// given time. 0 means that it is still under way after an hour.
func wantTimeout(t *testing.T, c *colly.Collector, want time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	c.Context = ctx
	c.AllowURLRevisit = true
	start := time.Now()
	err := c.Visit("http://a.example/")
	took := time.Since(start)
	if want == 0 {
		want = time.Hour
	}
	if e, ok := errors.AsType[*url.Error](err); !ok || !e.Timeout() || took != want {
		t.Errorf("got error %v after %v, want a timeout after %v", err, took, want)
	}
}
