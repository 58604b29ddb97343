package integration

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/integration_test/redisserver"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/redisstore"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
	"github.com/goodbots/courtesy/robotsmw/storetest"
)

// These are timeouts of calls to Redis. The first is so long that calls succeed
// even on a busy machine. The second is short, for tests in which Redis does
// not respond.
const (
	patient   = 10 * time.Second
	impatient = 200 * time.Millisecond
)

func redisClient(t testing.TB, opts *redis.UniversalOptions, timeout time.Duration) redis.UniversalClient {
	t.Helper()
	opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout = timeout, timeout, timeout
	opts.MaxRetries = -1
	client := redis.NewUniversalClient(opts)
	t.Cleanup(func() { client.Close() })
	return client
}

func openRedisStore(t testing.TB, server *redisserver.Server, prefix string, timeout time.Duration) *redisstore.Store {
	t.Helper()
	s, err := redisstore.New(redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, timeout), prefix)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRedisStore(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	n := 0
	storetest.Run(t, func(t *testing.T) robotsmw.Store {
		n++
		return openRedisStore(t, server, fmt.Sprintf("test%d:", n), patient)
	})
}

// Two crawlers with different prefixes do not share records on one server.
func TestRedisStorePrefixes(t *testing.T) {
	server := redisserver.Start(t)
	a, b := openRedisStore(t, server, "a:", patient), openRedisStore(t, server, "b:", patient)
	if err := a.Put(t.Context(), "https://example.com", []byte("a's"), time.Hour); err != nil {
		t.Fatal(err)
	}
	if v, err := b.Get(t.Context(), "https://example.com"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Get with another prefix = %q, %v; want fs.ErrNotExist", v, err)
	}
}

// An ACL user needs only the commands in the doc of redisstore.
func TestRedisStoreNeedsFewRights(t *testing.T) {
	server := redisserver.Start(t)
	acl := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
	err := acl.Do(t.Context(), "acl", "setuser", "bot", "on", ">secret", "~mybot:robots*", "+get", "+set", "+del", "+pexpire", "+eval", "+evalsha").Err()
	if err != nil {
		t.Fatal(err)
	}
	store, err := redisstore.New(redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}, Username: "bot", Password: "secret", DisableIdentity: true}, patient), "mybot:")
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Put(t.Context(), "https://example.com", []byte("value"), time.Hour); err != nil {
		t.Errorf("Put: %v", err)
	}
	if _, err := store.Get(t.Context(), "https://example.com"); err != nil {
		t.Errorf("Get: %v", err)
	}
	unlock, ok, err := store.TryLock(t.Context(), "https://example.com", time.Hour)
	if err != nil || !ok {
		t.Fatalf("TryLock = %t, %v; want true, nil", ok, err)
	}
	unlock()
	if _, ok, err := store.TryLock(t.Context(), "https://example.com", time.Hour); err != nil || !ok {
		t.Errorf("TryLock after the unlock = %t, %v; want true, nil", ok, err)
	}
	if err := store.Delete(t.Context(), "https://example.com"); err != nil {
		t.Errorf("Delete: %v", err)
	}
}

// redisFleet returns n members of a crawl that share a store. It also returns a
// function that counts the members that had to work without the store.
func redisFleet(t *testing.T, web http.RoundTripper, server *redisserver.Server, n int, timeout time.Duration) (members []*robotsmw.Transport, without func() int) {
	t.Helper()
	logs := make([]lockedBuffer, n)
	for i := range n {
		tr, err := robotsmw.NewTransport(robotsmw.Options{
			UserAgent: "ExampleBot/1.0", Base: web, Store: openRedisStore(t, server, "", timeout), Logger: slog.New(slog.NewTextHandler(&logs[i], nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, tr)
	}
	return members, func() (without int) {
		for i := range logs {
			if logs[i].count("the store failed") > 0 {
				without++
			}
		}
		return without
	}
}

// visitForbidden lets each member request a forbidden page of each host, all at
// the same time.
func visitForbidden(t *testing.T, members []*robotsmw.Transport, hosts int) {
	t.Helper()
	var wg sync.WaitGroup
	for _, tr := range members {
		for i := range hosts {
			wg.Go(func() {
				_, err := (&http.Client{Transport: tr}).Get(fmt.Sprintf("http://h%d.example/private/", i))
				if !errors.Is(err, robotsmw.ErrDisallowed) {
					t.Errorf("Get of a disallowed page of h%d.example returned the error %v, want ErrDisallowed", i, err)
				}
			})
		}
	}
	wg.Wait()
}

func forbiddenWeb(hosts int) *robotstest.Internet {
	var web robotstest.Internet
	for i := range hosts {
		web.Handle(fmt.Sprintf("h%d.example", i), robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /private/\n"})
	}
	return &web
}

func TestRedisFleetFetchesEachRobotsTxtOnce(t *testing.T) {
	server := redisserver.Start(t)
	const hosts = 12
	web := forbiddenWeb(hosts)
	before := 0
	// Together, six members fetch each robots.txt once. (More than six would
	// make Redis slow on a small machine.) Two members that start afterwards
	// fetch none. However, a member that has to work without Redis may fetch
	// every robots.txt.
	for _, step := range []struct{ members, want int }{{6, hosts}, {2, 0}} {
		members, without := redisFleet(t, web, server, step.members, patient)
		visitForbidden(t, members, hosts)
		n := len(web.Log()) - before
		if most := step.want + without()*hosts; n < step.want || n > most {
			t.Errorf("%[3]d members, %[4]d of them without Redis, fetched %[2]d robots.txt files %[1]d times, want %[5]d", n, hosts, step.members, without(), step.want)
		}
		before += n
	}
}

// Whatever happens to Redis, every verdict is correct. A failure only causes
// additional fetches.
func TestVerdictsWhenRedisIsAway(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]func(t *testing.T, server *redisserver.Server){
		"killed":  func(t *testing.T, server *redisserver.Server) { server.Kill() },
		"stopped": func(t *testing.T, server *redisserver.Server) { server.Signal(sigstop) },
		"read-only": func(t *testing.T, server *redisserver.Server) {
			redisCommand(t, server, "replicaof", "127.0.0.1", "1")
		},
		"flushed": func(t *testing.T, server *redisserver.Server) { redisCommand(t, server, "flushall") },
		"scripts flushed": func(t *testing.T, server *redisserver.Server) {
			redisCommand(t, server, "script", "flush")
		},
		"out of memory": func(t *testing.T, server *redisserver.Server) {
			redisCommand(t, server, "config", "set", "maxmemory", "1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := redisserver.Start(t)
			web := forbiddenWeb(3)
			members, _ := redisFleet(t, web, server, 2, impatient)
			visitForbidden(t, members, 1)
			trouble(t, server)
			visitForbidden(t, members, 3)
			if n := len(web.Log()); n < 3 || n > 6 {
				t.Errorf("the members sent %d requests for 3 robots.txt files, want 3 to 6", n)
			}
		})
	}
}

func redisCommand(t *testing.T, server *redisserver.Server, command ...any) {
	t.Helper()
	client := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
	if err := client.Do(t.Context(), command...).Err(); err != nil {
		t.Fatal(err)
	}
}

// A process dies while it fetches a robots.txt. The others may fetch it after 5
// s. While a process lives, its lock lasts as long as it needs the lock.
func TestRedisStoreLockOfADeadHolder(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	dying, err := redisstore.New(client, "")
	if err != nil {
		t.Fatal(err)
	}
	living := openRedisStore(t, server, "", patient)
	const dead, held = "https://dead.example", "https://held.example"
	if _, ok, err := dying.TryLock(t.Context(), dead, 40*time.Second); err != nil || !ok {
		t.Fatalf("TryLock of the process that dies = %t, %v; want true, nil", ok, err)
	}
	unlock, ok, err := living.TryLock(t.Context(), held, 40*time.Second)
	if err != nil || !ok {
		t.Fatalf("TryLock of the process that lives = %t, %v; want true, nil", ok, err)
	}
	other := openRedisStore(t, server, "", patient)
	client.Close() // the lock is not renewed any more
	died := time.Now()
	waitFor(t, "the lock of the dead process still exists", func() bool {
		_, ok, err := other.TryLock(t.Context(), dead, time.Minute)
		return ok && err == nil
	})
	if took := time.Since(died); took > 10*time.Second {
		t.Errorf("the lock of the dead process ended after %v, want at most 10s", took)
	}
	time.Sleep(time.Until(died.Add(8 * time.Second)))
	if _, ok, err := other.TryLock(t.Context(), held, time.Minute); ok || err != nil {
		t.Errorf("TryLock while a process holds the lock = %t, %v; want false, nil", ok, err)
	}
	unlock()
	if _, ok, err := other.TryLock(t.Context(), held, time.Minute); !ok || err != nil {
		t.Errorf("TryLock after the unlock = %t, %v; want true, nil", ok, err)
	}
}
