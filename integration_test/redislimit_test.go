package integration_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/integration_test/redisserver"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/limittest"
	"github.com/goodbots/courtesy/politeness/redislimit"
)

// openPace is a member of a fleet on the server.
func openPace(t testing.TB, server *redisserver.Server, opts redislimit.Options) *redislimit.Backend {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	b, err := redislimit.New(redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}, ContextTimeoutEnabled: true}, max(opts.Timeout, impatient)), opts)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// oldFleet makes the fleet in the namespace one that has been there for long: in a new one, the first request to
// every host waits for an interval.
func oldFleet(t testing.TB, server *redisserver.Server, namespace string) {
	t.Helper()
	admin := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
	info := admin.Info(t.Context(), "server").Val()
	_, run, _ := strings.Cut(info, "run_id:")
	run, _, _ = strings.Cut(run, "\r\n")
	prefix := "{" + namespace + "}"
	if err := admin.HSet(t.Context(), prefix+"fleet", "run", run, "evicted", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := admin.Set(t.Context(), prefix+"epoch", 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestRedisLimit(t *testing.T) {
	server := redisserver.Start(t)
	n := 0
	limittest.Run(t, func(t *testing.T) func() politeness.Backend {
		n++
		opts := redislimit.Options{Namespace: fmt.Sprintf("test%d", n), Timeout: patient}
		oldFleet(t, server, opts.Namespace)
		return func() politeness.Backend { return openPace(t, server, opts) }
	})
}

// Requests of one moment share a write to Redis, and no more.
func TestRedisLimitRequestsOfOneMoment(t *testing.T) {
	const requests = 32
	terms := politeness.Terms{Delay: time.Hour, Pace: time.Hour, Concurrency: 1, Lease: time.Minute, MaxWait: time.Minute}
	type answer struct {
		slot politeness.Slot
		err  error
		took time.Duration
	}
	// takeAll has a member ask for a slot of each host while Redis is stopped, and returns at the answers.
	takeAll := func(t *testing.T, b *redislimit.Backend, server *redisserver.Server, ctx func(i int64) context.Context, meanwhile func()) []answer {
		t.Helper()
		if s, err := b.Take(t.Context(), "first.example", terms); err != nil || !s.Claim(t.Context()) {
			t.Fatal("no slot to begin with:", err)
		}
		server.Signal(sigstop)
		defer server.Signal(sigcont)
		answers := make([]answer, requests)
		var wg sync.WaitGroup
		for i := range int64(requests) {
			wg.Go(func() {
				began := time.Now()
				s, err := b.Take(ctx(i), numberedHost(i).Host, terms)
				answers[i] = answer{s, err, time.Since(began)}
			})
		}
		time.Sleep(100 * time.Millisecond) // by now some are at Redis, and some wait for these
		meanwhile()
		wg.Wait()
		return answers
	}

	t.Run("one that is cancelled leaves the others alone, and no slot behind", func(t *testing.T) {
		server := redisserver.Start(t)
		oldFleet(t, server, "courtesy")
		b := openPace(t, server, redislimit.Options{Timeout: patient})
		cancelled, cancel := context.WithCancel(t.Context())
		isCancelled := func(i int64) bool { return i%2 == 0 }
		answers := takeAll(t, b, server, func(i int64) context.Context {
			if isCancelled(i) {
				return cancelled
			}
			return t.Context()
		}, func() {
			cancel()
			time.Sleep(50 * time.Millisecond)
			server.Signal(sigcont)
		})
		for i, a := range answers {
			switch {
			case isCancelled(int64(i)):
				if !errors.Is(a.err, context.Canceled) {
					t.Errorf("host %d, cancelled: %v", i, a.err)
				}
			case a.err != nil || !a.slot.Claim(t.Context()):
				t.Errorf("host %d: %v", i, a.err)
			}
		}
		for i := range int64(requests) {
			if !isCancelled(i) {
				if _, err := b.Take(t.Context(), numberedHost(i).Host, terms); err == nil {
					t.Errorf("host %d has a second slot within the hour", i)
				}
				continue
			}
			for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				if s, err := b.Take(t.Context(), numberedHost(i).Host, terms); err == nil && s.Claim(t.Context()) {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("host %d: the slot of a request that was cancelled does not come back", i)
				}
			}
		}
		if s := b.Stats(); s.Lost != 0 {
			t.Errorf("%+v", s)
		}
	})

	t.Run("one that Redis cannot answer fails alone", func(t *testing.T) {
		server := redisserver.Start(t)
		oldFleet(t, server, "courtesy")
		const bad = 7
		redisCommand(t, server, "lpush", "{courtesy}"+numberedHost(bad).Host, "no state of a host")
		b := openPace(t, server, redislimit.Options{Timeout: patient})
		answers := takeAll(t, b, server, func(int64) context.Context { return t.Context() }, func() { server.Signal(sigcont) })
		for i, a := range answers {
			if i != bad && (a.err != nil || !a.slot.Claim(t.Context())) {
				t.Errorf("host %d: %v", i, a.err)
			}
			if i == bad && a.err == nil && a.slot.Claim(t.Context()) {
				t.Error("a slot where Redis could give none")
			}
		}
		if s := b.Stats(); s.Slots != requests { // with the first
			t.Errorf("%d slots, want %d: %+v", s.Slots, requests, s)
		}
	})

	t.Run("while Redis hangs each waits for Timeout and no longer", func(t *testing.T) {
		server := redisserver.Start(t)
		oldFleet(t, server, "courtesy")
		const timeout = 500 * time.Millisecond
		b := openPace(t, server, redislimit.Options{Timeout: timeout, Stop: true})
		for i, a := range takeAll(t, b, server, func(int64) context.Context { return t.Context() }, func() {}) {
			if _, ok := errors.AsType[*redislimit.AwayError](a.err); a.err != nil && !ok {
				t.Errorf("host %d: %v, want an *AwayError", i, a.err)
			}
			if a.took > 4*timeout { // waiting in turn would take the last of them eight times as long
				t.Errorf("host %d: an answer after %v", i, a.took)
			}
		}
	})
}

// gatedConn hands on what it has received when its gate lets it.
type gatedConn struct {
	net.Conn
	gate *sync.RWMutex
}

func (c gatedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.gate.RLock()
	defer c.gate.RUnlock()
	return n, err
}

// A slot whose answer comes only when it begins is looked at all the same: the host may have been paused while the
// answer was under way.
func TestRedisLimitAnswerThatComesLate(t *testing.T) {
	server := redisserver.Start(t)
	oldFleet(t, server, "courtesy")
	admin := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
	var gate sync.RWMutex
	prompt := openPace(t, server, redislimit.Options{Timeout: patient})
	held, err := redislimit.New(redisClient(t, &redis.UniversalOptions{
		Addrs: []string{server.Addr}, ContextTimeoutEnabled: true,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return gatedConn{conn, &gate}, err
		},
	}, patient), redislimit.Options{Timeout: patient, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	terms := politeness.Terms{Delay: 2 * time.Second, Pace: 2 * time.Second, Concurrency: 1, Lease: time.Minute, MaxWait: time.Minute}
	if _, err := held.Take(t.Context(), "other.example", terms); err != nil { // it has joined
		t.Fatal(err)
	}
	first, err := prompt.Take(t.Context(), "shop.example", terms)
	if err != nil || !first.Claim(t.Context()) {
		t.Fatal("no slot to begin with:", err)
	}
	next := time.Now().Add(terms.Pace)
	defer first.Free()
	calls := commandCalls(t, admin, "evalsha")
	until := func(n float64) {
		for deadline := time.Now().Add(20 * time.Second); commandCalls(t, admin, "evalsha") < calls+n; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("Redis is not asked")
			}
		}
	}
	slots := make(chan politeness.Slot)
	gate.Lock()
	go func() {
		s, err := held.Take(t.Context(), "shop.example", terms)
		if err != nil {
			t.Error(err)
		}
		slots <- s
	}()
	until(1)
	prompt.Pause("shop.example", time.Hour)
	until(2)
	paused := time.Now()
	time.Sleep(time.Until(next))
	gate.Unlock()
	s := <-slots
	if paused.After(next.Add(-100 * time.Millisecond)) {
		t.Skip("SKIPPED: this machine is too busy to pause the host in time")
	}
	if s != nil && s.Claim(t.Context()) {
		t.Error("a request started at a slot that had become void")
	}
}

// pacedMember is a member of a fleet that asks one host for page after page, and notes its slots.
type pacedMember struct {
	backend *redislimit.Backend
	limiter *politeness.Limiter
	log     lockedBuffer
	client  redis.UniversalClient
	held    []*redis.Conn // taken from the client
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) count(s string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.String(), s)
}

const (
	pacedInterval = 100 * time.Millisecond
	clockError    = 5 * time.Millisecond // a member knows Redis's clock by its quickest answer, and on a busy machine none is quick
)

// pacedFleet is two members that have had seats for long enough, crawling; slots gives those used since, in their order.
func pacedFleet(t *testing.T, server *redisserver.Server, change func(*redis.UniversalOptions)) (members []*pacedMember, slots func() []chaosRecord) {
	t.Helper()
	var mu sync.Mutex
	var noted []chaosRecord
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		for i, m := range members {
			if t.Failed() {
				t.Logf("member %d: %+v\n%s", i, m.backend.Stats(), m.log.String())
			}
		}
	})
	for range 2 {
		opts := &redis.UniversalOptions{Addrs: []string{server.Addr}, ContextTimeoutEnabled: true}
		if change != nil {
			change(opts)
		}
		m := &pacedMember{client: redisClient(t, opts, patient)}
		var err error
		if m.backend, err = redislimit.New(m.client, redislimit.Options{Timeout: 300 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(&m.log, nil))}); err != nil {
			t.Fatal(err)
		}
		m.limiter = &politeness.Limiter{Delay: pacedInterval, Shared: recorded{m.backend, func(_ string, slot time.Time, own bool) {
			mu.Lock()
			defer mu.Unlock()
			noted = append(noted, chaosRecord{Slot: slot.UnixNano(), Own: own})
		}}}
		members = append(members, m)
		wg.Go(func() {
			for ctx.Err() == nil {
				if g, err := m.limiter.Acquire(ctx, &url.URL{Host: "shop.example"}); err == nil {
					g.Done(politeness.Outcome{Status: 200})
				} else if ctx.Err() == nil {
					time.Sleep(pacedInterval / 2)
				}
			}
		})
	}
	waitFor(t, "they do not meet", func() bool {
		return !slices.ContainsFunc(members, func(m *pacedMember) bool { return m.backend.Stats().Members < len(members) })
	})
	time.Sleep(5 * time.Second)
	mu.Lock()
	noted = nil
	mu.Unlock()
	return members, func() []chaosRecord {
		mu.Lock()
		defer mu.Unlock()
		return slices.SortedFunc(slices.Values(noted), func(a, b chaosRecord) int { return cmp.Compare(a.Slot, b.Slot) })
	}
}

// waitFor waits for what a busy machine may take its time to do.
func waitFor(t *testing.T, complaint string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(complaint)
		}
	}
}

// Whatever happens to Redis, the members go on, no two slots are closer than the interval, and what happened is said
// once.
func TestRedisLimitWhenRedisIsAway(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	for name, tt := range map[string]struct {
		trouble, heal func(t *testing.T, server *redisserver.Server, members []*pacedMember)
		change        func(*redis.UniversalOptions)
	}{
		"killed": {
			trouble: func(t *testing.T, server *redisserver.Server, _ []*pacedMember) { server.Kill() },
			heal:    func(t *testing.T, server *redisserver.Server, _ []*pacedMember) { server.Restart() },
		},
		"stopped": {
			trouble: func(t *testing.T, server *redisserver.Server, _ []*pacedMember) { server.Signal(sigstop) },
			heal:    func(t *testing.T, server *redisserver.Server, _ []*pacedMember) { server.Signal(sigcont) },
		},
		"slow": {
			trouble: func(t *testing.T, server *redisserver.Server, _ []*pacedMember) {
				redisCommand(t, server, "client", "pause", "4000", "all")
			},
			heal: func(t *testing.T, server *redisserver.Server, _ []*pacedMember) {},
		},
		"read-only": {
			trouble: func(t *testing.T, server *redisserver.Server, _ []*pacedMember) {
				redisCommand(t, server, "config", "set", "replica-serve-stale-data", "yes")
				redisCommand(t, server, "replicaof", "127.0.0.1", "1")
			},
			heal: func(t *testing.T, server *redisserver.Server, _ []*pacedMember) {
				redisCommand(t, server, "replicaof", "no", "one")
			},
		},
		"out of memory": {
			trouble: func(t *testing.T, server *redisserver.Server, _ []*pacedMember) {
				redisCommand(t, server, "config", "set", "maxmemory", "1")
			},
			heal: func(t *testing.T, server *redisserver.Server, _ []*pacedMember) {
				redisCommand(t, server, "config", "set", "maxmemory", "0")
			},
		},
		"a disk that is full": {
			trouble: func(t *testing.T, server *redisserver.Server, _ []*pacedMember) {
				redisCommand(t, server, "replicaof", "no", "one")
				redisCommand(t, server, "config", "set", "min-replicas-to-write", "1") // NOREPLICAS, as MISCONF would
			},
			heal: func(t *testing.T, server *redisserver.Server, _ []*pacedMember) {
				redisCommand(t, server, "config", "set", "min-replicas-to-write", "0")
			},
		},
		"no connection left": {
			change: func(opts *redis.UniversalOptions) { opts.PoolSize, opts.PoolTimeout = 2, 50*time.Millisecond },
			trouble: func(t *testing.T, _ *redisserver.Server, members []*pacedMember) {
				for _, m := range members {
					for len(m.held) < 2 {
						conn := m.client.(*redis.Client).Conn()
						if conn.Ping(t.Context()).Err() == nil { // it has got one
							m.held = append(m.held, conn)
						}
					}
				}
			},
			heal: func(_ *testing.T, _ *redisserver.Server, members []*pacedMember) {
				for _, m := range members {
					for _, conn := range m.held {
						conn.Close()
					}
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redisserver.Start(t)
			members, slots := pacedFleet(t, server, tt.change)
			tt.trouble(t, server, members)
			for i, m := range members {
				before := m.backend.Stats().Own
				waitFor(t, fmt.Sprintf("member %d does not go on on its own", i), func() bool { return m.backend.Stats().Own >= before+2 })
			}
			away := len(slots())
			tt.heal(t, server, members)
			for i, m := range members {
				before := m.backend.Stats().Slots
				waitFor(t, fmt.Sprintf("member %d does not return", i), func() bool { s := m.backend.Stats(); return !s.Away && s.Slots > before })
			}
			time.Sleep(time.Second)
			noted := slots()
			if away == len(noted) {
				t.Error("no request since Redis was well again")
			}
			for i := 1; i < len(noted); i++ {
				if gap := time.Duration(noted[i].Slot - noted[i-1].Slot); gap < pacedInterval-clockError {
					t.Errorf("slots %d and %d of %d are %v apart (own: %v, %v)", i-1, i, len(noted), gap, noted[i-1].Own, noted[i].Own)
				}
			}
			for i, m := range members {
				s := m.backend.Stats()
				t.Logf("member %d: %+v", i, s)
				if n := m.log.count("Redis is away"); uint64(n) != s.Lost || n == 0 {
					t.Errorf("lost %d times, and said so %d times", s.Lost, n)
				}
				if n := m.log.count("Redis has the say"); uint64(n) != s.Back {
					t.Errorf("back %d times, and said so %d times", s.Back, n)
				}
			}
		})
	}
}

// A Redis that has lost what it knew is noticed before anybody uses it.
func TestRedisLimitLostState(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	for name, tt := range map[string]struct {
		trouble func(t *testing.T, server *redisserver.Server)
		epochs  uint64
	}{
		"flushed": {func(t *testing.T, server *redisserver.Server) { redisCommand(t, server, "flushall") }, 1},
		"scripts flushed": {func(t *testing.T, server *redisserver.Server) {
			redisCommand(t, server, "script", "flush")
		}, 0},
		"restarted empty": {func(t *testing.T, server *redisserver.Server) { server.Kill(); server.Restart() }, 1},
		"a key evicted": {func(t *testing.T, server *redisserver.Server) {
			redisCommand(t, server, "config", "set", "maxmemory-policy", "allkeys-random")
			redisCommand(t, server, "config", "set", "maxmemory", "1")
			time.Sleep(50 * time.Millisecond)
			redisCommand(t, server, "config", "set", "maxmemory", "0")
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redisserver.Start(t)
			members, slots := pacedFleet(t, server, nil)
			before := members[0].backend.Stats().Epochs
			tt.trouble(t, server)
			time.Sleep(4 * time.Second)
			for i, m := range members {
				waitFor(t, fmt.Sprintf("member %d does not notice, or does not return", i), func() bool {
					s := m.backend.Stats()
					return !s.Away && s.Slots > 0 && (i > 0 || tt.epochs == 0 || s.Epochs > before)
				})
			}
			noted := slots()
			for i := 1; i < len(noted); i++ {
				if gap := time.Duration(noted[i].Slot - noted[i-1].Slot); gap < pacedInterval-clockError && name != "a key evicted" {
					t.Errorf("slots %d and %d of %d are %v apart (own: %v, %v)", i-1, i, len(noted), gap, noted[i-1].Own, noted[i].Own)
				}
			}
			for i, m := range members {
				t.Logf("member %d: %+v", i, m.backend.Stats())
			}
		})
	}
}

// Where only some members are cut off from Redis, they and the others do not know of each other. How much more a host is
// asked then is bounded: by the slots of those that are cut off.
func TestRedisLimitSomeMembersCutOff(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	t.Parallel()
	server := redisserver.Start(t)
	var cut atomic.Bool
	first := true
	members, slots := pacedFleet(t, server, func(opts *redis.UniversalOptions) {
		if !first {
			return
		}
		first = false
		opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if cut.Load() {
				return nil, syscall.ENETUNREACH
			}
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
	})
	own := members[0].backend.Stats().Own
	cut.Store(true)
	redisCommand(t, server, "client", "kill", "type", "normal")
	waitFor(t, "the one that is cut off does not go on", func() bool { return members[0].backend.Stats().Own > own })
	from := len(slots())
	began := time.Now()
	time.Sleep(4 * time.Second)
	noted := slots()[from:]
	took := time.Since(began)
	alone, closest := 0, time.Hour
	for i, s := range noted {
		if s.Own {
			alone++
		}
		if i > 0 {
			closest = min(closest, time.Duration(s.Slot-noted[i-1].Slot))
		}
	}
	ideal := took.Seconds() / pacedInterval.Seconds()
	t.Logf("1 of 2 members cut off: %.2f times the pace (%d starts, %d by own slots), the closest %v apart",
		float64(len(noted))/ideal, len(noted), alone, closest)
	if alone == 0 || alone == len(noted) {
		t.Errorf("%d of %d slots are own ones", alone, len(noted))
	}
	if most := 1.5*ideal + 2; float64(len(noted)) > most {
		t.Errorf("%d starts in %v, want at most %.0f", len(noted), took, most)
	}
}

// With Stop, a Redis that is away ends the crawl until it is back, at no cost to each request.
func TestRedisLimitStop(t *testing.T) {
	server := redisserver.Start(t)
	oldFleet(t, server, "courtesy")
	l := &politeness.Limiter{Delay: time.Millisecond, Shared: openPace(t, server, redislimit.Options{Stop: true})}
	acquire := func() error {
		g, err := l.Acquire(t.Context(), &url.URL{Host: "shop.example"})
		if err == nil {
			g.Done(politeness.Outcome{Status: 200})
		}
		return err
	}
	waitFor(t, "it does not begin", func() bool { return acquire() == nil }) // as a busy machine may not with Redis's first answer
	server.Signal(sigstop)
	began := time.Now()
	for i := range 1000 {
		err := acquire()
		if _, ok := errors.AsType[*redislimit.AwayError](err); !ok {
			t.Fatalf("request %d: %v, want an *AwayError", i, err)
		}
		if _, ok := errors.AsType[*politeness.DelayError](err); !ok {
			t.Fatalf("%v is no DelayError", err)
		}
	}
	t.Logf("1000 requests while Redis was stopped: %v", time.Since(began))
	if took := time.Since(began); took > 50*time.Second {
		t.Errorf("they took %v, which is no less than Options.Timeout each", took)
	}
	server.Signal(sigcont)
	waitFor(t, "it does not return", func() bool { return acquire() == nil })
}

// The commands that the package's doc lists are enough.
func TestRedisLimitNeedsFewRights(t *testing.T) {
	server := redisserver.Start(t)
	oldFleet(t, server, "mybot")
	redisCommand(t, server, append([]any{"acl", "setuser", "bot", "on", ">hunter2", "~{mybot}*"},
		"+evalsha", "+eval", "+script|load", "+time", "+info", "+get", "+mget", "+set", "+del", "+pttl",
		"+hset", "+hgetall", "+hdel", "+pexpire")...)
	var log lockedBuffer
	open := func(password string) *redislimit.Backend {
		client := redisClient(t, &redis.UniversalOptions{
			Addrs: []string{server.Addr}, Username: "bot", Password: password, DisableIdentity: true, ContextTimeoutEnabled: true,
		}, patient)
		b, err := redislimit.New(client, redislimit.Options{Namespace: "mybot", Timeout: patient, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	// Each of the script's parts: a slot, one that is waited for and looked at, a lease, a pause, one given back.
	b := open("hunter2")
	terms := politeness.Terms{Delay: pacedInterval, Pace: pacedInterval, Concurrency: 1, Lease: time.Minute, MaxWait: time.Hour}
	for range 2 {
		s, err := b.Take(t.Context(), "shop.example", terms)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(s.At()))
		s.Claim(t.Context())
		time.Sleep(pacedInterval * 3 / 4)
		s.Free()
	}
	s, err := b.Take(t.Context(), "shop.example", terms)
	if err != nil {
		t.Fatal(err)
	}
	s.Free()
	b.Pause("shop.example", time.Second)
	s, err = b.Take(t.Context(), "other.example", terms)
	if err != nil {
		t.Fatal(err)
	}
	s.Free() // gives back the only thing known of it
	time.Sleep(100 * time.Millisecond)
	if s := b.Stats(); s.Slots == 0 || s.Lost > 0 {
		t.Errorf("%+v", s)
	}
	admin := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
	if denied := admin.Do(t.Context(), "acl", "log").Val(); fmt.Sprint(denied) != "[]" {
		t.Errorf("denied: %v", denied)
	}
	if stats := admin.Info(t.Context(), "errorstats").Val(); strings.Contains(stats, "NOPERM") {
		t.Error(stats)
	}
	// A wrong password is in no error and no log.
	b, err = open("not-the-one"), nil
	for err == nil { // at first it may be a hiccup
		_, err = b.Take(t.Context(), "shop.example", terms)
	}
	if strings.Contains(err.Error(), "the-one") || log.count("the-one") > 0 || log.count("hunter2") > 0 {
		t.Errorf("%v\n%s", err, log.String())
	}
}
