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

	"github.com/goodbots/courtesy/politeness"
)

// Around any http.Client: the requests to a host now keep their distance.
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

// A wait that does not fit is refused at once, with the time to come again.
func ExampleDelayError() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer srv.Close()

	client := &http.Client{Transport: &politeness.Transport{
		AttemptTimeout: 10 * time.Second,                          // of the request alone
		Limiter:        &politeness.Limiter{MaxWait: time.Minute}, // of the wait before it
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
		fmt.Println("come again in", time.Until(delay.Until).Round(time.Minute))
	}
	// Output:
	// 429 Too Many Requests
	// come again in 2m0s
}

// Fetching by other means: ask before, tell after.
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
	status, header := fetchSomehow(u)
	grant.Done(politeness.Outcome{Status: status, Header: header, Latency: time.Since(start)})

	fmt.Println("next request in", time.Until(limiter.Next(u)).Round(time.Second))
	// Output: next request in 30s
}

func fetchSomehow(*url.URL) (int, http.Header) {
	return http.StatusServiceUnavailable, http.Header{"Retry-After": {"30"}}
}

// hostQueue is what one worker still has to fetch from a host.
type hostQueue struct {
	due   time.Time
	pages []*url.URL
}

// hosts is a heap, the host that is due first on top.
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

// A scheduler keeps a queue for each host and asks Next which of them is due
// first, so that a slow host never keeps a worker waiting.
func ExampleLimiter_Next() {
	limiter := &politeness.Limiter{Delay: 100 * time.Millisecond, MaxWait: -1}
	page := func(s string) *url.URL { u, _ := url.Parse(s); return u }
	queue := &hosts{
		{pages: []*url.URL{page("http://a.example/1"), page("http://a.example/2")}},
		{due: time.Now().Add(20 * time.Millisecond), pages: []*url.URL{page("http://b.example/1"), page("http://b.example/2")}},
	}
	for queue.Len() > 0 {
		host := heap.Pop(queue).(*hostQueue)
		time.Sleep(time.Until(host.due)) // nobody is due before
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

// Two limits at once: a second for each host, and no more than five requests a
// second to any one machine, however many hosts it serves.
func ExampleIPKey() {
	limiter := &politeness.Limiter{
		Delay: time.Second,
		Within: &politeness.Limiter{
			Key:         politeness.IPKey(nil),
			Delay:       200 * time.Millisecond,
			Concurrency: 2,
		},
	}
	fmt.Println(limiter.Validate())
	// Output: <nil>
}

// A metrics library's Observer beside one's own: each sets the functions that
// it needs.
func ExampleObserver() {
	var granted int
	metrics := &politeness.Observer{
		Granted: func(context.Context, politeness.Event) { granted++ },
	}
	mine := &politeness.Observer{
		BackedOff: func(_ context.Context, e politeness.Event) {
			fmt.Println(e.Host, "answered", e.Status, "and is left alone for", e.Wait)
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
	// www.example.com answered 429 and is left alone for 30s
	// 1 request started
}
