package integration

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// chaos is the configuration of a member of the fleet. The member gets it
// through its environment.
type chaos struct {
	Member   int
	Hosts    int
	Interval time.Duration
	Lease    time.Duration
	Redis    string   // the path of a file with the address of Redis
	Cluster  []string // addresses of cluster nodes; if set, the field Redis is not used
	Sentinel []string // addresses of sentinels; if set, the field Redis is not used
}

const chaosEnv = "COURTESY_CHAOS_MEMBER"

func TestMain(m *testing.M) {
	redis.SetLogger(silent{}) // failures are not logged: the relevant ones are returned as errors
	if told := os.Getenv(chaosEnv); told != "" {
		var c chaos
		if err := json.Unmarshal([]byte(told), &c); err != nil {
			panic(err)
		}
		if err := c.crawl(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	testmain.Quiet()
	testmain.Parallel(48)
	os.Exit(runWithPrograms(m))
}

// crawl() runs a member of the fleet in a process of its own. For each host,
// the member starts one request after another, as fast as the Limiter allows.
// It prints each start, until its standard input ends.
func (c chaos) crawl() error {
	opts := &redis.UniversalOptions{Addrs: []string{"by-name"}, DialTimeout: time.Second, ReadTimeout: time.Second, ContextTimeoutEnabled: true}
	switch {
	case c.Cluster != nil:
		opts.Addrs, opts.IsClusterMode = c.Cluster, true
	case c.Sentinel != nil:
		opts.Addrs, opts.MasterName = c.Sentinel, "fleet"
	default:
		opts.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
			addr, err := os.ReadFile(c.Redis)
			if err != nil {
				return nil, err
			}
			return new(net.Dialer).DialContext(ctx, "tcp", string(addr))
		}
	}
	client := redis.NewUniversalClient(opts)
	defer client.Close()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("member", c.Member)
	fleet, err := redislimit.New(client, redislimit.Options{Lease: c.Lease, Logger: log})
	if err != nil {
		return err
	}
	limiter := &politeness.Limiter{Delay: c.Interval, Fleet: fleet, Logger: log}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for host := range c.Hosts {
		// Granted reports the start to the test. On a busy machine the report
		// may be late, but the time in it is right, because it comes from the
		// Limiter.
		traced := politeness.WithTrace(ctx, &politeness.Trace{Granted: func(at time.Time) {
			fmt.Printf("%d %d\n", host, at.UnixNano())
		}})
		wg.Go(func() {
			for ctx.Err() == nil {
				if g, err := limiter.Acquire(traced, chaosHost(host)); err == nil {
					g.Done(ok200)
				}
			}
		})
	}
	io.Copy(io.Discard, os.Stdin)
	cancel()
	wg.Wait()
	return fleet.Close()
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func chaosHost(i int) *url.URL {
	return &url.URL{Scheme: "http", Host: fmt.Sprintf("h%d.example", i)}
}

var ok200 = politeness.Outcome{Status: 200}

// A chaosStart is the start of a request. The field decided is when the member
// decided to start the request. The field arrived is when the test received the
// member's report.
type chaosStart struct {
	host, member     int
	decided, arrived int64 // Unix times in ns; all processes have the same clock
}

type chaosFleet struct {
	*testing.T
	config  chaos
	server  *redisserver.Server
	others  []*redisserver.Server // replicas or cluster nodes
	members []*chaosMember
	stalls  *metronome
	clock   string // the path of a file that shifts the server's clock, or ""

	mu     sync.Mutex
	starts []chaosStart
}

type chaosMember struct {
	cmd   *exec.Cmd
	stdin io.Closer
	proxy *proxy
	log   lockedBuffer
	done  chan struct{}
}

func newChaosFleet(t *testing.T) *chaosFleet {
	f := &chaosFleet{T: t, stalls: startMetronome(t)}
	f.config = chaos{Hosts: 4, Interval: 100 * time.Millisecond, Lease: 5 * time.Second}
	return f
}

func (f *chaosFleet) start() *chaosMember {
	f.Helper()
	c := f.config
	c.Member = len(f.members)
	m := &chaosMember{cmd: exec.Command(os.Args[0]), done: make(chan struct{})}
	if c.Cluster == nil && c.Sentinel == nil {
		m.proxy = startProxy(f.T, f.server.Addr)
		c.Redis = filepath.Join(f.TempDir(), "redis")
		if err := os.WriteFile(c.Redis, []byte(m.proxy.addr), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	told, err := json.Marshal(c)
	if err != nil {
		f.Fatal(err)
	}
	m.cmd.Env = append(os.Environ(), chaosEnv+"="+string(told))
	m.cmd.Stderr = &m.log
	if m.stdin, err = m.cmd.StdinPipe(); err != nil {
		f.Fatal(err)
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		f.Fatal(err)
	}
	if err := m.cmd.Start(); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { m.kill() })
	go func() {
		defer close(m.done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s := chaosStart{member: c.Member, arrived: time.Now().UnixNano()}
			if _, err := fmt.Sscan(lines.Text(), &s.host, &s.decided); err != nil {
				continue // the last line of a killed member may be incomplete
			}
			f.mu.Lock()
			f.starts = append(f.starts, s)
			f.mu.Unlock()
		}
	}()
	f.members = append(f.members, m)
	return m
}

func (m *chaosMember) kill() { m.end(os.Kill) }

// end sends a signal to a member, and waits until the member has ended. If sig
// is nil, end only closes the member's standard input, and the member releases
// its hosts and ends by itself.
func (m *chaosMember) end(sig os.Signal) {
	if m.cmd.ProcessState != nil {
		return
	}
	if sig != nil {
		m.cmd.Process.Signal(sig)
	}
	m.stdin.Close()
	<-m.done
	m.cmd.Wait()
}

// A metronome records the stalls of this process: periods in which it could not
// run.
type metronome struct {
	mu     sync.Mutex
	stalls [][2]int64 // begin and end of each stall, in Unix ns; old stalls are dropped
}

// maxStalls is the maximum number of stalls that a metronome keeps. Even on a
// busy machine, they cover several minutes.
const maxStalls = 1 << 16

func startMetronome(t testing.TB) *metronome {
	m := new(metronome)
	ctx := t.Context()
	go func() {
		for last := time.Now(); ctx.Err() == nil; {
			time.Sleep(time.Millisecond)
			now := time.Now()
			if now.Sub(last) > 4*time.Millisecond {
				m.mu.Lock()
				if len(m.stalls) == maxStalls {
					m.stalls = append(m.stalls[:0], m.stalls[maxStalls/2:]...)
				}
				m.stalls = append(m.stalls, [2]int64{last.UnixNano(), now.UnixNano()})
				m.mu.Unlock()
			}
			last = now
		}
	}()
	return m
}

// explain() returns the total length of the stalls that overlap a period. The
// arguments are the begin and the end of the period, in Unix ns.
func (m *metronome) explain(from, to int64) (stood time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.stalls {
		if s[0] < to && s[1] > from {
			stood += time.Duration(s[1] - s[0])
		}
	}
	return stood
}

// busy reports whether stalls took more than a quarter of a period. If so, the
// machine was too busy to expect that requests started and messages arrived in
// time.
func (m *metronome) busy(from, to int64) bool {
	return int64(m.explain(from, to)) > (to-from)/4
}

// A proxy passes bytes between a member and Redis, and can cause failures.
type proxy struct {
	addr string

	mu     sync.Mutex
	target string
	delay  time.Duration // how long the proxy holds bytes back, in each direction
	drop   float64       // the probability that an answer is lost and the connection is closed
	cut    bool          // whether all bytes are discarded; the connections stay open
	conns  map[net.Conn]bool
	frozen map[net.Conn]bool // connections whose bytes are discarded; they stay open
}

func startProxy(t *testing.T, target string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{addr: l.Addr().String(), target: target, conns: make(map[net.Conn]bool)}
	t.Cleanup(func() {
		l.Close()
		p.reset()
	})
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(conn)
		}
	}()
	return p
}

func (p *proxy) set(change func(*proxy)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

func (p *proxy) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

func (p *proxy) serve(client net.Conn) {
	p.mu.Lock()
	target := p.target
	p.conns[client] = true
	p.mu.Unlock()
	defer client.Close()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	p.set(func(p *proxy) { p.conns[server] = true })
	go p.pass(client, server, false)
	p.pass(server, client, true)
	p.set(func(p *proxy) { delete(p.conns, client); delete(p.conns, server) })
}

func (p *proxy) pass(from, to net.Conn, answers bool) {
	defer from.Close()
	defer to.Close()
	type piece struct {
		due   time.Time
		bytes []byte
	}
	pieces := make(chan piece, 1000)
	defer close(pieces)
	go func() {
		for piece := range pieces {
			time.Sleep(time.Until(piece.due))
			to.Write(piece.bytes)
		}
	}()
	for {
		buffer := make([]byte, 64<<10)
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		p.mu.Lock()
		delay, cut, drop := p.delay, p.cut || p.frozen[from], answers && rand.Float64() < p.drop
		p.mu.Unlock()
		switch {
		case drop:
			return
		case !cut:
			pieces <- piece{time.Now().Add(delay), buffer[:n]}
		}
	}
}

type chaosScene struct {
	name    string
	server  func(f *chaosFleet)               // starts the servers; nil means one Redis server
	prepare func(f *chaosFleet)               // runs before the scene; nil means nothing to prepare
	play    func(f *chaosFleet, scale int)    // scale is 3 in a full run, 1 otherwise
	share   float64                           // the number of starts must be at least this fraction of the ideal number
	silence func(lease time.Duration) float64 // a host may be idle for 2 s plus this many seconds; nil means 2 s
}

func leases(n float64) func(time.Duration) float64 {
	return func(lease time.Duration) float64 { return n * lease.Seconds() }
}

func rest(seconds float64) { time.Sleep(time.Duration(seconds * float64(time.Second))) }

var chaosScenes = []chaosScene{
	{name: "all well", play: func(f *chaosFleet, scale int) { rest(float64(10 * scale)) }, share: 0.9},
	{name: "kill -9 of a member", play: func(f *chaosFleet, scale int) {
		for range scale {
			f.members[0].kill()
			rest(15)
			f.members[0] = f.start()
			rest(1)
		}
	}, share: 0.3, silence: leases(2.5)},
	{name: "members come and go", play: func(f *chaosFleet, scale int) {
		for range 3 * scale {
			rest(2)
			f.start()
			rest(2)
			f.members[len(f.members)-1].end(nil)
		}
	}, share: 0.85, silence: leases(0.2)},
	{name: "SIGSTOP shorter than the lease", play: func(f *chaosFleet, scale int) {
		for range 2 * scale {
			f.members[1].cmd.Process.Signal(sigstop)
			rest(3)
			f.members[1].cmd.Process.Signal(sigcont)
			rest(3)
		}
	}, share: 0.5, silence: leases(1)},
	{name: "SIGSTOP longer than the lease", play: func(f *chaosFleet, scale int) {
		for range scale {
			f.members[1].cmd.Process.Signal(sigstop)
			rest(12)
			f.members[1].cmd.Process.Signal(sigcont)
			rest(5)
		}
	}, share: 0.3, silence: leases(2.5)},
	{name: "FLUSHALL", play: func(f *chaosFleet, scale int) {
		for range 1 + scale {
			for range 3 {
				rest(3)
				redisCommand(f.T, f.server, "flushall")
			}
			rest(2)
			f.goOn()
		}
	}, share: 0.5, silence: leases(2.5)},
	{name: "restart, empty", play: func(f *chaosFleet, scale int) {
		for range scale {
			f.server.Kill()
			rest(1)
			f.server.Restart()
			rest(10)
		}
	}, share: 0.6, silence: leases(2)},
	{name: "Redis away for longer than a lease", play: func(f *chaosFleet, scale int) {
		for range scale {
			f.server.Signal(sigstop)
			rest(8)
			f.server.Signal(sigcont)
			rest(6)
		}
	}, share: 0.4, silence: leases(2)},
	{name: "an older replica is promoted", play: func(f *chaosFleet, scale int) {
		for range scale {
			replica := redisserver.Start(f.T)
			_, port, _ := net.SplitHostPort(f.server.Addr)
			redisCommand(f.T, replica, "replicaof", "127.0.0.1", port)
			rest(2)
			redisCommand(f.T, replica, "replicaof", "no", "one")
			rest(2) // the replica misses the changes of these two seconds
			for _, m := range f.members {
				m.proxy.set(func(p *proxy) { p.target = replica.Addr })
			}
			f.server.Kill()
			f.server = replica
			rest(10)
		}
	}, share: 0.5, silence: leases(3)},
	{name: "maxmemory", play: func(f *chaosFleet, scale int) {
		redisCommand(f.T, f.server, "config", "set", "maxmemory", "1")
		rest(float64(8 * scale))
		redisCommand(f.T, f.server, "config", "set", "maxmemory", "0")
		rest(2)
	}, share: 0.85},
	{name: "eviction", play: func(f *chaosFleet, scale int) {
		redisCommand(f.T, f.server, "config", "set", "maxmemory-policy", "allkeys-random")
		for range scale {
			for range 2 {
				redisCommand(f.T, f.server, "config", "set", "maxmemory", "1")
				admin := redisClient(f.T, &redis.UniversalOptions{Addrs: []string{f.server.Addr}}, patient)
				admin.Set(f.Context(), "other", "x", 0) // even an empty Redis exceeds the limit of one byte, so it evicts all keys
				redisCommand(f.T, f.server, "config", "set", "maxmemory", "0")
				rest(5)
			}
			f.goOn()
		}
	}, share: 0.4, silence: leases(2.5)},
	{name: "a round trip of 120 ms", prepare: func(f *chaosFleet) {
		for _, m := range f.members {
			m.proxy.set(func(p *proxy) { p.delay = 60 * time.Millisecond })
		}
	}, play: func(f *chaosFleet, scale int) { rest(float64(10 * scale)) }, share: 0.7},
	{name: "answers are dropped, and calls sent again", play: func(f *chaosFleet, scale int) {
		for _, m := range f.members {
			m.proxy.set(func(p *proxy) { p.drop = 0.2 })
		}
		rest(float64(15 * scale))
	}, share: 0.5, silence: leases(2)},
	{name: "one of the members is cut off", play: func(f *chaosFleet, scale int) {
		for range scale {
			f.members[0].proxy.set(func(p *proxy) { p.cut = true })
			rest(15)
			f.members[0].proxy.set(func(p *proxy) { p.cut = false })
			rest(5)
		}
	}, share: 0.3, silence: leases(2.5)},
	{name: "a failover by Sentinel, to a replica that lags", server: startSentinel, play: func(f *chaosFleet, scale int) {
		f.others[0].Signal(sigstop)
		rest(2) // the replica misses the changes of these two seconds
		f.server.Kill()
		f.others[0].Signal(sigcont)
		rest(float64(15 * scale))
	}, share: 0.3, silence: leases(3.2)},
	{name: "a cluster's slot moves", server: startCluster, play: func(f *chaosFleet, scale int) {
		for range scale {
			rest(3)
			f.moveSlot()
			rest(10)
		}
	}, share: 0.5, silence: leases(3)},
	{name: "the server's clock is set", server: startWithClock, play: func(f *chaosFleet, scale int) {
		for _, d := range []time.Duration{2 * time.Second, -2 * time.Second, time.Hour, -time.Hour} {
			f.setClock(d)
			rest(float64(3 * scale))
		}
	}, share: 0.85},
	{name: "without SUBSCRIBE", server: func(f *chaosFleet) {
		f.server = redisserver.Start(f.T, "--rename-command", "SUBSCRIBE", "")
	}, prepare: func(f *chaosFleet) { rest(10) }, play: func(f *chaosFleet, scale int) {
		rest(float64(10 * scale))
		f.eachMember(1, "no notifications from Redis arrive")
	}, share: 0.5},
	// A host may wait for a call that times out after 1 s, for the 250 ms until
	// the call is repeated, and for the 1.5 s for which it is offered to a
	// member that is not notified.
	{name: "all connections are half open", play: func(f *chaosFleet, scale int) {
		from := time.Now()
		for range scale {
			rest(3)
			for _, m := range f.members {
				m.proxy.set(func(p *proxy) { p.frozen = maps.Clone(p.conns) })
			}
			rest(12)
		}
		if !f.stalls.busy(from.UnixNano(), time.Now().UnixNano()) {
			f.eachMember(0, "no notifications from Redis arrive")
		}
	}, share: 0.5, silence: leases(0.2)},
	{name: "MISCONF", play: func(f *chaosFleet, scale int) {
		for range scale {
			cannotSave(f.T, f.server)
			rest(8)
			redisCommand(f.T, f.server, "config", "set", "save", "")
			rest(6)
		}
		for _, m := range f.members {
			if text := m.log.String(); !strings.Contains(text, "MISCONF ") {
				f.Errorf("the log of a member does not contain the error of Redis, MISCONF:\n%s", text)
			}
		}
	}, share: 0.4, silence: leases(2)},
	{name: "one member has another Delay", prepare: func(f *chaosFleet) {
		f.config.Interval *= 2
		f.start()
		f.config.Interval /= 2
	}, play: func(f *chaosFleet, scale int) {
		rest(float64(10 * scale))
		warns := func(m *chaosMember) bool { return m.log.count("Delay is ") > 0 }
		if !slices.ContainsFunc(f.members, warns) {
			f.Error("no member logged that Delay differs")
		}
	}, share: 0.4},
	{name: "a member of another version joins", play: func(f *chaosFleet, scale int) {
		for range 10 * scale {
			f.joinAs("other")
			rest(1)
		}
	}, share: 0.85},
	{name: "a failover in a cluster", server: startClusterWithReplica, play: func(f *chaosFleet, scale int) {
		rest(3)
		f.others[0].Kill()
		rest(1)
		redisCommand(f.T, f.others[2], "cluster", "failover", "takeover")
		rest(float64(15 * scale))
	}, share: 0.5, silence: leases(2)},
	{name: "all but one are cut off", play: func(f *chaosFleet, scale int) {
		for range scale {
			for _, m := range f.members[1:] {
				m.proxy.set(func(p *proxy) { p.cut = true })
			}
			rest(15)
			for _, m := range f.members[1:] {
				m.proxy.set(func(p *proxy) { p.cut = false })
			}
			rest(5)
		}
	}, share: 0.3, silence: leases(2.5)},
}

// TestRedisLimitChaos runs fleets of real processes while their members or
// Redis fail, and checks when requests start. By default a fleet has 3 members.
// With COURTESY_CHAOS=1 it has 8, and the test takes three times as long.
//
// A request starts when a member's Limiter decides to start it. The test also
// checks when the members' reports of their requests arrive. On a busy machine
// a report may be late and the next one on time, so that the two arrive too
// close together. The test allows for that, and for times in which the test
// itself could not run.
func TestRedisLimitChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	t.Parallel()
	testmain.SkipIfOverloaded(t)
	var mu sync.Mutex
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "scene\tstarts\tof the ideal\tnearest\tnearest arrivals\tlongest silence\t")
	t.Cleanup(func() {
		w.Flush()
		t.Logf("interval 100 ms, lease 5 s:\n%s", table.String())
	})
	for _, scene := range chaosScenes {
		t.Run(scene.name, func(t *testing.T) {
			t.Parallel()
			f := newChaosFleet(t)
			if scene.server == nil {
				f.server = redisserver.Start(t)
			} else {
				scene.server(f)
			}
			row := f.play(scene)
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintln(w, scene.name+row)
		})
	}
}

// play runs the scene and checks the result. It returns the results as a row
// for the table that the test logs.
func (f *chaosFleet) play(scene chaosScene) string {
	f.Helper()
	members, scale := 3, 1
	if full {
		members, scale = 8, 3
	}
	for range members {
		f.start()
	}
	if scene.prepare != nil {
		scene.prepare(f)
	}
	waitFor(f.T, "no request starts", func() bool { f.mu.Lock(); defer f.mu.Unlock(); return len(f.starts) > 4*f.config.Hosts })
	from := time.Now()
	scene.play(f, scale)
	to := time.Now()
	for _, m := range f.members {
		m.end(nil)
	}
	if f.Failed() || os.Getenv("COURTESY_CHAOS_LOG") != "" {
		defer func() {
			for _, m := range f.members {
				f.Logf("%s", m.log.String())
			}
		}()
	}
	return f.judge(scene, from.UnixNano(), to.UnixNano())
}

func (f *chaosFleet) judge(scene chaosScene, from, to int64) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	interval := int64(f.config.Interval)
	nearest, arrivals, silence := int64(math.MaxInt64), int64(math.MaxInt64), int64(0)
	starts := 0
	for host := range f.config.Hosts {
		var mine []chaosStart
		for _, s := range f.starts {
			if s.host == host {
				mine = append(mine, s)
			}
		}
		slices.SortFunc(mine, func(a, b chaosStart) int { return cmp.Compare(a.decided, b.decided) })
		last := from
		for i, s := range mine {
			if i > 0 {
				before := mine[i-1]
				gap := s.decided - before.decided
				nearest = min(nearest, gap)
				if gap < interval-int64(time.Millisecond) {
					f.Errorf("host %d: member %d started a request %v after one of member %d, %.3f s into the scene; want at least %v", host, s.member, time.Duration(gap), before.member, time.Duration(s.decided-from).Seconds(), time.Duration(interval))
				}
				// Allow for a late report of the previous request, and for
				// times in which the test could not run.
				gap = s.arrived - before.arrived + max(before.arrived-before.decided-int64(5*time.Millisecond), 0)
				gap += int64(f.stalls.explain(before.decided, s.arrived))
				arrivals = min(arrivals, gap)
				if gap < interval-int64(5*time.Millisecond) {
					f.Errorf("host %d: the report of a request of member %d arrived %v after one of member %d, want at least %v", host, s.member, time.Duration(s.arrived-before.arrived), before.member, time.Duration(interval))
				}
			}
			if s.decided < from || s.decided > to {
				continue
			}
			starts++
			silence = max(silence, s.decided-last)
			last = s.decided
		}
		silence = max(silence, to-last)
	}
	ideal := float64(f.config.Hosts) * float64(to-from) / float64(interval)
	share := float64(starts) / ideal
	if share < scene.share && !f.stalls.busy(from, to) {
		f.Errorf("the members started %d requests, which are %.2f of those that the interval allows, want at least %.2f", starts, share, scene.share)
	}
	most := 2 + f.stalls.explain(from, to).Seconds() // allow for times in which the test could not run
	if scene.silence != nil {
		most += scene.silence(f.config.Lease)
	}
	if got := time.Duration(silence).Seconds(); got > most {
		f.Errorf("no request to a host was started for %.1f s, want at most %.1f s", got, most)
	}
	return fmt.Sprintf("\t%d\t%.3f\t%.1f ms\t%.1f ms\t%.1f s\t", starts, share, float64(nearest)/1e6, float64(arrivals)/1e6, time.Duration(silence).Seconds())
}

// joinAs calls the script of redislimit like a starting member whose format has
// another version. The reply must contain the version of the fleet.
func (f *chaosFleet) joinAs(version string) {
	f.Helper()
	script, err := os.ReadFile(filepath.FromSlash("../politeness/redislimit/call.lua"))
	if err != nil {
		f.Fatal(err)
	}
	client := redisClient(f.T, &redis.UniversalOptions{Addrs: []string{f.server.Addr}}, patient)
	const prefix = "{courtesy}" // of the default Namespace
	keys := []string{prefix + "fleet", prefix + "hosts", prefix + "sessions"}
	answer, err := client.Eval(f.Context(), string(script), keys, 1, version, prefix, "", 0, 1, f.config.Lease.Milliseconds(), "new", 1, "", "").Slice()
	if err != nil || len(answer) < 2 || answer[0] != "version" || answer[1] != "2" {
		f.Errorf("the reply to a member of another version is %q with the error %v; want \"version\" and 2", answer, err)
	}
}

// cannotSave makes a server respond with MISCONF to each command that writes,
// because the directory for its snapshots does not exist.
func cannotSave(t *testing.T, server *redisserver.Server) {
	t.Helper()
	admin := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
	if err := os.RemoveAll(admin.ConfigGet(t.Context(), "dir").Val()["dir"]); err != nil {
		t.Fatal(err)
	}
	admin.ConfigSet(t.Context(), "save", "3600 1")
	admin.BgSave(t.Context())
	waitFor(t, "the server has not failed to save", func() bool {
		return strings.Contains(admin.Info(t.Context(), "persistence").Val(), "rdb_last_bgsave_status:err")
	})
}

// eachMember checks how many times the log of each member contains a text.
func (f *chaosFleet) eachMember(times int, text string) {
	f.Helper()
	for i, m := range f.members {
		if n := m.log.count(text); n != times {
			f.Errorf("the log of member %d contains %q %d times, want %d:\n%s", i, text, n, times, m.log.String())
		}
	}
}

// goOn waits until a request to each host has started. A host that had no owner
// when Redis lost its state is paused for a Lease and a second, and each
// further loss restarts this pause. A scene with many losses therefore calls
// goOn between them, so that the pauses do not add up.
func (f *chaosFleet) goOn() {
	f.Helper()
	from := time.Now().UnixNano()
	waitFor(f.T, "no further request to a host was started", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		again := make(map[int]bool)
		for _, s := range f.starts {
			if s.decided > from {
				again[s.host] = true
			}
		}
		return len(again) == f.config.Hosts
	})
}

func startSentinel(f *chaosFleet) {
	f.server = redisserver.Start(f.T)
	_, port, _ := net.SplitHostPort(f.server.Addr)
	f.others = []*redisserver.Server{redisserver.Start(f.T, "--replicaof", "127.0.0.1 "+port, "--repl-diskless-load", "swapdb")}
	conf := filepath.Join(f.TempDir(), "sentinel.conf")
	addr := redisserver.FreeAddr(f.T)
	_, own, _ := net.SplitHostPort(addr)
	lines := fmt.Sprintf("port %s\nbind 127.0.0.1\nsentinel monitor fleet 127.0.0.1 %s 1\n"+
		"sentinel down-after-milliseconds fleet 1000\nsentinel failover-timeout fleet 5000\n", own, port)
	if err := os.WriteFile(conf, []byte(lines), 0o600); err != nil {
		f.Fatal(err)
	}
	sentinel := exec.Command("redis-server", conf, "--sentinel")
	if err := sentinel.Start(); err != nil {
		f.Skip("SKIPPED: no redis-server that can be a Sentinel:", err)
	}
	f.Cleanup(func() { sentinel.Process.Kill(); sentinel.Wait() })
	f.config.Sentinel = []string{addr}
	admin := redisClient(f.T, &redis.UniversalOptions{Addrs: []string{addr}}, patient)
	waitFor(f.T, "the Sentinel does not list the replica", func() bool {
		replicas, err := admin.Do(f.Context(), "sentinel", "replicas", "fleet").Slice()
		return err == nil && len(replicas) == 1
	})
}

// startCluster starts two nodes. f.others[0] is the node with the fleet's hash
// slot.
func startCluster(f *chaosFleet) {
	for range 2 {
		f.others = append(f.others, redisserver.Start(f.T, "--cluster-enabled", "yes"))
		f.config.Cluster = append(f.config.Cluster, f.others[len(f.others)-1].Addr)
	}
	redisCommand(f.T, f.others[0], "cluster", "addslotsrange", 0, 8191)
	redisCommand(f.T, f.others[1], "cluster", "addslotsrange", 8192, 16383) // a node without slots would not stay a primary
	_, port, _ := net.SplitHostPort(f.others[1].Addr)
	redisCommand(f.T, f.others[0], "cluster", "meet", "127.0.0.1", port)
	for _, node := range f.others {
		admin := redisClient(f.T, &redis.UniversalOptions{Addrs: []string{node.Addr}}, patient)
		waitFor(f.T, "the cluster is not complete", func() bool {
			info := admin.ClusterInfo(f.Context()).Val()
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:2")
		})
		if admin.ClusterKeySlot(f.Context(), "{courtesy}").Val() > 8191 && node == f.others[1] {
			slices.Reverse(f.others)
		}
	}
}

// startClusterWithReplica starts two nodes, and f.others[2], a replica of the
// node with the fleet's hash slot.
func startClusterWithReplica(f *chaosFleet) {
	startCluster(f)
	replica := redisserver.Start(f.T, "--cluster-enabled", "yes", "--repl-diskless-load", "swapdb")
	f.others = append(f.others, replica)
	f.config.Cluster = append(f.config.Cluster, replica.Addr)
	_, port, _ := net.SplitHostPort(f.others[0].Addr)
	redisCommand(f.T, replica, "cluster", "meet", "127.0.0.1", port)
	primary := redisClient(f.T, &redis.UniversalOptions{Addrs: []string{f.others[0].Addr}}, patient)
	id := primary.Do(f.Context(), "cluster", "myid").Val()
	admin := redisClient(f.T, &redis.UniversalOptions{Addrs: []string{replica.Addr}}, patient)
	waitFor(f.T, "the node does not become a replica", func() bool {
		return admin.Do(f.Context(), "cluster", "replicate", id).Err() == nil
	})
	waitFor(f.T, "the replica is not connected to its primary", func() bool {
		return strings.Contains(admin.Info(f.Context(), "replication").Val(), "master_link_status:up")
	})
}

func (f *chaosFleet) moveSlot() {
	f.Helper()
	admin := func(node *redisserver.Server) *redis.Client {
		return redisClient(f.T, &redis.UniversalOptions{Addrs: []string{node.Addr}}, patient).(*redis.Client)
	}
	from, to := admin(f.others[0]), admin(f.others[1])
	ctx := f.Context()
	slot := from.ClusterKeySlot(ctx, "{courtesy}").Val()
	fromID, toID := from.Do(ctx, "cluster", "myid").Val(), to.Do(ctx, "cluster", "myid").Val()
	must := func(err error) {
		if err != nil {
			f.Fatal(err)
		}
	}
	must(to.Do(ctx, "cluster", "setslot", slot, "importing", fromID).Err())
	must(from.Do(ctx, "cluster", "setslot", slot, "migrating", toID).Err())
	_, port, _ := net.SplitHostPort(f.others[1].Addr)
	for {
		keys := from.ClusterGetKeysInSlot(ctx, int(slot), 1).Val()
		if len(keys) == 0 {
			break
		}
		must(from.Migrate(ctx, "127.0.0.1", port, keys[0], 0, time.Second).Err())
		rest(0.1)
	}
	must(to.Do(ctx, "cluster", "setslot", slot, "node", toID).Err())
	must(from.Do(ctx, "cluster", "setslot", slot, "node", toID).Err())
	f.others[0], f.others[1] = f.others[1], f.others[0]
}

// clockShim is a C library that shifts a program's wall clock. The environment
// variable CHAOS_CLOCK is the path of a file with the shift in seconds.
// libfaketime can shift the clock too, but Debian's redis-server hangs with it.
const clockShim = `#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile long long *off;
__attribute__((constructor)) static void init(void) {
	int fd = open(getenv("CHAOS_CLOCK"), O_RDONLY);
	void *p = mmap(0, 8, PROT_READ, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED) off = p;
}
static long long shift(void) { return off ? *off : 0; }
int clock_gettime(clockid_t id, struct timespec *ts) {
	int r = syscall(SYS_clock_gettime, id, ts);
	if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) ts->tv_sec += shift();
	return r;
}
int gettimeofday(struct timeval *restrict tv, void *restrict tz) {
	struct timespec ts;
	int r = clock_gettime(CLOCK_REALTIME, &ts);
	tv->tv_sec = ts.tv_sec; tv->tv_usec = ts.tv_nsec / 1000;
	return r;
}
time_t time(time_t *t) {
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	if (t) *t = ts.tv_sec;
	return ts.tv_sec;
}
`

func startWithClock(f *chaosFleet) {
	dir := f.TempDir()
	f.clock = filepath.Join(dir, "clock")
	source, library := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so")
	if err := os.WriteFile(source, []byte(clockShim), 0o600); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(f.clock, make([]byte, 8), 0o600); err != nil {
		f.Fatal(err)
	}
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
		f.Skipf("SKIPPED: no C compiler for the shim of the clock: %v\n%s", err, out)
	}
	f.server = redisserver.StartWith(f.T, []string{"LD_PRELOAD=" + library, "CHAOS_CLOCK=" + f.clock})
}

func (f *chaosFleet) setClock(d time.Duration) {
	f.Helper()
	file, err := os.OpenFile(f.clock, os.O_WRONLY, 0)
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write(binary.NativeEndian.AppendUint64(nil, uint64(int64(d/time.Second)))); err != nil {
		f.Fatal(err)
	}
	admin := redisClient(f.T, &redis.UniversalOptions{Addrs: []string{f.server.Addr}}, patient)
	if at := admin.Time(f.Context()).Val(); time.Since(at.Add(-d)).Abs() > time.Second {
		f.Fatalf("the server's clock is %v ahead, want %v", time.Until(at), d)
	}
}
