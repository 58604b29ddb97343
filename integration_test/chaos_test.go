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
	"net/url"
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
	"github.com/goodbots/courtesy/integration_test/testmain"
)

// If full is set, the tests that kill processes take longer: they have more
// processes and more kills.
var full = os.Getenv("COURTESY_CHAOS") != ""

// A chaosWeb is an HTTP proxy that serves many hosts and logs each request. It
// distinguishes the processes of a crawl by the users in the URL of the proxy.
type chaosWeb struct {
	hosts, pages int
	latency      time.Duration
	size         int // the least size of a page in bytes

	mu  sync.Mutex
	log []*chaosRequest
}

type chaosRequest struct {
	url, process string
	host         string
	at           time.Time
	answered     bool
	bytes        int // size of the body; 0 until the body has been written
}

// ServeHTTP serves all hosts. Page n links to the pages 2n+1, 2n+2 and n/2, so
// page 0 leads to all others. Each page also links to a disallowed URL.
func (w *chaosWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	entry := &chaosRequest{url: r.URL.String(), process: sender(r), host: r.Host, at: time.Now()}
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

// sender returns the name of the process that sent a request: the user that
// its proxy's URL names. All processes have the same User-Agent, because the
// members of a fleet share robots.txt files only if they are the same robot.
func sender(r *http.Request) string {
	credentials := http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}
	name, _, _ := credentials.BasicAuth()
	return name
}

func (w *chaosWeb) url(n int) string { return fmt.Sprintf("http://host%d.example/%d", n%w.hosts, n) }

func (w *chaosWeb) requests() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.log)
}

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

// audit checks the log after a crawl: the crawl must have fetched each page,
// and no other URL. The map names the processes that were killed.
//
// A page may be fetched again only if a killed process was fetching it. A
// process reports each page of a host as done before it requests another page
// of the host. Therefore, after a kill, at most one page of each host is
// fetched again, and the total is at most the number of workers of the process.
//
// audit returns how many pages were fetched again, and how many requests for
// robots.txt there were.
func (w *chaosWeb) audit(t *testing.T, killed map[string]bool, workers int) (again, robots int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	fetches := make(map[string][]*chaosRequest)
	last := make(map[[2]string]*chaosRequest) // for each process and host: the last request
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
			t.Errorf("%s was not fetched", w.url(n))
		}
	}
	if len(fetches) > w.pages {
		t.Errorf("%d URLs were fetched, want at most %d", len(fetches), w.pages)
	}
	for url, requests := range fetches {
		for _, r := range requests[:len(requests)-1] {
			again++
			switch {
			case !killed[r.process]:
				t.Errorf("%s was fetched again, although %s, which fetched it first, was not killed", url, r.process)
			case last[[2]string{r.process, r.host}] != r:
				t.Errorf("%s was fetched again, although %s had already processed it when it was killed", url, r.process)
			}
		}
	}
	if most := len(killed) * workers; again > most || robots > w.hosts+most {
		t.Errorf("after %[3]d kills, %[1]d pages and %[2]d robots.txt files were fetched again, want at most %[4]d of each", again, robots-w.hosts, len(killed), most)
	}
	return again, robots
}

// robotsOnce checks that a fleet with a common Store has fetched each
// robots.txt once. A file may be fetched again if the process that fetched it
// was killed. On a busy machine, a process may have to work without the Store.
// In this case robotsOnce checks nothing.
func (w *chaosWeb) robotsOnce(t *testing.T, killed map[string]bool, fleet []*chaosProcess) {
	t.Helper()
	for _, p := range fleet {
		if strings.Contains(p.stderr.String(), "the store failed") {
			t.Logf("%s had to work without the Store", p.name)
			return
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	fetched := make(map[string]string) // for each host: the last process that fetched its robots.txt
	for _, r := range w.log {
		if !strings.HasSuffix(r.url, "/robots.txt") {
			continue
		}
		if before, again := fetched[r.host]; again && !killed[before] {
			t.Errorf("%s was fetched again by %s, although %s had fetched it and was not killed", r.url, r.process, before)
		}
		fetched[r.host] = r.process
	}
}

// pace() returns the shortest time between two requests to a host. It also
// returns a number m: for every n, no host received more than n+m requests
// within n delays.
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

func (w *chaosWeb) start(t *testing.T, binary, proxy, name string, flags ...string) *chaosProcess {
	t.Helper()
	p := &chaosProcess{name: name}
	args := append([]string{"-user-agent", "ExampleBot/1.0", "-max-pages", "0"}, flags...)
	for n := range w.hosts { // the spider stays on the hosts of these URLs
		args = append(args, w.url(n))
	}
	p.cmd = exec.CommandContext(t.Context(), binary, args...)
	own, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	own.User = url.UserPassword(name, "x")
	p.cmd.Env = append(os.Environ(), "HTTP_PROXY="+own.String(), "NO_PROXY=")
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

// kill() ends the process as the command kill -9 would. It returns false if the
// process had already ended.
func (p *chaosProcess) kill(t *testing.T) bool {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	exit, _ := errors.AsType[*exec.ExitError](p.cmd.Wait())
	return exit != nil && !exit.Exited()
}

// headline matches the first line of a summary. It does not match the table of
// hosts below this line, because a process that joined too late to get a page
// prints no table.
var headline = regexp.MustCompile(`(?m)^\d+ hosts? in [^:]+: \d+ pages? fetched`)

// wait waits until the process ends by itself. The test fails if the process
// ends with an error or without a summary.
func (p *chaosProcess) wait(t *testing.T) {
	t.Helper()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("%s ended with the error %v, want none; its standard error is\n%s", p.name, err, p.stderr.String())
	}
	if !headline.MatchString(p.stdout.String()) {
		t.Errorf("the standard output of %s has no summary:\n%s", p.name, p.stdout.String())
	}
}

// waitFor waits until there have been this many requests, or until the given
// time is over.
func (w *chaosWeb) waitFor(requests int, most time.Duration) {
	for deadline := time.Now().Add(most); w.requests() < requests && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}

// The test kills spiders without a warning, and other spiders continue the
// crawls of the killed ones. With COURTESY_CHAOS=1 the crawls are longer.
func TestSpider_Killed(t *testing.T) {
	t.Parallel()
	testmain.SkipIfOverloaded(t)
	t.Run("resume", func(t *testing.T) {
		t.Parallel()
		resumeAfterKills(t, build(t, "politespider"))
	})
	t.Run("fleet", func(t *testing.T) {
		t.Parallel()
		fleetUnderKills(t, build(t, "politespider/fleet"))
	})
}

// A crawl is killed at random moments, and resumed each time. It fetches the
// same pages as an undisturbed crawl. Only pages that were in flight at a kill
// are fetched twice.
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
		if n%4 == 3 { // kill the process early, while it reads or rewrites the journal
			time.Sleep(rand.N(60 * time.Millisecond))
		} else {
			web.waitFor(web.requests()+1+rand.N(web.pages/kills/2), time.Minute)
			time.Sleep(rand.N(web.latency))
		}
		waiting := web.unanswered(p.name)
		if !p.kill(t) { // the machine was slow, and the crawl ended before the kill
			if len(underWay) < kills/2 {
				t.Fatalf("the crawl ended after %d kills, too early for the test: give it more pages", len(underWay))
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
		t.Errorf("%d URLs were fetched, want the %d that an undisturbed crawl fetches", len(sortedSet(urls)), len(sortedSet(undisturbed)))
	}
	t.Logf("%d pages of %d hosts, killed %d times, in %v: %d were fetched again; unanswered at each kill: %v (%d); %d fetches of robots.txt",
		web.pages, web.hosts, len(killed), time.Since(start).Round(time.Millisecond), again, underWay, sum(underWay), robots)
}

// Several processes share a crawl. At random moments the test kills one of them
// and starts another. The crawl must fetch every page, and the last processes
// must end by themselves.
func fleetUnderKills(t *testing.T, binary string) {
	web := &chaosWeb{hosts: 16, pages: 240, latency: 10 * time.Millisecond}
	members, workers, kills := 3, 8, 5
	const delay = 200 * time.Millisecond
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
		if !fleet[m].kill(t) { // the machine was slow, and the crawl ended before the kill
			if n < kills/2 {
				t.Fatalf("the crawl ended after %d kills, too early for the test: give it more pages", n)
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
	t.Logf("the delay is %v, and the shortest interval between requests to a host was %v; a host received at most n+%d requests within n delays", delay, soonest.Round(time.Millisecond), most)
	if most > 2 { // the delay allows n+1; n+2 are possible if the first of them arrived late
		t.Errorf("a host received n+%d requests within n delays, want n+2 at most", most)
	}
}

// In Redis, a crawl needs only the rights that the docs of frontier/shared,
// redisstore and redislimit list. The same is true on a cluster. The output
// never shows the password.
func TestSpider_RedisRights(t *testing.T) {
	t.Parallel()
	binary := build(t, "politespider/fleet")
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
						t.Fatalf("cluster info = %s, %v; want cluster_state:ok within 20s", info, err)
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
				t.Errorf("the output contains NOPERM or the password:\n%s", out)
			}
			for _, pattern := range []string{"politespider:robots:http://host0.example#*", "{politespider:crawl}:meta"} {
				if keys, err := tell(t, server, "keys", pattern).StringSlice(); len(keys) != 1 {
					t.Errorf("the keys that match %s are %q (error %v), want one key", pattern, keys, err)
				}
			}
		})
	}
}

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
