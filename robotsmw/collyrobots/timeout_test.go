package collyrobots_test

import (
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
				t.Errorf("attached: %v", err)
			}
		}
		if got := time.Since(start); got != 45*time.Second { // robots.txt and three pages: three intervals
			t.Errorf("attached: four requests took %v", got)
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
				t.Errorf("attached: a server that hangs: %v after %v", err, time.Since(start))
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
			t.Errorf("attached: %d of 8 pages were fetched", got)
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
				t.Errorf("attached: a server that hangs: %v after %v", err, time.Since(start))
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
		c.OnError(func(_ *colly.Response, err error) { t.Error(err) })
		c.Visit("http://a.example/1")
		c.Visit("http://a.example/2")
		c.Wait()
		if len(received) != 2 || received[1]-received[0] < 20*time.Minute {
			t.Errorf("the host received the pages' requests at %v, want 20 minutes between them", received)
		}
	})
}
