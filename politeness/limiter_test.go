package politeness

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
)

func mustURL(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// startsOf makes n requests with l at the same time, each of which takes as
// long as work. It returns the times at which the requests started, counted
// from the call.
func startsOf(t *testing.T, l *Limiter, ctx context.Context, n int, work time.Duration) []time.Duration {
	t.Helper()
	u := mustURL(t, "http://example.com/")
	zero := time.Now()
	var (
		mu     sync.Mutex
		starts []time.Duration
		wg     sync.WaitGroup
	)
	for range n {
		wg.Go(func() {
			g, err := l.Acquire(ctx, u)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			starts = append(starts, time.Since(zero))
			mu.Unlock()
			time.Sleep(work)
			g.Done(Outcome{Status: 200, Latency: work})
		})
	}
	wg.Wait()
	slices.Sort(starts)
	return starts
}

func every(interval time.Duration, n int) []time.Duration {
	var at []time.Duration
	for i := range n {
		at = append(at, time.Duration(i)*interval)
	}
	return at
}

func TestPace(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	tests := []struct {
		name    string
		limiter *Limiter
		crawl   time.Duration // the Crawl-delay in the context of each request; -1 means there is none
		work    time.Duration
		want    []time.Duration
	}{
		{"the zero Limiter: one a second", &Limiter{}, -1, 100 * ms, every(s, 4)},
		{"Delay counts from start to start", &Limiter{Delay: 50 * ms}, -1, 20 * ms, every(50*ms, 4)},
		{"one at a time, however slow", &Limiter{Delay: 50 * ms}, -1, 300 * ms, every(300*ms, 4)},
		{"Concurrency overlaps slow ones", &Limiter{Delay: 50 * ms, Concurrency: 3}, -1, 300 * ms,
			[]time.Duration{0, 50 * ms, 100 * ms, 300 * ms, 350 * ms, 400 * ms}},
		{"EndToStart counts from the end", &Limiter{Delay: 50 * ms, EndToStart: true}, -1, 300 * ms, every(350*ms, 4)},
		{"no Delay: only Concurrency", &Limiter{Delay: -1, Concurrency: 2}, -1, 10 * ms,
			[]time.Duration{0, 0, 10 * ms, 10 * ms}},
		{"a longer Crawl-delay", &Limiter{}, 10 * s, 100 * ms, every(10*s, 3)},
		{"a shorter Crawl-delay", &Limiter{Delay: 2 * s}, 1 * s, 100 * ms, every(2*s, 3)},
		{"Crawl-delay is one at a time", &Limiter{Concurrency: 8}, 2 * s, 5 * s, every(5*s, 3)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wantStarts(t, tt.limiter, tt.crawl, tt.work, tt.want)
			})
		})
	}
}

// wantStarts checks when the requests of a loop start. crawlDelay is negative
// if robots.txt is not known. Each request takes the time work.
func wantStarts(t *testing.T, l *Limiter, crawlDelay, work time.Duration, want []time.Duration) {
	t.Helper()
	ctx := t.Context()
	if crawlDelay >= 0 {
		ctx = WithCrawlDelay(ctx, crawlDelay)
	}
	if got := startsOf(t, l, ctx, len(want), work); !slices.Equal(got, want) {
		t.Errorf("requests started after %v, want %v", got, want)
	}
}

// A fetch of robots.txt waits for Delay alone. The next page waits for Delay
// after the fetch, and for the Crawl-delay after the previous page.
func TestExemptFetchOfRobotsTxt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		zero := time.Now()
		step := func(ctx context.Context, want time.Duration) {
			t.Helper()
			g, err := l.Acquire(ctx, mustURL(t, "http://example.com/"))
			if err != nil {
				t.Fatal(err)
			}
			g.Done(Outcome{})
			if got := time.Since(zero); got != want {
				t.Fatalf("the request started after %v, want %v", got, want)
			}
		}
		robots, page := WithCrawlDelay(t.Context(), Exempt), WithCrawlDelay(t.Context(), 10*time.Second)
		step(robots, 0)
		step(page, 1*time.Second)
		step(page, 11*time.Second)
		step(robots, 12*time.Second)
		step(page, 21*time.Second)
		step(robots, 22*time.Second)
		step(t.Context(), 31*time.Second) // this context has no Crawl-delay, so the previous one still applies
		step(WithCrawlDelay(t.Context(), 0), 32*time.Second)
	})
}

// pageContext is a context type such as a middleware may have.
type pageContext struct {
	context.Context
	crawlDelay *time.Duration
}

func (p pageContext) Value(key any) any {
	if key == (CrawlDelayKey{}) {
		return p.crawlDelay
	}
	return p.Context.Value(key)
}

// A context type that a middleware defines can have the Crawl-delay, as a
// pointer. A nil pointer means that there is none.
func TestCrawlDelayKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crawlDelay := 10 * time.Second
		for _, tt := range []struct {
			ctx  context.Context
			want time.Duration
		}{
			{pageContext{t.Context(), nil}, time.Second},
			{pageContext{t.Context(), &crawlDelay}, 10 * time.Second},
			{pageContext{WithCrawlDelay(t.Context(), time.Hour), &crawlDelay}, 10 * time.Second},
			{WithCrawlDelay(pageContext{t.Context(), &crawlDelay}, 20*time.Second), 20 * time.Second},
		} {
			starts := startsOf(t, &Limiter{}, tt.ctx, 2, 0)
			if got := starts[1] - starts[0]; got != tt.want {
				t.Errorf("%+v: requests start at an interval of %v, want %v", tt.ctx, got, tt.want)
			}
		}
	})
}

func TestHostsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Delay: time.Hour}
		for _, u := range []string{"http://a.example/", "http://b.example/", "http://c.example/"} {
			if _, err := l.Acquire(t.Context(), mustURL(t, u)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestDeadlineTooEarlyIsRefusedAtOnceAndConsumesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Delay: 10 * time.Second}
		u := mustURL(t, "http://example.com/")
		g, _ := l.Acquire(t.Context(), u)
		g.Done(Outcome{})
		zero := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		for range 3 {
			_, err := l.Acquire(ctx, u)
			d, ok := errors.AsType[*DelayError](err)
			if !ok {
				t.Fatalf("Acquire: error %v, want a DelayError", err)
			}
			if d.Host != "example.com" || !d.Until.Equal(zero.Add(10*time.Second)) {
				t.Errorf("the DelayError is %+v, want the Host %q and an Until of %v", d, "example.com", zero.Add(10*time.Second))
			}
			if !errors.Is(err, context.DeadlineExceeded) || !d.Timeout() {
				t.Errorf("error %v is not a timeout, want one that wraps DeadlineExceeded", err)
			}
		}
		if time.Since(zero) != 0 {
			t.Errorf("Acquire returned the DelayErrors after %v, want at once", time.Since(zero))
		}
		if _, err := l.Acquire(t.Context(), u); err != nil || time.Since(zero) != 10*time.Second {
			t.Errorf("Acquire after the rejections: error %v after %v, want none after 10s", err, time.Since(zero))
		}
	})
}

// A second Limiter in which only Key is set has an effect too: its zero Delay
// means one second for all hosts that share a key, however short the first
// Limiter's Delay is.
func TestWithin_ZeroDelayIsOneSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := func(context.Context, *url.URL) (string, error) { return "all", nil }
		l := &Limiter{Delay: -1, Within: &Limiter{Key: all}}
		start := time.Now()
		for i, host := range []string{"a", "b", "c"} {
			g, err := l.Acquire(t.Context(), mustURL(t, "http://"+host+".example/"))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := time.Since(start), time.Duration(i)*time.Second; got != want {
				t.Errorf("the request to %s started after %v, want %v", host, got, want)
			}
			g.Done(Outcome{Status: 200})
		}
	})
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
			t.Errorf("%d hosts are stored, want 1000", n)
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
					t.Errorf("a 503 without Retry-After pauses the host for %v, want no pause", wait)
				}
			}
			g, _ := l.Acquire(t.Context(), u)
			g.Done(Outcome{Status: 503, Header: retryIn("20")})
			if wait := time.Until(l.Next(u)); wait != 20*time.Second {
				t.Errorf("a 503 with Retry-After pauses the host for %v, want 20s", wait)
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
					t.Errorf("a 429 pauses the host for %v, want %v to %v", got, want, want+want/10)
				}
				time.Sleep(got)
			}
		})
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
			t.Errorf("Stats = %+v, and %d hosts are paused, want %+v and 1", s, paused(l), want)
		}
		if got, want := n.String(), "granted 6, rejected 1, canceled 1, backed off 1"; got != want {
			t.Errorf("the Observer's calls are %s, want %s", got, want)
		}
		slices.Sort(waits)
		if want := []time.Duration{0, time.Second, time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second}; !slices.Equal(waits, want) {
			t.Errorf("Granted received the waits %v, want %v", waits, want)
		}
		time.Sleep(time.Hour)
		if n := paused(l); n != 0 {
			t.Errorf("%d hosts are paused an hour later, want none", n)
		}
	})
}
