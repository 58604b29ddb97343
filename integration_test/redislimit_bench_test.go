package integration_test

import (
	"context"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/integration_test/redisserver"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/redislimit"
)

func numberedHost(i int64) *url.URL {
	return &url.URL{Scheme: "http", Host: fmt.Sprintf("host-%07d.example", i)}
}

// commandCalls is how often the server has run a command.
func commandCalls(t testing.TB, client redis.UniversalClient, command string) float64 {
	t.Helper()
	stats, err := client.Info(context.Background(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(stats, "cmdstat_"+command+":calls=")
	line, _, _ = strings.Cut(line, ",")
	n, _ := strconv.ParseFloat(line, 64)
	return n
}

// cpu is the processor time that this process and the server have used.
func cpu(t testing.TB, client redis.UniversalClient) (ours, theirs time.Duration) {
	t.Helper()
	ours, err := processorTime()
	if err != nil {
		t.Fatal(err)
	}
	stats, err := client.Info(context.Background(), "cpu").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"used_cpu_sys:", "used_cpu_user:"} {
		_, line, _ := strings.Cut(stats, kind)
		line, _, _ = strings.Cut(line, "\r")
		seconds, _ := strconv.ParseFloat(line, 64)
		theirs += time.Duration(seconds * float64(time.Second))
	}
	return ours, theirs
}

// A slot that need not be waited for costs one script call, and few allocations, those of the client and of the Limiter
// included.
func TestRedisLimitCostOfASlot(t *testing.T) {
	server := redisserver.Start(t)
	oldFleet(t, server, "courtesy")
	l := &politeness.Limiter{Delay: time.Hour, Shared: openPace(t, server, redislimit.Options{Timeout: patient})}
	admin := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
	host := int64(0)
	get := func() {
		host++
		g, err := l.Acquire(t.Context(), numberedHost(host))
		if err != nil {
			t.Fatal(err)
		}
		g.Done(ok200)
	}
	get() // joins the fleet
	const runs, budget = 500, 44
	before := commandCalls(t, admin, "evalsha")
	allocs := testing.AllocsPerRun(runs, get)
	if calls := commandCalls(t, admin, "evalsha") - before; calls != runs+1 { // AllocsPerRun warms up with one
		t.Errorf("%v script calls for %d slots", calls, runs+1)
	}
	t.Logf("%v allocations", allocs)
	if allocs > budget {
		t.Errorf("%v allocations, want at most %d", allocs, budget)
	}
}

// BenchmarkRedisLimit64Waiters lets 64 goroutines ask for the first page of one host after the other, as a broad crawl
// does.
func BenchmarkRedisLimit64Waiters(b *testing.B) {
	server := redisserver.Start(b)
	oldFleet(b, server, "courtesy")
	l := &politeness.Limiter{Shared: openPace(b, server, redislimit.Options{Timeout: patient})}
	admin := redisClient(b, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
	before := commandCalls(b, admin, "evalsha")
	var hosts atomic.Int64
	ours, theirs := cpu(b, admin)
	began := time.Now()
	b.SetParallelism(64 / runtime.GOMAXPROCS(0))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			g, err := l.Acquire(b.Context(), numberedHost(hosts.Add(1)))
			if err != nil {
				b.Error(err)
				return
			}
			g.Done(politeness.Outcome{Status: 200})
		}
	})
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "grants/s")
	oursAfter, theirsAfter := cpu(b, admin)
	b.ReportMetric(float64((oursAfter-ours).Microseconds())/float64(b.N), "cpu-µs/grant")
	b.ReportMetric(float64((theirsAfter-theirs).Microseconds())/float64(b.N), "redis-cpu-µs/grant")
	b.ReportMetric((commandCalls(b, admin, "evalsha")-before)/float64(b.N), "scripts/grant")
}

// BenchmarkRedisLimitUncontended asks for the first page of one host after the other.
func BenchmarkRedisLimitUncontended(b *testing.B) {
	server := redisserver.Start(b)
	oldFleet(b, server, "courtesy")
	l := &politeness.Limiter{Shared: openPace(b, server, redislimit.Options{Timeout: patient})}
	var took []time.Duration
	host := int64(0)
	for b.Loop() {
		host++
		u := numberedHost(host)
		began := time.Now()
		g, err := l.Acquire(b.Context(), u)
		took = append(took, time.Since(began))
		if err != nil {
			b.Fatal(err)
		}
		g.Done(politeness.Outcome{Status: 200})
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkRedisLimitContended is 8 members that all want one page after the other of each of 200 hosts.
func BenchmarkRedisLimitContended(b *testing.B) {
	server := redisserver.Start(b)
	oldFleet(b, server, "courtesy")
	admin := redisClient(b, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
	for b.Loop() {
		before, looks := commandCalls(b, admin, "evalsha"), commandCalls(b, admin, "mget")
		var grants atomic.Int64
		ctx, cancel := context.WithTimeout(b.Context(), 5*time.Second)
		var wg sync.WaitGroup
		for range 8 {
			l := &politeness.Limiter{Delay: 100 * time.Millisecond, Shared: openPace(b, server, redislimit.Options{Timeout: patient})}
			for host := range int64(200) {
				wg.Go(func() {
					for {
						g, err := l.Acquire(ctx, numberedHost(host))
						if err != nil {
							return
						}
						grants.Add(1)
						g.Done(politeness.Outcome{Status: 200})
					}
				})
			}
		}
		wg.Wait()
		cancel()
		n := float64(grants.Load())
		b.ReportMetric(n/5/2000, "of-ideal")
		looks = commandCalls(b, admin, "mget") - looks // a script each, too
		b.ReportMetric((commandCalls(b, admin, "evalsha")-before-looks)/n, "takes/grant")
		b.ReportMetric(looks/n, "looks/grant")
	}
}
