package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/integration_test/redisserver"
	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/redislimit"
)

func joinFleet(t testing.TB, server *redisserver.Server, opts redislimit.Options, change ...func(*redis.UniversalOptions)) *redislimit.Fleet {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	client := &redis.UniversalOptions{Addrs: []string{server.Addr}, ContextTimeoutEnabled: true}
	for _, f := range change {
		f(client)
	}
	f, err := redislimit.New(redisClient(t, client, patient), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// warm waits until the fleet has granted the Limiter a first host.
func warm(t testing.TB, l *politeness.Limiter) {
	t.Helper()
	g, err := l.Acquire(t.Context(), &url.URL{Host: "warm.example"})
	if err != nil {
		t.Fatal(err)
	}
	g.Done(ok200)
}

// An ACL user needs only the commands, keys and channels that the doc of
// redislimit lists. If a right is missing, the error indicates that.
func TestRedisLimitNeedsFewRights(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	commands := strings.Fields("+eval +evalsha +info +hget +hmget +hset +hdel +hincrby +hrandfield +zadd +zscore +zcard +zrem +zrangebyscore +del +pexpire +publish +subscribe +unsubscribe")
	user := func(name string, rights ...string) *politeness.Limiter {
		command := []any{"acl", "setuser", name, "reset", "on", ">secret", "~{" + name + "}*", "&{" + name + "}*"}
		for _, r := range rights {
			command = append(command, r)
		}
		redisCommand(t, server, command...)
		var log lockedBuffer
		fleet := joinFleet(t, server, redislimit.Options{Namespace: name, Logger: slog.New(slog.NewTextHandler(&log, nil))}, func(o *redis.UniversalOptions) {
			o.Username, o.Password, o.DisableIdentity = name, "secret", true
		})
		return &politeness.Limiter{Delay: 50 * time.Millisecond, Fleet: fleet}
	}
	a := user("bot", commands...)
	b := user("bot", commands...)
	for range 3 {
		for _, l := range []*politeness.Limiter{a, b} {
			warm(t, l)
		}
	}
	poor := user("poor", slices.DeleteFunc(slices.Clone(commands), func(c string) bool { return c == "+hincrby" })...)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := poor.Acquire(ctx, &url.URL{Host: "shop.example"})
	if _, is := errors.AsType[*redislimit.AwayError](err); !is || !strings.Contains(err.Error(), "lacks a permission") {
		t.Errorf("Acquire without the right to HINCRBY returned the error %v, want an AwayError that mentions the missing permission", err)
	}
}

// A host costs Redis at most 64 bytes of memory. The host's name and the
// buckets of the hash table are not counted.
func TestRedisLimitMemoryOfAHost(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	l := &politeness.Limiter{Delay: time.Hour, Concurrency: 100, Fleet: joinFleet(t, server, redislimit.Options{})}
	warm(t, l)
	const hosts = 4000
	var wg sync.WaitGroup
	for i := range int64(hosts) {
		wg.Go(func() {
			ctx := t.Context()
			if i%2 == 0 {
				ctx = politeness.WithCrawlDelay(ctx, 10*time.Second)
			}
			g, err := l.Acquire(ctx, numberedHost(i))
			if err != nil {
				t.Error(err)
				return
			}
			g.Done(ok200)
		})
	}
	wg.Wait()
	admin := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
	// The member releases all hosts. For each host, Redis then keeps the time
	// from which the host may get requests again, and what the member has
	// learned about the host.
	waitFor(t, "Redis does not store the hosts", func() bool { return admin.HLen(t.Context(), "{courtesy}hosts").Val() > hosts })
	whole := admin.Do(t.Context(), "memory", "usage", "{courtesy}hosts", "samples", 0).Val().(int64)
	// A hash with the same names and no values measures the cost of names and
	// buckets.
	for i := range int64(hosts) {
		admin.HSet(t.Context(), "names", numberedHost(i).Host, "")
	}
	admin.HSet(t.Context(), "names", strings.Repeat("x", 65), "") // a name over 64 bytes makes Redis store the hash as a table
	names := admin.Do(t.Context(), "memory", "usage", "names", "samples", 0).Val().(int64)
	const entry = 24 // bytes of an entry in the table, without its name
	each := float64(whole-names)/hosts + entry
	t.Logf("a host takes %.1f bytes besides its name", each)
	if each > 64 {
		t.Errorf("a host takes %.1f bytes of Redis besides its name, want at most 64", each)
	}
}

// A host that gets one request costs at most 1.2 calls to Redis. A host that
// many members want costs at most one call for every five requests.
func TestRedisLimitCost(t *testing.T) {
	t.Parallel()
	testmain.SkipIfOverloaded(t)
	t.Run("5,000 hosts once each", func(t *testing.T) {
		t.Parallel()
		server := redisserver.Start(t)
		admin := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
		l := &politeness.Limiter{Fleet: joinFleet(t, server, redislimit.Options{})}
		warm(t, l)
		before := commandCalls(t, admin, "evalsha")
		const hosts = 5000
		for i := range int64(hosts) {
			g, err := l.Acquire(t.Context(), numberedHost(i))
			if err != nil {
				t.Fatal(err)
			}
			g.Done(ok200)
		}
		calls := commandCalls(t, admin, "evalsha") - before
		t.Logf("%.3f calls a request", calls/hosts)
		if calls > 1.2*hosts {
			t.Errorf("the fleet made %v calls to Redis for %d requests, want at most 1.2 per request", calls, hosts)
		}
	})
	t.Run("20 hosts that all want", func(t *testing.T) {
		t.Parallel()
		if testing.Short() {
			t.Skip("SKIPPED: the test takes ten seconds")
		}
		r := contend(t, 8, 20, 100*time.Millisecond, 10*time.Second)
		t.Logf("%.3f calls a request, %.3f of the ideal", r.calls, r.share)
		if r.calls > 0.2 {
			t.Errorf("the members made %.3f calls to Redis for each request, want at most 0.2", r.calls)
		}
	})
}

// All members send requests to the same hosts. They make nearly as many
// requests as these hosts allow. While a member waits for a host, each of the 8
// members has at most two turns.
func TestRedisLimitIsFair(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: the test takes a minute")
	}
	t.Parallel()
	testmain.SkipIfOverloaded(t)
	for _, tt := range []struct {
		delay time.Duration
		share float64
	}{
		{time.Second, 0.95},
		{100 * time.Millisecond, 0.9},
	} {
		t.Run(tt.delay.String(), func(t *testing.T) {
			t.Parallel()
			const members = 8
			r := contend(t, members, 4, tt.delay, 40*time.Second)
			t.Logf("the members started %.3f of the requests that the delay allows, the nearest starts %v apart, the longest wait of a member %v, %.3f calls a request", r.share, r.nearest, r.wait, r.calls)
			if r.share < tt.share && !r.busy {
				t.Errorf("the members started %.3f of the requests that the delay allows, want at least %.2f", r.share, tt.share)
			}
			if r.nearest < tt.delay-time.Millisecond {
				t.Errorf("two requests to a host started %v apart, want at least %v", r.nearest, tt.delay)
			}
			// While a member waits, each member may have two turns of about two
			// seconds. The crawl takes longer than all these turns together, so
			// the test fails if a member gets nothing.
			if most := members * 2 * 2 * time.Second; r.wait > most {
				t.Errorf("a member waited for a host for %v, want at most %v", r.wait, most)
			}
		})
	}
}

// COURTESY_FLEETS lists fleets to measure, each as the number of members, the
// number of hosts that all of them want, and the delay of a host: 5,1000,1s or
// 40,2000,1s 5,20000,10s. A quiet machine makes 0.99 of the ideal number of
// requests, with at most one call to Redis for each of them.
func TestRedisLimitLargeFleets(t *testing.T) {
	fleets := strings.Fields(os.Getenv("COURTESY_FLEETS"))
	if len(fleets) == 0 {
		t.Skip("SKIPPED: the test requires a quiet machine, and the fleets in COURTESY_FLEETS")
	}
	for _, fleet := range fleets {
		t.Run(fleet, func(t *testing.T) {
			var members, hosts int
			var rawDelay string
			if _, err := fmt.Sscanf(fleet, "%d,%d,%s", &members, &hosts, &rawDelay); err != nil {
				t.Fatal(err)
			}
			delay, err := time.ParseDuration(rawDelay)
			if err != nil {
				t.Fatal(err)
			}
			r := contend(t, members, hosts, delay, 20*delay)
			t.Logf("%.3f of the ideal, %.3f calls a request, the nearest starts %v apart, the machine was busy: %v", r.share, r.calls, r.nearest, r.busy)
			if r.nearest < delay-time.Millisecond {
				t.Errorf("two requests to a host started %v apart, want at least %v", r.nearest, delay)
			}
			if r.share < 0.99 && !r.busy {
				t.Errorf("the members started %.3f of the requests that the delay allows, want at least 0.99", r.share)
			}
			if r.calls > 1 {
				t.Errorf("the members made %.3f calls to Redis for each request, want at most 1", r.calls)
			}
		})
	}
}

type contention struct {
	share, calls  float64 // share: starts / ideal number of starts; calls: calls to Redis / starts
	busy          bool    // whether the machine was busy; share then proves nothing
	nearest, wait time.Duration
}

func contend(t testing.TB, members, hosts int, delay, long time.Duration) (r contention) {
	server := redisserver.Start(t)
	admin := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
	var mu sync.Mutex
	starts := make([]map[int][]time.Time, hosts) // for each host: when each member started requests
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var began atomic.Bool
	for i := range hosts {
		starts[i] = make(map[int][]time.Time)
	}
	for m := range members {
		l := &politeness.Limiter{Delay: delay, Fleet: joinFleet(t, server, redislimit.Options{})}
		for h := range hosts {
			traced := politeness.WithTrace(ctx, &politeness.Trace{Granted: func(at time.Time) {
				mu.Lock()
				defer mu.Unlock()
				if began.Load() {
					starts[h][m] = append(starts[h][m], at)
				}
			}})
			wg.Go(func() {
				for ctx.Err() == nil {
					if g, err := l.Acquire(traced, numberedHost(int64(h))); err == nil {
						g.Done(ok200)
					}
				}
			})
		}
	}
	stalls := startMetronome(t)
	time.Sleep(5 * time.Second)
	began.Store(true)
	before, from := commandCalls(t, admin, "evalsha"), time.Now()
	time.Sleep(long)
	calls, took := commandCalls(t, admin, "evalsha")-before, time.Since(from)
	began.Store(false)
	cancel()
	wg.Wait()
	total := 0
	r.nearest = time.Hour
	for h := range hosts {
		var all []time.Time
		for m := range members {
			last := from
			for _, at := range starts[h][m] {
				r.wait = max(r.wait, at.Sub(last))
				last = at
			}
			r.wait = max(r.wait, from.Add(took).Sub(last))
			all = append(all, starts[h][m]...)
		}
		slices.SortFunc(all, time.Time.Compare)
		for i := 1; i < len(all); i++ {
			r.nearest = min(r.nearest, all[i].Sub(all[i-1]))
		}
		total += len(all)
	}
	r.share = float64(total) / (float64(hosts) * took.Seconds() / delay.Seconds())
	r.busy = stalls.busy(from.UnixNano(), from.Add(took).UnixNano())
	r.calls = calls / float64(total)
	return r
}

// When the request of an owner has ended and another member waits for the host,
// that member starts a request after about 50 ms. If members learned of the
// host only by their next heartbeat, the median would be half a second.
func TestRedisLimitHandOver(t *testing.T) {
	t.Parallel()
	testmain.SkipIfOverloaded(t)
	server := redisserver.Start(t)
	a := &politeness.Limiter{Delay: time.Millisecond, Fleet: joinFleet(t, server, redislimit.Options{})}
	b := &politeness.Limiter{Delay: time.Millisecond, Fleet: joinFleet(t, server, redislimit.Options{})}
	warm(t, a)
	warm(t, b)
	stalls := startMetronome(t)
	from := time.Now()
	var took []time.Duration
	for i := range int64(20) {
		g, err := a.Acquire(t.Context(), numberedHost(i))
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan time.Time, 1)
		time.AfterFunc(20*time.Millisecond, func() {
			ended <- time.Now()
			g.Done(ok200)
		})
		next, err := b.Acquire(t.Context(), numberedHost(i))
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(<-ended))
		next.Done(ok200)
	}
	slices.Sort(took)
	median := took[len(took)/2]
	busy := stalls.busy(from.UnixNano(), time.Now().UnixNano())
	t.Logf("the other member started a request %v (median) after the owner's request had ended, and at most %v after it; the machine was busy: %v", median, took[len(took)-1], busy)
	if median > 250*time.Millisecond && !busy {
		t.Errorf("the other member started a request %v (median) after the owner's request had ended, want at most 250ms", median)
	}
}

func numberedHost(i int64) *url.URL {
	return &url.URL{Scheme: "http", Host: fmt.Sprintf("host-%07d.example", i)}
}

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

// BenchmarkRedisLimit64Waiters measures the first requests to many hosts, as in
// a broad crawl. There are 32 goroutines for each processor.
func BenchmarkRedisLimit64Waiters(b *testing.B) {
	server := redisserver.Start(b)
	l := &politeness.Limiter{Fleet: joinFleet(b, server, redislimit.Options{})}
	admin := redisClient(b, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
	warm(b, l)
	before := commandCalls(b, admin, "evalsha")
	var hosts atomic.Int64
	ours, theirs := cpu(b, admin)
	b.ResetTimer()
	began := time.Now()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			g, err := l.Acquire(b.Context(), numberedHost(hosts.Add(1)))
			if err != nil {
				b.Error(err)
				return
			}
			g.Done(ok200)
		}
	})
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "grants/s")
	oursAfter, theirsAfter := cpu(b, admin)
	b.ReportMetric(float64((oursAfter-ours).Microseconds())/float64(b.N), "cpu-µs/grant")
	b.ReportMetric(float64((theirsAfter-theirs).Microseconds())/float64(b.N), "redis-cpu-µs/grant")
	b.ReportMetric((commandCalls(b, admin, "evalsha")-before)/float64(b.N), "calls/grant")
}

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

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer // not embedded, because ReadFrom would write without the lock
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *lockedBuffer) count(s string) int { return strings.Count(b.String(), s) }

// waitFor waits until ok returns true, for up to 30 s because the machine may
// be busy. If ok still returns false then, the test fails with the complaint.
func waitFor(t *testing.T, complaint string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after 30s, %s", complaint)
		}
	}
}

// The log and the error immediately contain the error reply of Redis, and the
// fleet continues when the cause is fixed.
func TestRedisLimitSaysWhatRedisAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		answer string
		fail   func(t *testing.T, server *redisserver.Server)
		repair []any // a command; nil means that a restart would be needed
	}{
		{"MISCONF", cannotSave, []any{"config", "set", "save", ""}},
		{"READONLY", func(t *testing.T, server *redisserver.Server) {
			redisCommand(t, server, "replicaof", "127.0.0.1", "1")
		}, []any{"replicaof", "no", "one"}},
		{"BUSY", func(t *testing.T, server *redisserver.Server) {
			redisCommand(t, server, "config", "set", "busy-reply-threshold", "100")
			client := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, 30*time.Second)
			go client.Eval(t.Context(), "while true do end", nil)
			admin := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
			waitFor(t, "the script without an end does not block the server", func() bool { return admin.Ping(t.Context()).Err() != nil })
		}, []any{"script", "kill"}},
	} {
		t.Run(tt.answer, func(t *testing.T) {
			t.Parallel()
			server := redisserver.Start(t)
			var log lockedBuffer
			l := &politeness.Limiter{Fleet: joinFleet(t, server, redislimit.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})}
			warm(t, l)
			tt.fail(t, server)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			waitFor(t, "Acquire has not returned an AwayError with the error of Redis", func() bool {
				short, cancel := context.WithTimeout(ctx, 2*time.Second)
				defer cancel()
				g, err := l.Acquire(short, &url.URL{Host: "shop.example"})
				g.Done(ok200)
				_, is := errors.AsType[*redislimit.AwayError](err)
				return is && strings.Contains(err.Error(), tt.answer+" ")
			})
			if text := log.String(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, tt.answer+" ") {
				t.Errorf("the log has no line with level=ERROR and %q:\n%s", tt.answer, text)
			}
			redisCommand(t, server, tt.repair...)
			g, err := l.Acquire(t.Context(), &url.URL{Host: "shop.example"})
			if err != nil {
				t.Errorf("Acquire after the repair: %v", err)
			}
			g.Done(ok200)
			if log.count("Redis answers again") == 0 {
				t.Errorf("the log does not contain %q:\n%s", "Redis answers again", log.String())
			}
		})
	}
}
