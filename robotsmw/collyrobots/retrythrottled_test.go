package collyrobots_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// attachWithRetries attaches an Extension that repeats throttled requests. If
// putBack is true, no request waits, and those that would are put back.
func attachWithRetries(t testing.TB, c *colly.Collector, web *robotstest.Internet, retries int, putBack bool) *collyrobots.Extension {
	t.Helper()
	limiter := new(politeness.Limiter)
	if putBack {
		limiter = neverWait(0)
	}
	ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: limiter})
	ext.RetryThrottled = retries
	ext.PutBack = putBack
	return ext
}

// busy returns servers that respond to the first n requests for each page with
// the given status and Retry-After, and to later requests with the page.
func busy(status, n int, retryAfter string) *robotstest.Internet {
	web := new(robotstest.Internet)
	mux := http.NewServeMux()
	mux.Handle("/robots.txt", robotstest.Site{})
	var mu sync.Mutex
	seen := map[string]int{}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if seen[r.URL.Path]++; seen[r.URL.Path] <= n {
			w.Header().Set("Retry-After", retryAfter)
			w.WriteHeader(status)
			return
		}
		io.WriteString(w, "<html><a href=/next>")
	})
	web.Handle("busy.example", mux)
	return web
}

func TestRetryThrottled(t *testing.T) {
	type options struct{ async, parse, putBack bool }
	var all []options
	for n := range 8 {
		all = append(all, options{n&1 != 0, n&2 != 0, n&4 != 0})
	}
	for _, status := range []int{http.StatusTooManyRequests, 430, http.StatusServiceUnavailable, 529} {
		for _, o := range all {
			synctest.Test(t, func(t *testing.T) {
				web := busy(status, 2, "120")
				c := colly.NewCollector(colly.Async(o.async))
				c.ParseHTTPErrorResponse = o.parse
				ext := attachWithRetries(t, c, web, 3, o.putBack)
				var got notes
				c.OnResponse(func(r *colly.Response) { got.add(fmt.Sprint(r.Request.URL.Path, " ", r.StatusCode)) })
				start := time.Now()
				c.Visit("http://busy.example/page")
				ext.Wait()
				if want := fmt.Sprint("/page ", 200); !slices.Contains(got.sorted(), want) {
					t.Errorf("status %d, %+v: OnResponse received %v, want %q among them", status, o, got.sorted(), want)
				}
				if took := time.Since(start); took < 4*time.Minute || took > 5*time.Minute {
					t.Errorf("status %d, %+v: the crawl took %v, want 4m0s to 5m0s", status, o, took)
				}
				if s := ext.Counts(); s.Retried != 2 || s.GivenUp != 0 {
					t.Errorf("status %d, %+v: Counts() = %v, want Retried 2 and GivenUp 0", status, o, s)
				}
			})
		}
	}
}

func TestRetryThrottledGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := busy(http.StatusTooManyRequests, 10, "5")
		c := colly.NewCollector()
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)})
		ext.RetryThrottled = 3
		errs := 0
		c.OnError(func(*colly.Response, error) { errs++ })
		c.Visit("http://busy.example/page")
		c.Post("http://busy.example/form", map[string]string{"a": "b"}) // a POST is never repeated
		if got := asked(web); len(got) != 5 || errs != 5 {
			t.Errorf("the servers received %v, and OnError was called %d times; want 5 requests and 5 calls", got, errs)
		}
		if s := ext.Counts(); s.Retried != 3 || s.GivenUp != 1 {
			t.Errorf("Counts() = %v, want Retried 3 and GivenUp 1", s)
		}
	})
}

// MaxRequests ends the repeats of a page. After a 429 or 430, the extension
// also refuses the links of the page.
func TestRetryThrottledGivesUpAtMaxRequests(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, 430, http.StatusServiceUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			web := busy(status, 1, "5")
			c := colly.NewCollector(colly.MaxRequests(1))
			ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)})
			ext.RetryThrottled = 3
			c.Visit("http://busy.example/page")
			if n := ext.Counts(); len(asked(web)) != 1 || n.GivenUp != 1 {
				t.Errorf("%d: got %d requests, counts %v; want 1 request, 1 given up", status, len(asked(web)), n)
			}
		})
	}
}

// Colly calls OnError for a page whose XML it cannot parse, also after it has
// called OnResponse for the page.
func TestRetryThrottledOfAPageThatIsNoXML(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := new(robotstest.Internet)
		mux := http.NewServeMux()
		mux.Handle("/robots.txt", robotsText(""))
		mux.HandleFunc("/page", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/xml")
			w.Header().Set("Retry-After", "5")
			w.WriteHeader(http.StatusTooManyRequests)
			io.WriteString(w, "<a></b>")
		})
		web.Handle("busy.example", mux)
		c := colly.NewCollector()
		c.ParseHTTPErrorResponse = true
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)})
		ext.RetryThrottled = 2
		c.OnXML("//a", func(*colly.XMLElement) {})
		errs := 0
		c.OnError(func(*colly.Response, error) { errs++ })
		c.Visit("http://busy.example/page")
		if n := ext.Counts(); errs != 3 || n.Retried != 2 || n.GivenUp != 1 || n.Fetched != 3 {
			t.Errorf("OnError was called %d times, and Counts() = %v; want 3 calls, Retried 2, GivenUp 1 and Fetched 3", errs, n)
		}
	})
}

// Colly stores a 429 in its cache directory, like all responses except a 5xx. A
// crawl with plain colly or without RetryThrottled receives a 429. In the next
// crawl, with RetryThrottled, the repeat is sent to the server, and the page is
// stored, so that a further crawl needs no request. The page used not to be
// stored, so each crawl first got the 429 from the cache directory.
func TestRetryThrottledWithACacheDir(t *testing.T) {
	for n := range 16 {
		async := n&1 != 0
		parse := n&2 != 0
		putBack := n&4 != 0
		cached := n&8 != 0
		for _, status := range []int{http.StatusTooManyRequests, 430, http.StatusServiceUnavailable} {
			synctest.Test(t, func(t *testing.T) {
				web := busy(status, 1, "5")
				dir := t.TempDir()
				if cached {
					plain(web, colly.CacheDir(dir), colly.IgnoreRobotsTxt()).Visit("http://busy.example/page")
				}
				for range 2 {
					c := colly.NewCollector(colly.CacheDir(dir), colly.Async(async))
					c.ParseHTTPErrorResponse = parse
					ext := attachWithRetries(t, c, web, 2, putBack)
					var got notes
					c.OnResponse(func(r *colly.Response) {
						if r.StatusCode == http.StatusOK {
							got.add(fmt.Sprint(r.Request.URL.Path, " ", r.Request.Headers.Get("Cache-Control")))
						}
					})
					c.Visit("http://busy.example/page")
					ext.Wait()
					if n := ext.Counts(); !slices.Equal(got.sorted(), []string{"/page "}) || n.GivenUp != 0 {
						t.Errorf("status %d: OnResponse received %q (path and Cache-Control), and Counts() = %v; want [\"/page \"] and GivenUp 0", status, got.sorted(), n)
					}
				}
				if n := len(asked(web)); n != 2 {
					t.Errorf("status %d, async %v, parse %v, putBack %v, cached %v: the servers received %v, want 2 requests", status, async, parse, putBack, cached, asked(web))
				}
			})
		}
	}
}

// The responses to all repeats of a page in a crawl are 429. The next crawl
// requests the page. The last 429 used to stay in the cache directory.
func TestRetryThrottledGivesUpWithACacheDir(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := busy(http.StatusTooManyRequests, 2, "5")
		dir := t.TempDir()
		var last int
		for range 2 {
			c := colly.NewCollector(colly.CacheDir(dir))
			ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)})
			ext.RetryThrottled = 1
			c.OnError(func(r *colly.Response, _ error) { last = r.StatusCode })
			c.OnResponse(func(r *colly.Response) { last = r.StatusCode })
			c.Visit("http://busy.example/page")
			if n := ext.Counts().Retried; n > 1 {
				t.Errorf("Counts().Retried = %d, want at most 1", n)
			}
		}
		if n := len(asked(web)); n != 3 || last != http.StatusOK {
			t.Errorf("the last status is %d, and the servers received %v; want 200 and 3 requests", last, asked(web))
		}
	})
}

// A page redirects to another site, whose response is a 429. Colly stores the
// 429 in the file of the page. The repeat is sent to the other site, and the
// next crawl fetches the page.
func TestRetryThrottledAfterARedirectWithACacheDir(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := busy(http.StatusTooManyRequests, 1, "5")
		web.Handle("a.example", redirectTo("http://busy.example/page"))
		dir := t.TempDir()
		for crawl := range 2 {
			c := colly.NewCollector(colly.CacheDir(dir))
			ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)})
			ext.RetryThrottled = 1
			pages := 0
			c.OnResponse(func(r *colly.Response) { pages++ })
			c.Visit("http://a.example/old")
			if pages != 1 {
				t.Errorf("crawl %d: OnResponse received %d pages, want 1; requests: %v", crawl, pages, asked(web))
			}
		}
	})
}

func TestRetriesOfLinksCountAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := busy(http.StatusTooManyRequests, 2, "5")
		c := colly.NewCollector()
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter)})
		ext.RetryThrottled = 2
		c.OnHTML("a[href]", follow)
		c.Visit("http://busy.example/page")
		wantAsked(t, web, "GET http://busy.example/page", "GET http://busy.example/page", "GET http://busy.example/page",
			"GET http://busy.example/next", "GET http://busy.example/next", "GET http://busy.example/next")
		if s := ext.Counts(); s.Retried != 4 || s.GivenUp != 0 {
			t.Errorf("Counts() = %v, want Retried 4 and GivenUp 0", s)
		}
	})
}

// The first three responses to a page are 503, and RetryThrottled is 2. In
// OnError, WillRepeat returns false only for the third response.
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
			t.Errorf("WillRepeat returned true %d times and false %d times, want 2 and 1", will, willNot)
		}
	})
}
