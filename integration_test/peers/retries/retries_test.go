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

func composedWeb() *robotstest.Internet {
	var web robotstest.Internet
	tries := 0
	mux := http.NewServeMux()
	mux.Handle("/", robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /private/\n"})
	mux.HandleFunc("/shaky", func(w http.ResponseWriter, r *http.Request) {
		if tries++; tries%3 != 0 {
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
	retries.RetryWaitMin, retries.RetryWaitMax = time.Millisecond, time.Millisecond
	retries.HTTPClient.Timeout = 0 // a Timeout would include the wait; use AttemptTimeout of politeness.Transport
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

// Here retries are above robotsmw, and the client must be told that a
// DisallowedError is final. By default it retries after every error that it
// does not know.
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

// With the default CheckRetry, the client tries again after a DisallowedError.
// Courtesy then refuses from memory and sends nothing.
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

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
