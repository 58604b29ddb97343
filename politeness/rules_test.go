package politeness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
)

// A Crawl-delay longer than MaxCrawlDelay is obeyed: one request starts, and
// others are refused until the delay is over.
func TestCrawlDelayLongerThanMaxCrawlDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		u := mustURL(t, "http://example.com/")
		robots, page := WithCrawlDelay(t.Context(), Exempt), WithCrawlDelay(t.Context(), time.Hour)
		g, _ := l.Acquire(robots, u)
		g.Done(Outcome{})
		zero := time.Now()
		g, err := l.Acquire(page, u)
		if err != nil || time.Since(zero) != time.Second {
			t.Fatalf("the first page: %v after %v, want the Delay alone", err, time.Since(zero))
		}
		g.Done(Outcome{})
		until := time.Now().Add(time.Hour)
		for range 3 {
			_, err = l.Acquire(page, u)
			if d, ok := errors.AsType[*DelayError](err); !ok || !d.Until.Equal(until) {
				t.Fatalf("the next page: %v, want a DelayError until %v", err, until)
			}
			time.Sleep(time.Minute)
		}
		time.Sleep(time.Until(until))
		if g, err = l.Acquire(page, u); err != nil || !time.Now().Equal(until) {
			t.Errorf("when it is over: %v", err)
		}
		g.Done(Outcome{})
	})
}

// When the Limiter learns a long Crawl-delay, it refuses the requests that
// already wait, except the first of them.
func TestLongCrawlDelayLearntWhileOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		u := mustURL(t, "http://example.com/")
		l.Acquire(WithCrawlDelay(t.Context(), Exempt), u) // this request holds the only slot
		var mu sync.Mutex
		var granted, delayed int
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				g, err := l.Acquire(t.Context(), u)
				mu.Lock()
				defer mu.Unlock()
				if _, ok := errors.AsType[*DelayError](err); ok {
					delayed++
				} else if err != nil {
					t.Error(err)
				} else {
					granted++
					g.Done(Outcome{})
				}
			})
		}
		synctest.Wait()
		_, err := l.Acquire(WithCrawlDelay(t.Context(), time.Hour), u)
		if _, ok := errors.AsType[*DelayError](err); !ok {
			t.Errorf("who told it: %v", err)
		}
		synctest.Wait()
		if delayed != 4 {
			t.Errorf("%d refused at once, want 4", delayed)
		}
		wg.Wait() // one request gets the slot when the lease of the earlier Grant is over
		if granted != 1 {
			t.Errorf("%d granted", granted)
		}
	})
}

func TestAbsurdCrawlDelaysDoNotWrapAround(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{MaxCrawlDelay: -1, MaxWait: time.Minute, Jitter: 1}
		u := mustURL(t, "http://example.com/")
		ctx := WithCrawlDelay(t.Context(), math.MaxInt64)
		time.Sleep(time.Hour)
		g, err := l.Acquire(ctx, u)
		if err != nil {
			t.Fatal(err)
		}
		g.Done(Outcome{})
		for range 3 {
			if _, err := l.Acquire(ctx, u); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the next: %v", err)
			}
		}
		if next := time.Until(l.Next(u)); next < 100*365*24*time.Hour {
			t.Errorf("next in %v", next)
		}
	})
}

func TestJitterOnlyLengthens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts := startsOf(t, &Limiter{Jitter: 0.5}, t.Context(), 200, 0)
		var gaps []time.Duration
		for i := 1; i < len(starts); i++ {
			gaps = append(gaps, starts[i]-starts[i-1])
		}
		if lo, hi := slices.Min(gaps), slices.Max(gaps); lo < time.Second || hi > 1500*time.Millisecond || hi-lo < 300*time.Millisecond {
			t.Errorf("gaps from %v to %v, want them spread from 1s to 1.5s", lo, hi)
		}
	})
}

func TestAdaptive(t *testing.T) {
	const s = time.Second
	type step struct {
		latency time.Duration
		status  int
		err     error
		want    time.Duration
	}
	tests := []struct {
		name  string
		a     float64
		steps []step
	}{
		{"rises at once, falls by halves", 5, []step{
			{2 * s, 200, nil, 10 * s},
			{1 * s, 200, nil, 7500 * time.Millisecond},
			{1 * s, 200, nil, 6250 * time.Millisecond},
			{3 * s, 200, nil, 15 * s},
		}},
		{"an error never speeds it up", 5, []step{
			{2 * s, 200, nil, 10 * s},
			{1, 500, nil, 10 * s},
			{1, 404, nil, 10 * s},
			{1, 302, nil, 10 * s},
			{1, 0, errors.New("reset"), 10 * s},
			{4 * s, 500, nil, 20 * s}, // but an error can lengthen the interval
			{0, 200, nil, 20 * s},     // an unknown latency changes nothing
		}},
		{"between Delay and a minute", 5, []step{
			{s / 10, 200, nil, s},
			{s * 60, 200, nil, 60 * s},
			{s / 10, 200, nil, 30250 * time.Millisecond},
		}},
		{"the ceiling is a minute", 1e6, []step{{math.MaxInt64, 200, nil, time.Minute}}},
		{"Delay is a floor", 0.5, []step{{s, 200, nil, s}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{Adaptive: tt.a}
				u := mustURL(t, "http://example.com/")
				for i, step := range tt.steps {
					g, err := l.Acquire(t.Context(), u)
					if err != nil {
						t.Fatal(err)
					}
					g.Done(Outcome{Status: step.status, Latency: step.latency, Err: step.err})
					if got := time.Until(l.Next(u)); got != step.want {
						t.Errorf("step %d: the next in %v, want %v", i, got, step.want)
					}
				}
			})
		})
	}
}

func TestMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := mustURL(t, "http://example.com/")
		l := &Limiter{MaxWait: 3 * time.Second}
		zero := time.Now()
		var mu sync.Mutex
		var granted, refused int
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				g, err := l.Acquire(t.Context(), u)
				mu.Lock()
				defer mu.Unlock()
				if _, ok := errors.AsType[*DelayError](err); ok {
					refused++
					if time.Since(zero) != 0 {
						t.Errorf("refused after %v, not at once", time.Since(zero))
					}
					return
				}
				granted++
				g.Done(Outcome{})
			})
		}
		wg.Wait()
		if granted != 4 || refused != 6 { // the four start at 0, 1, 2 and 3 s
			t.Errorf("%d granted, %d refused", granted, refused)
		}

		// A request that lacks only a slot waits up to MaxWait, too.
		time.Sleep(time.Second)
		g, err := l.Acquire(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		zero = time.Now()
		_, err = l.Acquire(t.Context(), u)
		if d, ok := errors.AsType[*DelayError](err); !ok || !d.Until.After(time.Now()) || time.Since(zero) != 3*time.Second+1 {
			t.Errorf("%v after %v", err, time.Since(zero))
		}

		never := &Limiter{MaxWait: -1, Concurrency: 2}
		if _, err := never.Acquire(t.Context(), u); err != nil {
			t.Errorf("what may start at once: %v", err)
		}
		if _, err := never.Acquire(t.Context(), u); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("what would have to wait: %v", err)
		}
		g.Done(Outcome{})
	})
}

func TestContextDeadlineWhileASlotIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		u := mustURL(t, "http://example.com/")
		l.Acquire(t.Context(), u)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		zero := time.Now()
		_, err := l.Acquire(ctx, u)
		if d, ok := errors.AsType[*DelayError](err); !ok || !d.Until.After(time.Now()) || time.Since(zero) != 5*time.Second {
			t.Errorf("%v after %v, want a DelayError at the deadline", err, time.Since(zero))
		}
	})
}

func TestNextTellsAScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n tally
		l := &Limiter{Delay: 10 * time.Second, Observer: n.observer()}
		u := mustURL(t, "http://example.com/")
		next := func(want time.Duration) {
			t.Helper()
			if got := time.Until(l.Next(u)); got != want {
				t.Errorf("next in %v, want %v", got, want)
			}
		}
		next(0)
		next(0) // Next takes no slot
		g, _ := l.Acquire(t.Context(), u)
		next(10 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { l.Acquire(ctx, u) })
		}
		synctest.Wait()
		next(40 * time.Second) // three requests are waiting
		cancel()
		wg.Wait()
		next(10 * time.Second)
		g.Done(Outcome{Status: 429, Header: retryIn("60")})
		next(time.Minute)
		time.Sleep(2 * time.Minute)
		next(0)
		if n.granted.Load() != 1 || n.canceled.Load() != 3 {
			t.Error(&n)
		}
		if got := l.Next(&url.URL{Path: "/"}); !got.Equal(time.Now()) {
			t.Errorf("a URL without a host: %v", got)
		}
	})
}

// Each host has its pace, and the machine that serves all of these hosts has a
// pace of its own. All of these paces are kept.
func TestWithinComposesTwoLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := func(context.Context, *url.URL) (string, error) { return "192.0.2.1", nil }
		l := &Limiter{Delay: time.Second, Concurrency: 4,
			Within: &Limiter{Delay: 300 * time.Millisecond, Concurrency: 4, Key: machine}}
		zero := time.Now()
		type start struct {
			host int
			at   time.Duration
		}
		var mu sync.Mutex
		var starts []start
		var wg sync.WaitGroup
		for h := range 3 {
			u := mustURL(t, fmt.Sprintf("http://host%d.example/", h))
			for range 10 {
				wg.Go(func() {
					g, err := l.Acquire(t.Context(), u)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					starts = append(starts, start{h, time.Since(zero)})
					mu.Unlock()
					time.Sleep(50 * time.Millisecond)
					g.Done(Outcome{Status: 200})
				})
			}
		}
		wg.Wait()
		slices.SortFunc(starts, func(a, b start) int { return cmp.Compare(a.at, b.at) })
		last := map[int]time.Duration{0: -time.Hour, 1: -time.Hour, 2: -time.Hour}
		for i, s := range starts {
			if i > 0 && s.at-starts[i-1].at < 300*time.Millisecond {
				t.Errorf("the machine is asked after %v", s.at-starts[i-1].at)
			}
			if s.at-last[s.host] < time.Second {
				t.Errorf("host %d is asked after %v", s.host, s.at-last[s.host])
			}
			last[s.host] = s.at
		}
		if total := starts[len(starts)-1].at; total > 9600*time.Millisecond {
			t.Errorf("it took %v, the ideal is 9.6s", total)
		}
		if a, b := l.Stats(), l.Within.Stats(); len(starts) != 30 || a.InFlight+b.InFlight+a.Waiting+b.Waiting != 0 {
			t.Errorf("%d starts, %+v, %+v", len(starts), a, b)
		}
	})
}

// A request to a paused host does not hold up requests to other hosts of the
// same machine.
func TestWithinABackedOffHostDoesNotHoldUpTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := func(context.Context, *url.URL) (string, error) { return "192.0.2.1", nil }
		l := &Limiter{Delay: -1, Concurrency: 2, Within: &Limiter{Delay: 10 * time.Second, Concurrency: 9, Key: machine}}
		zero := time.Now()
		bad, good := mustURL(t, "http://bad.example/"), mustURL(t, "http://good.example/")
		g, _ := l.Acquire(t.Context(), bad)
		var wg sync.WaitGroup
		wg.Go(func() {
			g, err := l.Acquire(t.Context(), bad)
			if err != nil || time.Since(zero) != time.Hour {
				t.Errorf("bad: %v after %v", err, time.Since(zero))
			}
			g.Done(Outcome{})
		})
		synctest.Wait()
		wg.Go(func() {
			g, err := l.Acquire(t.Context(), good)
			if err != nil || time.Since(zero) != 10*time.Second {
				t.Errorf("good: %v after %v", err, time.Since(zero))
			}
			g.Done(Outcome{})
		})
		synctest.Wait()
		g.Done(Outcome{Status: 503, Header: retryIn("3600")})
		wg.Wait()
	})
}

func TestWithinCancellationAndDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Within: &Limiter{Delay: time.Hour, Key: DomainKey}}
		zero := time.Now()
		g, err := l.Acquire(t.Context(), mustURL(t, "http://a.example.com/"))
		if err != nil {
			t.Fatal(err)
		}
		g.Done(Outcome{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = l.Acquire(ctx, mustURL(t, "http://b.example.com/"))
		if d, ok := errors.AsType[*DelayError](err); !ok || d.Host != "b.example.com" || !d.Until.Equal(zero.Add(time.Hour)) || time.Since(zero) != 0 {
			t.Errorf("%v after %v, want a DelayError at once", err, time.Since(zero))
		}
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		if _, err = l.Acquire(ctx, mustURL(t, "http://b.example.com/")); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if g, err = l.Acquire(t.Context(), mustURL(t, "http://c.example.com/")); err != nil || time.Since(zero) != time.Hour {
			t.Errorf("%v after %v", err, time.Since(zero))
		}
		g.Done(Outcome{})
		if a, b := l.Stats(), l.Within.Stats(); a.Waiting+b.Waiting+a.InFlight+b.InFlight != 0 {
			t.Errorf("%+v, %+v", a, b)
		}
	})
}

// A Limiter with one key for all hosts, as Within, limits the requests in
// flight to all hosts together.
func TestWithin_AllHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := func(context.Context, *url.URL) (string, error) { return "all", nil }
		l := &Limiter{Delay: -1, Within: &Limiter{Delay: -1, Concurrency: 3, Key: all}}
		zero := time.Now()
		var wg sync.WaitGroup
		for h := range 30 {
			wg.Go(func() {
				g, err := l.Acquire(t.Context(), mustURL(t, fmt.Sprintf("http://host%d.example/", h)))
				if err != nil {
					t.Error(err)
					return
				}
				if n := l.Stats().InFlight; n > 3 {
					t.Errorf("%d in flight", n)
				}
				time.Sleep(time.Second)
				g.Done(Outcome{})
			})
		}
		wg.Wait()
		if took := time.Since(zero); took != 10*time.Second {
			t.Errorf("it took %v, want 10s", took)
		}
	})
}

func TestGlobalRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{GlobalRate: rate.NewLimiter(10, 5)}
		zero := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for h := range 105 {
			ctx := ctx
			if h%2 == 0 {
				ctx = t.Context()
			}
			wg.Go(func() {
				g, err := l.Acquire(ctx, mustURL(t, fmt.Sprintf("http://host%d.example/", h)))
				if err == nil {
					g.Done(Outcome{})
				} else if ctx.Err() == nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		time.Sleep(950 * time.Millisecond)
		cancel() // the requests with an odd number give up, and the others move up
		wg.Wait()
		// Before the call of cancel, 14 requests start: five at once, and then
		// one every 100 ms. Of the requests with an even number, 46 are still
		// waiting then. They start after the call, one every 100 ms. The last
		// one starts at 5.5 s.
		if took := time.Since(zero); took < 5400*time.Millisecond || took > 5600*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		if n := l.GlobalRate.Tokens(); n > 0.01 {
			t.Errorf("%v tokens were left", n)
		}
	})
}

// If a request reserves a token of GlobalRate and then gives up, the next
// request gets the token.
func TestGlobalRateCancelledReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{GlobalRate: rate.NewLimiter(1, 1)}
		zero := time.Now()
		l.Acquire(t.Context(), mustURL(t, "http://a.example/"))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(500*time.Millisecond, cancel)
		l.Acquire(ctx, mustURL(t, "http://b.example/"))
		if _, err := l.Acquire(t.Context(), mustURL(t, "http://c.example/")); err != nil || time.Since(zero) != time.Second {
			t.Errorf("%v after %v, want 1s", err, time.Since(zero))
		}
	})
}

func TestKeys(t *testing.T) {
	tests := []struct{ url, host, domain string }{
		{"http://www.example.com/", "www.example.com", "example.com"},
		{"https://WWW.Example.COM:8443/", "www.example.com", "example.com"},
		{"http://www.example.com./", "www.example.com", "example.com"},
		{"http://news.example.co.uk/", "news.example.co.uk", "example.co.uk"},
		{"http://someone.github.io/", "someone.github.io", "someone.github.io"},
		{"http://co.uk/", "co.uk", "co.uk"},
		{"http://localhost:8080/", "localhost", "localhost"},
		{"http://192.0.2.1:80/", "192.0.2.1", "192.0.2.1"},
		{"http://[2001:DB8::1]:80/", "2001:db8::1", "2001:db8::1"},
		{"http://www.Bücher.example/", "www.xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"http://WWW.XN--BCHER-KVA.example/", "www.xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"http://例え。テスト/", "xn--r8jz45g.xn--zckzah", "xn--r8jz45g.xn--zckzah"},
		{"http://bu\u0308cher.example/", "xn--bcher-kva.example", "xn--bcher-kva.example"}, // decomposed (NFD)
		{"http://www.ｅｘａｍｐｌｅ．com/", "www.example.com", "example.com"},                      // full-width letters
		{"http://straße.example。/", "xn--strae-oqa.example", "xn--strae-oqa.example"},
		{"http://My_Host.r3---sn.example/", "my_host.r3---sn.example", "r3---sn.example"}, // IDNA does not map an ASCII name
		{"http://My_Bücher.example/", "my_bücher.example", "my_bücher.example"},           // IDNA forbids this name, so it is dialed without conversion
	}
	for _, tt := range tests {
		u := mustURL(t, tt.url)
		if got, err := HostKey(t.Context(), u); got != tt.host || err != nil {
			t.Errorf("HostKey(%s) = %q, %v; want %q", tt.url, got, err, tt.host)
		}
		if got, err := DomainKey(t.Context(), u); got != tt.domain || err != nil {
			t.Errorf("DomainKey(%s) = %q, %v; want %q", tt.url, got, err, tt.domain)
		}
	}
}

func FuzzHostKey(f *testing.F) {
	f.Add("www.Example.com.")
	f.Add("bücher.example")
	f.Add("\xff。")
	f.Add("::FFFF:192.0.2.1")
	f.Add("fe80::1%eth0")
	f.Add("::0.0.0.0.")
	f.Add("0X7f.00.1.")
	f.Add("\u04c0") // IDNA forbids this capital letter, but allows the small one
	f.Fuzz(func(t *testing.T, host string) {
		key, err := canonicalHost(host)
		if err != nil {
			return
		}
		if len(key) > maxName {
			t.Errorf("%q becomes %q, of %d bytes", host, key, len(key))
		}
		if again, err := canonicalHost(key); again != key || err != nil {
			t.Errorf("%q becomes %q, and that %q, %v", host, key, again, err)
		}
	})
}

func TestUnusableURLsAndKeys(t *testing.T) {
	l := &Limiter{}
	for _, u := range []*url.URL{nil, {}, {Path: "/a"}, {Scheme: "mailto", Opaque: "a@example.com"}} {
		if _, err := l.Acquire(t.Context(), u); err == nil || !strings.HasPrefix(err.Error(), "politeness: ") {
			t.Errorf("%v: error %v", u, err)
		}
	}
	broken := errors.New("no such key")
	l = &Limiter{Key: func(context.Context, *url.URL) (string, error) { return "", broken }}
	if _, err := l.Acquire(t.Context(), mustURL(t, "http://u:secret@example.com/")); !errors.Is(err, broken) || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
	l = &Limiter{Key: func(context.Context, *url.URL) (string, error) { return "", nil }}
	if _, err := l.Acquire(t.Context(), mustURL(t, "http://example.com/")); err == nil {
		t.Error("an empty key is no error")
	}
}

// A negative value in a field turns off the limit or the pause that the field
// sets.
func TestNegativeFields(t *testing.T) {
	t.Run("Concurrency", func(t *testing.T) {
		l := &Limiter{Delay: -1, Concurrency: -1, GlobalRate: rate.NewLimiter(rate.Inf, 0)}
		for range 1000 {
			if _, err := l.Acquire(t.Context(), mustURL(t, "http://example.com/")); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("MaxHosts", func(t *testing.T) {
		l := &Limiter{MaxHosts: -1}
		for i := range 1000 {
			if _, err := l.Acquire(t.Context(), hostURL(i)); err != nil {
				t.Fatal(err)
			}
		}
		if n := l.Stats().Hosts; n != 1000 {
			t.Errorf("%d hosts are remembered", n)
		}
	})
	t.Run("BackOff", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{Delay: -1, BackOff: -1}
			u := mustURL(t, "http://example.com/")
			for range 10 {
				g, _ := l.Acquire(t.Context(), u)
				g.Done(Outcome{Status: 503})
				if wait := time.Until(l.Next(u)); wait != 0 {
					t.Errorf("a pause of %v", wait)
				}
			}
			g, _ := l.Acquire(t.Context(), u)
			g.Done(Outcome{Status: 503, Header: retryIn("20")})
			if wait := time.Until(l.Next(u)); wait != 20*time.Second {
				t.Errorf("a pause of %v, want Retry-After's 20s", wait)
			}
		})
	})
	t.Run("MaxBackOff", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{Delay: -1, BackOff: time.Hour, MaxBackOff: -1}
			u := mustURL(t, "http://example.com/")
			pause := func() time.Duration {
				g, _ := l.Acquire(t.Context(), u)
				g.Done(Outcome{Status: 429})
				return time.Until(l.Next(u))
			}
			for want := time.Hour; want < 1000*time.Hour; want *= 2 {
				got := pause()
				if got < want || got > want+want/10 {
					t.Errorf("a pause of %v, want %v and up to a tenth", got, want)
				}
				time.Sleep(got)
			}
		})
	})
}

func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		u := mustURL(t, "http://example.com/")
		zero := time.Now()
		var story []string
		traced := WithTrace(t.Context(), &Trace{
			Queued: func(until time.Time, why Reason) {
				story = append(story, fmt.Sprint("queued ", until.Sub(zero), " ", why))
			},
			Granted: func(at time.Time) { story = append(story, fmt.Sprint("granted ", at.Sub(zero))) },
		})
		g, _ := l.Acquire(traced, u)
		var wg sync.WaitGroup
		wg.Go(func() {
			g, _ := l.Acquire(traced, u)
			g.Done(Outcome{})
		})
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
		g.Done(Outcome{Status: 503, Header: retryIn("10")})
		wg.Wait()
		if got := strings.Join(story, ", "); got != "granted 0s, queued 1s delay, queued 10.1s back-off, granted 10.1s" {
			t.Error(got)
		}
		time.Sleep(time.Minute)
		g, _ = l.Acquire(WithTrace(t.Context(), &Trace{}), u) // nil functions are skipped
		g.Done(Outcome{})
	})
}

func TestStatsAndObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n tally
		var mu sync.Mutex
		var waits []time.Duration
		l := &Limiter{Observer: Join(n.observer(), &Observer{Granted: func(_ context.Context, e Event) {
			mu.Lock()
			defer mu.Unlock()
			waits = append(waits, e.Wait)
		}})}
		startsOf(t, l, t.Context(), 5, 0) // these five requests wait for 0 to 4 s
		u := mustURL(t, "http://example.com/")
		ctx, cancel := context.WithTimeout(t.Context(), 1)
		defer cancel()
		l.Acquire(ctx, u)
		g, _ := l.Acquire(t.Context(), u)
		g.Done(Outcome{Status: 429})
		ctx, cancel2 := context.WithCancel(t.Context())
		time.AfterFunc(1, cancel2)
		l.Acquire(ctx, u)
		if s, want := l.Stats(), (Stats{Hosts: 1}); s != want || paused(l) != 1 {
			t.Errorf("%+v, want %+v; %d paused", s, want, paused(l))
		}
		if got, want := n.String(), "granted 6, rejected 1, canceled 1, backed off 1"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		slices.Sort(waits)
		if want := []time.Duration{0, time.Second, time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second}; !slices.Equal(waits, want) {
			t.Errorf("waits of %v, want %v", waits, want)
		}
		time.Sleep(time.Hour)
		if n := paused(l); n != 0 {
			t.Errorf("%d hosts back off an hour later", n)
		}
	})
}

// A request waits for its machine. Then its host pauses for longer than the
// request can wait. So the Limiter refuses the request and removes it from both
// queues.
func TestWithinARefusedWaiterLeavesBothQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := func(context.Context, *url.URL) (string, error) { return "192.0.2.1", nil }
		l := &Limiter{Delay: -1, Concurrency: 2, Within: &Limiter{Delay: 10 * time.Second, Concurrency: 9, Key: machine}}
		zero := time.Now()
		bad, good := mustURL(t, "http://bad.example/"), mustURL(t, "http://good.example/")
		g, _ := l.Acquire(t.Context(), bad)
		var wg sync.WaitGroup
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := l.Acquire(ctx, bad); !errors.Is(err, context.DeadlineExceeded) || time.Since(zero) != 0 {
				t.Errorf("bad: %v after %v", err, time.Since(zero))
			}
		})
		synctest.Wait()
		g.Done(Outcome{Status: 503, Header: retryIn("3600")})
		wg.Wait()
		if g, err := l.Acquire(t.Context(), good); err != nil || time.Since(zero) != 10*time.Second {
			t.Errorf("good: %v after %v", err, time.Since(zero))
		} else {
			g.Done(Outcome{})
		}
		if s := l.Within.Stats(); s.Waiting != 0 || s.InFlight != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// A fetch of robots.txt waits neither behind pages nor for a Crawl-delay. If
// another host redirects to the file, the fetch waits its turn.
func TestExemptFetchOvertakesThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		u := mustURL(t, "http://example.com/")
		zero := time.Now()
		var mu sync.Mutex
		var story []string
		var wg sync.WaitGroup
		ask := func(what string, crawl time.Duration) {
			wg.Go(func() {
				g, err := l.Acquire(WithCrawlDelay(t.Context(), crawl), u)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				story = append(story, fmt.Sprint(what, " ", time.Since(zero)))
				mu.Unlock()
				g.Done(Outcome{Status: 200})
			})
			synctest.Wait()
		}
		for _, page := range []string{"p1", "p2", "p3"} {
			ask(page, 10*time.Second)
		}
		ask("redirected", ExemptInTurn)
		time.Sleep(4 * time.Second)
		ask("r1", Exempt)
		ask("r2", Exempt)
		time.Sleep(5500 * time.Millisecond)
		ask("r3", Exempt)
		ask("r4", Exempt)
		wg.Wait()
		const want = "p1 0s, r1 4s, r2 5s, r3 9.5s, r4 10.5s, p2 11.5s, p3 21.5s, redirected 22.5s"
		if got := strings.Join(story, ", "); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	})
}

// The Limiter knows from the beginning how long a request has to wait for the
// machine, even while the host itself is not due. Each Limiter counts time from
// its first use. The test uses the Limiter of the machine earlier than the
// Limiter of the host, so that the two count differently.
func TestWithinTheLongerWaitIsKnownFromTheBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := &Limiter{Delay: time.Hour, Key: func(context.Context, *url.URL) (string, error) { return "192.0.2.1", nil }}
		g, _ := machine.Acquire(t.Context(), mustURL(t, "http://first.example/"))
		g.Done(Outcome{})
		time.Sleep(10 * time.Minute)
		l := &Limiter{Within: machine, Delay: time.Minute}
		u := mustURL(t, "http://example.com/")
		time.Sleep(50 * time.Minute)
		zero := time.Now()
		g, err := l.Acquire(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		g.Done(Outcome{})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		_, err = l.Acquire(ctx, u)
		if d, ok := errors.AsType[*DelayError](err); !ok || d.Until.Sub(zero) != time.Hour || time.Since(zero) != 0 {
			t.Errorf("%v after %v, want a refusal for the hour at once", err, time.Since(zero))
		}
		var untils []time.Duration
		var reasons []string
		ctx = WithTrace(t.Context(), &Trace{Queued: func(until time.Time, why Reason) {
			untils, reasons = append(untils, until.Sub(zero)), append(reasons, string(why))
		}})
		g, _ = l.Acquire(ctx, u)
		g.Done(Outcome{})
		for _, until := range untils {
			if until != time.Hour {
				t.Errorf("told %v, want the hour", untils)
			}
		}
		if fmt.Sprint(reasons) != "[delay within]" {
			t.Errorf("told %q, want its own interval and then that of the limiter within", reasons)
		}
	})
}
