package retries_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// composedWeb returns an internet with a site that disallows /private/ and
// whose page /shaky fails two times of three.
func composedWeb() *robotstest.Internet {
	var web robotstest.Internet
	tries := 0
	mux := http.NewServeMux()
	mux.Handle("/", robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /private/\n"})
	mux.HandleFunc("/shaky", func(w http.ResponseWriter, r *http.Request) {
		tries++
		if tries%3 != 0 {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	web.Handle("shop.example", mux)
	return &web
}

// Retries work best below robotsmw and above politeness. The Base of robotsmw
// is then a RoundTripper that retries.
func Example_retriesInside() {
	web := composedWeb()
	retries := retryablehttp.NewClient()
	retries.Logger = nil
	retries.RetryWaitMin = time.Millisecond
	retries.RetryWaitMax = time.Millisecond
	retries.HTTPClient.Timeout = 0 // a Timeout would include waits; use politeness.Transport.AttemptTimeout
	retries.HTTPClient.Transport = &politeness.Transport{
		Base:    web,
		Limiter: &politeness.Limiter{Delay: 10 * time.Millisecond},
	}

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

// If retries are above robotsmw, CheckRetry must treat a DisallowedError as
// final. By default, the client retries after every error that it does not
// recognize.
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
			return false, delay // the next try may be at delay.Until
		}
		return retryablehttp.DefaultRetryPolicy(ctx, resp, err)
	}
	_, err = retries.Get("https://shop.example/private/")
	fmt.Println(errors.Is(err, robotsmw.ErrDisallowed), len(web.Log()))
	// Output: true 1
}

// With the default CheckRetry, the client retries after a DisallowedError. The
// retries are disallowed from memory, and no request is sent.
func TestRetriesOutside_Disallowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := composedWeb()
		transport, err := robotsmw.NewTransport(robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: web})
		if err != nil {
			t.Fatal(err)
		}
		disallowed := 0
		retries := retryablehttp.NewClient()
		retries.Logger = nil
		retries.HTTPClient.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := transport.RoundTrip(r)
			if errors.Is(err, robotsmw.ErrDisallowed) {
				disallowed++
			}
			return resp, err
		})
		if _, err := retries.Get("https://shop.example/private/"); !errors.Is(err, robotsmw.ErrDisallowed) {
			t.Errorf("Get of a disallowed page returned the error %v, want %v", err, robotsmw.ErrDisallowed)
		}
		if n := len(web.Log()); disallowed != 5 || n != 1 {
			t.Errorf("page was disallowed %d times with %d requests, want 5 times with 1 for robots.txt",
				disallowed, n)
		}
	})
}

// A retriesInside is a client whose retries are below robotsmw.
type retriesInside struct {
	*http.Client
	attempts int // number of attempts at pages
}

func newRetriesInside(t *testing.T, web http.RoundTripper) *retriesInside {
	t.Helper()
	r := new(retriesInside)
	retries := retryablehttp.NewClient()
	retries.Logger = nil
	retries.RequestLogHook = func(_ retryablehttp.Logger, req *http.Request, _ int) {
		if req.URL.Path != "/robots.txt" {
			r.attempts++
		}
	}
	retries.HTTPClient.Transport = &politeness.Transport{Base: web}
	transport, err := robotsmw.NewTransport(robotsmw.Options{
		UserAgent: "ExampleBot/1.0",
		Base:      &retryablehttp.RoundTripper{Client: retries},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Client = &http.Client{Transport: transport}
	return r
}

// A disallowed page is not attempted.
func TestRetriesInside_Disallowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newRetriesInside(t, composedWeb())
		start := time.Now()
		if _, err := client.Get("https://shop.example/private/"); !errors.Is(err, robotsmw.ErrDisallowed) {
			t.Errorf("Get of a disallowed page returned the error %v, want %v", err, robotsmw.ErrDisallowed)
		}
		if took := time.Since(start); client.attempts != 0 || took != 0 {
			t.Errorf("page was attempted %d times in %v, want no attempt and no time", client.attempts, took)
		}
	})
}

// Each retry waits for the interval of its host.
func TestRetriesInside_Interval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := composedWeb()
		client := newRetriesInside(t, web)
		resp, err := client.Get("https://shop.example/shaky")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if client.attempts != 3 {
			t.Errorf("page was attempted %d times, want 3", client.attempts)
		}
		var last time.Time
		for _, r := range web.Log() {
			if gap := r.Time.Sub(last); gap < time.Second {
				t.Errorf("%s was requested %v after the previous request, want at least 1s", r.URL, gap)
			}
			last = r.Time
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
