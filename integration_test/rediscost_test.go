package integration

import (
	"context"
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
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/redislimit"
)

// sessionCost is what a call to Redis costs while a fleet has a number of
// sessions.
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
	if testing.Short() {
		t.Skip("takes ten seconds")
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
		t.Errorf("a call costs %v with %d sessions and %v with %d", small.cpu, small.sessions, large.cpu, large.sessions)
	}
}

// measureSessions measures a fleet of n members, each of which owns a host of
// its own and makes a request to it every 5 s, so that nearly all calls are
// beats.
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
		time.Sleep(time.Millisecond) // so that the beats are spread over the second
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

// scriptTime returns for how long the server has run scripts.
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
		t.Fatalf("the script's time is %q", line)
	}
	return time.Duration(n) * time.Microsecond
}
