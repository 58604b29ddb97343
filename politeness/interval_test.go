package politeness

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A Crawl-delay longer than MaxCrawlDelay is obeyed: one request starts, and
// others are rejected until the delay is over.
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
			t.Fatalf("Acquire of the first page: error %v after %v, want none after the Delay of 1s", err, time.Since(zero))
		}
		g.Done(Outcome{})
		until := time.Now().Add(time.Hour)
		for range 3 {
			_, err = l.Acquire(page, u)
			if d, ok := errors.AsType[*DelayError](err); !ok || !d.Until.Equal(until) {
				t.Fatalf("Acquire of the next page: error %v, want a DelayError until %v", err, until)
			}
			time.Sleep(time.Minute)
		}
		time.Sleep(time.Until(until))
		if g, err = l.Acquire(page, u); err != nil || !time.Now().Equal(until) {
			t.Errorf("Acquire when the Crawl-delay is over: error %v at %v, want none at %v", err, time.Now(), until)
		}
		g.Done(Outcome{})
	})
}

// When the Limiter receives a long Crawl-delay, it rejects the requests that
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
			t.Errorf("the request that declares the Crawl-delay: error %v, want a DelayError", err)
		}
		synctest.Wait()
		if delayed != 4 {
			t.Errorf("%d waiting requests are rejected at once, want 4", delayed)
		}
		wg.Wait() // one request gets the slot when the lease of the earlier Grant is over
		if granted != 1 {
			t.Errorf("%d waiting requests are granted, want 1", granted)
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
				t.Errorf("the next request: error %v, want DeadlineExceeded", err)
			}
		}
		if next := time.Until(l.Next(u)); next < 100*365*24*time.Hour {
			t.Errorf("Next is in %v, want at least 100 years", next)
		}
	})
}

// Two origins of a host have different Crawl-delays. The host is not evicted
// when the shorter one is over. Otherwise the next request to the other origin
// would start too soon.
func TestShorterCrawlDelayOfAnotherOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, l := range map[string]*Limiter{"": {}, "EndToStart": {EndToStart: true}, "MaxHosts": {MaxHosts: 1}} {
			u := mustURL(t, "http://two.example/")
			slow := WithCrawlDelay(t.Context(), 30*time.Second)
			for _, ctx := range []context.Context{slow, WithCrawlDelay(t.Context(), 0)} {
				g, err := l.Acquire(ctx, u)
				if err != nil {
					t.Fatal(err)
				}
				g.Done(Outcome{Status: 200})
			}
			start := time.Now()
			for i := range 5 { // new hosts, for which others are evicted
				time.Sleep(2 * time.Second)
				g, _ := l.Acquire(t.Context(), hostURL(i))
				g.Done(Outcome{Status: 200})
			}
			l.mu.Lock()
			s, _ := l.hosts.Get("two.example").Export(l.now(), true)
			l.mu.Unlock()
			if !s.HasCrawlDelayStart {
				t.Errorf("%s: the state for the next owner lacks the latest start", name)
			}
			g, err := l.Acquire(slow, u)
			if err != nil || time.Since(start) != 30*time.Second {
				t.Errorf("%s: error %v after %v, want none after 30s", name, err, time.Since(start))
			}
			g.Done(Outcome{})
			time.Sleep(time.Hour)
			for i := range 5 {
				g, _ := l.Acquire(t.Context(), hostURL(i+5))
				g.Done(Outcome{Status: 200})
				time.Sleep(time.Minute)
			}
			if l.MaxHosts == 1 && l.hosts.Get("two.example") != nil {
				t.Errorf("%s: the host two.example is not evicted", name)
			}
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
			t.Errorf("the gaps between starts are from %v to %v, want them within 1s to 1.5s and at least 300ms apart", lo, hi)
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
