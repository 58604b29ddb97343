package integration_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/integration_test/redisserver"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/redislimit"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/redisstore"
)

// chaos is what a member of the fleet is told, in its environment.
type chaos struct {
	Member    int
	Hosts     int
	Interval  time.Duration
	Timeout   time.Duration // of redislimit
	Web       string        // where all hosts are
	RedisFile string        // the file that says where Redis is, as a name service would
}

const chaosEnv = "COURTESY_CHAOS_MEMBER"

// chaosRecord is a line that a member writes: a request has been granted, or the response to it has come.
type chaosRecord struct {
	Host   int
	Slot   int64  // when its slot begins, by the machine's clock, ns
	Actual int64  `json:",omitempty"` // when the member was told to go
	Member int    `json:",omitempty"`
	Own    bool   `json:",omitempty"` // the slot is the member's own, without Redis
	Path   string `json:",omitempty"` // of the response
}

func TestMain(m *testing.M) {
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
	os.Exit(m.Run())
}

// recorded is a Backend that says when each slot began.
type recorded struct {
	*redislimit.Backend
	note func(host string, slot time.Time, own bool)
}

type recordedSlot struct {
	politeness.Slot
	host string
	note func(host string, slot time.Time, own bool)
}

func (r recorded) Take(ctx context.Context, host string, terms politeness.Terms) (politeness.Slot, error) {
	s, err := r.Backend.Take(ctx, host, terms)
	if err != nil {
		return nil, err
	}
	return recordedSlot{s, host, r.note}, nil
}

func (s recordedSlot) Claim(ctx context.Context) bool {
	if !s.Slot.Claim(ctx) {
		return false
	}
	s.note(s.host, s.Slot.(interface{ Time() time.Time }).Time(), strings.Contains(fmt.Sprintf("%T", s.Slot), "own"))
	return true
}

// crawl is a process of the fleet. It asks every host for page after page, as fast as it is let, until its input ends.
func (c chaos) crawl() error {
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs: []string{"by-name"}, DialTimeout: time.Second, ReadTimeout: time.Second, ContextTimeoutEnabled: true,
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			addr, err := os.ReadFile(c.RedisFile)
			if err != nil {
				return nil, err
			}
			return new(net.Dialer).DialContext(ctx, "tcp", string(addr))
		},
	})
	defer client.Close()
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("member", c.Member)
	backend, err := redislimit.New(client, redislimit.Options{Timeout: c.Timeout, Logger: logger})
	if err != nil {
		return err
	}
	store, err := redisstore.New(client, "chaos:")
	if err != nil {
		return err
	}
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	latest := make([]int64, c.Hosts)
	shared := recorded{backend, func(name string, slot time.Time, own bool) {
		now := time.Now()
		r := chaosRecord{Member: c.Member, Slot: slot.UnixNano(), Actual: now.UnixNano(), Own: own}
		fmt.Sscanf(name, "h%d.example", &r.Host)
		mu.Lock()
		defer mu.Unlock()
		latest[r.Host] = r.Slot
		out.Encode(r)
	}}
	transport, err := robotsmw.NewTransport(robotsmw.Options{
		UserAgent: "ExampleBot/1.0", Store: store, Logger: logger,
		Limiter: &politeness.Limiter{Delay: c.Interval, Shared: shared},
		Base: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", c.Web)
		}},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for host := range c.Hosts {
		wg.Go(func() {
			for page := 0; ctx.Err() == nil; page++ {
				path := fmt.Sprintf("/%d/%d/%d", c.Member, os.Getpid(), page)
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://h%d.example%s", host, path), nil)
				if err != nil {
					panic(err)
				}
				resp, err := transport.RoundTrip(req)
				if err != nil {
					if ctx.Err() == nil {
						logger.Debug("no page", "error", err)
						time.Sleep(c.Interval) // it is not let: later
					}
					continue
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				mu.Lock()
				out.Encode(chaosRecord{Host: host, Slot: latest[host], Path: path})
				mu.Unlock()
			}
		})
	}
	io.Copy(io.Discard, os.Stdin)
	cancel()
	wg.Wait()
	fmt.Fprintf(os.Stderr, "member %d: %+v\n", c.Member, backend.Stats())
	return nil
}

// chaosFleet is the processes, and what they and the server have seen.
type chaosFleet struct {
	t       *testing.T
	config  chaos
	members []*chaosMember

	mu       sync.Mutex
	grants   [][]chaosRecord // by host
	pages    map[string]chaosRecord
	arrivals [][]arrival // by host
	robots   []int       // how often each host's robots.txt was fetched
}

type arrival struct {
	at   int64
	path string
}

type chaosMember struct {
	cmd   *exec.Cmd
	stdin io.Closer
	log   lockedBuffer
	done  chan struct{}
}

// serve answers for all hosts, and logs.
func (f *chaosFleet) serve(w http.ResponseWriter, r *http.Request) {
	now := time.Now().UnixNano()
	var host int
	fmt.Sscanf(r.Host, "h%d.example", &host)
	f.mu.Lock()
	f.arrivals[host] = append(f.arrivals[host], arrival{now, r.URL.Path})
	if r.URL.Path == "/robots.txt" {
		f.robots[host]++
	}
	f.mu.Unlock()
	if r.URL.Path == "/robots.txt" {
		io.WriteString(w, "User-agent: *\nDisallow: /private/\n")
		return
	}
	io.WriteString(w, "page")
}

// start adds a member, run by the command line before.
func (f *chaosFleet) start(before ...string) {
	f.t.Helper()
	c := f.config
	c.Member = len(f.members)
	told, err := json.Marshal(c)
	if err != nil {
		f.t.Fatal(err)
	}
	line := append(before, os.Args[0])
	m := &chaosMember{cmd: exec.Command(line[0], line[1:]...), done: make(chan struct{})}
	m.cmd.Env = append(os.Environ(), chaosEnv+"="+string(told))
	m.cmd.Stderr = &m.log
	if os.Getenv("COURTESY_CHAOS_LOG") != "" {
		m.cmd.Stderr = io.MultiWriter(os.Stderr, &m.log)
	}
	if m.stdin, err = m.cmd.StdinPipe(); err != nil {
		f.t.Fatal(err)
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	if err := m.cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { m.stop(syscall.SIGKILL) })
	go func() {
		defer close(m.done)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var r chaosRecord
			if json.Unmarshal(lines.Bytes(), &r) != nil {
				continue // the last line of one that was killed
			}
			f.mu.Lock()
			if r.Path != "" {
				f.pages[fmt.Sprint(r.Host, r.Path)] = r
			} else {
				f.grants[r.Host] = append(f.grants[r.Host], r)
			}
			f.mu.Unlock()
		}
	}()
	f.members = append(f.members, m)
}

func (m *chaosMember) stop(sig os.Signal) {
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

// chaosPhase is a stretch of the run.
type chaosPhase struct {
	name string
	from int64
}

// chaosRow is what a phase looked like.
type chaosRow struct {
	grants, own    int
	slot           time.Duration // the smallest gap between two slots of a host
	actual         time.Duration // between two moments at which members were told to go
	late           int           // arrivals that the machine held up for half an interval or more
	tight          int           // n+2 arrivals or more within n intervals, without those
	tightWithLate  int
	arrivals, near int
}

// TestRedisLimitChaos runs a fleet of real processes through everything that can happen to Redis, and reads from
// their notes and the server's log whether any host was asked too soon. By default it is small and short;
// COURTESY_CHAOS=1 makes it 8 processes and 200 hosts through all of it, in two minutes.
//
// What is judged are the slots: the moments, by the one clock of the machine, at which the members decided to let
// requests start. When a busy machine lets a process run late, the start is late and the next one is not, so the
// moments at which members went on, and the server's log, show smaller gaps. They are judged by the number of starts:
// at most n+1 in any n intervals. A request that reached the server half an interval after its slot, or more, is the
// machine's doing, and is counted apart.
func TestRedisLimitChaos(t *testing.T) {
	full := fullChaos()
	members, pause := 3, 3500*time.Millisecond // the first request without Redis may take 5 timeouts
	// A process that a busy machine does not let run does not see Redis's answers either: it must not take that for
	// the loss of Redis, while the others know better.
	config := chaos{Hosts: 5, Interval: 100 * time.Millisecond, Timeout: 400 * time.Millisecond}
	if full {
		members, pause = 8, 6*time.Second
		config.Hosts = 200
	}
	if v := os.Getenv("COURTESY_CHAOS_TIMEOUT"); v != "" {
		var err error
		if config.Timeout, err = time.ParseDuration(v); err != nil {
			t.Fatal(err)
		}
	}
	server := redisserver.Start(t)
	f := &chaosFleet{t: t, pages: make(map[string]chaosRecord), robots: make([]int, config.Hosts),
		grants: make([][]chaosRecord, config.Hosts), arrivals: make([][]arrival, config.Hosts)}
	web := httptest.NewServer(http.HandlerFunc(f.serve))
	defer web.Close()
	config.Web = web.Listener.Addr().String()
	config.RedisFile = filepath.Join(t.TempDir(), "redis")
	pointTo := func(addr string) {
		// Renamed, so that nobody reads half an address.
		if err := os.WriteFile(config.RedisFile+".new", []byte(addr), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(config.RedisFile+".new", config.RedisFile); err != nil {
			t.Fatal(err)
		}
	}
	pointTo(server.Addr)
	f.config = config

	var phases []chaosPhase
	phase := func(name string, trouble func()) {
		phases = append(phases, chaosPhase{name, time.Now().UnixNano()})
		trouble()
	}
	rest := func() {
		began := time.Now()
		time.Sleep(pause)
		waitFor(t, "nobody goes on", func() bool { return f.granted(began) > 0 })
	}
	healthy := func() { phase("  after it", rest) }

	phase("starting", func() {
		for range members {
			f.start()
		}
		time.Sleep(4 * time.Second) // so that all have seats
		rest()
	})
	phase("all well", rest)
	phase("kill -9 of Redis", func() { server.Kill(); rest() })
	phase("  started, empty", func() { server.Restart(); rest() })
	if full {
		phase("SIGSTOP for 10 s", func() {
			server.Signal(sigstop)
			time.Sleep(10 * time.Second)
			server.Signal(sigcont)
		})
	} else {
		phase("SIGSTOP", func() {
			server.Signal(sigstop)
			rest()
			server.Signal(sigcont)
		})
	}
	healthy()
	if full {
		phase("SCRIPT FLUSH", func() { redisCommand(t, server, "script", "flush"); rest() })
		phase("FLUSHALL", func() { redisCommand(t, server, "flushall"); rest() })
		phase("maxmemory reached", func() { redisCommand(t, server, "config", "set", "maxmemory", "1"); rest() })
		phase("  raised again", func() { redisCommand(t, server, "config", "set", "maxmemory", "0"); rest() })
		replica := redisserver.Start(t)
		_, port, _ := net.SplitHostPort(server.Addr)
		redisCommand(t, replica, "replicaof", "127.0.0.1", port)
		time.Sleep(2 * time.Second)
		phase("an older replica promoted", func() {
			redisCommand(t, replica, "replicaof", "no", "one")
			time.Sleep(time.Second) // what is decided now, the replica does not hear
			server.Kill()
			pointTo(replica.Addr)
			rest()
		})
		phase("  after it", rest)
		f.fetchedOnce()
		if syscall.Getuid() == 0 {
			phase("a member's clock 1 h off", func() {
				f.members[0].stop(nil)
				f.start("unshare", "--time", "--monotonic", "3600", "--")
				time.Sleep(4 * time.Second)
				rest()
			})
			phase("  FLUSHALL with that", func() { redisCommand(t, replica, "flushall"); rest() })
		}
	}
	phase("kill -9 of members", func() {
		f.members[1].stop(syscall.SIGKILL)
		if full {
			f.members[2].stop(syscall.SIGKILL)
		}
		rest()
	})
	for _, m := range f.members {
		m.stop(nil)
	}

	rows := f.audit(phases)
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "phase\tgrants\tof them own\tslots apart\tgoes apart\tarrivals\theld up\ttoo many\twith those\t")
	for i, r := range rows {
		fmt.Fprintf(w, "%s\t%d\t%d\t%.1f ms\t%.1f ms\t%d\t%d\t%d\t%d\t\n", phases[i].name, r.grants, r.own,
			r.slot.Seconds()*1000, r.actual.Seconds()*1000, r.arrivals, r.late, r.tight, r.tightWithLate)
		if r.slot < config.Interval-tolerance() {
			t.Errorf("%s: two slots of a host are %v apart (%d are too near)", strings.TrimSpace(phases[i].name), r.slot, r.near)
		}
		if r.tight > 0 {
			t.Errorf("%s: %d times more than n+1 requests reached the server in n intervals", strings.TrimSpace(phases[i].name), r.tight)
		}
		if r.grants == 0 {
			t.Errorf("%s: nothing was asked", strings.TrimSpace(phases[i].name))
		}
	}
	w.Flush()
	t.Logf("%d processes, %d hosts, interval %v:\n%s", members, config.Hosts, config.Interval, table.String())
	if !full {
		f.fetchedOnce()
	}
}

func fullChaos() bool { return os.Getenv("COURTESY_CHAOS") != "" }

// tolerance is by how much two slots may be too near. The full run is for a machine that has nothing else to do.
func tolerance() time.Duration {
	if fullChaos() {
		return 2 * time.Millisecond
	}
	return clockError
}

// granted is how many slots have been used that begin then or later.
func (f *chaosFleet) granted(since time.Time) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, grants := range f.grants {
		for _, g := range grants {
			if g.Slot >= since.UnixNano() {
				n++
			}
		}
	}
	return n
}

// fetchedOnce checks that the fleet has fetched each robots.txt once so far. A member that joins after Redis has
// lost them fetches them again, and so does one that says that it had to do without Redis, for which a machine may be
// busy enough.
func (f *chaosFleet) fetchedOnce() {
	f.mu.Lock()
	defer f.mu.Unlock()
	most := 1
	for _, m := range f.members {
		if m.log.count("the store failed") > 0 {
			most++
		}
	}
	again := 0
	for _, n := range f.robots {
		if n < 1 || n > most {
			again++
		}
	}
	if again > 0 {
		f.t.Errorf("the robots.txt of %d of %d hosts have not been fetched once by the fleet: %v, with %d members who had to do without Redis",
			again, len(f.robots), f.robots, most-1)
	}
}

// audit reads the notes of the members and the log of the server, phase by phase.
func (f *chaosFleet) audit(phases []chaosPhase) []chaosRow {
	rows := make([]chaosRow, len(phases))
	for i := range rows {
		rows[i].slot, rows[i].actual = math.MaxInt64, math.MaxInt64
	}
	at := func(t int64) *chaosRow {
		i := 0
		for i+1 < len(phases) && phases[i+1].from <= t {
			i++
		}
		return &rows[i]
	}
	interval := int64(f.config.Interval)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, grants := range f.grants {
		slices.SortFunc(grants, func(a, b chaosRecord) int { return cmp.Compare(a.Slot, b.Slot) })
		for i, g := range grants {
			row := at(g.Slot)
			row.grants++
			if g.Own {
				row.own++
			}
			if i > 0 {
				gap := time.Duration(g.Slot - grants[i-1].Slot)
				row.slot = min(row.slot, gap)
				if gap < f.config.Interval-tolerance() {
					if row.near++; row.near <= 5 {
						f.t.Logf("host %d: %v between %+v and %+v", g.Host, gap, grants[i-1], g)
					}
				}
			}
		}
		slices.SortFunc(grants, func(a, b chaosRecord) int { return cmp.Compare(a.Actual, b.Actual) })
		for i := 1; i < len(grants); i++ {
			row := at(grants[i].Slot)
			row.actual = min(row.actual, time.Duration(grants[i].Actual-grants[i-1].Actual))
		}
	}
	for host, arrivals := range f.arrivals {
		punctual := make([]int64, 0, len(arrivals))
		all := make([]int64, 0, len(arrivals))
		for _, a := range arrivals {
			row := at(a.at)
			row.arrivals++
			all = append(all, a.at)
			if page, ok := f.pages[fmt.Sprint(host, a.path)]; ok && a.at-page.Slot >= interval/2 {
				row.late++
			} else {
				punctual = append(punctual, a.at)
			}
		}
		crowded(punctual, interval, func(t int64) { at(t).tight++ })
		crowded(all, interval, func(t int64) { at(t).tightWithLate++ })
	}
	return rows
}

// crowded calls found with each arrival that is one too many: the n+2nd within n intervals, for some n.
func crowded(arrivals []int64, interval int64, found func(t int64)) {
	slices.Sort(arrivals)
	// arrivals[j] - arrivals[i] < (j-i-1)·interval, for some i, is a[j] - j·interval < a[i] - i·interval - interval
	most := int64(math.MinInt64 / 2)
	for j, a := range arrivals {
		if a-int64(j)*interval < most-interval {
			found(a)
		}
		most = max(most, a-int64(j)*interval)
	}
}
