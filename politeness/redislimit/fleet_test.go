package redislimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/integration_test/redisserver"
	"github.com/goodbots/courtesy/politeness"
)

const (
	host       = "shop.example" // of most requests
	shortDelay = 100 * time.Millisecond
	shortLease = 5 * time.Second
	keyPrefix  = "{test}"               // of all keys and channels in Redis
	quick      = 500 * time.Millisecond // the time allowed for a few ms of work on a busy machine
)

var ok200 = politeness.Outcome{Status: http.StatusOK}

// tooMany returns the outcome of a request whose response is a 429.
func tooMany(retryAfter string) politeness.Outcome {
	return politeness.Outcome{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {retryAfter}}}
}

// quota returns the outcome of a request whose response allows a number of
// further requests until the quota is renewed, in a number of seconds. It does
// not change the back-off.
func quota(remaining, seconds string) politeness.Outcome {
	return politeness.Outcome{Status: http.StatusOK, Header: http.Header{
		"X-Ratelimit-Remaining": {remaining},
		"X-Ratelimit-Reset":     {seconds},
	}}
}

// twoAtOnce returns a Limiter that gives a host back while a request is in
// flight.
func twoAtOnce() *politeness.Limiter {
	return &politeness.Limiter{Delay: shortDelay, Concurrency: 2}
}

func page(host string) *url.URL { return &url.URL{Scheme: "http", Host: host, Path: "/"} }

// A testFleet is a fleet whose members run in this process. It records the
// start of each request. When the test ends, it closes all members, and checks
// that no two requests to a host started too soon after each other.
//
// The checks use the times at which the Limiters decide to start requests. All
// Limiters use this process's clock, so the times are right even if a busy
// machine runs a goroutine late. If a test limits how long something may take,
// the limit should be extended by stalled().
type testFleet struct {
	*testing.T
	sync.WaitGroup                 // the goroutines that make requests
	ctx            context.Context // of requests; ends when these goroutines have ended
	endRequests    context.CancelFunc
	memory         *memory // instead of Redis; nil if the members use Redis
	options        Options // of the members that join
	addr           string  // of Redis
	clients        []*redis.Client
	members        []*testMember
	onStart        func(start)  // is called with each start; may be nil
	stalls         atomic.Int64 // how long the machine has stood still, in nanoseconds

	mu     sync.Mutex
	starts []start
}

// A start is the start of a request.
type start struct {
	at     time.Time
	host   string
	member int
}

// newTestFleet returns a fleet without members. Its members use a memory
// instead of Redis. The test should run in fake time.
func newTestFleet(t *testing.T) *testFleet {
	f := &testFleet{T: t, memory: new(memory), options: Options{Logger: slog.New(slog.DiscardHandler)}}
	f.ctx, f.endRequests = context.WithCancel(context.Background())
	t.Cleanup(f.close)
	return f
}

// newRedisTestFleet returns a fleet without members that use a Redis of their
// own, in real time.
func newRedisTestFleet(t *testing.T) *testFleet {
	f := &testFleet{
		T:       t,
		addr:    redisserver.Start(t).Addr,
		options: Options{Logger: slog.New(slog.DiscardHandler)},
	}
	f.ctx, f.endRequests = context.WithCancel(context.Background())
	stop := f.measureStalls()
	t.Cleanup(func() {
		f.close()
		stop()
		for _, client := range f.clients {
			client.Close()
		}
	})
	return f
}

// runFleetTest runs a test twice: in memory and in fake time, and then in a
// real Redis and in real time. Between the two, it calls t.Parallel. The
// members' Lease is shortLease.
func runFleetTest(t *testing.T, test func(*testFleet)) {
	t.Run("memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newTestFleet(t)
			f.options.Lease = shortLease
			test(f)
		})
	})
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		f := newRedisTestFleet(t)
		f.options.Lease = shortLease
		test(f)
	})
}

// isReal reports whether the test runs in real time.
func (f *testFleet) isReal() bool { return f.memory == nil }

// close stops all members, and waits until they have ended. Then it checks the
// intervals between all requests to a host.
func (f *testFleet) close() {
	for _, m := range f.members {
		m.stopCrawling()
	}
	f.Wait()
	f.endRequests()
	for _, m := range f.members {
		m.Close()
	}
	f.checkIntervals(f.shortestDelay())
}

// A testMember is a member of a testFleet, with the Limiter of its process.
type testMember struct {
	*Fleet
	f       *testFleet
	link    *link // nil if the member uses Redis
	number  int   // from 0
	limiter *politeness.Limiter

	crawling     context.Context // of crawl
	stopCrawling context.CancelFunc
	ended        bool // killed or closed

	handedOver, lost atomic.Int32 // how many times the Limiter's Observer was called
}

// newFleet returns the Fleet of a new member. With Redis, it has a client of
// its own.
func (f *testFleet) newFleet(options Options) *Fleet {
	f.Helper()
	var fleet *Fleet
	var err error
	if f.isReal() {
		client := redis.NewClient(&redis.Options{Addr: f.addr})
		f.clients = append(f.clients, client)
		options.Namespace = "test"
		fleet, err = New(client, options)
	} else {
		fleet, err = newFleet(&link{memory: f.memory}, keyPrefix, options)
	}
	if err != nil {
		f.Fatal(err)
	}
	return fleet
}

// command runs a command in Redis and returns the reply.
func (f *testFleet) command(args ...any) any {
	f.Helper()
	reply, err := f.clients[0].Do(f.ctx, args...).Result()
	if err != nil {
		f.Fatal(err)
	}
	return reply
}

// failOver ends the epoch without a loss of data.
func (f *testFleet) failOver() {
	if f.isReal() {
		f.command("replicaof", "127.0.0.1", "1") // changes the master_replid
		f.command("replicaof", "no", "one")
		return
	}
	f.memory.promote(f.memory.snapshot())
}

// join adds a member with the given Limiter.
func (f *testFleet) join(l *politeness.Limiter) *testMember {
	f.Helper()
	m := &testMember{Fleet: f.newFleet(f.options), f: f, number: len(f.members), limiter: l}
	m.link, _ = m.engine.(*link)
	l.Fleet = m.Fleet
	l.Observer = &politeness.Observer{
		HandedOver: func(context.Context, politeness.Event) { m.handedOver.Add(1) },
		Lost:       func(context.Context, politeness.Event) { m.lost.Add(1) },
	}
	m.crawling, m.stopCrawling = context.WithCancel(f.ctx)
	f.members = append(f.members, m)
	return m
}

// withVersion makes the member one of another version.
func (m *testMember) withVersion(version int) *testMember {
	m.version = version
	return m
}

// recordLog makes the member write its log to the result.
func (m *testMember) recordLog() *strings.Builder {
	var log strings.Builder
	m.log = slog.New(slog.NewTextHandler(&log, nil))
	return &log
}

// cutOff ends the member's connection to the memory until reconnect.
func (m *testMember) cutOff() { m.link.setCut(true) }

func (m *testMember) reconnect() { m.link.setCut(false) }

// kill cuts the member off forever, as if kill -9 had ended its process.
func (m *testMember) kill() {
	m.ended = true
	m.cutOff()
}

// hasSession reports whether the member's goroutine runs, which it does as long
// as the member has a session.
func (m *testMember) hasSession() bool {
	m.Fleet.mu.Lock()
	defer m.Fleet.mu.Unlock()
	return m.Fleet.done != nil
}

// acquire waits for the start of a request, and records it.
func (m *testMember) acquire(ctx context.Context, host string) (*politeness.Grant, error) {
	ctx = politeness.WithTrace(ctx, &politeness.Trace{Granted: func(at time.Time) {
		s := start{at, host, m.number}
		m.f.mu.Lock()
		m.f.starts = append(m.f.starts, s)
		m.f.mu.Unlock()
		if m.f.onStart != nil {
			m.f.onStart(s)
		}
	}})
	return m.limiter.Acquire(ctx, page(host))
}

// begin starts a request, which is in flight until Done. The test fails if the
// request does not start within a minute.
func (m *testMember) begin(ctx context.Context, host string) *politeness.Grant {
	m.f.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	g, err := m.acquire(ctx, host)
	if err != nil {
		m.f.Errorf("member %d: a request to %s: error %v, want a start within a minute", m.number, host, err)
	}
	return g
}

// request makes a request that ends with the given outcome at once. The test
// fails if the request does not start within a minute.
func (m *testMember) request(host string, o politeness.Outcome) {
	m.f.Helper()
	m.begin(m.f.ctx, host).Done(o)
}

// tryRequest makes a request that waits for at most maxWait, and ends with the
// given outcome at once. It returns how long the request has waited.
func (m *testMember) tryRequest(host string, maxWait time.Duration, o politeness.Outcome) (waited time.Duration, err error) {
	ctx, cancel := context.WithTimeout(m.f.ctx, maxWait)
	defer cancel()
	began := time.Now()
	g, err := m.acquire(ctx, host)
	g.Done(o)
	return time.Since(began), err
}

// mustStartBetween fails the test unless the member's next request starts
// between least and most after the time paused, at which the host was paused.
func (m *testMember) mustStartBetween(paused time.Time, least, most time.Duration) {
	m.f.Helper()
	if _, err := m.tryRequest(host, most+10*time.Minute, ok200); err != nil {
		m.f.Fatal(err)
	}
	if after := time.Since(paused); after < least || after > most {
		m.f.Errorf("member %d starts a request %v after the 429, want %v to %v", m.number, after, least, most)
	}
}

// mustNotStart fails the test if a request starts within maxWait, or if the
// error's estimated start is earlier than in the duration "until".
func (m *testMember) mustNotStart(maxWait, until time.Duration) {
	m.f.Helper()
	began := time.Now()
	waited, err := m.tryRequest(host, maxWait, ok200)
	if err == nil {
		m.f.Errorf("member %d starts a request after %v, want none within %v", m.number, waited, maxWait)
		return
	}
	delay, is := errors.AsType[*politeness.DelayError](err)
	if !is || delay.Until.Before(began.Add(until)) {
		m.f.Errorf("member %d: error %v, want a DelayError with a start in %v or later", m.number, err, until)
	}
}

// requestMany starts workers, each of which makes n requests, or fewer if the
// test fails. Wait waits for them.
func (m *testMember) requestMany(workers, n int) {
	for range workers {
		m.f.Go(func() {
			for i := 0; i < n && !m.f.Failed(); i++ {
				m.request(host, ok200)
			}
		})
	}
}

// crawl starts a goroutine that makes requests until stopCrawling.
func (m *testMember) crawl() {
	m.f.Go(func() {
		for m.crawling.Err() == nil {
			if g, err := m.acquire(m.crawling, host); err == nil {
				g.Done(ok200)
			}
		}
	})
}

// exhaustBudget makes requests until the host's Budget is spent, and returns
// how many have started.
func (m *testMember) exhaustBudget(maxWait time.Duration) (n int) {
	for {
		_, err := m.tryRequest(host, maxWait, ok200)
		if err == nil {
			n++
			continue
		}
		delay, is := errors.AsType[*politeness.DelayError](err)
		if !is || delay.Reason != politeness.ReasonBudget || time.Until(delay.Until) > 24*time.Hour {
			m.f.Errorf("member %d: error %v, want a DelayError with Reason %q for at most 24h", m.number, err, politeness.ReasonBudget)
		}
		return n
	}
}

// removeUnneededHosts waits until the fleet no longer needs to store the host.
// Then it sends requests to other hosts, because each call also removes
// unneeded hosts from Redis.
func (m *testMember) removeUnneededHosts() {
	m.f.Helper()
	time.Sleep(4 * time.Second)
	for i := range 20 {
		m.request(fmt.Sprintf("h%d.example", i), ok200)
	}
}

// mustBecomeIdle waits until the member has no host and no request. The test
// fails if this takes more than 20 s.
func (m *testMember) mustBecomeIdle() {
	m.f.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(shortDelay) {
		s := m.limiter.Stats()
		if !m.hasSession() && s.Waiting == 0 && s.InFlight == 0 {
			return
		}
		if time.Now().After(deadline) {
			m.f.Errorf("member %d still has a session or requests after 20s, want neither: %+v", m.number, s)
			return
		}
	}
}

// startsSince returns how many requests of the member have started since a
// time, and the longest time without a start.
func (m *testMember) startsSince(from time.Time) (n int, silence time.Duration) {
	last := from
	for _, s := range m.f.sortedStarts() {
		if s.member != m.number || !s.at.After(from) {
			continue
		}
		n++
		silence = max(silence, s.at.Sub(last))
		last = s.at
	}
	return n, max(silence, time.Since(last))
}

// sortedStarts returns the starts so far, in the order of their times.
func (f *testFleet) sortedStarts() []start {
	f.mu.Lock()
	defer f.mu.Unlock()
	starts := slices.Clone(f.starts)
	slices.SortStableFunc(starts, func(a, b start) int { return a.at.Compare(b.at) })
	return starts
}

// gap returns the time from start i to start j.
func (f *testFleet) gap(i, j int) time.Duration {
	f.Helper()
	starts := f.sortedStarts()
	if len(starts) <= max(i, j) {
		f.Fatalf("%d requests have started, want more than %d", len(starts), max(i, j))
	}
	return starts[j].at.Sub(starts[i].at)
}

// checkIntervals fails the test if two requests to a host have started less
// than the given interval after each other. It returns the longest time between
// two such requests.
func (f *testFleet) checkIntervals(interval time.Duration) (longest time.Duration) {
	f.Helper()
	latest := make(map[string]start)
	for _, s := range f.sortedStarts() {
		if before, ok := latest[s.host]; ok {
			gap := s.at.Sub(before.at)
			longest = max(longest, gap)
			if gap < interval-f.tolerance() {
				f.Errorf("%s: member %d starts a request at %v, %v after one of member %d, want %v at least",
					s.host, s.member, s.at.Format("15:04:05.000"), gap, before.member, interval)
			}
		}
		latest[s.host] = s
	}
	return longest
}

// shortestDelay returns the shortest Delay of all Limiters.
func (f *testFleet) shortestDelay() time.Duration {
	shortest := time.Duration(0)
	for i, m := range f.members {
		delay := m.limiter.Delay
		switch {
		case delay == 0:
			delay = politeness.DefaultDelay
		case delay < 0:
			delay = 0
		}
		if i == 0 || delay < shortest {
			shortest = delay
		}
	}
	return shortest
}

// tolerance returns how much too short an interval may be measured.
func (f *testFleet) tolerance() time.Duration {
	if f.isReal() {
		return time.Millisecond
	}
	return 0
}

// calls returns how many calls the memory has received.
func (f *testFleet) calls() int {
	f.memory.mu.Lock()
	defer f.memory.mu.Unlock()
	return f.memory.calls
}

// measureStalls starts a goroutine that sleeps again and again. If it wakes too
// late, it adds the lateness to f.stalls. The result ends the goroutine.
func (f *testFleet) measureStalls() (stop func()) {
	const tick = 5 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			before := time.Now()
			time.Sleep(tick)
			if late := time.Since(before) - tick; late > tick {
				f.stalls.Add(int64(late))
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// stalled returns how long the machine has stood still in all. In fake time it
// returns zero.
func (f *testFleet) stalled() time.Duration { return time.Duration(f.stalls.Load()) }

// skipAtMidnight skips the test if the UTC day ends within two minutes. The
// test would fail if the day changed while it runs.
func (f *testFleet) skipAtMidnight() {
	now := time.Now().UTC()
	if now.Add(2*time.Minute).YearDay() != now.YearDay() {
		f.Skip("a Budget's UTC day is about to end")
	}
}
