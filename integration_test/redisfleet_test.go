package integration

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
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

// These tests check fleets without failures, with the round-trip times of real
// networks.

// through makes a client connect to Redis through a proxy that delays each
// message for half of the round-trip time.
func through(t *testing.T, server *redisserver.Server, roundTrip time.Duration) func(*redis.UniversalOptions) {
	p := startProxy(t, server.Addr)
	p.set(func(p *proxy) { p.delay = roundTrip / 2 })
	return func(o *redis.UniversalOptions) { o.Addrs = []string{p.addr} }
}

// starts records the times at which members start requests to one host.
type starts struct {
	mu sync.Mutex
	at []time.Time
	by []int

	stalls *metronome // the times in which this process could not run; nil means unknown

	inFlight, most atomic.Int32
}

// crawl makes requests to host 0 until the context ends, with the given number
// of workers. The function takes returns the time until the response to a
// request.
func (s *starts) crawl(ctx context.Context, wg *sync.WaitGroup, l *politeness.Limiter, member, workers int, takes func() time.Duration) {
	traced := politeness.WithTrace(ctx, &politeness.Trace{Granted: func(at time.Time) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.at, s.by = append(s.at, at), append(s.by, member)
		if n := s.inFlight.Add(1); n > s.most.Load() {
			s.most.Store(n)
		}
	}})
	for range workers {
		wg.Go(func() {
			for ctx.Err() == nil {
				if g, err := l.Acquire(traced, numberedHost(0)); err == nil {
					time.Sleep(takes())
					s.inFlight.Add(-1)
					g.Done(ok200)
				}
			}
		})
	}
}

// between counts the starts in a period, of one member or, if member is -1, of
// all. silence is the longest time without a start of any member, less the time
// in which this process could not run.
func (s *starts) between(from, to time.Time, member int) (n int, silence time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := from
	rested := func(until time.Time) time.Duration {
		stood := time.Duration(0)
		if s.stalls != nil {
			stood = s.stalls.explain(last.UnixNano(), until.UnixNano())
		}
		return until.Sub(last) - stood
	}
	for i, at := range s.at {
		if at.After(from) && at.Before(to) {
			silence, last = max(silence, rested(at)), at
			if member < 0 || s.by[i] == member {
				n++
			}
		}
	}
	return n, max(silence, rested(to))
}

func instantly() time.Duration { return 0 }

// Requests to a host continue when a member joins, and after a FLUSHALL,
// because a member repeats its request for the host once its subscription is
// confirmed. The new member also gets the host soon.
func TestRedisLimitAMemberComes(t *testing.T) {
	t.Parallel()
	testmain.SkipIfOverloaded(t)
	server := redisserver.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	s := starts{stalls: startMetronome(t)}
	join := func(member int) {
		l := &politeness.Limiter{Delay: 100 * time.Millisecond, Fleet: joinFleet(t, server, redislimit.Options{}, through(t, server, 50*time.Millisecond))}
		s.crawl(ctx, &wg, l, member, 2, instantly)
	}
	join(0)
	time.Sleep(6 * time.Second)
	from := time.Now()
	join(1)
	all, comers := 0, 0
	for range 3 { // a busy machine may delay the messages of the new member
		span := time.Now()
		time.Sleep(4 * time.Second)
		all, _ = s.between(span, time.Now(), -1)
		comers, _ = s.between(span, time.Now(), 1)
		if comers*5 >= all {
			break
		}
	}
	redisCommand(t, server, "flushall")
	flushed := time.Now()
	time.Sleep(4 * time.Second)
	to := time.Now()
	cancel()
	wg.Wait()
	_, silence := s.between(from, flushed, -1)
	_, later := s.between(flushed, to, -1)
	t.Logf("%d starts, %d of them by the member that joined; no request started for %v when it joined, and for %v after the flush", all, comers, silence, later)
	if silence > 500*time.Millisecond {
		t.Errorf("no request started for %v when a member joined, want at most 500ms", silence)
	}
	if later > 700*time.Millisecond {
		t.Errorf("no request started for %v after a FLUSHALL, want at most 700ms", later)
	}
	if comers*5 < all {
		t.Errorf("the member that joined started %d of %d requests, want at least a fifth", comers, all)
	}
}

// With a Concurrency of 4 and responses after 1 s, a fleet of 8 uses the slots
// of a host like a single process, and never has more requests in flight. On a
// quiet machine it makes at least nine tenths of the possible requests. A busy
// machine delays the messages of the fleet, so half of the requests are
// sufficient there.
func TestRedisLimitSlowAnswers(t *testing.T) {
	t.Parallel()
	testmain.SkipIfOverloaded(t)
	server := redisserver.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var alone, fleet starts
	second := func() time.Duration { return time.Second }
	alone.crawl(ctx, &wg, &politeness.Limiter{Delay: 100 * time.Millisecond, Concurrency: 4}, 0, 5, second)
	for member := range 8 {
		l := &politeness.Limiter{Delay: 100 * time.Millisecond, Concurrency: 4, Fleet: joinFleet(t, server, redislimit.Options{}, through(t, server, 50*time.Millisecond))}
		fleet.crawl(ctx, &wg, l, member, 5, second)
	}
	time.Sleep(5 * time.Second)
	enough := 0.5
	if os.Getenv("COURTESY_CHAOS") != "" {
		enough = 0.9
	}
	one, eight := 0, 0
	for range 3 { // a busy machine may delay the fleet's messages in one of the spans
		from := time.Now()
		time.Sleep(20 * time.Second)
		to := time.Now()
		one, _ = alone.between(from, to, -1)
		eight, _ = fleet.between(from, to, -1)
		t.Logf("one process: %d starts; a fleet of 8: %d starts, at most %d in flight", one, eight, fleet.most.Load())
		if float64(eight) >= enough*float64(one) {
			break
		}
	}
	cancel()
	wg.Wait()
	if float64(eight) < enough*float64(one) {
		t.Errorf("a fleet of 8 makes %d requests, want at least %v of the %d of one process", eight, enough, one)
	}
	if n := fleet.most.Load(); n > 4 {
		t.Errorf("%d requests were in flight at a time, want at most 4", n)
	}
}

// While the body of one response stays open, its request occupies one of the
// two slots. The host can still move between the members, which use the other
// slot.
func TestRedisLimitOpenBody(t *testing.T) {
	t.Parallel()
	testmain.SkipIfOverloaded(t)
	server := redisserver.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var s starts
	var first sync.Once
	takes := func() time.Duration {
		d := time.Duration(0)
		first.Do(func() { d = 12 * time.Second })
		return d
	}
	for member := range 3 {
		l := &politeness.Limiter{Delay: 250 * time.Millisecond, Concurrency: 2, Fleet: joinFleet(t, server, redislimit.Options{}, through(t, server, 50*time.Millisecond))}
		s.crawl(ctx, &wg, l, member, 2, takes)
	}
	waitFor(t, "no request starts", func() bool { return s.most.Load() > 0 })
	stalls := startMetronome(t)
	from := time.Now()
	time.Sleep(11 * time.Second)
	to := time.Now()
	cancel()
	wg.Wait()
	n, _ := s.between(from, to, -1)
	busy := stalls.busy(from.UnixNano(), to.UnixNano())
	t.Logf("%d requests started in 11 s, of 44 that the Delay allows; the machine was busy: %v", n, busy)
	if n < 22 && !busy {
		t.Errorf("%d requests started while the body of one response was open, want at least 22", n)
	}
}

// A pause ends at the announced time, even if its process has ended and the
// others are busy with other hosts: a process that retries at DelayError.Until
// gets the host.
func TestRedisLimitPauseEnds(t *testing.T) {
	t.Parallel()
	testmain.SkipIfOverloaded(t)
	server := redisserver.Start(t)
	for name, busy := range map[string]bool{"no other host": false, "another host is busy": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := redislimit.Options{Namespace: strings.ReplaceAll(name, " ", "-")}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if busy {
				l := &politeness.Limiter{Fleet: joinFleet(t, server, opts)}
				go func() {
					for ctx.Err() == nil {
						g, _ := l.Acquire(ctx, numberedHost(1))
						g.Done(ok200)
					}
				}()
			}
			var done time.Time // when the last visit ended; a pause begins then or later
			visit := func(timeout time.Duration, o politeness.Outcome) (*politeness.DelayError, bool) {
				f := joinFleet(t, server, opts)
				defer f.Close()
				short, cancel := context.WithTimeout(ctx, timeout)
				defer cancel()
				g, err := (&politeness.Limiter{Fleet: f}).Acquire(short, numberedHost(0))
				done = time.Now()
				g.Done(o)
				d, _ := errors.AsType[*politeness.DelayError](err)
				return d, err == nil
			}
			if _, ok := visit(time.Minute, politeness.Outcome{Status: 429, Header: http.Header{"Retry-After": {"12"}}}); !ok {
				t.Fatal("Acquire of the first visit returned an error, want a Grant")
			}
			end := done.Add(12 * time.Second)
			for time.Sleep(2 * time.Second); ; {
				d, ok := visit(3500*time.Millisecond, ok200)
				if ok {
					break
				}
				if d == nil || d.Until.After(end.Add(1500*time.Millisecond)) {
					t.Fatalf("Acquire during the pause returned the DelayError %v, want one whose Until is at most 1.5s after the end of the pause, %v", d, end)
				}
				time.Sleep(min(2*time.Second, time.Until(d.Until)))
			}
			if late := done.Sub(end); late < 0 || late > 2*time.Second {
				t.Errorf("the request was granted %v after the end of the pause, want 0s to 2s", late)
			}
		})
	}
}

// Every live session gets the host, including sessions whose ids differ by
// 65521. Each of four sessions makes at least 15 % of the requests.
func TestRedisLimitEqualPlaces(t *testing.T) {
	t.Parallel()
	testmain.SkipIfOverloaded(t)
	server := redisserver.Start(t)
	admin := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var s starts
	join := func(member int) {
		l := &politeness.Limiter{Delay: 50 * time.Millisecond, Fleet: joinFleet(t, server, redislimit.Options{})}
		warm(t, l)
		s.crawl(ctx, &wg, l, member, 2, instantly)
	}
	for member := range 3 {
		join(member)
	}
	admin.HIncrBy(ctx, "{courtesy}fleet", "sessions", 65521-3) // the next session has the id 65522
	join(3)
	from := time.Now()
	time.Sleep(30 * time.Second)
	to := time.Now()
	cancel()
	wg.Wait()
	all, _ := s.between(from, to, -1)
	for member := range 4 {
		n, _ := s.between(from, to, member)
		t.Logf("member %d has %d of %d starts", member, n, all)
		if float64(n) < 0.15*float64(all) {
			t.Errorf("member %d started %d of %d requests, want at least 15%%", member, n, all)
		}
	}
}

// Each key has a time to live, so that a fleet that has ended leaves no keys.
func TestRedisLimitKeysExpire(t *testing.T) {
	t.Parallel()
	testmain.SkipIfOverloaded(t)
	server := redisserver.Start(t)
	admin := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
	f := joinFleet(t, server, redislimit.Options{})
	l := &politeness.Limiter{Fleet: f, MaxCrawlDelay: 4 * time.Hour}
	g, err := l.Acquire(politeness.WithCrawlDelay(t.Context(), 3*time.Hour), numberedHost(0))
	if err != nil {
		t.Fatal(err)
	}
	g.Done(ok200)
	f.Close()
	keys := admin.Keys(t.Context(), "*").Val()
	if len(keys) == 0 {
		t.Error("after the last member has closed, Redis has no keys of the fleet, want the Crawl-delay kept")
	}
	for _, key := range keys {
		if ttl := admin.TTL(t.Context(), key).Val(); ttl < 2*time.Hour || ttl > 5*time.Hour {
			t.Errorf("the key %s expires in %v, want 2h to 5h, because the Crawl-delay is 3h", key, ttl)
		}
	}
}

// A field that cannot be read is removed, and the log contains its name. The
// fleet continues, including with the host of that field.
func TestRedisLimitUnreadableField(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	admin := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
	var log lockedBuffer
	l := &politeness.Limiter{Delay: 100 * time.Millisecond, Fleet: joinFleet(t, server, redislimit.Options{Lease: 5 * time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil))})}
	warm(t, l)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	s := starts{stalls: startMetronome(t)}
	s.crawl(ctx, &wg, l, 0, 2, instantly)
	waitFor(t, "the member has started no request to the other host", func() bool { return s.most.Load() > 0 })
	admin.HSet(ctx, "{courtesy}hosts", numberedHost(1).Host, "not msgpack")
	from := time.Now()
	short, stop := context.WithTimeout(ctx, 15*time.Second)
	defer stop()
	g, err := l.Acquire(short, numberedHost(1))
	if err != nil {
		t.Errorf("Acquire for the host of the field returned the error %v, want none", err)
	}
	g.Done(ok200)
	cancel()
	wg.Wait()
	s.mustGoOn(t, from)
	text := log.String()
	isSilent := strings.Contains(text, "does not answer") && !s.stalls.busy(from.UnixNano(), time.Now().UnixNano())
	if !strings.Contains(text, "host="+numberedHost(1).Host) || isSilent {
		t.Errorf("the log does not contain host=%s, or contains %q:\n%s", numberedHost(1).Host, "does not answer", text)
	}
}

// A primary becomes a replica, and then the primary again, as after a failover
// there and back. A new epoch begins, because the primary has its earlier state
// and the same run_id, but may lack data that another primary has stored since
// then.
func TestRedisLimitThereAndBack(t *testing.T) {
	t.Parallel()
	testmain.SkipIfOverloaded(t)
	server := redisserver.Start(t)
	admin := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
	l := &politeness.Limiter{Delay: 100 * time.Millisecond, Fleet: joinFleet(t, server, redislimit.Options{})}
	warm(t, l)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	s := starts{stalls: startMetronome(t)}
	s.crawl(ctx, &wg, l, 0, 1, instantly)
	from := time.Now()
	waitForNewEpoch(t, admin, "{courtesy}fleet", func() {
		redisCommand(t, server, "replicaof", "127.0.0.1", "1")
		redisCommand(t, server, "replicaof", "no", "one")
	})
	time.Sleep(3 * time.Second)
	cancel()
	wg.Wait()
	s.mustGoOn(t, from)
}

// waitForNewEpoch calls lose, and returns when a new epoch has begun in the
// fleet with this key.
func waitForNewEpoch(t *testing.T, admin redis.UniversalClient, key string, lose func()) {
	t.Helper()
	epoch := func() string { return admin.HGet(t.Context(), key, "epoch").Val() }
	before := epoch()
	lose()
	waitFor(t, "no new epoch has begun", func() bool {
		now := epoch()
		return now != before && now != ""
	})
}

// mustGoOn fails the test if no request has started for more than two seconds
// at some time after from.
func (s *starts) mustGoOn(t *testing.T, from time.Time) {
	t.Helper()
	if _, silence := s.between(from, time.Now(), -1); silence > 2*time.Second {
		t.Errorf("no request to the owned host started for %v, want at most 2s", silence)
	}
}

// Redis loses one of the fleet's keys, for example by eviction. A new epoch
// begins with the next heartbeat, and the requests to the owned host continue.
func TestRedisLimitOneKeyIsLost(t *testing.T) {
	t.Parallel()
	testmain.SkipIfOverloaded(t)
	server := redisserver.Start(t)
	for _, key := range []string{"fleet", "hosts", "sessions"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			admin := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
			opts := redislimit.Options{Namespace: "without-" + key}
			l := &politeness.Limiter{Delay: 100 * time.Millisecond, Fleet: joinFleet(t, server, opts)}
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			s := starts{stalls: startMetronome(t)}
			s.crawl(ctx, &wg, l, 0, 1, instantly)
			waitFor(t, "the member has started no request to the host", func() bool { return s.most.Load() > 0 })
			from := time.Now()
			prefix := "{" + opts.Namespace + "}"
			waitForNewEpoch(t, admin, prefix+"fleet", func() { admin.Del(t.Context(), prefix+key) })
			time.Sleep(3 * time.Second)
			cancel()
			wg.Wait()
			s.mustGoOn(t, from)
		})
	}
}
