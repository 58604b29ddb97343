package robotsmw

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// The client gives up following an endless chain of redirects, and the chain
// does not fill memory. The origin then counts as unavailable.
func TestEndlessChainOfOrigins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		stop := atomic.Bool{}
		web := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			time.Sleep(10 * time.Millisecond)
			if stop.Load() {
				return newResponse(r, 404, ""), nil
			}
			i := n.Add(1)
			return newResponse(r, 301, "", fmt.Sprintf("Location: http://h%d.example/robots.txt", i)), nil
		})
		tr := newTestTransport(t, web, func(o *Options) { o.MaxOrigins = 10 })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		d, err := tr.Checker().Check(ctx, mustURL(t, "http://start.example/"))
		if err != nil {
			t.Errorf("after %d requests: Check returned error %v, want none and a decision that allows the URL", n.Load(), err)
		} else if !d.Allowed {
			t.Errorf("got %v; want allowed", d)
		}
		time.Sleep(time.Minute)
		m := n.Load()
		if m > 100 {
			t.Errorf("%d requests were sent, want at most 100", m)
		}
		time.Sleep(time.Minute)
		if n.Load() != m {
			t.Errorf("the number of requests has grown from %d to %d, want no more requests", m, n.Load())
		}
		stop.Store(true)
		synctest.Wait()
	})
}

// A robots.txt that two origins share is in the last fifth of its lifetime. The
// origin that redirects to it does not receive a request at each check.
func TestSharedTargetInItsLastFifth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("http://a.example", status(301, "Location: https://a.example/robots.txt"))
		web.Handle("https://a.example", robots(someRules))
		c := newTestTransport(t, &web).Checker()
		decide(t, c, "http://a.example/")
		time.Sleep(20 * time.Hour)
		for range 100 {
			decide(t, c, "http://a.example/")
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if got := len(web.Log()); got > 4 {
			t.Errorf("%d fetches of robots.txt for two origins and one refresh, want at most 4", got)
		}
	})
}

// A robots.txt that two origins share cannot be refreshed. The origin that
// redirects to it does not receive a request at each check.
func TestSharedTargetThatFailsToRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		var b switchable
		b.set(robots(someRules))
		web.Handle("http://a.example", status(301, "Location: https://a.example/robots.txt"))
		web.Handle("https://a.example", &b)
		c := newTestTransport(t, &web).Checker()
		decide(t, c, "http://a.example/")
		time.Sleep(20 * time.Hour)
		b.set(status(503, "Retry-After: 7200"))
		decide(t, c, "https://a.example/") // this starts the refresh of the shared file
		synctest.Wait()
		for range 100 {
			decide(t, c, "http://a.example/")
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if got := len(web.Log()); got > 5 {
			t.Errorf("%d fetches of robots.txt, want at most 5", got)
		}
	})
}

func TestStaleTargetServesOriginsThatRedirectThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		var b switchable
		b.set(robots(someRules))
		web.Handle("http://a.example", status(301, "Location: https://a.example/robots.txt"))
		web.Handle("https://a.example", &b)
		c := newTestTransport(t, &web).Checker()
		decide(t, c, "https://a.example/")
		b.set(status(503))
		time.Sleep(25 * time.Hour)
		own := decide(t, c, "https://a.example/")
		other := decide(t, c, "http://a.example/")
		if own.Allowed != other.Allowed {
			t.Errorf("the decision is %v for the origin itself, and %v through the redirect; want both to allow or both to disallow", own, other)
		}
	})
}

// After a redirect to an absolute Location, the request has the Location's
// Host, not the caller's.
func TestHostOverrideAndAbsoluteLocation(t *testing.T) {
	web := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if r.Host == "site.example" {
			return newResponse(r, 301, "", "Location: http://10.1.2.3/robots.txt"), nil
		}
		return newResponse(r, 200, "User-agent: *\nDisallow: /private/\n"), nil
	})
	tr := newTestTransport(t, web)
	req, _ := http.NewRequest("GET", "http://10.1.2.3/private/", nil)
	req.Host = "site.example"
	_, err := tr.RoundTrip(req)
	if !errors.Is(err, ErrDisallowed) {
		t.Errorf("RoundTrip returned error %v, want ErrDisallowed, by the rules that the Location's host serves", err)
	}
}

// Origins whose robots.txt redirect in a circle are unavailable. Even if all of
// them are checked at once, no check takes longer than a second. This is true
// with and without a Store that is a Locker.
func TestCircles(t *testing.T) {
	for n := 2; n <= 5; n++ {
		for _, store := range []Store{nil, &memoryStore{}} {
			t.Run(fmt.Sprintf("%d %T", n, store), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var web robotstest.Internet
					for i := range n {
						web.Handle(fmt.Sprintf("h%d.example", i),
							status(301, fmt.Sprintf("Location: http://h%d.example/robots.txt", (i+1)%n)))
					}
					c := newTestTransport(t, &web, withStore(store)).Checker()
					start := time.Now()
					var wg sync.WaitGroup
					for i := range n {
						wg.Go(func() {
							if d := decide(t, c, fmt.Sprintf("http://h%d.example/", i)); !d.Allowed || d.Reason != Unavailable {
								t.Errorf("h%d: got %v; want allowed, because there is no robots.txt", i, d)
							}
						})
					}
					wg.Wait()
					if d := time.Since(start); d > time.Second {
						t.Errorf("the checks took %v, want at most 1s", d)
					}
				})
			})
		}
	}
}

// Two origins redirect to each other. One member of a fleet checks the first,
// and another member checks the second. Neither member waits for longer than
// five seconds because of the other member's lock.
func TestCircleThroughTheStoreLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			time.Sleep(50 * time.Millisecond)
			to := map[string]string{"a.example": "b.example", "b.example": "a.example"}[r.URL.Host]
			return newResponse(r, 301, "", "Location: http://"+to+"/robots.txt"), nil
		})
		s := &memoryStore{}
		start := time.Now()
		var wg sync.WaitGroup
		for _, h := range []string{"a.example", "b.example"} {
			c := newTestTransport(t, web, withStore(s)).Checker()
			wg.Go(func() { decide(t, c, "http://"+h+"/") })
		}
		wg.Wait()
		if time.Since(start) > 5*time.Second {
			t.Errorf("the checks took %v, want at most 5s", time.Since(start))
		}
	})
}

// If an origin redirects to a paused host, the redirecting origin does not
// receive a request at each check.
func TestDelayedTargetAsksTheFirstAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first atomic.Int64
		inner := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "a.example" {
				first.Add(1)
				return newResponse(r, 301, "", "Location: http://b.example/robots.txt"), nil
			}
			return nil, &politeness.DelayError{Host: "b.example", Until: time.Now().Add(time.Hour)}
		})
		c := newTestTransport(t, inner).Checker()
		for i := range 50 {
			c.Check(t.Context(), mustURL(t, fmt.Sprintf("http://a.example/%d", i)))
			time.Sleep(time.Second)
		}
		if n := first.Load(); n > 2 {
			t.Errorf("%d fetches of the first origin's robots.txt in 50 s, want at most 2", n)
		}
	})
}

// If the target of a redirect is unreachable, the next try of the redirecting
// origin is due at the same time as that of the target.
func TestNextTryBehindARedirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", status(301, "Location: http://b.example/robots.txt"))
		web.Handle("b.example", status(503, "Retry-After: 7200"))
		c := newTestTransport(t, &web).Checker()
		d := decide(t, c, "http://a.example/")
		if got := time.Until(d.NextTry); got != 2*time.Hour {
			t.Errorf("the next try is in %v, want 2h", got)
		}
	})
}

// If robots.txt redirects to an origin that Options.Override lists, the client
// obeys the file that the listed origin serves instead of the override.
func TestRedirectToAnOverriddenOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", status(301, "Location: http://b.example/robots.txt"))
		web.Handle("b.example", robots("User-agent: *\nDisallow: /private/\n"))
		c := newTestTransport(t, &web,
			func(o *Options) { o.Override = map[string]string{"http://b.example": shutRules} }).Checker()
		if d := decide(t, c, "http://a.example/"); !d.Allowed {
			t.Errorf("got %v; want allowed", d)
		}
		if d := decide(t, c, "http://b.example/"); d.Allowed {
			t.Errorf("got %v; want disallowed", d)
		}
		if n := c.Stats().Origins; n != 1 {
			t.Errorf("%d origins are in memory, want only the one that is not overridden", n)
		}
	})
}

// A user name and a password in a Location are not sent.
func TestUserinfoOfALocation(t *testing.T) {
	web := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if r.URL.User != nil {
			t.Errorf("the request for %s contains a user name, want none", r.URL)
		}
		if r.URL.Path == "/robots.txt" {
			return newResponse(r, 302, "", "Location: http://u:p@a.example/r.txt"), nil
		}
		return newResponse(r, 200, someRules), nil
	})
	decide(t, newTestTransport(t, web).Checker(), "http://a.example/")
}
