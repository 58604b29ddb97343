package redisstore_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/integration_test/redisserver"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/redisstore"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
	"github.com/goodbots/courtesy/robotsmw/storetest"
)

var (
	_ robotsmw.Store  = (*redisstore.Store)(nil)
	_ robotsmw.Locker = (*redisstore.Store)(nil)
)

func connect(t testing.TB, opts *redis.UniversalOptions) redis.UniversalClient {
	t.Helper()
	opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout = 200*time.Millisecond, 200*time.Millisecond, 200*time.Millisecond
	opts.MaxRetries = -1
	client := redis.NewUniversalClient(opts)
	t.Cleanup(func() { client.Close() })
	return client
}

func open(t testing.TB, server *redisserver.Server, prefix string) *redisstore.Store {
	t.Helper()
	s, err := redisstore.New(connect(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}), prefix)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	server := redisserver.Start(t)
	n := 0
	storetest.Run(t, func(t *testing.T) robotsmw.Store {
		n++
		return open(t, server, fmt.Sprintf("test%d:", n))
	})
}

func TestNilClient(t *testing.T) {
	if _, err := redisstore.New(nil, ""); err == nil {
		t.Error("no error")
	}
}

// Two crawlers on one server do not see each other's records.
func TestPrefixes(t *testing.T) {
	server := redisserver.Start(t)
	a, b := open(t, server, "a:"), open(t, server, "b:")
	if err := a.Put(t.Context(), "https://example.com", []byte("a's"), time.Hour); err != nil {
		t.Fatal(err)
	}
	if v, err := b.Get(t.Context(), "https://example.com"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%q, %v", v, err)
	}
}

// The commands that the package's doc lists are enough.
func TestLeastRights(t *testing.T) {
	server := redisserver.Start(t)
	admin := connect(t, &redis.UniversalOptions{Addrs: []string{server.Addr}})
	err := admin.Do(t.Context(), "acl", "setuser", "bot", "on", ">secret", "~mybot:robots*", "+get", "+set", "+del", "+eval", "+evalsha").Err()
	if err != nil {
		t.Fatal(err)
	}
	store, err := redisstore.New(connect(t, &redis.UniversalOptions{Addrs: []string{server.Addr}, Username: "bot", Password: "secret", DisableIdentity: true}), "mybot:")
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Put(t.Context(), "https://example.com", []byte("value"), time.Hour); err != nil {
		t.Error(err)
	}
	if _, err := store.Get(t.Context(), "https://example.com"); err != nil {
		t.Error(err)
	}
	unlock, ok, err := store.TryLock(t.Context(), "https://example.com", time.Hour)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	unlock()
	if _, ok, err := store.TryLock(t.Context(), "https://example.com", time.Hour); err != nil || !ok {
		t.Error("the lock could not be freed:", ok, err)
	}
	if err := store.Delete(t.Context(), "https://example.com"); err != nil {
		t.Error(err)
	}
}

// fleet is n members of a crawl that share a store.
func fleet(t *testing.T, web http.RoundTripper, server *redisserver.Server, n int) []*robotsmw.Transport {
	t.Helper()
	var members []*robotsmw.Transport
	for range n {
		tr, err := robotsmw.NewTransport(robotsmw.Options{
			UserAgent: "ExampleBot/1.0", Base: web, Store: open(t, server, ""), Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, tr)
	}
	return members
}

// visit lets every member ask for a forbidden page of every host, all at the
// same time.
func visit(t *testing.T, members []*robotsmw.Transport, hosts int) {
	t.Helper()
	var wg sync.WaitGroup
	for _, tr := range members {
		for i := range hosts {
			wg.Go(func() {
				_, err := (&http.Client{Transport: tr}).Get(fmt.Sprintf("http://h%d.example/private/", i))
				if !errors.Is(err, robotsmw.ErrDisallowed) {
					t.Errorf("%v", err)
				}
			})
		}
	}
	wg.Wait()
}

func newWeb(hosts int) *robotstest.Internet {
	var web robotstest.Internet
	for i := range hosts {
		web.Handle(fmt.Sprintf("h%d.example", i), robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /private/\n"})
	}
	return &web
}

func TestFleetFetchesEachRobotsTxtOnce(t *testing.T) {
	server := redisserver.Start(t)
	const hosts = 30
	web := newWeb(hosts)
	visit(t, fleet(t, web, server, 8), hosts)
	if n := len(web.Log()); n != hosts {
		t.Errorf("%d fetches of %d robots.txt by 8 members", n, hosts)
	}
	visit(t, fleet(t, web, server, 2), hosts) // two that join later
	if n := len(web.Log()); n != hosts {
		t.Errorf("%d fetches after two joined", n-hosts)
	}
}

// Whatever happens to Redis, every verdict is right; it costs fetches.
func TestVerdictsWhenRedisIsAway(t *testing.T) {
	for name, trouble := range map[string]func(t *testing.T, server *redisserver.Server){
		"killed":  func(t *testing.T, server *redisserver.Server) { server.Kill() },
		"stopped": func(t *testing.T, server *redisserver.Server) { server.Signal(syscall.SIGSTOP) },
		"read-only": func(t *testing.T, server *redisserver.Server) {
			admin(t, server, "replicaof", "127.0.0.1", "1")
		},
		"flushed": func(t *testing.T, server *redisserver.Server) { admin(t, server, "flushall") },
		"scripts flushed": func(t *testing.T, server *redisserver.Server) {
			admin(t, server, "script", "flush")
		},
		"out of memory": func(t *testing.T, server *redisserver.Server) {
			admin(t, server, "config", "set", "maxmemory", "1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := redisserver.Start(t)
			web := newWeb(3)
			members := fleet(t, web, server, 2)
			visit(t, members, 1)
			trouble(t, server)
			visit(t, members, 3)
			if n := len(web.Log()); n < 3 || n > 6 {
				t.Errorf("%d fetches", n)
			}
		})
	}
}

func admin(t *testing.T, server *redisserver.Server, command ...any) {
	t.Helper()
	client := connect(t, &redis.UniversalOptions{Addrs: []string{server.Addr}})
	if err := client.Do(t.Context(), command...).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestErrorsNameNoSecret(t *testing.T) {
	store, err := redisstore.New(connect(t, &redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}, Password: "hunter2"}), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Get(t.Context(), "https://example.com"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}

func ExampleNew() {
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs:       []string{"127.0.0.1:6379"},
		DialTimeout: 100 * time.Millisecond, ReadTimeout: 100 * time.Millisecond,
	})
	defer client.Close()
	store, err := redisstore.New(client, "mybot:")
	if err != nil {
		log.Fatal(err)
	}
	_, err = robotsmw.NewClient(robotsmw.Options{
		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
		Store:     store,
	})
	fmt.Println(err)
	// Output: <nil>
}
