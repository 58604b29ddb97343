//go:build unix

package queues

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	_ "github.com/goodbots/courtesy/examples/queues/internal/worker" // see build
	"github.com/goodbots/courtesy/integration_test/redisserver"
	"github.com/goodbots/courtesy/integration_test/testmain"
)

// engines are the commands. Each start returns the flags by which the command
// finds a server, which is empty. A worker has the flags in addition.
var engines = []struct {
	name   string
	parts  bool // each worker has a part of the queue
	seeds  bool // the command follows links, so that one page of a host is enough
	start  func(*testing.T) []string
	flags  []string
	killed []string      // so that the test with a killed worker need not wait for an hour
	late   time.Duration // when the pages of a killed worker are retried, by the command's doc
}{
	{
		name:  "asynq",
		start: startRedis,
		late:  2 * time.Minute,
	}, // the first, because after a kill it takes longest
	{
		name:   "nats",
		parts:  true,
		start:  startNATS,
		flags:  []string{"-ack-wait=1h"},
		killed: []string{"-ack-wait=10s"},
		late:   10 * time.Second,
	},
	{
		name:   "river",
		parts:  true,
		seeds:  true,
		start:  startPostgres,
		flags:  []string{"-rescue=1h"},
		killed: []string{"-rescue=10s"},
		late:   70 * time.Second,
	},
}

// few is for tests in which worker 1 must get some of the 60 pages: the other
// two could have all of them in hand.
const few = "-at-once=16"

// A worker that is told to end by SIGTERM gives its pages back. They come again
// at once: no server would give them away for dead within this test.
func TestSIGTERM(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, e.name, e.parts, e.start(t), append(slices.Clip(e.flags), few), &site{hosts: 6, pages: 8, unit: delay})
			r.end, r.by = syscall.SIGTERM, 1
			took := r.crawl(e.seeds)
			if most := r.site.ideal() + 25*time.Second; took > most {
				t.Errorf("it took %v, want at most %v: pages were not given back", took, most)
			}
		})
	}
}

// A worker is killed while it fetches a page, and started again. No page is
// lost, and none but those of the killed worker is fetched twice. They come
// again as soon as the command's doc says.
func TestKill(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, e.name, e.parts, e.start(t), append(slices.Clip(e.killed), few), &site{hosts: 6, pages: 8, unit: delay})
			r.end, r.by = syscall.SIGKILL, 3
			took, ideal := r.crawl(e.seeds), r.site.ideal()
			t.Logf("%v more than the ideal time", took-ideal)
			if most := ideal + e.late + 15*time.Second; took > most {
				t.Errorf("it took %v, want at most %v", took, most)
			}
		})
	}
}

// A flag after the command work would be without effect, and a second worker
// would serve part 0. So it is refused, and so is what is not a page's URL.
func TestArguments(t *testing.T) {
	t.Parallel()
	dir, err := build()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range engines {
		for _, args := range []string{
			"work -part=1",
			"put http://example.com/ -workers=5",
			"put example.com",
			"put ftp://example.com/",
			"",
		} {
			out, err := exec.Command(filepath.Join(dir, e.name), strings.Fields(args)...).CombinedOutput()
			if err == nil || !strings.Contains(string(out), "URL") {
				t.Errorf("%s %s: %v, and it said\n%s", e.name, args, err, out)
			}
		}
	}
}

// Sixty hosts of twenty pages are crawled in little more than the slowest host
// needs. A page is delivered three times at most, on average.
func TestSixtyHosts(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, e.name, e.parts, e.start(t), e.flags, &site{hosts: 60, pages: 20, unit: delay})
			took, ideal := r.crawl(e.seeds), r.site.ideal()
			if r.deliveries > 3 || took > 2*ideal { // other tests run beside it: see TestTime
				t.Errorf("it took %v and %.2f deliveries a page, want at most 2 times %v and 3",
					took, r.deliveries, ideal)
			}
		})
	}
}

// Alone on the machine, the same takes at most 1.3 times what the slowest host
// needs. With -v, the test prints the figures for other values of MaxWait.
func TestTime(t *testing.T) {
	if os.Getenv("COURTESY_QUEUES") == "" {
		t.Skip("SKIPPED: it takes ten minutes: set COURTESY_QUEUES=1 to run it")
	}
	for _, e := range engines {
		waits := []string{""} // the default
		if !e.parts {
			waits = []string{"", "-1s", "1s", "3s"}
		}
		for _, wait := range waits {
			t.Run(e.name+" "+wait, func(t *testing.T) {
				flags := e.flags
				if wait != "" {
					flags = append(slices.Clip(flags), "-wait="+wait)
				}
				r := newRun(t, e.name, e.parts, e.start(t), flags, &site{
					hosts: 60,
					pages: 20,
					unit:  time.Second,
				})
				took, ideal := r.crawl(e.seeds), r.site.ideal()
				t.Logf("%.2f times the ideal time", took.Seconds()/ideal.Seconds())
				if wait == "" && (r.deliveries > 3 || took.Seconds() > 1.3*ideal.Seconds()) {
					t.Errorf("it took %v and %.2f deliveries a page, want at most 1.3 times %v and 3",
						took, r.deliveries, ideal)
				}
			})
		}
	}
}

// A run is a crawl by three workers.
type run struct {
	t       *testing.T
	program string
	parts   bool
	flags   []string
	site    *site
	proxy   string

	end        syscall.Signal // what worker 1 gets at its page number by; 0 means nothing
	by         int
	deliveries float64 // how often a page was delivered, of the workers that ended by themselves
}

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "queues")
	if err != nil {
		return "", err
	}
	commands := []string{"./nats", "./asynq", "./river"}
	for _, command := range commands {
		os.Stat(filepath.Join(command, "main.go")) // go test then knows that its result depends on it
	}
	out, err := exec.Command("go", append([]string{"build", "-o", dir}, commands...)...).CombinedOutput()
	if err != nil {
		return dir, fmt.Errorf("%w\n%s", err, out)
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	testmain.Parallel(9)
	status := m.Run()
	if dir, _ := build(); dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(status)
}

func newRun(t *testing.T, name string, parts bool, server, flags []string, s *site) *run {
	t.Helper()
	dir, err := build()
	if err != nil {
		t.Fatal(err)
	}
	s.seen = make(map[string]int)
	proxy := httptest.NewServer(s)
	t.Cleanup(proxy.Close)
	return &run{
		t:       t,
		program: filepath.Join(dir, name),
		parts:   parts,
		flags:   append(server, flags...),
		site:    s,
		proxy:   proxy.URL,
	}
}

// crawl puts the pages into the queue, starts three workers, does to worker 1
// what r says, starts it again, and waits until the queue is empty. It checks
// what the site has seen, and returns the time from the first request to the
// last.
func (r *run) crawl(seeds bool) time.Duration {
	var urls []string
	for n := range r.site.hosts {
		for _, path := range r.site.paths() {
			if !seeds || path == "/0" {
				urls = append(urls, r.site.url(n, path))
			}
		}
	}
	r.put(urls...)

	now := make(chan bool, 1)
	r.site.mu.Lock()
	r.site.hook = func(worker string, pages int, req *http.Request) {
		if r.end == 0 || worker != "one" || pages != r.by {
			return
		}
		now <- true
		hold := 500 * time.Millisecond // until the worker has got the signal
		if r.end == syscall.SIGKILL {
			hold = 10 * time.Second
		}
		select {
		case <-req.Context().Done(): // it is dead
		case <-time.After(hold):
		}
	}
	r.site.mu.Unlock()
	var workers [3]*process
	for n := range workers {
		workers[n] = r.start(n)
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), r.site.ideal()+5*time.Minute)
	defer cancel()
	killed := ""
	outputs := ""
	if r.end != 0 {
		select {
		case <-now:
		case <-ctx.Done():
			r.t.Fatalf("worker 1 has not asked for %d pages:\n%s", r.by, workers[1].output())
		}
		workers[1].cmd.Process.Signal(r.end)
		err := workers[1].wait(ctx)
		if r.end == syscall.SIGKILL {
			killed = "one"
		} else if err != nil || !strings.Contains(workers[1].output(), "summary:") {
			r.t.Errorf("after SIGTERM: %v, and it said\n%s", err, workers[1].output())
		}
		outputs += workers[1].output()
		workers[1] = r.start(1)
	}
	for n, w := range workers {
		if err := w.wait(ctx); err != nil {
			r.t.Errorf("worker %d: %v\n%s", n, err, w.output())
		}
		if !strings.Contains(w.output(), "summary:") {
			r.t.Errorf("worker %d printed no summary:\n%s", n, w.output())
		}
		outputs += w.output()
	}
	delivered, done := 0, 0
	for _, m := range regexp.MustCompile(`summary: (\d+) fetched, (\d+) dropped, (\d+) put back`).FindAllStringSubmatch(outputs, -1) {
		fetched, _ := strconv.Atoi(m[1])
		dropped, _ := strconv.Atoi(m[2])
		back, _ := strconv.Atoi(m[3])
		done += fetched + dropped
		delivered += fetched + dropped + back
	}
	r.deliveries = float64(delivered) / float64(max(done, 1))
	all := r.site.hosts * len(r.site.paths())
	if killed == "" && done != all {
		r.t.Errorf("the workers have done %d pages, want %d", done, all)
	}
	started, ended := r.site.check(r.t, killed)
	if r.t.Failed() {
		r.t.Log(outputs)
	}
	r.t.Logf("%v, ideal %v, %.2f deliveries a page",
		ended.Sub(started).Round(time.Second/10), r.site.ideal(), r.deliveries)
	return ended.Sub(started)
}

// put puts pages into the queue.
func (r *run) put(urls ...string) {
	r.t.Helper()
	put := r.command(0, "put")
	if !r.parts {
		put = exec.Command(r.program, append(r.serverFlags(), "put")...)
	}
	put.Stdin = strings.NewReader(strings.Join(urls, "\n"))
	if out, err := put.CombinedOutput(); err != nil {
		r.t.Fatalf("put: %v\n%s", err, out)
	}
}

func (r *run) serverFlags() []string { return r.flags[:1:1] }

func (r *run) command(n int, what string) *exec.Cmd {
	args := append([]string{
		"-delay=" + delay.String(),
		"-user-agent=TestBot/1.0 (+https://example.com/bot) " + []string{"zero", "one", "two"}[n],
	}, r.flags...)
	if r.parts {
		args = append(args, "-workers=3", fmt.Sprintf("-part=%d", n), "-rest="+retryAfter.String())
	}
	cmd := exec.CommandContext(r.t.Context(), r.program, append(args, what)...)
	cmd.Env = append(os.Environ(), "HTTP_PROXY="+r.proxy, "NO_PROXY=")
	return cmd
}

// A process is a worker's.
type process struct {
	cmd    *exec.Cmd
	out    bytes.Buffer
	ended  chan struct{}
	status error
}

func (r *run) start(n int) *process {
	p := &process{cmd: r.command(n, "work"), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() {
		p.status = p.cmd.Wait()
		close(p.ended)
	}()
	r.t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.ended
	})
	return p
}

func (p *process) wait(ctx context.Context) error {
	select {
	case <-p.ended:
		return p.status
	case <-ctx.Done():
		p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("it does not end: %w", p.status)
	}
}

// output returns what a process that has ended has printed.
func (p *process) output() string {
	select {
	case <-p.ended:
		return p.out.String()
	default:
		return "(it is running)"
	}
}

// startNATS starts a server in this process. If COURTESY_NATS is set, it is the
// URL of a server whose stream PAGES may be used.
func startNATS(t *testing.T) []string {
	if url := os.Getenv("COURTESY_NATS"); url != "" {
		return []string{"-nats=" + url}
	}
	s, err := server.NewServer(&server.Options{
		Host:      "127.0.0.1",
		Port:      -1,
		JetStream: true,
		StoreDir:  t.TempDir(),
		NoSigs:    true,
	})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("NATS does not start")
	}
	return []string{"-nats=" + s.ClientURL()}
}

func startRedis(t *testing.T) []string { return []string{"-redis=" + redisserver.Start(t).Addr} }
