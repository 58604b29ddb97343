package politeness_test

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"time"

	"golang.org/x/time/rate"

	"github.com/goodbots/courtesy/politeness"
)

// A Transport under an http.Client leaves an interval between requests to the
// same host.
func Example() {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()

	client := &http.Client{Transport: &politeness.Transport{
		Limiter: &politeness.Limiter{Delay: 50 * time.Millisecond},
	}}
	start := time.Now()
	for range 3 {
		resp, err := client.Get(srv.URL)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close() // frees the host for the next request
	}
	fmt.Println("at least 100 ms:", time.Since(start) >= 100*time.Millisecond)
	// Output: at least 100 ms: true
}

// A request whose wait would be too long is rejected at once. The error
// contains the time at which the request should be retried.
func ExampleDelayError() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer srv.Close()

	client := &http.Client{Transport: &politeness.Transport{
		AttemptTimeout: 10 * time.Second,                          // limits the request after its wait
		Limiter:        &politeness.Limiter{MaxWait: time.Minute}, // limits the wait
	}}
	resp, err := client.Get(srv.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status)

	_, err = client.Get(srv.URL)
	if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
		fmt.Println("retry in", time.Until(delay.Until).Round(time.Minute))
	}
	// Output:
	// 429 Too Many Requests
	// retry in 2m0s
}

// Without an http.Client, call Acquire before each request and Done after it.
func ExampleLimiter_Acquire() {
	var limiter politeness.Limiter
	ctx := context.Background()
	u, _ := url.Parse("http://www.example.com/page")

	grant, err := limiter.Acquire(ctx, u)
	if err != nil {
		fmt.Println(err)
		return
	}
	start := time.Now()
	status, header, err := fetchSomehow(u)
	grant.Done(politeness.Outcome{Status: status, Header: header, Latency: time.Since(start), Err: err})

	fmt.Println("next request in", time.Until(limiter.Next(u)).Round(time.Second))
	// Output: next request in 30s
}

func fetchSomehow(*url.URL) (int, http.Header, error) {
	return http.StatusServiceUnavailable, http.Header{"Retry-After": {"30"}}, nil
}

// hostQueue has the pages that are to be fetched from a host, and the time at
// which the host is due.
type hostQueue struct {
	due   time.Time
	pages []*url.URL
}

// hosts is a heap. The host that is due first is on top.
type hosts []*hostQueue

func (h hosts) Len() int           { return len(h) }
func (h hosts) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h hosts) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *hosts) Push(x any)        { *h = append(*h, x.(*hostQueue)) }
func (h *hosts) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// A scheduler keeps a queue for each host. Limiter.Next returns when a host is
// due again. The scheduler always takes the host that is due first, so that a
// slow host does not delay the others.
func ExampleLimiter_Next() {
	limiter := &politeness.Limiter{Delay: 100 * time.Millisecond, MaxWait: -1}
	page := func(s string) *url.URL { u, _ := url.Parse(s); return u }
	queue := &hosts{
		{pages: []*url.URL{page("http://a.example/1"), page("http://a.example/2")}},
		{due: time.Now().Add(20 * time.Millisecond), pages: []*url.URL{page("http://b.example/1"), page("http://b.example/2")}},
	}
	for queue.Len() > 0 {
		host := heap.Pop(queue).(*hostQueue)
		time.Sleep(time.Until(host.due)) // no other host is due earlier
		next := host.pages[0]
		grant, err := limiter.Acquire(context.Background(), next)
		if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
			host.due = delay.Until
			heap.Push(queue, host)
			continue
		} else if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("fetch", next)
		grant.Done(politeness.Outcome{Status: http.StatusOK})
		if host.pages = host.pages[1:]; len(host.pages) > 0 {
			host.due = limiter.Next(next)
			heap.Push(queue, host)
		}
	}
	// Output:
	// fetch http://a.example/1
	// fetch http://b.example/1
	// fetch http://a.example/2
	// fetch http://b.example/2
}

// This Limiter sets two limits: at most one request a second to each host, and
// at most five requests a second to each machine. A machine may serve many
// hosts.
func ExampleIPKey() {
	limiter := &politeness.Limiter{
		Delay: time.Second,
		Within: &politeness.Limiter{
			Key:         politeness.IPKey(nil),
			Delay:       200 * time.Millisecond,
			Concurrency: 2,
		},
	}
	grant, err := limiter.Acquire(context.Background(), &url.URL{Scheme: "https", Host: "www.example.com"})
	fmt.Println(err) // an error if a field is invalid
	grant.Done(politeness.Outcome{})
	// Output: <nil>
}

// Join combines the Observer of a metrics library with one of your own. In an
// Observer, set only the functions that you need.
func ExampleObserver() {
	var granted int
	metrics := &politeness.Observer{
		Granted: func(context.Context, politeness.Event) { granted++ },
	}
	mine := &politeness.Observer{
		BackedOff: func(_ context.Context, e politeness.Event) {
			fmt.Println(e.Host, "sent", e.Status, "and is paused for", e.Wait)
		},
	}
	limiter := politeness.Limiter{Observer: politeness.Join(metrics, mine)}

	u, _ := url.Parse("http://www.example.com/page")
	grant, err := limiter.Acquire(context.Background(), u)
	if err != nil {
		fmt.Println(err)
		return
	}
	grant.Done(politeness.Outcome{Status: 429, Header: http.Header{"Retry-After": {"30"}}})
	fmt.Println(granted, "request started")
	// Output:
	// www.example.com sent 429 and is paused for 30s
	// 1 request started
}

// A Trace in a request's context receives the reason of the request's wait. An
// Observer receives an event when each request starts.
func ExampleWithTrace() {
	limiter := politeness.Limiter{Delay: time.Millisecond, Observer: &politeness.Observer{
		Granted: func(_ context.Context, e politeness.Event) {
			fmt.Printf("%s: waited for %q\n", e.Host, e.Reason)
		},
	}}
	ctx := politeness.WithTrace(context.Background(), &politeness.Trace{
		Queued: func(_ time.Time, why politeness.Reason) { fmt.Println("waits for:", why) },
	})
	// Package robotsmw passes on the Crawl-delay of a robots.txt in this way.
	ctx = politeness.WithCrawlDelay(ctx, 50*time.Millisecond)

	u, _ := url.Parse("http://www.example.com/page")
	for range 2 {
		grant, err := limiter.Acquire(ctx, u)
		if err != nil {
			fmt.Println(err)
			return
		}
		grant.Done(politeness.Outcome{Status: 200})
	}
	// Output:
	// www.example.com: waited for ""
	// waits for: crawl-delay
	// www.example.com: waited for "crawl-delay"
}

// This Limiter is very gentle, to suit a crawler of small sites. After a
// response, the next request to the host starts after about five times the
// response time. The intervals are irregular, and the pauses after a 429 are
// long.
func ExampleLimiter_gentle() {
	limiter := &politeness.Limiter{
		Delay:         2 * time.Second,
		EndToStart:    true, // the interval begins when the server has finished its answer
		Jitter:        0.5,
		Adaptive:      5,  // five response times between requests
		MaxCrawlDelay: -1, // wait for a Crawl-delay of any length
		BackOff:       time.Minute,
		MaxBackOff:    24 * time.Hour,
		MaxRetryAfter: 7 * 24 * time.Hour,
	}
	grant, err := limiter.Acquire(context.Background(), &url.URL{Scheme: "https", Host: "www.example.com"})
	fmt.Println(err) // an error if a field is invalid
	grant.Done(politeness.Outcome{})
	// Output: <nil>
}

// These fields are for a crawl of millions of hosts. They limit the crawl as a
// whole, and keep any single host from delaying it.
func ExampleLimiter_bounds() {
	limiter := &politeness.Limiter{
		GlobalRate:    rate.NewLimiter(500, 500), // 500 requests a second in all
		MaxHosts:      5_000_000,
		MaxWait:       10 * time.Second, // a worker can send requests to other hosts instead of waiting longer
		MaxCrawlDelay: 20 * time.Second,
		Lease:         time.Minute, // after a minute, the slot of a Grant is freed even without Done
		Within: &politeness.Limiter{
			Key:         func(context.Context, *url.URL) (string, error) { return "all hosts", nil },
			Delay:       -1,
			Concurrency: 2000, // the machine has no sockets for more
		},
	}
	grant, err := limiter.Acquire(context.Background(), &url.URL{Scheme: "https", Host: "www.example.com"})
	fmt.Println(err) // an error if a field is invalid
	grant.Done(politeness.Outcome{})
	// Output: <nil>
}

// With DomainKey, all hosts of one registrable domain share a pace.
func ExampleDomainKey() {
	limiter := &politeness.Limiter{Key: politeness.DomainKey}
	for _, s := range []string{"http://www.example.co.uk/", "http://shop.example.co.uk/", "http://example.org/"} {
		u, _ := url.Parse(s)
		host, _ := politeness.HostKey(context.Background(), u)
		domain, _ := limiter.Key(context.Background(), u)
		fmt.Println(host, "keeps the pace of", domain)
	}
	// Output:
	// www.example.co.uk keeps the pace of example.co.uk
	// shop.example.co.uk keeps the pace of example.co.uk
	// example.org keeps the pace of example.org
}

// A monitor calls Stats now and then. An Observer receives what happens between
// these calls.
func ExampleLimiter_Stats() {
	var limiter politeness.Limiter
	u, _ := url.Parse("http://www.example.com/page")
	grant, err := limiter.Acquire(context.Background(), u)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := limiter.Stats()
	fmt.Println(s.Hosts, "host,", s.InFlight, "in flight,", s.Waiting, "waiting")
	grant.Done(politeness.Outcome{Status: http.StatusOK})
	// Output: 1 host, 1 in flight, 0 waiting
}

// If the headers of a server contain how many more requests it accepts, the
// Limiter spreads these requests over the time until the quota is renewed. No
// setting is required.
func ExampleTransport_rateLimit() {
	left := 60
	server := roundTrip(func(r *http.Request) (*http.Response, error) {
		left--
		h := http.Header{"Ratelimit": {fmt.Sprintf(`"default";r=%d;t=590`, left)}}
		return &http.Response{StatusCode: 200, Header: h, Body: http.NoBody, Request: r}, nil
	})
	limiter := &politeness.Limiter{MaxWait: time.Second}
	client := &http.Client{Transport: &politeness.Transport{Base: server, Limiter: limiter}}
	if _, err := client.Get("http://api.example/items?page=1"); err != nil {
		fmt.Println(err)
		return
	}

	_, err := client.Get("http://api.example/items?page=2")
	if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
		fmt.Println(delay.Reason, time.Until(delay.Until).Round(time.Second))
	}
	// Output:
	// rate limit 10s
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
