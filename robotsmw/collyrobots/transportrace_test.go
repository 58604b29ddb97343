package collyrobots_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// stressVariable is set to a duration in the environment of a test binary that
// is to run stress instead of the tests.
const stressVariable = "COLLYROBOTS_STRESS"

// A crawler sets a transport before each Visit of an asynchronous collector,
// so the transport of a request may be replaced just before the http.Client
// uses it. Then the request must go through the extension or fail, and a
// disallowed page must never be requested.
//
// Setting a transport while requests are under way is a data race in colly,
// which the race detector would report. Therefore the crawlers run in separate
// processes, whose race reports are ignored. With COURTESY_CHAOS=1, they run
// for a minute.
func TestTransportIsReplacedWhileRequestsAreUnderWay(t *testing.T) {
	const processes = 8
	duration := time.Second
	if os.Getenv("COURTESY_CHAOS") != "" {
		duration = time.Minute
	}
	var wait sync.WaitGroup
	for range processes {
		wait.Go(func() {
			crawler := exec.CommandContext(t.Context(), os.Args[0])
			crawler.Env = append(os.Environ(), stressVariable+"="+duration.String(), "GORACE=exitcode=0 log_path=/dev/null", "GOMAXPROCS=4")
			out, err := crawler.CombinedOutput()
			if err != nil {
				t.Errorf("a crawler ended with the error %v, want none; its output is\n%s", err, out)
				return
			}
			t.Logf("%s", strings.TrimSpace(string(out)))
		})
	}
	wait.Wait()
}

// stress is the crawler of TestTransportIsReplacedWhileRequestsAreUnderWay. It
// crawls for a duration, and returns an error if a disallowed page was
// requested.
func stress(duration time.Duration) error {
	var allowed, disallowed atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /private")
		case strings.HasPrefix(r.URL.Path, "/private"):
			disallowed.Add(1)
		default:
			allowed.Add(1)
		}
	}))
	defer server.Close()
	start := time.Now()
	var bypassed atomic.Int64
	for n := 0; time.Since(start) < duration; n++ {
		c := colly.NewCollector(colly.Async())
		if _, err := collyrobots.Attach(c, robotsmw.Options{UserAgent: agent, Limiter: unpaced()}); err != nil {
			return err
		}
		c.OnError(func(_ *colly.Response, err error) {
			if strings.Contains(err.Error(), collyrobots.ErrBypassed.Error()) {
				bypassed.Add(1)
			}
		})
		for i := range 100 {
			c.WithTransport(&http.Transport{DisableKeepAlives: true})
			path := "/page"
			if i%2 > 0 {
				path = "/private"
			}
			c.Visit(fmt.Sprintf("%s%s/%d/%d", server.URL, path, n, i))
		}
		c.Wait()
	}
	if n := disallowed.Load(); n > 0 {
		return fmt.Errorf("%d disallowed pages were requested, want 0; %d allowed pages were requested, and %d requests failed with ErrBypassed", n, allowed.Load(), bypassed.Load())
	}
	fmt.Printf("%d pages were requested; %d requests failed with ErrBypassed\n", allowed.Load(), bypassed.Load())
	return nil
}

// A redirect handler sets a transport, and the collector has no cookie jar with
// which the extension could detect that before the http.Client uses the
// transport. The request for the redirect's target fails, with or without a
// trace. Later requests go through the extension.
func TestRedirectHandlerSetsATransportWithoutCookies(t *testing.T) {
	for _, trace := range []bool{false, true} {
		for _, added := range []bool{false, true} {
			web, other := shop(), shop()
			for _, w := range []*robotstest.Internet{web, other} {
				from := http.NewServeMux()
				from.Handle("/robots.txt", http.NotFoundHandler())
				from.Handle("/", http.RedirectHandler("http://shop.example/cart", http.StatusFound))
				w.Handle("from.example", from)
			}
			c, ext := polite(t, web, colly.TraceHTTP())
			c.TraceHTTP = trace
			c.DisableCookies()
			if added {
				c = c.Clone()
				if err := ext.Add(c); err != nil {
					t.Fatal(err)
				}
			}
			c.SetRedirectHandler(func(*http.Request, []*http.Request) error {
				c.WithTransport(other)
				return nil
			})
			for range 2 {
				err := c.Request("GET", "http://from.example/", nil, nil, nil)
				if !errors.Is(err, collyrobots.ErrBypassed) {
					t.Errorf("trace %v, added %v: Request = %v, want ErrBypassed", trace, added, err)
				}
				c.AllowURLRevisit = true
			}
			if err := c.Visit("http://shop.example/shoes"); err != nil {
				t.Errorf("trace %v, added %v: the next Visit = %v, want nil", trace, added, err)
			}
			for _, r := range append(web.Log(), other.Log()...) {
				if strings.HasSuffix(r.URL, "/cart") && r.Status != 0 {
					t.Errorf("trace %v, added %v: %s was requested, want no request for it, because it is disallowed", trace, added, r.URL)
				}
			}
		}
	}
}
