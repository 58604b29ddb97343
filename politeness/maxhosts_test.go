package politeness

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// Four hosts with an adaptive delay are used one after the other, but only
// three are remembered. The host that was used first is evicted, and the others
// keep their delays.
func TestMaxHosts_LeastRecentlyUsed(t *testing.T) {
	for again, want := range map[string]time.Duration{"a.example": time.Second, "b.example": 5 * time.Second, "c.example": 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var delay time.Duration
			l := &Limiter{MaxHosts: 3, Adaptive: 5, Observer: &Observer{
				Granted: func(_ context.Context, e Event) { delay = e.Delay },
			}}
			for _, host := range []string{"a.example", "b.example", "c.example", "d.example", again} {
				g, err := l.Acquire(t.Context(), &url.URL{Host: host})
				if err != nil {
					t.Fatal(err)
				}
				g.Done(Outcome{Status: 200, Latency: time.Second})
				time.Sleep(10 * time.Second)
			}
			if delay != want {
				t.Errorf("the delay of %s is %v, want %v", again, delay, want)
			}
		})
	}
}

// A crawl sends requests to a million hosts, one after the other. A paused host
// is not evicted, however many hosts follow. Hosts whose interval is over are
// evicted.
func TestMaxHosts_ManyNewHosts(t *testing.T) {
	n := 1_000_000
	if testing.Short() || testmain.RaceEnabled {
		n = 50_000
	}
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{MaxHosts: 5000}
		pausedURL := mustURL(t, "http://backed-off.example/")
		g, _ := l.Acquire(t.Context(), pausedURL)
		g.Done(Outcome{Status: 503, Header: retryIn("80000")})
		until := l.Next(pausedURL)
		routines := runtime.NumGoroutine()
		u := mustURL(t, "http://h.example/")
		for i := range n {
			u.Host = fmt.Sprintf("h%d.example", i)
			g, err := l.Acquire(t.Context(), u)
			if err != nil {
				t.Fatalf("Acquire of host %d: error %v, want none", i, err)
			}
			g.Done(Outcome{Status: 200})
			if i%4000 == 0 {
				time.Sleep(time.Second)
				if s := l.Stats(); s.Hosts > 5000 {
					t.Fatalf("%d hosts are stored, want at most 5000", s.Hosts)
				}
			}
		}
		if got := l.Next(pausedURL); !got.Equal(until) {
			t.Errorf("the pause ends at %v, want %v", got, until)
		}
		if now := runtime.NumGoroutine(); now > routines {
			t.Errorf("%d goroutines are running, want at most %d, as before", now, routines)
		}
	})
}

// Hosts are evicted after their interval, even if there is room for them, and
// even if hosts that were used before them are paused for a day.
func TestMaxHosts_BehindALongBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		for i := range 10_000 {
			g, err := l.Acquire(t.Context(), hostURL(i))
			if err != nil {
				t.Fatal(err)
			}
			if i < 5 {
				g.Done(Outcome{Status: 429, Header: retryIn("86400")})
			}
			g.Done(Outcome{Status: 200})
			time.Sleep(10 * time.Millisecond) // so a hundred hosts are in their interval at any moment
		}
		if s := l.Stats(); s.Hosts > 200 || paused(l) != 5 {
			t.Errorf("Stats = %+v, and %d hosts are paused; want at most 200 hosts, 5 of them paused", s, paused(l))
		}
	})
}

// One domain has any number of hosts that all request a pause of a day. They
// never occupy more than 90% of MaxHosts, so the hosts of others are not
// evicted, and no request to a new host is rejected.
func TestFullOfPausedHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n tally
		l := &Limiter{MaxHosts: 100, Observer: n.observer()}
		get := func(host string, o Outcome) {
			t.Helper()
			ctx := WithCrawlDelay(t.Context(), 5*time.Second)
			g, err := l.Acquire(ctx, &url.URL{Host: host})
			if err != nil {
				t.Fatalf("Acquire of %s: error %v, want none", host, err)
			}
			g.Done(o)
		}
		for i := range 10 {
			get(fmt.Sprintf("honest%d.example", i), Outcome{Status: 200})
		}
		for i := range 1000 {
			time.Sleep(10 * time.Second)
			get(fmt.Sprintf("h%d.owner.example", i), Outcome{Status: 429, Header: retryIn("86400")})
			if i%10 == 0 { // the others are in use
				get(fmt.Sprintf("honest%d.example", i/10%10), Outcome{Status: 200})
			}
		}
		for i := range 10 {
			if l.hosts.Get(fmt.Sprintf("honest%d.example", i)) == nil {
				t.Errorf("honest%d.example is evicted, want it kept", i)
			}
		}
		if s, k := l.Stats(), paused(l); s.Hosts > 100 || k < 80 || k > 90 || n.rejected.Load() != 0 {
			t.Errorf("Stats = %+v, %d hosts are paused, and the Observer's calls are %v; want at most 100 hosts, 80 to 90 paused, none rejected", s, k, &n)
		}
	})
}

// A host within its interval is never evicted. Otherwise its next request would
// start too soon. If all hosts are within their interval, there are more than
// MaxHosts for a while.
func TestFullOfHostsWithinTheirInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{MaxHosts: 10}
		for i := range 50 {
			g, err := l.Acquire(t.Context(), hostURL(i))
			if err != nil {
				t.Fatal(err)
			}
			g.Done(Outcome{Status: 200})
		}
		for i := range 50 {
			if wait := time.Until(l.Next(hostURL(i))); wait != time.Second {
				t.Errorf("host %d is due in %v, want 1s", i, wait)
			}
		}
		for i := range 50 {
			time.Sleep(time.Second)
			g, _ := l.Acquire(t.Context(), hostURL(50+i))
			g.Done(Outcome{Status: 200})
		}
		if s := l.Stats(); s.Hosts > 10 {
			t.Errorf("Stats() = %+v, want at most 10 hosts", s)
		}
	})
}

// One domain has any number of hosts with a Crawl-delay of years. Some of them
// are evicted, and the hosts of others are not.
func TestFullOfHostsWithLongCrawlDelays(t *testing.T) {
	for _, most := range []time.Duration{0, -1} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{MaxHosts: 100, MaxCrawlDelay: most}
			get := func(host string, crawl time.Duration) {
				t.Helper()
				g, err := l.Acquire(WithCrawlDelay(t.Context(), crawl), &url.URL{Host: host})
				if err != nil {
					t.Fatal(err)
				}
				g.Done(Outcome{Status: 200})
			}
			get("first.example", 1e9*time.Second)
			if wait := time.Until(l.Next(mustURL(t, "http://first.example/"))); wait != 1e9*time.Second {
				t.Errorf("first.example is due in %v, want %v", wait, 1e9*time.Second)
			}
			for i := range 1000 {
				get(fmt.Sprintf("h%d.owner.example", i), 1e9*time.Second)
				time.Sleep(100 * time.Second)
				if i%10 == 0 { // the others are in use
					get(fmt.Sprintf("honest%d.example", i/10%10), 5*time.Second)
				}
			}
			for i := range 10 {
				if l.hosts.Get(fmt.Sprintf("honest%d.example", i)) == nil {
					t.Errorf("honest%d.example is evicted, want it kept", i)
				}
			}
			if s := l.Stats(); s.Hosts < 90 || s.Hosts > 110 {
				t.Errorf("Stats() = %+v, want 90 to 110 hosts", s)
			}
		})
	}
}

// Each host gets a Crawl-delay of a day only after its latest start. The hosts
// are evicted early, so there are never more than MaxHosts.
func TestFullOfHostsWithLaterLongCrawlDelays(t *testing.T) {
	get := func(t *testing.T, l *Limiter, u *url.URL) {
		t.Helper()
		g, err := l.Acquire(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		g.Done(Outcome{Status: 200})
	}
	for _, tt := range []struct {
		name  string
		visit func(t *testing.T, l *Limiter, u *url.URL)
		early time.Duration // how long after the start a host may be evicted
	}{
		{"a rejected request declares it", func(t *testing.T, l *Limiter, u *url.URL) {
			get(t, l, u)
			if _, err := l.Acquire(WithCrawlDelay(t.Context(), day), u); err == nil {
				t.Error("the request starts, want a DelayError")
			}
		}, time.Minute},
		{"it is declared while another request waits", func(t *testing.T, l *Limiter, u *url.URL) {
			get(t, l, u)
			waiting := make(chan error)
			go func() {
				_, err := l.Acquire(t.Context(), u)
				waiting <- err
			}()
			synctest.Wait()
			l.Acquire(WithCrawlDelay(t.Context(), day), u)
			if err := <-waiting; err == nil {
				t.Error("the request that waits starts, want a DelayError")
			}
		}, time.Minute},
		{"PerHost sets it", func(t *testing.T, l *Limiter, u *url.URL) {
			var settings HostSettings
			l.PerHost = func(string) HostSettings { return settings }
			get(t, l, u)
			settings.CrawlDelay = day
			if wait := time.Until(l.Next(u)); wait != day {
				t.Errorf("the host is due in %v, want %v", wait, day)
			}
		}, time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{MaxHosts: 2}
				for i := range 10 {
					tt.visit(t, l, hostURL(i))
					time.Sleep(tt.early)
				}
				if s := l.Stats(); s.Hosts > 2 {
					t.Errorf("%d hosts are stored, want at most 2", s.Hosts)
				}
			})
		})
	}
}

// Hosts have declared a quota that allows a request every six hours. After six
// hours, the Limiter notices that they are available again. Then each gets
// another request, whose response declares no quota. The hosts are evicted
// within the quota, when hosts fill the table that are within their interval.
func TestFullOfHostsWithinTheirQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{MaxHosts: 12}
		get := func(i int, h http.Header) {
			t.Helper()
			g, err := l.Acquire(t.Context(), hostURL(i))
			if err != nil {
				t.Fatal(err)
			}
			g.Done(Outcome{Status: 200, Header: h})
		}
		for i := range 10 {
			get(i, fields(`RateLimit: "default";r=4;t=86400`))
		}
		time.Sleep(6 * time.Hour)
		for i := range 10 { // each new host makes the Limiter examine one that was unavailable
			get(10+i, nil)
			time.Sleep(time.Second)
		}
		for i := range 10 {
			get(i, nil)
			if wait := time.Until(l.Next(hostURL(i))); wait != 6*time.Hour {
				t.Errorf("host %d is due in %v, want 6h", i, wait)
			}
		}
		time.Sleep(time.Second)
		for i := range 10 {
			get(20+i, nil)
		}
		if s := l.Stats(); s.Hosts > 12 {
			t.Errorf("%d hosts are stored, want at most 12", s.Hosts)
		}
	})
}

// A request whose Done is never called does not keep its host forever.
func TestFullOfAbandonedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{MaxHosts: 10, Lease: time.Minute}
		for i := range 500 {
			if _, err := l.Acquire(t.Context(), hostURL(i)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
		}
		if s := l.Stats(); s.Hosts > 25 {
			t.Errorf("Stats() = %+v, want at most 25 hosts", s)
		}
	})
}

// A late 429 counts even if the host has been evicted meanwhile.
func TestMaxHosts_Late429OfAnEvictedHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{MaxHosts: 1, Lease: time.Second}
		a, b := mustURL(t, "http://a.example/"), mustURL(t, "http://b.example/")
		lost, _ := l.Acquire(t.Context(), a)
		time.Sleep(time.Minute)
		g, err := l.Acquire(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		g.Done(Outcome{})
		time.Sleep(time.Minute)
		lost.Done(Outcome{Status: 429, Header: retryIn("3600")})
		if wait := time.Until(l.Next(a)); wait != time.Hour {
			t.Errorf("after the late 429, Next is in %v, want 1h", wait)
		}
	})
}

// Next evicts no host, although MaxHosts is reached.
func TestMaxHosts_Next(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{MaxHosts: 1}
		known := mustURL(t, "http://known.example/")
		g, _ := l.Acquire(WithCrawlDelay(t.Context(), 10*time.Second), known)
		g.Done(Outcome{})
		time.Sleep(time.Minute)
		if wait := time.Until(l.Next(mustURL(t, "http://new.example/"))); wait != 0 {
			t.Errorf("the new host is due in %v, want at once", wait)
		}
		if l.hosts.Get("known.example") == nil {
			t.Error("the known host is evicted, want it kept")
		}
	})
}

// A key may be a piece of a URL of megabytes. The Limiter keeps a copy of it.
func TestKeysAreCopies(t *testing.T) {
	l := &Limiter{Delay: -1, Budget: Budget{Requests: 10}}
	raw := "http://long.example/" + strings.Repeat("x", 1<<20)
	u := mustURL(t, raw)
	isPiece := func(s string) bool {
		at := uintptr(unsafe.Pointer(unsafe.StringData(s))) - uintptr(unsafe.Pointer(unsafe.StringData(raw)))
		return at < uintptr(len(raw))
	}
	if !isPiece(u.Host) {
		t.Fatal("the URL is a copy already")
	}
	g, err := l.Acquire(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	g.Done(Outcome{Status: 200})
	for h := range l.hosts.All() {
		if isPiece(h.Key) {
			t.Errorf("the key of %s shares memory with a string of %d bytes, want a copy", h.Key, len(raw))
		}
	}
	c := &addressCache{lookUp: func(context.Context, string) ([]netip.Addr, error) { return nil, nil }}
	c.key(t.Context(), u)
	for key, a := range c.known {
		if isPiece(key) || isPiece(a.key) {
			t.Errorf("the address of %s shares memory with a string of %d bytes, want a copy", key, len(raw))
		}
	}
}
