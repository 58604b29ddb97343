package integration_test

import (
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/integration_test/redisserver"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/redislimit"
)

// besidesTheName is what Redis needs for a key, without what its name needs.
func besidesTheName(t *testing.T, admin redis.UniversalClient, key string) int64 {
	t.Helper()
	const number, entry = 16, 24 // of a key whose value is a number: robj, dictEntry
	reference := strings.Repeat("x", len(key))
	if err := admin.Set(t.Context(), reference, 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
	whole, err := admin.MemoryUsage(t.Context(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	return whole - (admin.MemoryUsage(t.Context(), reference).Val() - number - entry)
}

// A host costs at most 64 bytes besides its name, whether or not its robots.txt has been fetched and has a
// Crawl-delay; a pause or a lease costs more, as long as it lasts.
func TestRedisLimitMemoryOfAHost(t *testing.T) {
	server := redisserver.Start(t)
	oldFleet(t, server, "courtesy")
	admin := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
	b := openPace(t, server, redislimit.Options{Timeout: patient})
	l := &politeness.Limiter{Delay: time.Hour, Shared: b}
	get := func(host string, o politeness.Outcome, crawl ...time.Duration) {
		ctx := t.Context()
		for _, d := range crawl {
			ctx = politeness.WithCrawlDelay(ctx, d)
		}
		g, err := l.Acquire(ctx, &url.URL{Host: host})
		if err != nil {
			t.Fatal(err)
		}
		g.Done(o)
	}
	get("page.example", ok200)
	get("robots.example", ok200, politeness.Exempt)
	get("crawl-delay.example", ok200, 10*time.Second)
	get("paused.example", politeness.Outcome{Status: 429})
	time.Sleep(200 * time.Millisecond)
	for host, budget := range map[string]int64{"page": 64, "robots": 64, "crawl-delay": 64, "paused": 72} {
		key := "{courtesy}" + host + ".example"
		bytes := besidesTheName(t, admin, key)
		t.Logf("%s: %d bytes besides the name", host, bytes)
		if bytes > budget {
			t.Errorf("%s: %d bytes besides the name, want at most %d", host, bytes, budget)
		}
		if ttl := admin.TTL(t.Context(), key).Val(); ttl < time.Minute || ttl > 2*time.Hour {
			t.Errorf("%s: expires in %v", host, ttl)
		}
	}
}

var ok200 = politeness.Outcome{Status: 200}

// What is known of many hosts expires to nothing. COURTESY_HOSTS=1000000 makes it a million.
func TestRedisLimitExpiresToNothing(t *testing.T) {
	hosts := int64(5000)
	if n, err := strconv.ParseInt(os.Getenv("COURTESY_HOSTS"), 10, 64); err == nil {
		hosts = n
	}
	server := redisserver.Start(t)
	oldFleet(t, server, "courtesy")
	admin := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
	before := usedMemory(t, admin)
	l := &politeness.Limiter{Shared: openPace(t, server, redislimit.Options{Timeout: patient}), Delay: time.Second}
	if hosts > 100_000 {
		l.Delay = 3 * time.Minute // so that all are there at once
	}
	began := time.Now()
	var wg sync.WaitGroup
	for worker := range int64(64) {
		wg.Go(func() {
			for i := worker; i < hosts; i += 64 {
				g, err := l.Acquire(t.Context(), numberedHost(i))
				if err != nil {
					t.Error(err)
					return
				}
				g.Done(ok200)
			}
		})
	}
	wg.Wait()
	keys := admin.DBSize(t.Context()).Val()
	t.Logf("%d hosts in %v: %d keys, %.0f bytes of used_memory each, names and tables included", hosts, time.Since(began), keys,
		float64(usedMemory(t, admin)-before)/float64(max(keys, 1)))
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if n := admin.DBSize(t.Context()).Val(); n <= 2 { // the fleet itself
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d keys are left", admin.DBSize(t.Context()).Val())
		}
	}
	t.Logf("after %v nothing is left of them; used_memory has grown by %d bytes", time.Since(began), usedMemory(t, admin)-before)
}

func usedMemory(t *testing.T, admin redis.UniversalClient) int64 {
	t.Helper()
	_, line, _ := strings.Cut(admin.Info(t.Context(), "memory").Val(), "used_memory:")
	line, _, _ = strings.Cut(line, "\r")
	n, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		t.Fatal(fmt.Errorf("used_memory: %w", err))
	}
	return n
}

// In a cluster all of a fleet is on one node.
func TestRedisLimitInACluster(t *testing.T) {
	server := redisserver.Start(t, "--cluster-enabled", "yes")
	redisCommand(t, server, "cluster", "addslotsrange", 0, 16383)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{server.Addr}, ContextTimeoutEnabled: true})
	defer client.Close()
	for deadline := time.Now().Add(20 * time.Second); client.Set(t.Context(), "ready", 1, 0).Err() != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the cluster does not get ready")
		}
	}
	b, err := redislimit.New(client, redislimit.Options{Timeout: patient / 10})
	if err != nil {
		t.Fatal(err)
	}
	l := &politeness.Limiter{Delay: 10 * time.Millisecond, Shared: b}
	for i := range int64(20) {
		g, err := l.Acquire(t.Context(), numberedHost(i%5))
		if err != nil {
			t.Fatal(err)
		}
		g.Done(ok200)
	}
	if s := b.Stats(); s.Slots != 20 || s.Lost != 0 {
		t.Errorf("%+v", s)
	}
}
