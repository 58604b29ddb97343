package collyrobots_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A transport returns neither a response nor an error, for robots.txt or for a
// page. The request fails, and nothing panics.
func TestTransportReturnsNothing(t *testing.T) {
	for _, failing := range []string{"/robots.txt", "/page"} {
		web := shop()
		c := colly.NewCollector()
		c.WithTransport(roundTripper(func(req *http.Request) (*http.Response, error) {
			if req.URL.Path == failing {
				return nil, nil
			}
			return web.RoundTrip(req)
		}))
		attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: unpaced()})
		err := c.Visit("http://shop.example/page")
		if err == nil || !strings.Contains(err.Error(), "neither a response nor an error") {
			t.Errorf("nothing for %s: %v", failing, err)
		}
	}
}

// The URL has a user name, so the http.Client sends a copy of the request. Its
// first answer is a reset connection, and the answer to the Retry is a 307. The
// redirect is followed, because the repeat has no body.
func TestRetryOfAURLWithAUserNameFollowsA307(t *testing.T) {
	for _, trace := range []bool{false, true} {
		web := new(robotstest.Internet)
		var tries atomic.Int32
		mux := http.NewServeMux()
		mux.Handle("/robots.txt", http.NotFoundHandler())
		mux.HandleFunc("/old", func(w http.ResponseWriter, r *http.Request) {
			if tries.Add(1) == 1 {
				robotstest.Reset("").ServeHTTP(w, r)
				return
			}
			http.Redirect(w, r, "/new", http.StatusTemporaryRedirect)
		})
		mux.HandleFunc("/new", func(http.ResponseWriter, *http.Request) {})
		web.Handle("a.example", mux)
		c, _ := polite(t, web)
		c.TraceHTTP = trace
		var got []string
		c.OnResponse(func(r *colly.Response) { got = append(got, r.Request.URL.Path) })
		c.OnError(func(r *colly.Response, err error) {
			if r.StatusCode == 0 {
				r.Request.Retry()
			}
		})
		c.Visit("http://user:password@a.example/old")
		if !slices.Equal(got, []string{"/new"}) {
			t.Errorf("trace %v: got %v after %v", trace, got, asked(web))
		}
	}
}

// A page is answered 503 three times, and RetryThrottled is 2. Only the last
// time, the extension does not repeat the request, and says so in OnError.
func TestWillRepeatOfAThrottledPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := colly.NewCollector()
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: busy(503, 3, ""), Limiter: new(politeness.Limiter)})
		ext.RetryThrottled = 2
		will, willNot := 0, 0
		c.OnError(func(r *colly.Response, _ error) {
			if ext.WillRepeat(r.Request) {
				will++
			} else {
				willNot++
			}
		})
		c.Visit("http://busy.example/")
		if will != 2 || willNot != 1 {
			t.Errorf("WillRepeat was true %d times and false %d times", will, willNot)
		}
	})
}

// A request that is made with Request.New from a nofollow page fails with
// ErrNoFollow, whatever its method.
func TestNewRequestOfANoFollowPage(t *testing.T) {
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
		web := nofollowSite()
		c, ext := polite(t, web)
		var errs []error
		c.OnHTML("a[href]", func(e *colly.HTMLElement) {
			r, err := e.Request.New(method, e.Request.AbsoluteURL(e.Attr("href")), nil)
			if err != nil {
				t.Fatal(err)
			}
			errs = append(errs, r.Do())
		})
		c.Visit("http://site.example/closed")
		if len(errs) != 2 || !errors.Is(errs[0], collyrobots.ErrNoFollow) || !errors.Is(errs[1], collyrobots.ErrNoFollow) {
			t.Errorf("%s: %v", method, errs)
		}
		if n := ext.Counts().LinksRefused; n != 2 {
			t.Errorf("%s: %d links were refused", method, n)
		}
	}
}

// A callback of a nofollow page calls Retry, which fails. Retry returns the
// error.
func TestRetryOfANoFollowPageReturnsItsError(t *testing.T) {
	web := new(robotstest.Internet)
	var requests atomic.Int32
	mux := http.NewServeMux()
	mux.Handle("/robots.txt", http.NotFoundHandler())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) > 1 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.Header().Set("X-Robots-Tag", "nofollow")
	})
	web.Handle("a.example", mux)
	c, _ := polite(t, web)
	var got error
	c.OnResponse(func(r *colly.Response) { got = r.Request.Retry() })
	c.Visit("http://a.example/")
	if got == nil || !strings.Contains(got.Error(), "Bad Gateway") {
		t.Errorf("Retry = %v", got)
	}
}
