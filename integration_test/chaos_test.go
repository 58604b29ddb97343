package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/integration_test/redisserver"
)

// full says whether the tests that kill crawls do as much as they can, rather
// than only what takes little time.
var full = os.Getenv("COURTESY_CHAOS") != ""

// A chaosWeb has hosts full of pages behind a proxy on loopback. It sees what
// becomes of a crawl whose processes are killed. It knows a process by its
// User-Agent.
type chaosWeb struct {
	hosts, pages int
	latency      time.Duration
	size         int // the least size of a page

	mu  sync.Mutex
	log []*chaosRequest
}

type chaosRequest struct {
	url, process string
	host         string
	at           time.Time
	answered     bool
	bytes        int // of the body, if all of it was sent
}

// ServeHTTP serves page n on host n%hosts. Each page links to three others, and
// all can be reached from page 0.
func (w *chaosWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	entry := &chaosRequest{url: r.URL.String(), process: r.UserAgent(), host: r.Host, at: time.Now()}
	w.mu.Lock()
	w.log = append(w.log, entry)
	w.mu.Unlock()
	time.Sleep(w.latency)
	body := &strings.Builder{}
	if r.URL.Path == "/robots.txt" {
		fmt.Fprint(body, "User-agent: *\nDisallow: /private/\n")
	} else {
		rw.Header().Set("Content-Type", "text/html")
		var n int
		fmt.Sscanf(r.URL.Path, "/%d", &n)
		fmt.Fprintf(body, `<a href="/private/%d">private</a>`, n)
		for _, to := range []int{2*n + 1, 2*n + 2, n / 2} {
			if to < w.pages {
				fmt.Fprintf(body, ` <a href="%s">%d</a>`, w.url(to), to)
			}
		}
		body.WriteString(strings.Repeat(" ", max(w.size-body.Len(), 0)))
	}
	io.WriteString(rw, body.String())
	w.mu.Lock()
	entry.bytes = body.Len()
	entry.answered = r.Context().Err() == nil
	w.mu.Unlock()
}

func (w *chaosWeb) url(n int) string { return fmt.Sprintf("http://host%d.example/%d", n%w.hosts, n) }

// requests returns how many requests there were so far.
func (w *chaosWeb) requests() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.log)
}

// unanswered returns how many pages a process is waiting for.
func (w *chaosWeb) unanswered(process string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, r := range w.log {
		if r.process == process && !r.answered && !strings.HasSuffix(r.url, "/robots.txt") {
			n++
		}
	}
	return n
}

// audit checks the log after a crawl of which some processes were killed. Every
// page must have been fetched, nothing else, and nothing twice without a
// reason. A process asks a host for one page at a time. It asks for the next
// one only after it has said that it is done with the last. So for a killed
// process only the last page that it asked a host for may be fetched again, at
// no more hosts than it has workers. audit returns how many pages were fetched
// again, and how many robots.txt there were.
func (w *chaosWeb) audit(t *testing.T, killed map[string]bool, workers int) (again, robots int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	fetches := make(map[string][]*chaosRequest)
	last := make(map[[2]string]*chaosRequest) // the last request of a process to a host
	for _, r := range w.log {
		if strings.HasSuffix(r.url, "/robots.txt") {
			robots++
			continue
		}
		fetches[r.url] = append(fetches[r.url], r)
		last[[2]string{r.process, r.host}] = r
	}
	for n := range w.pages {
		if len(fetches[w.url(n)]) == 0 {
			t.Errorf("%s was lost", w.url(n))
		}
	}
	if len(fetches) > w.pages {
		t.Errorf("%d URLs were fetched, of %d that may be", len(fetches), w.pages)
	}
	for url, requests := range fetches {
		for _, r := range requests[:len(requests)-1] {
			again++
			switch {
			case !killed[r.process]:
				t.Errorf("%s was fetched again, though %s, which had it, was not killed", url, r.process)
			case last[[2]string{r.process, r.host}] != r:
				t.Errorf("%s was fetched again, though %s, which had it, was done with it when it was killed", url, r.process)
			}
		}
	}
	if most := len(killed) * workers; again > most || robots > w.hosts+most {
		t.Errorf("%d pages and %d robots.txt of %d hosts were fetched again, after %d kills of %d workers", again, robots-w.hosts, w.hosts, len(killed), workers)
	}
	return again, robots
}

// robotsOnce checks that a fleet which shares a Store has fetched each
// robots.txt once, except for those that a process was fetching when it was
// killed. If a process says that it had to do without the Store, which may
// happen on a busy machine, nothing is proved.
func (w *chaosWeb) robotsOnce(t *testing.T, killed map[string]bool, fleet []*chaosProcess) {
	t.Helper()
	for _, p := range fleet {
		if strings.Contains(p.stderr.String(), "the store failed") {
			t.Logf("%s had to do without the store", p.name)
			return
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	fetched := make(map[string]string) // by host: the process that fetched it last
	for _, r := range w.log {
		if !strings.HasSuffix(r.url, "/robots.txt") {
			continue
		}
		if before, again := fetched[r.host]; again && !killed[before] {
			t.Errorf("%s was fetched again by %s, though %s had fetched it", r.url, r.process, before)
		}
		fetched[r.host] = r.process
	}
}

// pace returns the least time between two requests to a host. most is the
// greatest number of requests in any n delays, less n.
func (w *chaosWeb) pace(delay time.Duration) (soonest time.Duration, most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	soonest = time.Hour
	starts := make(map[string][]time.Time)
	for _, r := range w.log {
		for i, at := range starts[r.host] {
			if i == len(starts[r.host])-1 {
				soonest = min(soonest, r.at.Sub(at))
			}
			most = max(most, len(starts[r.host])-i+1-int(math.Ceil(float64(r.at.Sub(at))/float64(delay))))
		}
		starts[r.host] = append(starts[r.host], r.at)
	}
	return soonest, most
}

// start starts a spider in this web.
func (w *chaosWeb) start(t *testing.T, binary, proxy, name string, flags ...string) *chaosProcess {
	t.Helper()
	p := &chaosProcess{name: "ExampleBot/1.0 (" + name + ")"}
	args := append([]string{"-user-agent", p.name, "-max-pages", "0"}, flags...)
	for n := range w.hosts { // the spider stays on these hosts
		args = append(args, w.url(n))
	}
	p.cmd = exec.CommandContext(t.Context(), binary, args...)
	p.cmd.Env = append(os.Environ(), "HTTP_PROXY="+proxy, "NO_PROXY=")
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

type chaosProcess struct {
	name           string
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
}

// kill kills the process as kill -9 does. It returns false if the process had
// ended by itself.
func (p *chaosProcess) kill(t *testing.T) bool {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	exit, _ := errors.AsType[*exec.ExitError](p.cmd.Wait())
	return exit != nil && !exit.Exited()
}

// headline begins a summary. There is no table of hosts below it if the process
// joined so late that no page was left for it.
var headline = regexp.MustCompile(`(?m)^\d+ hosts? in [^:]+: \d+ pages? fetched`)

// wait waits until the process ends by itself, which it must do without an
// error and with a summary.
func (p *chaosProcess) wait(t *testing.T) {
	t.Helper()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("%s ended with %v:\n%s", p.name, err, p.stderr.String())
	}
	if !headline.MatchString(p.stdout.String()) {
		t.Errorf("%s has no summary:\n%s", p.name, p.stdout.String())
	}
}

// waitFor waits until there were that many requests, or until the time is over.
func (w *chaosWeb) waitFor(requests int, most time.Duration) {
	for deadline := time.Now().Add(most); w.requests() < requests && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}

// Spiders are killed as by kill -9, and others continue. COURTESY_CHAOS=1 runs
// the test in full.
func TestSpider_Killed(t *testing.T) {
	t.Parallel()
	binary := build(t, "politespider")
	t.Run("resume", func(t *testing.T) {
		t.Parallel()
		resumeAfterKills(t, binary)
	})
	t.Run("fleet", func(t *testing.T) {
		t.Parallel()
		fleetUnderKills(t, binary)
	})
}

// A crawl that is killed at random moments and started again fetches what an
// undisturbed one does. It fetches nothing twice except what was under way.
func resumeAfterKills(t *testing.T, binary string) {
	web := &chaosWeb{hosts: 8, pages: 240, latency: 10 * time.Millisecond}
	kills := 4
	if full {
		web.pages, kills = 1000, 20
	}
	proxy := httptest.NewServer(web)
	defer proxy.Close()

	web.start(t, binary, proxy.URL, "undisturbed", "-delay", "0").wait(t)
	web.audit(t, nil, 0)
	var undisturbed []string
	for _, r := range web.log {
		undisturbed = append(undisturbed, r.url)
	}
	web.log = nil

	dir := filepath.Join(t.TempDir(), "crawl")
	killed := make(map[string]bool)
	var underWay []int
	start := time.Now()
	for n := 0; len(underWay) < kills; n++ {
		p := web.start(t, binary, proxy.URL, fmt.Sprint("run ", n), "-delay", "0", "-resume", dir)
		if n%4 == 3 { // while it starts, when it reads the journal or rewrites it
			time.Sleep(rand.N(60 * time.Millisecond))
		} else {
			web.waitFor(web.requests()+1+rand.N(web.pages/kills/2), time.Minute)
			time.Sleep(rand.N(web.latency))
		}
		waiting := web.unanswered(p.name)
		if !p.kill(t) { // on a machine that kills slowly
			if len(underWay) < kills/2 {
				t.Fatalf("the crawl was over after %d kills: make it longer", len(underWay))
			}
			break
		}
		killed[p.name] = true
		underWay = append(underWay, waiting)
	}
	web.start(t, binary, proxy.URL, "last run", "-delay", "0", "-resume", dir).wait(t)

	again, robots := web.audit(t, killed, web.hosts)
	var urls []string
	for _, r := range web.log {
		urls = append(urls, r.url)
	}
	if !slices.Equal(sortedSet(urls), sortedSet(undisturbed)) {
		t.Errorf("%d URLs were fetched, %d by an undisturbed crawl", len(sortedSet(urls)), len(sortedSet(undisturbed)))
	}
	t.Logf("%d pages of %d hosts, killed %d times, in %v: %d were fetched again; unanswered at each kill: %v (%d); %d fetches of robots.txt",
		web.pages, web.hosts, len(killed), time.Since(start).Round(time.Millisecond), again, underWay, sum(underWay), robots)
}

// Several processes share a crawl. Any of them is killed at any moment, and
// another is started. The crawl ends complete, and each process that lives at
// the end ends by itself.
func fleetUnderKills(t *testing.T, binary string) {
	web := &chaosWeb{hosts: 16, pages: 240, latency: 10 * time.Millisecond}
	members, workers, kills := 3, 8, 5
	const delay = 200 * time.Millisecond // answers take less than half of it, so Redis keeps no host for the dead
	if full {
		web.hosts, web.pages, members, workers, kills = 100, 5000, 4, 32, 20
	}
	server := redisserver.Start(t)
	proxy := httptest.NewServer(web)
	defer proxy.Close()

	var all []*chaosProcess
	join := func() *chaosProcess {
		p := web.start(t, binary, proxy.URL, fmt.Sprint("process ", len(all)+1), "-redis", "redis://"+server.Addr, "-crawl", "fleet", "-lease", "5s", "-hosts", fmt.Sprint(workers), "-delay", delay.String())
		all = append(all, p)
		return p
	}
	var fleet []*chaosProcess
	for range members {
		fleet = append(fleet, join())
	}
	killed := make(map[string]bool)
	var underWay []int
	start := time.Now()
	for n := range kills {
		web.waitFor((n+1)*web.pages/(kills+2)+rand.N(web.pages/(kills+2)), time.Minute)
		m := rand.N(members)
		waiting := web.unanswered(fleet[m].name)
		if !fleet[m].kill(t) { // on a machine that kills slowly
			if n < kills/2 {
				t.Fatalf("the crawl was over after %d kills: make it longer", n)
			}
			fleet = slices.Delete(fleet, m, m+1)
			break
		}
		killed[fleet[m].name] = true
		underWay = append(underWay, waiting)
		fleet[m] = join()
	}
	for _, p := range fleet {
		p.wait(t)
	}
	again, robots := web.audit(t, killed, workers)
	web.robotsOnce(t, killed, all)
	t.Logf("%d pages of %d hosts, %d processes, %d killed and as many started, in %v: %d were fetched again; unanswered at each kill: %v (%d); %d fetches of robots.txt",
		web.pages, web.hosts, members, len(killed), time.Since(start).Round(time.Millisecond), again, underWay, sum(underWay), robots)
	soonest, most := web.pace(delay)
	t.Logf("of a delay of %v, the soonest that a host was asked again is %v; the most starts in n delays are n+%d", delay, soonest.Round(time.Millisecond), most)
	if most > 2 { // n+1 by the pace, and one whose arrival was delayed
		t.Errorf("a host was asked n+%d times within n delays", most)
	}
}

// The rights that the docs of frontier.Redis, redisstore and redislimit list
// are enough for a crawl, also on a cluster. The password appears nowhere in
// the output.
func TestSpider_RedisRights(t *testing.T) {
	t.Parallel()
	binary := build(t, "politespider")
	for name, tt := range map[string]struct {
		server []string
		query  string
	}{
		"single":  {nil, ""},
		"cluster": {[]string{"--cluster-enabled", "yes"}, "?addr=%s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redisserver.Start(t, tt.server...)
			if tt.server != nil {
				tell(t, server, "cluster", "addslotsrange", 0, 16383)
				for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
					info, err := tell(t, server, "cluster", "info").Text()
					if err == nil && strings.Contains(info, "cluster_state:ok") {
						break
					}
					if time.Now().After(deadline) {
						t.Fatalf("%s, %v", info, err)
					}
				}
			}
			rights := "on >hunter2 ~politespider:* ~{politespider:* " +
				"+eval +evalsha +script|load +time +info +exists +get +mget +set +del +pttl +pexpire " +
				"+hget +hmget +hgetall +hset +hsetnx +hdel +hincrby +hkeys +hrandfield +publish +subscribe +unsubscribe &{politespider:* +sadd +zadd +zrem +zrange +zrangebyscore +zscore +zcard " +
				"+xgroup|create +xadd +xreadgroup +xautoclaim +xclaim +xpending +xack +xdel +xrevrange"
			if tt.server != nil {
				rights += " +cluster|slots +cluster|shards +command +readonly"
			}
			command := []any{"acl", "setuser", "bot"}
			for word := range strings.FieldsSeq(rights) {
				command = append(command, word)
			}
			tell(t, server, command...)

			web := &chaosWeb{hosts: 2, pages: 12}
			proxy := httptest.NewServer(web)
			defer proxy.Close()
			url := "redis://bot:hunter2@" + server.Addr
			if tt.query != "" {
				url += fmt.Sprintf(tt.query, server.Addr)
			}
			p := web.start(t, binary, proxy.URL, name, "-delay", "50ms", "-redis", url)
			p.wait(t)
			web.audit(t, nil, 0)
			if out := p.stdout.String() + p.stderr.String(); strings.Contains(out, "NOPERM") || strings.Contains(out, "hunter2") {
				t.Error(out)
			}
			for _, key := range []string{"politespider:robots:http://host0.example", "{politespider:crawl}:meta"} {
				if n, err := tell(t, server, "exists", key).Int(); n != 1 {
					t.Errorf("there is no %s: %v", key, err)
				}
			}
		})
	}
}

// tell sends a command to a server.
func tell(t *testing.T, server *redisserver.Server, command ...any) *redis.Cmd {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close()
	cmd := client.Do(t.Context(), command...)
	if cmd.Err() != nil {
		t.Fatal(cmd.Err())
	}
	return cmd
}

func sortedSet(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return slices.Compact(s)
}

func sum(numbers []int) int {
	total := 0
	for _, n := range numbers {
		total += n
	}
	return total
}
