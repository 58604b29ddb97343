package robotsmw

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// starts returns the path and the time of each request, such as "/1 +1s". The
// times are relative to since.
func starts(web *robotstest.Internet, since time.Time) string {
	var s []string
	for _, r := range web.Log() {
		_, path, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(r.URL, "https://"), "http://"), "/")
		s = append(s, "/"+path+" +"+r.Time.Sub(since).String())
	}
	return strings.Join(s, ", ")
}

func fetch(t *testing.T, client *http.Client, url string) error {
	t.Helper()
	resp, err := client.Get(url)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return err
}

func TestPaceOfAClient(t *testing.T) {
	for _, tt := range []struct {
		name    string
		robots  http.Handler
		limiter *politeness.Limiter
		want    string
	}{
		{"a request a second, robots.txt included", robots(someRules), nil,
			"/robots.txt +0s, /1 +1s, /2 +2s, /3 +3s"},
		{"Crawl-delay counts between pages; robots.txt pays Delay alone", robots(someRules + "Crawl-delay: 5\n"), nil,
			"/robots.txt +0s, /1 +1s, /2 +6s, /3 +11s"},
		{"a Crawl-delay of 0.2 s does not undercut Delay", robots(someRules + "Crawl-delay: 0.2\n"), nil,
			"/robots.txt +0s, /1 +1s, /2 +2s, /3 +3s"},
		{"no Delay, but a Crawl-delay", robots(someRules + "Crawl-delay: 2.5\n"), &politeness.Limiter{Delay: -1},
			"/robots.txt +0s, /1 +0s, /2 +2.5s, /3 +5s"},
		{"a redirect to robots.txt on the same host waits too", redirectRobots("/static/robots.txt", nil), nil,
			"/robots.txt +0s, /static/robots.txt +1s, /1 +2s, /2 +3s, /3 +4s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				web.Handle("a.example", tt.robots)
				client, err := NewClient(Options{UserAgent: testAgent, Base: &web, Limiter: tt.limiter})
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				for _, path := range []string{"/1", "/2", "/3"} {
					if err := fetch(t, client, "http://a.example"+path); err != nil {
						t.Fatal(err)
					}
				}
				if got := starts(&web, start); got != tt.want {
					t.Errorf("requests started at\n%s\nwant\n%s", got, tt.want)
				}
			})
		})
	}
}

// The Crawl-delay is a value of the request's context. Therefore it reaches the
// Limiter, whatever is between the Transport and the Limiter.
func TestCrawlDelayReachesTheLimiterBelow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules+"Crawl-delay: 7\n"))
		paced := &politeness.Transport{Base: &web, Limiter: &politeness.Limiter{}}
		between := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			return paced.RoundTrip(r.Clone(r.Context()))
		})
		client := &http.Client{Transport: newTestTransport(t, between)}
		start := time.Now()
		for _, path := range []string{"/1", "/2"} {
			if err := fetch(t, client, "http://a.example"+path); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := starts(&web, start), "/robots.txt +0s, /1 +1s, /2 +8s"; got != want {
			t.Errorf("requests started at\n%s\nwant\n%s", got, want)
		}
	})
}

// If a new robots.txt has no Crawl-delay, the old file's Crawl-delay no longer
// applies.
func TestCrawlDelayThatWasTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots("User-agent: *\nCrawl-delay: 20\n"))
		client, err := NewClient(Options{UserAgent: testAgent, Base: &web})
		if err != nil {
			t.Fatal(err)
		}
		get := func(path string) {
			if err := fetch(t, client, "http://a.example"+path); err != nil {
				t.Fatal(err)
			}
		}
		get("/1")
		time.Sleep(25 * time.Hour)
		web.Handle("a.example", robots("User-agent: *\nDisallow: /private/\n"))
		start := time.Now()
		get("/2")
		get("/3")
		get("/4")
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("robots.txt and three pages took %v, want a second between them", took)
		}
	})
}

// The time limit of a robots.txt fetch begins after its wait, so a long delay
// causes no timeout.
func TestWaitOfRobotsTxtIsNoTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", slowly(20*time.Second, robots(someRules)))
		c := newTestTransport(t, &web, func(o *Options) {
			o.Limiter = &politeness.Limiter{Delay: 5 * time.Minute}
			o.RobotsTimeout = 25 * time.Second
		}).Checker()
		start := time.Now()
		decide(t, c, "http://a.example/")
		if d := decide(t, c, "https://a.example/private/"); d.Reason != ByRule {
			t.Errorf("got %v; want disallowed by a rule", d)
		}
		if took := time.Since(start); took != 5*time.Minute+20*time.Second {
			t.Errorf("both checks took %v, want 5m20s", took)
		}
	})
}

// If a caller's deadline is before the slot of the robots.txt fetch, the caller
// gets a DelayError immediately. The origin does not count as unreachable.
func TestDeadlineBeforeTheSlotOfRobotsTxt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		limiter := &politeness.Limiter{Delay: time.Minute}
		c := newTestTransport(t, &web, func(o *Options) { o.Limiter = limiter }).Checker()
		grant, err := limiter.Acquire(t.Context(), mustURL(t, "http://a.example/"))
		if err != nil {
			t.Fatal(err)
		}
		grant.Done(politeness.Outcome{})
		start := time.Now()
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			_, err := c.Check(ctx, mustURL(t, "http://a.example/"))
			cancel()
			delay, ok := errors.AsType[*politeness.DelayError](err)
			isDeadline := errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrUnreachable)
			if !ok || !isDeadline || time.Since(start) != 0 {
				t.Fatalf("after %v: Check returned error %v, want at once a DelayError that is DeadlineExceeded",
					time.Since(start), err)
			}
			if delay.Until.Sub(start) != time.Minute || delay.Host != "a.example" {
				t.Errorf("DelayError %+v, want one for a.example until a minute after the start", delay)
			}
		}
		if d := decide(t, c, "http://a.example/private/"); d.Allowed || time.Since(start) != time.Minute {
			t.Errorf("got %v after %v; want disallowed after a minute", d, time.Since(start))
		}
		if n := len(web.Log()); n != 1 {
			t.Errorf("%d fetches of robots.txt, want 1", n)
		}
	})
}

// If the Limiter rejects the wait of a robots.txt fetch, here because of
// MaxWait, the origin does not count as unreachable.
func TestRefusedWaitOfRobotsTxtIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		limiter := &politeness.Limiter{Delay: time.Minute, MaxWait: 10 * time.Second}
		c := newTestTransport(t, &web, func(o *Options) { o.Limiter = limiter }).Checker()
		grant, err := limiter.Acquire(t.Context(), mustURL(t, "http://a.example/"))
		if err != nil {
			t.Fatal(err)
		}
		grant.Done(politeness.Outcome{})
		if _, err := c.Check(t.Context(), mustURL(t, "http://a.example/")); !isDelay(err) {
			t.Errorf("Check returned error %v, want a DelayError", err)
		}
		if s := c.Stats(); s.Origins != 0 {
			t.Errorf("Stats returns %+v, want no origin, because no request was sent", s)
		}
		time.Sleep(time.Minute)
		if d := decide(t, c, "http://a.example/private/"); d.Allowed {
			t.Errorf("got %v; want disallowed", d)
		}
	})
}

// If a Crawl-delay is longer than MaxCrawlDelay, a request that would have to
// wait for it fails immediately.
func TestLongCrawlDelayIsObeyedByRefusing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules+"Crawl-delay: 120\n"))
		client, err := NewClient(Options{UserAgent: testAgent, Base: &web})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := fetch(t, client, "http://a.example/1"); err != nil {
			t.Fatal(err)
		}
		err = fetch(t, client, "http://a.example/2")
		delay, ok := errors.AsType[*politeness.DelayError](err)
		if !ok || delay.Until.Sub(start) != 121*time.Second || time.Since(start) != time.Second {
			t.Fatalf("the second page: error %v after %v, want a DelayError until 121s after the start, without a wait", err, time.Since(start))
		}
		time.Sleep(time.Until(delay.Until))
		if err := fetch(t, client, "http://a.example/2"); err != nil {
			t.Error(err)
		}
	})
}

// If http.Client.Timeout is shorter than the wait, the request fails
// immediately, without waiting for the Timeout.
func TestClientTimeoutShorterThanTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules+"Crawl-delay: 30\n"))
		client, err := NewClient(Options{UserAgent: testAgent, Base: &web})
		if err != nil {
			t.Fatal(err)
		}
		client.Timeout = 5 * time.Second
		if err := fetch(t, client, "http://a.example/1"); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		err = fetch(t, client, "http://a.example/2")
		if !isDelay(err) || time.Since(start) != 0 {
			t.Errorf("the second page: error %v after %v, want a DelayError without a wait", err, time.Since(start))
		}
	})
}

// AttemptTimeout limits an attempt from the end of its wait to the end of the
// response's body.
func TestAttemptTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		mux := http.NewServeMux()
		mux.Handle("/robots.txt", robots(someRules))
		mux.Handle("/slow", robotstest.Hang{})
		mux.Handle("/drip", robotstest.Trickle{Chunk: "x", Every: time.Second})
		web.Handle("a.example", mux)
		client, err := NewClient(Options{UserAgent: testAgent, Base: &web, AttemptTimeout: 10 * time.Second,
			Limiter: &politeness.Limiter{Delay: time.Minute, MaxCrawlDelay: time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/slow", "/drip"} {
			start := time.Now()
			err := fetch(t, client, "http://a.example"+path)
			if err == nil || time.Since(start) != 70*time.Second {
				t.Errorf("%s: %v after %v, want an error 10 s after a wait of a minute", path, err, time.Since(start))
			}
			fetch(t, client, "http://a.example/robots.txt") // after this request, the next one waits a whole minute
			if errors.Is(err, ErrUnreachable) {
				t.Errorf("%s: got error %v, want one that is not ErrUnreachable", path, err)
			}
		}
	})
}

// A caller may put a Crawl-delay into the context of a request. For a page, the
// Transport replaces it by the Crawl-delay of robots.txt. For a robots.txt, the
// Transport keeps the caller's Crawl-delay.
func TestCallersCrawlDelay(t *testing.T) {
	received := make(map[string]any)
	base := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		var delay any
		if d, ok := r.Context().Value(politeness.CrawlDelayKey{}).(*time.Duration); ok {
			delay = *d
		}
		received[r.URL.Path] = delay
		if r.URL.Path == "/robots.txt" {
			return newResponse(r, http.StatusOK, "User-agent: *\nCrawl-delay: 3\n"), nil
		}
		return newResponse(r, http.StatusOK, ""), nil
	})
	tr := newTestTransport(t, base)
	for _, path := range []string{"/", "/robots.txt"} {
		req, _ := http.NewRequestWithContext(politeness.WithCrawlDelay(t.Context(), 7*time.Second), http.MethodGet,
			"http://a.example"+path, nil)
		if _, err := tr.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
	}
	if received["/"] != 3*time.Second || received["/robots.txt"] != 7*time.Second {
		t.Errorf("the Limiter received the Crawl-delays %v, want 3s for / and 7s for /robots.txt", received)
	}
}

// If robots.txt redirects, and the slot of the second hop is after the caller's
// deadline, the caller gets a DelayError immediately.
func TestDeadlineAndTheSecondHop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("http://a.example", status(301, "Location: https://a.example/robots.txt"))
		web.Handle("https://a.example", robots(someRules))
		client, _ := NewClient(Options{UserAgent: testAgent, Base: &web,
			Limiter: &politeness.Limiter{Delay: 10 * time.Second}, Logger: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, "GET", "http://a.example/", nil)
		start := time.Now()
		_, err := client.Do(req)
		if !isDelay(err) || time.Since(start) > time.Second {
			t.Errorf("Do returned error %v after %v, want a DelayError within a second", err, time.Since(start))
		}
		time.Sleep(time.Minute)
	})
}
