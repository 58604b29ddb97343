package evidence

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// aRequest returns a function that reports one request to rec, as a crawl does:
// its start with a decision, its response, and its end.
func aRequest(tb testing.TB, rec *Recorder) func() {
	tb.Helper()
	var web robotstest.Internet
	web.Handle("www.example.com", robotstest.Site{"/robots.txt": "User-agent: *\n" +
		"Allow: /articles/\n" +
		"Disallow: /articles/private\n" +
		"Crawl-delay: 5\n"})
	var ctx context.Context
	opts := robotsmw.Options{UserAgent: agent, Logger: quiet(), Base: base(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path != "/robots.txt" {
			ctx = r.Context()
		}
		return web.RoundTrip(r)
	}), Limiter: &politeness.Limiter{Delay: -1}}
	if err := rec.Observe(&opts); err != nil {
		tb.Fatal(err)
	}
	client, err := robotsmw.NewClient(opts)
	if err != nil {
		tb.Fatal(err)
	}
	get(tb, client, "http://www.example.com/articles/2026/11/22/a-page-with-a-usual-name.html")
	o := limiterObserver(&rec.queue, 1)
	u, _ := url.Parse("http://www.example.com/articles/2026/11/22/a-page-with-a-usual-name.html")
	e := politeness.Event{Host: "www.example.com", URL: u, At: time.Now(), Delay: time.Second, CrawlDelay: 5 * time.Second, Wait: 4 * time.Second, Reason: politeness.ReasonCrawlDelay}
	return func() {
		e.Request++
		o.Granted(ctx, e)
		e.Status = 200
		o.Answered(ctx, e)
		o.Ended(ctx, e)
	}
}

type base func(*http.Request) (*http.Response, error)

func (f base) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// BenchmarkRequest measures the cost of recording a request for a page,
// including the writes to the file system.
func BenchmarkRequest(b *testing.B) {
	rec, err := Open(b.TempDir(), Options{MaxBytes: 1 << 30, Logger: quiet()})
	if err != nil {
		b.Fatal(err)
	}
	request := aRequest(b, rec)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		request()
		if n++; n%1000 == 0 {
			rec.wait() // the benchmark also measures writing
		}
	}
	rec.wait()
	b.StopTimer()
	if err := rec.Close(); err != nil {
		b.Fatal(err)
	}
}
