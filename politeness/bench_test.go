package politeness

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

func BenchmarkAcquire(b *testing.B) {
	run := func(name string, l *Limiter, ctx context.Context) {
		b.Run(name, func(b *testing.B) {
			u := mustURL(b, "http://www.example.com/some/page")
			b.ReportAllocs()
			for b.Loop() {
				g, err := l.Acquire(ctx, u)
				if err != nil {
					b.Fatal(err)
				}
				g.Done(Outcome{Status: 200, Latency: 1})
			}
		})
	}
	ctx := b.Context()
	run("uncontended", &Limiter{Delay: -1}, ctx)
	run("crawl-delay", &Limiter{Delay: -1}, WithCrawlDelay(ctx, 1))
	run("adaptive", &Limiter{Delay: -1, Adaptive: 1e-6}, ctx)
	run("global", &Limiter{Delay: -1, Within: &Limiter{Delay: -1, Concurrency: 100, Key: func(context.Context, *url.URL) (string, error) { return "all", nil }}}, ctx)
	run("within", &Limiter{Delay: -1, Within: &Limiter{Delay: -1, Key: DomainKey}}, ctx)
	b.Run("parallel", func(b *testing.B) {
		l := &Limiter{Delay: -1, Concurrency: 1000}
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			u := mustURL(b, "http://www.example.com/some/page")
			for pb.Next() {
				g, err := l.Acquire(ctx, u)
				if err != nil {
					b.Fatal(err)
				}
				g.Done(Outcome{Status: 200, Latency: 1})
			}
		})
	})
}

// liveHeap returns how many bytes of memory are live now, stacks included.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

func hostURL(i int) *url.URL {
	return &url.URL{Scheme: "http", Host: fmt.Sprintf("host-%07d.example.com", i)}
}

// BenchmarkIdleHosts makes a Limiter remember a million hosts whose interval is
// not over. It reports the bytes of memory for each host.
func BenchmarkIdleHosts(b *testing.B) {
	const n = 1_000_000
	for b.Loop() {
		before := liveHeap()
		l := &Limiter{Delay: time.Hour}
		for i := range n {
			g, err := l.Acquire(b.Context(), hostURL(i))
			if err != nil {
				b.Fatal(err)
			}
			g.Done(Outcome{Status: 200})
		}
		b.ReportMetric(float64(liveHeap()-before)/n, "B/host")
		if s := l.Stats(); s.Hosts != n {
			b.Fatalf("Stats = %+v, want %d hosts", s, n)
		}
	}
}

// BenchmarkDueTimes makes six requests to each of 10,000 hosts. Each host has
// a Crawl-delay of its own between 0.5 s and 1.5 s. The benchmark reports how
// late the requests start. COURTESY_HOSTS is another number of hosts; the
// Crawl-delays grow with it, so that as many requests start in a second.
func BenchmarkDueTimes(b *testing.B) {
	const starts = 5
	hosts := 10_000
	if s := os.Getenv("COURTESY_HOSTS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			b.Fatal(err)
		}
		hosts = n
	}
	shortest := time.Duration(hosts) * 50 * time.Microsecond
	for b.Loop() {
		l := &Limiter{MaxCrawlDelay: -1}
		l.Delay = min(shortest, 500*time.Millisecond)
		late := make([]time.Duration, 0, hosts*starts)
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range hosts {
			wg.Go(func() {
				u := hostURL(i)
				pace := shortest + time.Duration(i)*100*time.Microsecond
				ctx := WithCrawlDelay(b.Context(), pace)
				time.Sleep(pace) // so that the first requests do not all start at once
				var mine [starts]time.Duration
				var last time.Time
				for n := range starts + 1 {
					g, err := l.Acquire(ctx, u)
					now := time.Now()
					if err != nil {
						b.Error(err)
						return
					}
					g.Done(Outcome{Status: 200})
					if n > 0 {
						mine[n-1] = now.Sub(last) - pace
					}
					last = now
				}
				mu.Lock()
				late = append(late, mine[:]...)
				mu.Unlock()
			})
		}
		wg.Wait()
		slices.Sort(late)
		b.ReportMetric(float64(late[len(late)/2])/1e6, "p50-ms")
		b.ReportMetric(float64(late[len(late)*99/100])/1e6, "p99-ms")
		b.ReportMetric(float64(late[len(late)-1])/1e6, "max-ms")
	}
}

// BenchmarkWaiters queues 100,000 requests to 1,000 hosts and cancels them. It
// reports their memory and how long the canceling takes.
func BenchmarkWaiters(b *testing.B) {
	const hosts, each = 1000, 100
	for b.Loop() {
		before := liveHeap()
		l := &Limiter{Delay: time.Hour}
		ctx, cancel := context.WithCancel(b.Context())
		var wg sync.WaitGroup
		for i := range hosts {
			u := hostURL(i)
			if _, err := l.Acquire(ctx, u); err != nil {
				b.Fatal(err)
			}
			for range each {
				wg.Go(func() {
					if g, err := l.Acquire(ctx, u); err == nil {
						b.Errorf("Acquire = %v, nil; want an error", g)
					}
				})
			}
		}
		for l.Stats().Waiting < hosts*each {
			time.Sleep(time.Millisecond)
		}
		b.ReportMetric(float64(liveHeap()-before)/1e6, "MB")
		start := time.Now()
		cancel()
		wg.Wait()
		b.ReportMetric(float64(time.Since(start))/1e6, "cancel-ms")
	}
}

// BenchmarkTwoCrawlDelays queues requests of two origins that share a host and
// declare different Crawl-delays, each with a deadline, and cancels them. The
// time should grow with the number of requests, and not with its square.
func BenchmarkTwoCrawlDelays(b *testing.B) {
	for _, n := range []int{4_000, 16_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				l := &Limiter{}
				u := hostURL(0)
				ctx, cancel := context.WithTimeout(b.Context(), 1000*time.Hour)
				if _, err := l.Acquire(ctx, u); err != nil {
					b.Fatal(err)
				}
				var wg sync.WaitGroup
				for i := range n {
					wg.Go(func() { l.Acquire(WithCrawlDelay(ctx, time.Duration(1+i%2)*time.Second), u) })
				}
				for l.Stats().Waiting < n {
					time.Sleep(time.Millisecond)
				}
				cancel()
				wg.Wait()
			}
		})
	}
}
