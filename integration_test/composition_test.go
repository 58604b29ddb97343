package integration_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// How Courtesy goes together with what a crawler already has around its
// http.Client: a cache, and retries. From the outside in:
//
//	robots → cache → retries → politeness → http.Transport
//
// A blocked URL then costs neither a retry nor a slot, a page from the cache
// costs no slot, and every retry waits its turn.

func composedWeb() *robotstest.Internet {
	var web robotstest.Internet
	tries := 0
	mux := http.NewServeMux()
	mux.Handle("/", robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /private/\n", "/page": "a page"})
	mux.HandleFunc("/shaky", func(w http.ResponseWriter, r *http.Request) {
		if tries++; tries%3 != 0 {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	web.Handle("shop.example", mux)
	return &web
}

// Retries inside robots, outside politeness: the recommended place. The
// client of the retries is an http.RoundTripper of its own.
func Example_retriesInside() {
	web := composedWeb()
	retries := retryablehttp.NewClient()
	retries.Logger = nil
	retries.RetryWaitMin, retries.RetryWaitMax = time.Millisecond, time.Millisecond
	retries.HTTPClient.Timeout = 0 // it would count the waiting; politeness has AttemptTimeout
	retries.HTTPClient.Transport = &politeness.Transport{Base: web, Limiter: &politeness.Limiter{Delay: 10 * time.Millisecond}}

	transport, err := robotsmw.NewTransport(robotsmw.Options{
		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
		Base:      &retryablehttp.RoundTripper{Client: retries},
	})
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: transport}

	resp, err := client.Get("https://shop.example/shaky")
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	_, err = client.Get("https://shop.example/private/")
	fmt.Println(errors.Is(err, robotsmw.ErrDisallowed))
	for _, r := range web.Log() {
		fmt.Println(r.URL, r.Status)
	}
	// Output:
	// 200 OK
	// true
	// https://shop.example/robots.txt 200
	// https://shop.example/shaky 502
	// https://shop.example/shaky 502
	// https://shop.example/shaky 200
}

// Retries outside robots: they must be told that a refusal is final, because
// they repeat every error that they do not know.
func Example_retriesOutside() {
	web := composedWeb()
	client, err := robotsmw.NewClient(robotsmw.Options{
		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
		Base:      web,
		Limiter:   &politeness.Limiter{Delay: 10 * time.Millisecond},
	})
	if err != nil {
		log.Fatal(err)
	}
	retries := retryablehttp.NewClient()
	retries.Logger = nil
	retries.HTTPClient = client
	retries.CheckRetry = func(ctx context.Context, resp *http.Response, err error) (bool, error) {
		if errors.Is(err, robotsmw.ErrDisallowed) || errors.Is(err, robotsmw.ErrUnreachable) {
			return false, err
		}
		if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
			return false, delay // come back at delay.Until
		}
		return retryablehttp.DefaultRetryPolicy(ctx, resp, err)
	}
	_, err = retries.Get("https://shop.example/private/")
	fmt.Println(errors.Is(err, robotsmw.ErrDisallowed), len(web.Log()))
	// Output: true 1
}

// What happens to those who leave CheckRetry as it is: the refusal is
// repeated, each time from memory, and nothing is sent.
func TestRetriesOutsideRepeatARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := composedWeb()
		transport, err := robotsmw.NewTransport(robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: web})
		if err != nil {
			t.Fatal(err)
		}
		refused := 0
		retries := retryablehttp.NewClient()
		retries.Logger = nil
		retries.HTTPClient.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := transport.RoundTrip(r)
			if errors.Is(err, robotsmw.ErrDisallowed) {
				refused++
			}
			return resp, err
		})
		if _, err := retries.Get("https://shop.example/private/"); !errors.Is(err, robotsmw.ErrDisallowed) {
			t.Errorf("%v", err)
		}
		if refused != 5 || len(web.Log()) != 1 {
			t.Errorf("refused %d times, %d requests", refused, len(web.Log()))
		}
	})
}

func TestRetriesInsideSeeARefusalNever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := composedWeb()
		retries := retryablehttp.NewClient()
		retries.Logger = nil
		attempts := 0
		retries.RequestLogHook = func(_ retryablehttp.Logger, r *http.Request, _ int) {
			if r.URL.Path != "/robots.txt" {
				attempts++
			}
		}
		retries.HTTPClient.Transport = &politeness.Transport{Base: web}
		transport, err := robotsmw.NewTransport(robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: &retryablehttp.RoundTripper{Client: retries}})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		client := &http.Client{Transport: transport}
		if _, err := client.Get("https://shop.example/private/"); !errors.Is(err, robotsmw.ErrDisallowed) {
			t.Errorf("%v", err)
		}
		if attempts != 0 || time.Since(start) != 0 {
			t.Errorf("%d attempts in %v", attempts, time.Since(start))
		}
		resp, err := client.Get("https://shop.example/shaky")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if attempts != 3 {
			t.Errorf("%d attempts, want 3", attempts)
		}
		var last time.Time
		for _, r := range web.Log() {
			if gap := r.Time.Sub(last); gap < time.Second {
				t.Errorf("a retry after %v: it did not wait its turn", gap)
			}
			last = r.Time
		}
	})
}

// A cache between robots and politeness: what it has costs no slot, and
// robots.txt is asked all the same.
func TestCacheBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := composedWeb()
		cache := &pageCache{base: &politeness.Transport{Base: web}, pages: make(map[string]string)}
		cache.pages["https://shop.example/private/kept"] = "kept from before"
		transport, err := robotsmw.NewTransport(robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: cache})
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: transport}
		start := time.Now()
		for i := range 10 {
			resp, err := client.Get("https://shop.example/page")
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(body) != "a page" {
				t.Errorf("visit %d: %q", i, body)
			}
		}
		if took := time.Since(start); took != time.Second { // robots.txt, then one page
			t.Errorf("took %v", took)
		}
		if _, err := client.Get("https://shop.example/private/kept"); !errors.Is(err, robotsmw.ErrDisallowed) {
			t.Errorf("a disallowed page came from the cache: %v", err)
		}
		if n := len(web.Log()); n != 2 {
			t.Errorf("%d requests", n)
		}
	})
}

// pageCache stands for any caching transport.
type pageCache struct {
	base  http.RoundTripper
	mu    sync.Mutex
	pages map[string]string
}

func (c *pageCache) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	page, ok := c.pages[r.URL.String()]
	c.mu.Unlock()
	if !ok {
		resp, err := c.base.RoundTrip(r)
		if err != nil || r.URL.Path == "/robots.txt" {
			return resp, err
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		page = string(body)
		c.mu.Lock()
		c.pages[r.URL.String()] = page
		c.mu.Unlock()
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header), Body: io.NopCloser(strings.NewReader(page)), ContentLength: int64(len(page)), Request: r,
	}, nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
