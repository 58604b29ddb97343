package robotsmw

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

const day = 24 * time.Hour

// pauseHost pauses a host: the Limiter receives the outcome of a page with the
// status 429 and this Retry-After.
func pauseHost(t testing.TB, l *politeness.Limiter, rawURL string, d time.Duration) {
	t.Helper()
	g, err := l.Acquire(t.Context(), mustURL(t, rawURL))
	if err != nil {
		t.Fatal(err)
	}
	g.Done(politeness.Outcome{Status: http.StatusTooManyRequests,
		Header: http.Header{"Retry-After": {strconv.Itoa(int(d.Seconds()))}}})
}

func paced(l *politeness.Limiter) func(*Options) { return func(o *Options) { o.Limiter = l } }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// goroutinesSince returns how many goroutines there are, minus an earlier
// count. It first yields the processor up to 3,000,000 times, so that other
// goroutines can end. Sleeping would advance the fake clock of synctest.
func goroutinesSince(before int) int {
	for range 3_000_000 {
		if runtime.NumGoroutine() <= before {
			break
		}
		runtime.Gosched()
	}
	return runtime.NumGoroutine() - before
}

// Many callers wait for the robots.txt of a paused host. When all of them have
// left, no goroutine remains, no request waits at the Limiter, and the Checker
// has no record of the origins. No robots.txt is fetched.
func TestCallersThatLeaveARestingHostLeaveNothing(t *testing.T) {
	const callers = 20_000
	oneHost := func(int) string { return "http://a.example/" }
	ports := func(i int) string { return fmt.Sprintf("http://a.example:%d/", 1+i) }
	for name, tt := range map[string]struct {
		url   func(int) string
		leave func(context.CancelFunc) // how the callers leave; if nil, by their deadline
	}{
		"one origin, canceled":              {oneHost, func(cancel context.CancelFunc) { cancel() }},
		"one origin, deadline at the slot":  {oneHost, nil},
		"20,000 origins, canceled":          {ports, func(cancel context.CancelFunc) { cancel() }},
		"20,000 origins, deadline too soon": {ports, nil},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				limiter := &politeness.Limiter{Logger: quiet()}
				c := newTestTransport(t, &web, paced(limiter)).Checker()
				pauseHost(t, limiter, "http://a.example/", day)
				before := runtime.NumGoroutine()
				ctx, cancel := context.WithCancel(t.Context())
				if tt.leave == nil {
					ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
				}
				defer cancel()
				var wg sync.WaitGroup
				for i := range callers {
					wg.Go(func() {
						if _, err := c.Check(ctx, mustURL(t, tt.url(i))); err == nil {
							t.Error("Check returned a decision, want an error, because robots.txt is not known")
						}
					})
				}
				synctest.Wait()
				if tt.leave != nil {
					tt.leave(cancel)
				}
				wg.Wait()
				synctest.Wait()
				if n := goroutinesSince(before); n > 0 {
					t.Errorf("%d goroutines are left, want none", n)
				}
				if s := limiter.Stats(); s.Waiting != 0 {
					t.Errorf("%d requests wait at the Limiter, want none", s.Waiting)
				}
				if s := c.Stats(); s.Origins != 0 || s.Bytes != 0 {
					t.Errorf("got %d origins and %d bytes in memory, want none", s.Origins, s.Bytes)
				}
				time.Sleep(2 * day)
				if n := len(web.Log()); n != 0 {
					t.Errorf("%d fetches of robots.txt for callers that had left, want none", n)
				}
			})
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("the test took %v, want at most 30s", took)
			}
		})
	}
}

// All callers that wait for a fetch give up, and then another caller waits for
// it. The new caller receives robots.txt when the pause ends.
func TestFetchIsDroppedAndBegunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		limiter := &politeness.Limiter{Logger: quiet()}
		c := newTestTransport(t, &web, paced(limiter)).Checker()
		start := time.Now()
		pauseHost(t, limiter, "http://a.example/", time.Hour)
		for range 10 {
			checkWithin(t, c, "http://a.example/", time.Second)
		}
		var wg sync.WaitGroup
		wg.Go(func() { checkWithin(t, c, "http://a.example/", time.Second) })
		wg.Go(func() { // waits until the pause ends, unlike the others
			if d := decide(t, c, "http://a.example/private/"); d.Allowed || time.Since(start) != time.Hour {
				t.Errorf("got %v after %v; want disallowed after an hour", d, time.Since(start))
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() { c.Check(ctx, mustURL(t, "http://a.example/")) })
		time.Sleep(time.Minute)
		cancel()
		wg.Wait()
		if n := len(web.Log()); n != 1 {
			t.Errorf("%d fetches of robots.txt, want 1", n)
		}
	})
}

// A DelayError contains the host and the reason even if robots.txt is not known
// yet.
func TestDelayBeforeRobotsTxtIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := &politeness.Limiter{Logger: quiet()}
		c := newTestTransport(t, new(robotstest.Internet), paced(limiter)).Checker()
		pauseHost(t, limiter, "http://shop.example/", time.Hour)
		_, err := checkWithin(t, c, "http://shop.example:8080/", time.Minute)
		if d, ok := errors.AsType[*politeness.DelayError](err); !ok || d.Host != "shop.example" || d.Reason != politeness.ReasonBackOff {
			t.Errorf("Check returned error %v (%+v), want a DelayError of shop.example because of a back-off", err, d)
		}
	})
}

// A refresh continues although no request waits for it. However, if its host is
// paused for hours, no goroutine waits for the end of the pause.
func TestRefreshWaitsForARestingHost(t *testing.T) {
	for _, d := range []time.Duration{5 * time.Second, time.Minute, 2 * time.Hour} {
		t.Run(d.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				web.Handle("a.example", robots(someRules))
				limiter := &politeness.Limiter{Logger: quiet()}
				c := newTestTransport(t, &web, paced(limiter)).Checker()
				decide(t, c, "http://a.example/")
				time.Sleep(20 * time.Hour)
				pauseHost(t, limiter, "http://a.example/", d)
				before := runtime.NumGoroutine()
				for range 10 {
					if d := decide(t, c, "http://a.example/private/"); d.Allowed || d.Stale {
						t.Errorf("got %v; want disallowed by a file that is not stale", d)
					}
				}
				synctest.Wait()
				if n := goroutinesSince(before); n > 0 && d > 10*time.Minute {
					t.Errorf("%d goroutines wait for hours, want none", n)
				}
				time.Sleep(d - time.Second)
				if n := robotsFetches(&web, ""); n != 1 {
					t.Errorf("%d fetches of robots.txt before the host is due, want 1", n)
				}
				time.Sleep(2 * time.Second)
				if d > 10*time.Minute { // the refresh was dropped, and the next check begins it again
					decide(t, c, "http://a.example/")
					synctest.Wait()
				}
				if n := robotsFetches(&web, ""); n != 2 {
					t.Errorf("%d fetches of robots.txt, want 2, of which one is the refresh", n)
				}
			})
		})
	}
}

// A fetch that has already had a slot continues after its callers have left.
// Here, the fetch needs two requests, because robots.txt redirects. No caller's
// deadline is long enough for both, but a later caller gets the file.
func TestHurriedCallersGetPastARedirect(t *testing.T) {
	for _, delay := range []time.Duration{time.Second, 5 * time.Second, time.Minute} {
		t.Run(delay.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				web.Handle("http://a.example", status(301, "Location: https://a.example/robots.txt"))
				web.Handle("https://a.example", robots(someRules))
				c := newTestTransport(t, &web, paced(&politeness.Limiter{Delay: delay, Logger: quiet()})).Checker()
				for range 3 {
					d, err := checkWithin(t, c, "http://a.example/private/", delay/2)
					if err == nil {
						if d.Allowed || d.Reason != ByRule {
							t.Errorf("got %v; want disallowed by a rule", d)
						}
						return
					}
					again, ok := errors.AsType[*politeness.DelayError](err)
					if !ok {
						t.Fatalf("Check returned error %v, want none or a DelayError", err)
					}
					time.Sleep(time.Until(again.Until) + time.Millisecond)
				}
				t.Error("Check returned no decision in three tries, each when the host was due, want one by the third")
			})
		})
	}
}

// Many origins redirect to the robots.txt of one host, which is paused. No
// goroutine remains, and no request is sent to the origins until the pause
// ends.
func TestRedirectsToARestingHostLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const origins = 500
		var web robotstest.Internet
		limiter := &politeness.Limiter{Logger: quiet()}
		c := newTestTransport(t, &web, paced(limiter)).Checker()
		web.Handle("rest.example", robots(someRules))
		pauseHost(t, limiter, "http://rest.example/", day)
		before := runtime.NumGoroutine()
		for i := range origins {
			host := fmt.Sprintf("h%d.example", i)
			web.Handle(host, status(301, "Location: http://rest.example/robots.txt"))
			_, err := checkWithin(t, c, "http://"+host+"/", 5*time.Second)
			if !isDelay(err) {
				t.Fatalf("Check of %s returned error %v, want a DelayError", host, err)
			}
		}
		synctest.Wait()
		if n := goroutinesSince(before); n > 0 {
			t.Errorf("%d goroutines are left, want none", n)
		}
		for i := range origins { // no request is sent to an origin now
			checkWithin(t, c, fmt.Sprintf("http://h%d.example/", i), 5*time.Second)
		}
		if n := len(web.Log()); n != origins {
			t.Errorf("%d fetches of robots.txt, want %d", n, origins)
		}
		time.Sleep(day)
		if d := decide(t, c, "http://h7.example/private/"); d.Allowed || d.Reason != ByRule {
			t.Errorf("got %v; want disallowed by a rule", d)
		}
	})
}

// A good copy past its lifetime is used while its host is paused. The client
// fetches the new file when the pause ends.
func TestExpiredCopyServesWhileItsHostRests(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rest   time.Duration
		within time.Duration // the caller's deadline; 0 means none
	}{
		{"a back-off", 30 * time.Second, 0},
		{"an hour", time.Hour, 0},
		{"a day", day, 0},
		{"a day, the caller in a hurry", day, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				web.Handle("a.example", robots(someRules))
				ev := new(events)
				limiter := &politeness.Limiter{Logger: quiet()}
				c := newTestTransport(t, &web, paced(limiter),
					func(o *Options) { o.Observer = ev.observer() }).Checker()
				fetched := time.Now()
				decide(t, c, "http://a.example/")
				web.Handle("a.example", robots("User-agent: *\nDisallow: /new/\n"))
				time.Sleep(25 * time.Hour)
				pauseHost(t, limiter, "http://a.example/", tt.rest)
				start := time.Now()
				check := func(path string) Decision {
					t.Helper()
					if tt.within == 0 {
						return decide(t, c, "http://a.example"+path)
					}
					d, err := checkWithin(t, c, "http://a.example"+path, tt.within)
					if err != nil {
						t.Fatal(err)
					}
					return d
				}
				for range 5 {
					d := check("/private/")
					isOldCopy := d.Stale && d.Fetched.Equal(fetched)
					isPaused := d.NextTry.Equal(start.Add(tt.rest)) && d.Cause != ""
					if d.Allowed || !isOldCopy || !isPaused {
						t.Fatalf("got %v (%+v); want disallowed by the stale copy, with a next try at the end of the pause",
							d, d)
					}
					if d := check("/new/"); !d.Allowed || !d.Stale {
						t.Errorf("got %v; want allowed by the stale file", d)
					}
				}
				if took := time.Since(start); took != 0 {
					t.Errorf("the checks took %v, want no wait", took)
				}
				if n := robotsFetches(&web, ""); n != 1 {
					t.Errorf("%d fetches of robots.txt while the host is paused, want 1", n)
				}
				time.Sleep(tt.rest / 2)
				if d := check("/private/"); d.Allowed || !d.Stale {
					t.Errorf("halfway through the pause: got %v; want disallowed by the stale copy", d)
				}
				time.Sleep(tt.rest/2 + time.Second)
				decide(t, c, "http://a.example/")
				if n := robotsFetches(&web, ""); n != 2 {
					t.Errorf("%d fetches of robots.txt after the pause, want 2", n)
				}
				if d := check("/new/"); d.Allowed || d.Stale || d.Cause != "" {
					t.Errorf("after the pause: got %v; want disallowed by the new file", d)
				}
				if len(ev.fetches) != 2 {
					t.Errorf("the Observer received %d fetches, want 2", len(ev.fetches))
				}
			})
		})
	}
}

// The wait for an interval does not count as a pause of the host. If a fetch
// waits only for an interval, the request waits for the new file.
func TestExpiredCopyDoesNotServeForAnInterval(t *testing.T) {
	for _, delay := range []time.Duration{time.Second, 10 * time.Second} {
		t.Run(delay.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				web.Handle("a.example", robots(someRules))
				limiter := &politeness.Limiter{Delay: delay, Logger: quiet()}
				c := newTestTransport(t, &web, paced(limiter)).Checker()
				decide(t, c, "http://a.example/")
				web.Handle("a.example", robots("User-agent: *\nDisallow: /new/\n"))
				time.Sleep(25 * time.Hour)
				g, err := limiter.Acquire(t.Context(), mustURL(t, "http://a.example/"))
				if err != nil {
					t.Fatal(err)
				}
				g.Done(politeness.Outcome{Status: 200})
				start := time.Now()
				if d := decide(t, c, "http://a.example/new/"); d.Allowed || d.Stale || time.Since(start) != delay {
					t.Errorf("got %v after %v; want disallowed by the new file after the interval", d,
						time.Since(start))
				}
			})
		})
	}
}

// A 404 is not a good copy. After its lifetime, requests wait for a new
// response, even if the host is paused.
func TestExpiredUnavailableDoesNotServeWhileItsHostRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", status(404))
		limiter := &politeness.Limiter{Logger: quiet()}
		c := newTestTransport(t, &web, paced(limiter)).Checker()
		decide(t, c, "http://a.example/")
		web.Handle("a.example", robots(someRules))
		time.Sleep(25 * time.Hour)
		pauseHost(t, limiter, "http://a.example/", time.Hour)
		if d, err := checkWithin(t, c, "http://a.example/private/", time.Minute); !isDelay(err) {
			t.Errorf("got %v and error %v, want a DelayError", d, err)
		}
		start := time.Now()
		if d := decide(t, c, "http://a.example/private/"); d.Allowed || time.Since(start) != time.Hour {
			t.Errorf("got %v after %v; want disallowed after an hour", d, time.Since(start))
		}
	})
}

// While a host is paused, a good copy is used. The copy may be from the Store,
// or belong to the target of a redirect. A copy is also used if the pause is
// longer than the Limiter's MaxWait.
func TestWhoseCopyServesWhileTheHostRests(t *testing.T) {
	for _, tt := range []struct {
		name    string
		limiter *politeness.Limiter
		again   bool // whether a new process uses the Store
		rests   string
	}{
		{"in the Store", &politeness.Limiter{}, true, "http://a.example/"},
		{"of the origin that it redirects to", &politeness.Limiter{}, false, "https://www.example.net/"},
		{"where the Limiter refuses the wait", &politeness.Limiter{MaxWait: time.Minute}, false, "http://a.example/"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				web.Handle("http://a.example", robots(someRules))
				if tt.rests != "http://a.example/" {
					web.Handle("http://a.example", status(301, "Location: https://www.example.net/robots.txt"))
					web.Handle("https://www.example.net", robots(someRules))
				}
				tt.limiter.Logger = quiet()
				store := new(memoryStore)
				c := newTestTransport(t, &web, paced(tt.limiter), withStore(store)).Checker()
				decide(t, c, "http://a.example/")
				synctest.Wait()
				time.Sleep(25 * time.Hour)
				if tt.again {
					c = newTestTransport(t, &web, paced(tt.limiter), withStore(store)).Checker()
				}
				pauseHost(t, tt.limiter, tt.rests, day)
				start := time.Now()
				for range 3 {
					if d := decide(t, c, "http://a.example/private/"); d.Allowed || d.Reason != ByRule || !d.Stale {
						t.Errorf("got %v; want disallowed by a rule of the stale file", d)
					}
				}
				if took := time.Since(start); took > time.Minute { // the first request, which is redirected, takes some time
					t.Errorf("the checks took %v, want at most 1m", took)
				}
				time.Sleep(day + time.Minute)
				if d := decide(t, c, "http://a.example/private/"); d.Allowed || d.Stale {
					t.Errorf("after the pause: got %v; want disallowed by the new file", d)
				}
			})
		})
	}
}

// A fetch takes one of the MaxOrigins places until it ends. If fetches take all
// places, a further fetch exceeds the limit, and no request fails.
func TestFetchesUnderWayCountIntoMaxOrigins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places = 10
		var web robotstest.Internet
		c := newTestTransport(t, &web, func(o *Options) { o.MaxOrigins = places }).Checker()
		var wg sync.WaitGroup
		for i := range 50 {
			host := fmt.Sprintf("h%d.example", i)
			web.Handle(host, slowly(20*time.Second, robots(someRules)))
			wg.Go(func() {
				if d := decide(t, c, "http://"+host+"/private/"); d.Allowed {
					t.Errorf("got %v; want disallowed", d)
				}
			})
		}
		wg.Wait()
		if s := c.Stats(); s.Origins != places {
			t.Errorf("Stats().Origins = %d, want %d", s.Origins, places)
		}
	})
}

// The unreachable hosts of one domain are more than memory has room for. Other
// origins are accepted nevertheless and are not evicted. Nearly all unreachable
// hosts stay in memory until their next try.
func TestUnreachableHostsOfOneDomainFillMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places, hosts = 500, 600
		var web robotstest.Internet
		c := newTestTransport(t, &web, func(o *Options) { o.MaxOrigins = places }).Checker()
		wild := func(i int) string { return fmt.Sprintf("s%d.wild.example", i) }
		for i := range hosts {
			web.Handle(wild(i), status(503, "Retry-After: 3600"))
			if d := decide(t, c, "http://"+wild(i)+"/"); d.Reason != Unreachable {
				t.Fatalf("got %v; want disallowed, because robots.txt is unreachable", d)
			}
		}
		for range 2 {
			for i := range 50 {
				host := fmt.Sprintf("good%d.example", i)
				web.Handle(host, robots(someRules))
				d, err := checkWithin(t, c, "http://"+host+"/private/", time.Second)
				if err != nil || d.Reason != ByRule || d.Allowed {
					t.Fatalf("%s: got %v and error %v; want disallowed by a rule", host, d, err)
				}
			}
		}
		if n := len(web.Log()); n != hosts+50 {
			t.Errorf("%d fetches of robots.txt, want %d, one for each origin, because none is evicted", n, hosts+50)
		}
		if s := c.Stats(); s.Origins > places {
			t.Errorf("Stats().Origins = %d, want at most %d", s.Origins, places)
		}
	})
}

// A fleet fetches once, even if the fetch has to wait for its slot longer than
// a lock lasts.
func TestFleetWaitsForARestingHostAndFetchesOnce(t *testing.T) {
	for _, tt := range []struct {
		name   string
		wait   time.Duration
		shared bool // whether all members share one Limiter
	}{
		{"a minute, each with a pace of its own", time.Minute, false},
		{"an hour, each with a pace of its own", time.Hour, false},
		{"a minute, one pace", time.Minute, true},
		{"an hour, one pace", time.Hour, true},
		{"shorter than the lock, its fetch not", 30 * time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				web.Handle("a.example", slowly(25*time.Second, robots(someRules)))
				store := new(memoryStore)
				limiter := &politeness.Limiter{Delay: 20 * time.Second, Logger: quiet()}
				pauseHost(t, limiter, "http://a.example/", tt.wait)
				var wg sync.WaitGroup
				start := time.Now()
				for range 5 {
					if !tt.shared {
						limiter = &politeness.Limiter{Delay: 20 * time.Second, Logger: quiet()}
						pauseHost(t, limiter, "http://a.example/", tt.wait)
					}
					c := newTestTransport(t, &web, paced(limiter), withStore(store)).Checker()
					wg.Go(func() {
						if d := decide(t, c, "http://a.example/private/"); d.Allowed || d.Reason != ByRule {
							t.Errorf("got %v; want disallowed by a rule", d)
						}
					})
				}
				wg.Wait()
				if n := robotsFetches(&web, ""); n != 1 {
					t.Errorf("%d fetches of robots.txt by a fleet of 5, want 1", n)
				}
				if took := time.Since(start); took > tt.wait+5*time.Minute {
					t.Errorf("the checks took %v, want at most %v", took, tt.wait+5*time.Minute)
				}
				time.Sleep(time.Minute)
				if len(store.locks) != 0 {
					t.Error("the Store still has a lock, want none")
				}
			})
		})
	}
}
