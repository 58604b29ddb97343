package integration

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/integration_test/redisserver"
	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/redislimit"
)

// sessionCost is the cost of a call to Redis while a fleet has the given number
// of sessions.
type sessionCost struct {
	sessions int
	script   time.Duration // the time that the script runs, per call
	cpu      time.Duration // the processor time of the server, per call
	calls    float64       // calls a second, of all members together
}

// A call costs about the same in a small fleet and in a large one: the script
// reads only the sessions that the call needs. COURTESY_COST lists other sizes
// of fleets to measure, such as 1,10,100,1000,2000.
func TestRedisLimitCostOfASession(t *testing.T) {
	testmain.SkipIfOverloaded(t)
	if testing.Short() {
		t.Skip("SKIPPED: the test takes ten seconds")
	}
	sizes, long := []int{10, 300}, 4*time.Second
	if list := os.Getenv("COURTESY_COST"); list != "" {
		sizes, long = nil, 10*time.Second
		for s := range strings.SplitSeq(list, ",") {
			n, err := strconv.Atoi(s)
			if err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, n)
		}
	} else {
		t.Parallel()
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "sessions\tscript, per call\tCPU of Redis, per call\tcalls a second\tof one core\t")
	var costs []sessionCost
	for _, n := range sizes {
		c := measureSessions(t, n, long)
		t.Logf("%+v", c)
		costs = append(costs, c)
		fmt.Fprintf(w, "%d\t%.0f µs\t%.0f µs\t%.0f\t%.1f %%\t\n", n, float64(c.script.Nanoseconds())/1e3, float64(c.cpu.Nanoseconds())/1e3, c.calls, c.calls*c.cpu.Seconds()*100)
	}
	w.Flush()
	t.Logf("each member owns one host:\n%s", table.String())
	small, large := costs[0], costs[len(costs)-1]
	// On a busy machine, the script's time includes that of other processes,
	// but the processor time does not.
	if os.Getenv("COURTESY_COST") == "" && large.cpu*2 > small.cpu*3 {
		t.Errorf("a call to Redis takes %v of processor time with %d sessions, want at most 1.5 times the %v with %d sessions", large.cpu, large.sessions, small.cpu, small.sessions)
	}
}

// measureSessions measures a fleet of n members, each of which owns a host of
// its own and makes a request to it every 5 s, so that nearly all calls are
// heartbeats.
func measureSessions(t *testing.T, n int, long time.Duration) sessionCost {
	server := redisserver.Start(t)
	admin := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
	client := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}, ContextTimeoutEnabled: true, PoolSize: 64}, patient)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var fleets []*redislimit.Fleet
	var begun sync.WaitGroup
	begun.Add(n)
	for i := range n {
		f, err := redislimit.New(client, redislimit.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		fleets = append(fleets, f)
		l := &politeness.Limiter{Delay: 5 * time.Second, Fleet: f}
		host := &url.URL{Scheme: "http", Host: fmt.Sprintf("h%d.example", i)}
		wg.Go(func() {
			for first := true; ctx.Err() == nil; {
				if g, err := l.Acquire(ctx, host); err == nil {
					g.Done(ok200)
					if first {
						first = false
						begun.Done()
					}
				}
			}
		})
		time.Sleep(time.Millisecond) // so that the heartbeats are spread over the second
	}
	begun.Wait()
	time.Sleep(3 * time.Second) // so that all members listen
	calls, script, from := commandCalls(t, admin, "evalsha"), scriptTime(t, admin), time.Now()
	_, before := cpu(t, admin)
	time.Sleep(long)
	_, after := cpu(t, admin)
	calls, script = commandCalls(t, admin, "evalsha")-calls, scriptTime(t, admin)-script
	took := time.Since(from)
	cancel()
	wg.Wait()
	var closing sync.WaitGroup
	for _, f := range fleets {
		closing.Go(func() { f.Close() })
	}
	closing.Wait()
	return sessionCost{
		sessions: n,
		script:   time.Duration(float64(script) / calls),
		cpu:      time.Duration(float64(after-before) / calls),
		calls:    calls / took.Seconds(),
	}
}

// A heartbeat of a member that owns one host, and for which nothing has
// changed, executes few commands: 6 that each call needs, a notification with
// every second heartbeat, and inspections of other hosts with every eighth. The
// commands take most of the time of a heartbeat.
func TestRedisLimitCommandsOfAHeartbeat(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: the test takes ten seconds")
	}
	t.Parallel()
	testmain.SkipIfOverloaded(t)
	server := redisserver.Start(t)
	admin := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
	l := &politeness.Limiter{Delay: time.Hour, Fleet: joinFleet(t, server, redislimit.Options{})}
	warm(t, l)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	// The second request waits, so the member keeps the host.
	wg.Go(func() { l.Acquire(ctx, &url.URL{Scheme: "http", Host: "warm.example"}) })
	time.Sleep(4 * time.Second) // so that the member listens
	commands, calls := allCommands(t, admin), commandCalls(t, admin, "evalsha")
	time.Sleep(10 * time.Second)
	calls = commandCalls(t, admin, "evalsha") - calls
	commands = allCommands(t, admin) - commands - calls - 2 // without EVALSHA, and without the two INFO of this test
	t.Logf("%.0f heartbeats, %.1f commands each", calls, commands/calls)
	if calls < 3 || commands > 9*calls {
		t.Errorf("Redis executed %.0f commands for %.0f heartbeats, want at most 9 for each", commands, calls)
	}
}

// allCommands returns how many commands the server has executed, including
// those of scripts.
func allCommands(t testing.TB, client redis.UniversalClient) float64 {
	t.Helper()
	stats, err := client.Info(context.Background(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for line := range strings.Lines(stats) {
		_, line, _ = strings.Cut(line, ":calls=")
		line, _, _ = strings.Cut(line, ",")
		n, _ := strconv.ParseFloat(line, 64)
		total += n
	}
	return total
}

// A heartbeatRecorder is a hook of a member's client. It keeps the arguments of
// the latest heartbeat that requests a host which the member owns. After close,
// the client does not reach the server, so the session does not change.
type heartbeatRecorder struct {
	mu        sync.Mutex
	heartbeat []any
	closed    bool
}

// The indexes of arguments of EVALSHA; see call.lua.
const (
	argumentSent   = 6
	argumentNumber = 11
	argumentBeat   = 14
	argumentToken  = 19
)

func (r *heartbeatRecorder) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *heartbeatRecorder) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (r *heartbeatRecorder) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		r.mu.Lock()
		closed := r.closed
		r.mu.Unlock()
		if closed {
			return errors.New("the member is frozen")
		}
		err := next(ctx, cmd)
		args := cmd.Args()
		requestsOwned := args[0] == "evalsha" && len(args) > argumentToken && args[argumentToken] != int64(0)
		if err == nil && requestsOwned && args[argumentBeat] != 0 {
			r.mu.Lock()
			r.heartbeat = args
			r.mu.Unlock()
		}
		return err
	}
}

// close returns the arguments of a heartbeat, or nil if there was none yet.
func (r *heartbeatRecorder) close() []any {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = r.heartbeat != nil
	return r.heartbeat
}

// BenchmarkRedisLimitHeartbeat repeats the heartbeats of a fleet as fast as
// Redis responds, so that no heartbeat has to fetch the script and its data
// into the processor's caches. COURTESY_COST is the number of members, 100 by
// default.
func BenchmarkRedisLimitHeartbeat(b *testing.B) {
	members := 100
	if s := os.Getenv("COURTESY_COST"); s != "" {
		var err error
		if members, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	server := redisserver.Start(b)
	admin := redisClient(b, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	recorders := make([]heartbeatRecorder, members)
	for i := range recorders {
		client := redisClient(b, &redis.UniversalOptions{Addrs: []string{server.Addr}, ContextTimeoutEnabled: true, PoolSize: 2}, patient)
		client.AddHook(&recorders[i])
		f, err := redislimit.New(client, redislimit.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.Fatal(err)
		}
		l := &politeness.Limiter{Delay: time.Hour, Fleet: f}
		host := &url.URL{Scheme: "http", Host: fmt.Sprintf("h%d.example", i)}
		go func() {
			if g, err := l.Acquire(ctx, host); err == nil {
				g.Done(ok200)
				l.Acquire(ctx, host) // waits, so the member keeps the host
			}
		}()
	}
	var heartbeats [][]any
	for i := range recorders {
		heartbeat := recorders[i].close()
		for ; heartbeat == nil; heartbeat = recorders[i].close() {
			time.Sleep(100 * time.Millisecond)
		}
		heartbeats = append(heartbeats, heartbeat)
	}
	time.Sleep(time.Second) // calls that were on their way have ended
	number := int64(1_000_000)
	repeat := func(n int) {
		for i := range n {
			number++
			args := heartbeats[i%members]
			args[argumentSent] = 1
			args[argumentNumber] = number
			args[argumentBeat] = 1 + i/members%2 // every second one tests the subscription
			reply, err := admin.Do(b.Context(), args...).Slice()
			if err != nil || reply[0] != "ok" {
				b.Fatalf("the reply to a heartbeat is %v with the error %v; want ok", reply, err)
			}
		}
	}
	repeat(2 * members)
	calls, script := commandCalls(b, admin, "evalsha"), scriptTime(b, admin)
	_, before := cpu(b, admin)
	b.ResetTimer()
	repeat(b.N)
	b.StopTimer()
	_, after := cpu(b, admin)
	calls, script = commandCalls(b, admin, "evalsha")-calls, scriptTime(b, admin)-script
	b.ReportMetric(float64(script.Nanoseconds())/1e3/calls, "script-µs/heartbeat")
	b.ReportMetric(float64((after-before).Nanoseconds())/1e3/calls, "redis-cpu-µs/heartbeat")
}

// scriptTime returns the total time for which the server has run scripts.
func scriptTime(t testing.TB, client redis.UniversalClient) time.Duration {
	t.Helper()
	stats, err := client.Info(context.Background(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(stats, "cmdstat_evalsha:")
	_, line, _ = strings.Cut(line, ",usec=")
	line, _, _ = strings.Cut(line, ",")
	n, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		t.Fatalf("the time of scripts in INFO commandstats is %q, want a number", line)
	}
	return time.Duration(n) * time.Microsecond
}
