package politeness

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
)

// always returns a PerHost that returns s for example.com, and nothing for
// other hosts.
func always(s HostSettings) func(string) HostSettings {
	return func(key string) HostSettings {
		if key == "example.com" {
			return s
		}
		return HostSettings{}
	}
}

func TestPerHost(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, tt := range []struct {
		name     string
		limiter  *Limiter
		settings HostSettings
		crawl    time.Duration // the Crawl-delay in the context of each request; -1 means there is none
		work     time.Duration
		want     []time.Duration
	}{
		{"nothing", &Limiter{}, HostSettings{}, 2 * s, 0, every(2*s, 3)},
		{"a longer Delay", &Limiter{}, HostSettings{Delay: 3 * s}, -1, 0, every(3*s, 3)},
		{"a shorter Delay", &Limiter{}, HostSettings{Delay: 100 * ms}, -1, 0, every(100*ms, 3)},
		{"no Delay", &Limiter{}, HostSettings{Delay: -1}, -1, 10 * ms, every(10*ms, 3)},
		{"a Delay where the Limiter has none", &Limiter{Delay: -1}, HostSettings{Delay: 2 * s}, -1, 0, every(2*s, 3)},
		{"a Delay shorter than the Crawl-delay", &Limiter{}, HostSettings{Delay: 3 * s}, 10 * s, 0, every(10*s, 3)},
		{"more slots", &Limiter{Delay: -1}, HostSettings{Concurrency: 2}, -1, 10 * ms, []time.Duration{0, 0, 10 * ms, 10 * ms}},
		{"fewer slots", &Limiter{Delay: -1, Concurrency: 8}, HostSettings{Concurrency: 1}, -1, 10 * ms, every(10*ms, 3)},
		{"any number of slots", &Limiter{Delay: -1}, HostSettings{Concurrency: -1}, -1, 10 * ms, []time.Duration{0, 0, 0}},
		{"a shorter Crawl-delay", &Limiter{}, HostSettings{CrawlDelay: 2 * s}, 10 * s, 0, every(2*s, 3)},
		{"a longer Crawl-delay", &Limiter{}, HostSettings{CrawlDelay: 20 * s}, 10 * s, 0, every(20*s, 3)},
		{"a Crawl-delay beyond MaxCrawlDelay is waited for", &Limiter{}, HostSettings{CrawlDelay: 90 * s}, 10 * s, 0, every(90*s, 3)},
		{"instead of a declared one beyond MaxCrawlDelay", &Limiter{}, HostSettings{CrawlDelay: 2 * s}, time.Hour, 0, every(2*s, 3)},
		{"a Crawl-delay where robots.txt has none", &Limiter{}, HostSettings{CrawlDelay: 5 * s}, 0, 0, every(5*s, 3)},
		{"a Crawl-delay shorter than Delay", &Limiter{}, HostSettings{CrawlDelay: 100 * ms}, 10 * s, 0, every(s, 3)},
		{"ten requests a second", &Limiter{}, HostSettings{Delay: 100 * ms, CrawlDelay: 100 * ms}, 10 * s, 0, every(100*ms, 3)},
		{"a Crawl-delay is one at a time", &Limiter{}, HostSettings{Concurrency: 8, CrawlDelay: 2 * s}, 10 * s, 5 * s, every(5*s, 3)},
		{"no Crawl-delay", &Limiter{}, HostSettings{CrawlDelay: -1}, 10 * s, 0, every(s, 3)},
		{"no Crawl-delay, and more slots", &Limiter{}, HostSettings{CrawlDelay: -1, Concurrency: 3}, 10 * s, 5 * s, every(s, 3)},
		{"no Crawl-delay, beyond MaxCrawlDelay", &Limiter{}, HostSettings{CrawlDelay: -1}, time.Hour, 0, every(s, 3)},
		{"EndToStart", &Limiter{EndToStart: true}, HostSettings{Delay: 3 * s}, -1, s, every(4*s, 3)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.limiter.PerHost = always(tt.settings)
				wantStarts(t, tt.limiter, tt.crawl, tt.work, tt.want)
			})
		})
	}
}

// The settings of one host do not affect other hosts.
func TestPerHost_OtherHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{PerHost: func(key string) HostSettings {
			if key == "other.example" {
				return HostSettings{Delay: time.Hour, CrawlDelay: time.Hour, Concurrency: 9}
			}
			return HostSettings{}
		}}
		g, err := l.Acquire(t.Context(), mustURL(t, "http://other.example/"))
		if err != nil {
			t.Fatal(err)
		}
		g.Done(Outcome{})
		if got, want := startsOf(t, l, t.Context(), 3, 0), every(time.Second, 3); !slices.Equal(got, want) {
			t.Errorf("requests started after %v, want %v", got, want)
		}
	})
}

// PerHost may return anything. No value makes a Limiter panic, and the next
// request still starts.
func TestPerHost_AnyValue(t *testing.T) {
	values := []int{math.MinInt, math.MinInt + 1, -1, 0, 1, math.MaxInt - 1, math.MaxInt}
	beyond := int64(math.MaxInt32) + 1
	if n := int(beyond); int64(n) == beyond { // not on 32-bit platforms
		values = append(values, n)
	}
	synctest.Test(t, func(t *testing.T) {
		u := mustURL(t, "http://example.com/")
		for _, delay := range values {
			for _, concurrency := range values {
				for _, crawlDelay := range values {
					settings := HostSettings{time.Duration(delay), concurrency, time.Duration(crawlDelay)}
					l := &Limiter{Jitter: 1, Adaptive: 2, PerHost: always(settings), Within: &Limiter{PerHost: always(settings)}}
					ctx, cancel := context.WithTimeout(WithCrawlDelay(t.Context(), time.Second), time.Second)
					first, err := l.Acquire(ctx, u)
					if err != nil {
						t.Fatalf("Acquire with %+v: error %v, want none", settings, err)
					}
					first.Done(Outcome{Status: 503})
					l.Next(u)
					if next, err := l.Acquire(ctx, u); err == nil {
						next.Done(Outcome{})
					} else if _, ok := errors.AsType[*DelayError](err); !ok {
						t.Errorf("the second Acquire with %+v: error %v, want a DelayError", settings, err)
					}
					cancel()
				}
			}
		}
	})
}

// The settings of a host change while requests to it wait. The next request to
// the host puts the new settings in force for the waiting requests too.
func TestPerHost_ChangesWhileRequestsWait(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name          string
		before, after HostSettings
		crawl         time.Duration
		work          time.Duration
		want          []time.Duration // of five requests; the fifth is made after 15 s, with the change
	}{
		{"a shorter Delay", HostSettings{Delay: 10 * s}, HostSettings{Delay: 6 * s}, 0, 0, []time.Duration{0, 10 * s, 16 * s, 22 * s, 28 * s}},
		{"a much shorter one", HostSettings{Delay: 10 * s}, HostSettings{}, 0, 0, []time.Duration{0, 10 * s, 15 * s, 16 * s, 17 * s}},
		{"a longer Delay", HostSettings{Delay: 10 * s}, HostSettings{Delay: 20 * s}, 0, 0, []time.Duration{0, 10 * s, 30 * s, 50 * s, 70 * s}},
		{"a Crawl-delay was agreed", HostSettings{}, HostSettings{CrawlDelay: -1}, 10 * s, 0, []time.Duration{0, 10 * s, 15 * s, 16 * s, 17 * s}},
		{"the agreement ended", HostSettings{CrawlDelay: 12 * s}, HostSettings{}, 10 * s, 0, []time.Duration{0, 12 * s, 22 * s, 32 * s, 42 * s}},
		{"more slots", HostSettings{Delay: -1}, HostSettings{Delay: -1, Concurrency: 3}, 0, 60 * s, []time.Duration{0, 15 * s, 15 * s, 60 * s, 75 * s}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var isChanged atomic.Bool
				l := &Limiter{PerHost: func(string) HostSettings {
					if isChanged.Load() {
						return tt.after
					}
					return tt.before
				}}
				u := mustURL(t, "http://example.com/")
				ctx := WithCrawlDelay(t.Context(), tt.crawl)
				began := time.Now()
				var mu sync.Mutex
				var starts []time.Duration
				var requests sync.WaitGroup
				request := func() {
					requests.Go(func() {
						g, err := l.Acquire(ctx, u)
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						starts = append(starts, time.Since(began))
						mu.Unlock()
						time.Sleep(tt.work)
						g.Done(Outcome{Status: 200})
					})
				}
				for range 4 {
					request()
				}
				time.Sleep(15 * s)
				isChanged.Store(true)
				request()
				requests.Wait()
				slices.Sort(starts)
				if !slices.Equal(starts, tt.want) {
					t.Errorf("requests started after %v, want %v", starts, tt.want)
				}
			})
		})
	}
}

// Two requests wait when the Delay of their host rises from 2 s to 100 s. The
// one whose deadline is now too early gets its DelayError at once, with the new
// time. The other keeps its place.
func TestPerHost_LongerDelayRefusesWaitingRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var delay atomic.Int64
		delay.Store(int64(2 * time.Second))
		l := &Limiter{PerHost: func(string) HostSettings { return HostSettings{Delay: time.Duration(delay.Load())} }}
		u := mustURL(t, "http://example.com/")
		began := time.Now()
		g, err := l.Acquire(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		g.Done(Outcome{})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()
		rejected := make(chan error, 1)
		go func() {
			_, err := l.Acquire(ctx, u)
			rejected <- err
		}()
		time.Sleep(time.Second)
		delay.Store(int64(100 * time.Second))
		if next := l.Next(u).Sub(began); next != 100*time.Second {
			t.Errorf("Next is %v after the first request, want 1m40s, the new Delay", next)
		}
		err = <-rejected
		d, ok := errors.AsType[*DelayError](err)
		if at := time.Since(began); at != time.Second || !ok || d.Until.Sub(began) != 100*time.Second || d.Reason != ReasonDelay {
			t.Errorf("Acquire: error %+v after %v, want a DelayError until 1m40s for the Delay after 1s", err, at)
		}
	})
}

// A request that is rejected because of the requests ahead of it has
// ReasonQueue, although the CrawlDelay of its host is longer than
// MaxCrawlDelay.
func TestPerHost_ReasonOfARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{PerHost: always(HostSettings{CrawlDelay: 90 * time.Second})}
		u := mustURL(t, "http://example.com/")
		rejection := func() Reason {
			ctx, cancel := context.WithTimeout(t.Context(), 80*time.Second)
			defer cancel()
			_, err := l.Acquire(ctx, u)
			d, ok := errors.AsType[*DelayError](err)
			if !ok {
				t.Fatalf("Acquire: error %v, want a DelayError", err)
			}
			return d.Reason
		}
		startsOf(t, l, t.Context(), 1, 0)
		if why := rejection(); why != ReasonCrawlDelay {
			t.Errorf("the first to wait: reason %q, want %q", why, ReasonCrawlDelay)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go l.Acquire(ctx, u)
		synctest.Wait()
		if why := rejection(); why != ReasonQueue {
			t.Errorf("the second to wait: reason %q, want %q", why, ReasonQueue)
		}
		cancel()
	})
}

// In a Limiter and the Limiter within it, each PerHost sets its own hosts.
func TestPerHost_Within(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys []string
		domain := &Limiter{Key: DomainKey, PerHost: func(key string) HostSettings {
			keys = append(keys, key)
			return HostSettings{Delay: 3 * time.Second}
		}}
		l := &Limiter{
			PerHost: func(key string) HostSettings {
				if key == "a.example.com" {
					return HostSettings{Delay: 10 * time.Second}
				}
				return HostSettings{}
			},
			Within:     domain,
			GlobalRate: rate.NewLimiter(1, 1),
		}
		began := time.Now()
		for _, step := range []struct {
			url  string
			want time.Duration
		}{
			{"http://a.example.com/", 0},
			{"http://b.example.com/", 3 * time.Second},
			{"http://b.example.com/", 6 * time.Second},
			{"http://a.example.com/", 10 * time.Second},
			{"http://c.example.org/", 11 * time.Second},
		} {
			g, err := l.Acquire(t.Context(), mustURL(t, step.url))
			if err != nil {
				t.Fatal(err)
			}
			if at := time.Since(began); at != step.want {
				t.Errorf("the request to %s started after %v, want %v", step.url, at, step.want)
			}
			g.Done(Outcome{})
		}
		slices.Sort(keys)
		if keys = slices.Compact(keys); !slices.Equal(keys, []string{"example.com", "example.org"}) {
			t.Errorf("PerHost received the keys %q, want example.com and example.org", keys)
		}
	})
}

// The PerHost of a Within sets a CrawlDelay. All requests keep it, fetches of
// robots.txt too, because a Within does not distinguish them.
func TestPerHost_CrawlDelayOfWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Delay: -1, Concurrency: -1, Within: &Limiter{
			Delay:       -1,
			Concurrency: -1,
			PerHost:     func(string) HostSettings { return HostSettings{CrawlDelay: 20 * time.Second} },
		}}
		u := mustURL(t, "http://shop.example/")
		began := time.Now()
		for i, d := range []time.Duration{0, Exempt, 5 * time.Second, Exempt} {
			g, err := l.Acquire(WithCrawlDelay(t.Context(), d), u)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := time.Since(began), time.Duration(i)*20*time.Second; got != want {
				t.Errorf("request %d starts after %v, want %v", i, got, want)
			}
			if n := l.Within.Stats().InFlight; n != 1 {
				t.Errorf("request %d: %d in flight, want 1", i, n)
			}
			g.Done(Outcome{Status: 200})
		}
	})
}

// A request waits ten minutes for its own host. Meanwhile the settings of its
// domain change, and another request applies the new ones. The first request
// does not restore the old ones when it is next in the queue.
func TestPerHost_WithinIsReadAfterTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var delay atomic.Int64
		delay.Store(int64(time.Second))
		l := &Limiter{Delay: 10 * time.Minute, Within: &Limiter{Key: DomainKey, PerHost: func(string) HostSettings {
			return HostSettings{Delay: time.Duration(delay.Load())}
		}}}
		request := func(host string) {
			g, err := l.Acquire(t.Context(), mustURL(t, "http://"+host+"/"))
			if err != nil {
				t.Error(err)
				return
			}
			g.Done(Outcome{})
		}
		began := time.Now()
		request("a.example.com")
		var waiting sync.WaitGroup
		waiting.Go(func() { request("a.example.com") })
		synctest.Wait()
		delay.Store(int64(3 * time.Minute))
		time.Sleep(9 * time.Minute)
		request("b.example.com")
		waiting.Wait()
		request("c.example.com")
		if got, want := time.Since(began), 15*time.Minute; got != want {
			t.Errorf("the last request started after %v, want %v", got, want)
		}
	})
}

// A PerHost that never returns the same settings twice is called once for each
// request. Waiting requests do not wake each other without end, and the
// settings do not fill the memory.
func TestPerHost_AlwaysAnotherValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 200
		var calls atomic.Int64
		other := func(string) HostSettings {
			call := min(calls.Add(1), 20*n) // without the limit, a test that fails would not end
			return HostSettings{Delay: time.Second + time.Duration(call)}
		}
		l := &Limiter{Delay: -1, PerHost: other, Within: &Limiter{PerHost: other}}
		var requests sync.WaitGroup
		for i := range n {
			requests.Go(func() {
				ctx := t.Context()
				if i%2 == 0 {
					ctx = WithCrawlDelay(ctx, Exempt)
				}
				g, err := l.Acquire(ctx, mustURL(t, "http://example.com/"))
				if err != nil {
					t.Error(err)
					return
				}
				g.Done(Outcome{})
			})
		}
		requests.Wait()
		// Each start wakes the first page and the first robots.txt request, and
		// both may have left the queue of Within meanwhile.
		if calls.Load() > 15*n {
			t.Errorf("%d calls of PerHost for %d requests, want at most %d", calls.Load(), n, 15*n)
		}
		if len(l.perHost.shared) > 1 || len(l.Within.perHost.shared) > 1 {
			t.Errorf("%d and %d settings of one host are stored, want at most 1 each", len(l.perHost.shared), len(l.Within.perHost.shared))
		}
	})
}

// Hosts with the same settings share them, and settings that no host has are
// removed.
func TestPerHost_SettingsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settings := []HostSettings{{}, {Delay: time.Second}, {Delay: 3 * time.Second}, {CrawlDelay: -1}, {CrawlDelay: -2}}
		hosts := 0
		l := &Limiter{MaxHosts: 100}
		l.PerHost = func(string) HostSettings { return settings[hosts%len(settings)] }
		request := func() {
			g, err := l.Acquire(t.Context(), mustURL(t, fmt.Sprintf("http://h%d.example/", hosts)))
			if err != nil {
				t.Fatal(err)
			}
			g.Done(Outcome{})
			hosts++
		}
		for range 50 {
			request()
		}
		if len(l.perHost.shared) != 2 { // 3 s, and no Crawl-delay
			t.Errorf("%d settings are stored, want 2: %v", len(l.perHost.shared), l.perHost.shared)
		}
		settings = settings[:1]
		time.Sleep(time.Hour)
		for range 200 { // the earlier hosts are evicted
			request()
			time.Sleep(10 * time.Second)
		}
		if len(l.perHost.shared) != 0 {
			t.Errorf("%d settings are stored, want none: %v", len(l.perHost.shared), l.perHost.shared)
		}
	})
}

// PerHost may call the Limiter, because it is called without its lock.
func TestPerHost_MayCallTheLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(Limiter)
		l.PerHost = func(string) HostSettings {
			if s := l.Stats(); s.InFlight > 0 || s.Waiting > 0 {
				return HostSettings{Concurrency: -1, Delay: -1}
			}
			return HostSettings{}
		}
		if got, want := startsOf(t, l, t.Context(), 3, time.Second), []time.Duration{0, 0, 0}; !slices.Equal(got, want) {
			t.Errorf("requests started after %v, want %v", got, want)
		}
	})
}

// The Observer receives the intervals that were in force, and whether they are
// from PerHost.
func TestPerHost_Observer(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name     string
		settings HostSettings
		want     string
	}{
		{"the Limiter's", HostSettings{}, "waited 10s for crawl-delay, delay 1s, crawl-delay 10s, adaptive false, agreed false"},
		{"a Delay", HostSettings{Delay: 20 * s}, "waited 20s for delay, delay 20s, crawl-delay 10s, adaptive false, agreed false"},
		{"another Crawl-delay", HostSettings{CrawlDelay: 4 * s}, "waited 4s for crawl-delay, delay 1s, crawl-delay 4s, adaptive false, agreed true"},
		{"no Crawl-delay", HostSettings{CrawlDelay: -1}, "waited 1s for delay, delay 1s, crawl-delay 0s, adaptive false, agreed true"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var got string
			l := &Limiter{PerHost: always(tt.settings), Observer: &Observer{Granted: func(_ context.Context, e Event) {
				got = fmt.Sprintf("waited %v for %s, delay %v, crawl-delay %v, adaptive %t, agreed %t", e.Wait, e.Reason, e.Delay, e.CrawlDelay, e.Adaptive, e.Agreed)
			}}}
			startsOf(t, l, WithCrawlDelay(t.Context(), 10*s), 2, 0)
			if got != tt.want {
				t.Errorf("%s: Granted received\n%s\nwant\n%s", tt.name, got, tt.want)
			}
		})
	}
}

// A page redirects to another page of its host, which has a CrawlDelay of 90 s.
// The request that follows the redirect is not rejected, although MaxWait is
// shorter: otherwise it would be rejected each time that the page is fetched
// again.
func TestPerHost_MaxWaitAfterARedirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			if req.URL.Path == "/old" {
				return &http.Response{StatusCode: 301, Header: http.Header{"Location": {"/new"}}, Body: http.NoBody}, nil
			}
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		})
		for _, settings := range []HostSettings{{Delay: 90 * time.Second}, {CrawlDelay: 90 * time.Second}} {
			l := &Limiter{MaxWait: time.Second, PerHost: always(settings)}
			client := &http.Client{Transport: &Transport{Base: pages, Limiter: l}}
			if resp, err := client.Get("http://example.com/old"); err != nil || resp.StatusCode != 200 {
				t.Errorf("%+v: Get = %v, %v; want status 200", settings, resp, err)
			}
		}
	})
}

// There is room for ten hosts only. The host with a CrawlDelay of 90 s is not
// evicted before its Crawl-delay is over, although MaxCrawlDelay is shorter:
// its next request would start too early.
func TestPerHost_LongCrawlDelayIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{MaxHosts: 10, PerHost: always(HostSettings{CrawlDelay: 90 * time.Second})}
		startsOf(t, l, t.Context(), 1, 0)
		time.Sleep(70 * time.Second)
		for i := range 100 {
			g, err := l.Acquire(t.Context(), mustURL(t, fmt.Sprintf("http://h%d.example/", i)))
			if err != nil {
				t.Fatal(err)
			}
			g.Done(Outcome{})
			time.Sleep(10 * time.Millisecond)
		}
		began := time.Now()
		startsOf(t, l, t.Context(), 1, 0)
		if got, want := time.Since(began), 19*time.Second; got != want {
			t.Errorf("the next request waited %v, want %v", got, want)
		}
	})
}

// After PerHost was called for a request, and before the request joins the
// queue, other hosts cause the eviction of its host. When the host is added
// again, it must have the settings that PerHost returned, not those of the
// Limiter.
func TestPerHost_HostIsForgottenInBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Delay: -1, Concurrency: -1, PerHost: always(HostSettings{Delay: time.Hour})}
		began := time.Now()
		var grants []*Grant
		prepare := func(u string) *Grant {
			g := new(Grant)
			if err := l.prepare(t.Context(), mustURL(t, u), g); err != nil {
				t.Fatal(err)
			}
			g.readSettings()
			g.setDeadline(t.Context())
			return g
		}
		for range 2 {
			grants = append(grants, prepare("http://example.com/"))
		}
		prepare("http://other.example/")
		for i, g := range grants {
			if err := l.wait(t.Context(), g); err != nil {
				t.Fatal(err)
			}
			g.Done(Outcome{Status: 200})
			if got, want := time.Since(began), time.Duration(i)*time.Hour; got != want {
				t.Errorf("request %d started after %v, want %v", i, got, want)
			}
		}
	})
}

// The outcome of a request whose lease has expired and whose host is evicted
// creates the host again, with the settings of PerHost.
func TestPerHost_HostIsRecalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Lease: time.Second, Delay: -1, PerHost: always(HostSettings{Delay: 10 * time.Minute})}
		u := mustURL(t, "http://example.com/")
		g, err := l.Acquire(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		l.mu.Lock()
		l.expireLeases(l.now(), l.hosts.Get("example.com"))
		l.mu.Unlock()
		time.Sleep(time.Hour)
		for i := range 10 {
			other, err := l.Acquire(t.Context(), mustURL(t, fmt.Sprintf("http://h%d.example/", i)))
			if err != nil {
				t.Fatal(err)
			}
			other.Done(Outcome{Status: 200})
			time.Sleep(time.Minute)
		}
		if l.hosts.Get("example.com") != nil {
			t.Fatal("the host was not evicted")
		}
		g.Done(Outcome{Status: 503})
		began := time.Now()
		if _, err := l.Acquire(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(began); got < 10*time.Minute {
			t.Errorf("after the 503, the next request waited for %v, want at least 10m", got)
		}
	})
}

// The Crawl-delay that requests declare is not in force if PerHost returns
// another one, so estimates must not count it.
func TestPerHost_EstimatesWithAnAgreedCrawlDelay(t *testing.T) {
	for _, agreed := range []time.Duration{-1, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{MaxWait: 20 * time.Second, PerHost: always(HostSettings{CrawlDelay: agreed})}
			interval := max(time.Second, agreed)
			got := startsOf(t, l, WithCrawlDelay(t.Context(), 10*time.Second), 6, 0)
			if want := every(interval, 6); !slices.Equal(got, want) {
				t.Errorf("CrawlDelay %v: requests started after %v, want %v", agreed, got, want)
			}
		})
	}
}

// A host has a Crawl-delay of 4 s and a Delay of 1 s. A page waits for the
// Crawl-delay, and a request that is ExemptInTurn starts a second after the
// page, before the robots.txt request that waits, so that its deadline can be
// met.
func TestExemptInTurn_StartsBeforeARobotsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{PerHost: func(string) HostSettings { return HostSettings{CrawlDelay: 4 * time.Second} }}
		began := time.Now()
		page := mustURL(t, "http://example.com/")
		first, err := l.Acquire(t.Context(), page)
		if err != nil {
			t.Fatal(err)
		}
		first.Done(Outcome{})
		time.Sleep(time.Second)
		slow, err := l.Acquire(WithCrawlDelay(t.Context(), Exempt), mustURL(t, "http://example.com:1/robots.txt"))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if g, err := l.Acquire(t.Context(), page); err == nil {
				g.Done(Outcome{})
			}
		}()
		time.Sleep(2500 * time.Millisecond) // pages get as much time as this request has taken
		slow.Done(Outcome{})
		robots, cancel := context.WithCancel(WithCrawlDelay(t.Context(), Exempt))
		defer cancel()
		go func() {
			if g, err := l.Acquire(robots, mustURL(t, "http://example.com:2/robots.txt")); err == nil {
				g.Done(Outcome{})
			}
		}()
		synctest.Wait()
		ctx, stop := context.WithTimeout(WithCrawlDelay(t.Context(), ExemptInTurn), 2*time.Second)
		defer stop()
		if _, err := l.Acquire(ctx, page); err != nil || time.Since(began) != 5*time.Second {
			t.Errorf("Acquire took %v, error %v; want 5s and none", time.Since(began), err)
		}
		cancel()
		synctest.Wait()
	})
}
