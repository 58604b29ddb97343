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

// An engine is a command.
type engine struct {
	name        string
	hasParts    bool                      // each worker has a part of the queue
	findsLinks  bool                      // the command follows links, so that one page of a host is enough
	start       func(*testing.T) []string // starts an empty server, and returns the flags with its address
	flags       []string                  // further flags of a worker
	killedFlags []string                  // with these flags, the pages of a killed worker are retried soon
	killedDelay time.Duration             // when the pages of a killed worker are retried, by the command's doc
}

// The first engine is asynq, because its test with a killed worker takes
// longest.
var engines = []engine{
	{
		name:        "asynq",
		start:       startRedis,
		killedDelay: 2 * time.Minute,
	},
	{
		name:        "nats",
		hasParts:    true,
		start:       startNATS,
		flags:       []string{"-ack-wait=1h"},
		killedFlags: []string{"-ack-wait=10s"},
		killedDelay: 10 * time.Second,
	},
	{
		name:        "river",
		hasParts:    true,
		findsLinks:  true,
		start:       startPostgres,
		flags:       []string{"-rescue=1h"},
		killedFlags: []string{"-rescue=10s"},
		killedDelay: 70 * time.Second,
	},
}

// atOnce is a flag for tests in which worker 1 must get some of the 60 pages.
// Without the flag, the other two workers could get all of them.
const atOnce = "-at-once=16"

// A worker that ends by SIGTERM returns its pages to the queue. They are
// retried immediately: no server would consider the worker dead within this
// test.
func TestSIGTERM(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, e, append(slices.Clip(e.flags), atOnce), &site{hosts: 6, pages: 8, unit: delay})
			r.signal = syscall.SIGTERM
			r.signalAt = 1
			took := r.crawl()
			if limit := r.site.ideal() + 25*time.Second; took > limit {
				t.Errorf("crawl took %v, want at most %v", took, limit)
			}
		})
	}
}

// A worker is killed while it fetches a page, and started again. No page is
// lost, and only pages of the killed worker are fetched twice. They are retried
// within the time in the command's documentation.
func TestKill(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, e, append(slices.Clip(e.killedFlags), atOnce), &site{hosts: 6, pages: 8, unit: delay})
			r.signal = syscall.SIGKILL
			r.signalAt = 3
			took := r.crawl()
			ideal := r.site.ideal()
			t.Logf("crawl took %v more than the ideal time", took-ideal)
			if limit := ideal + e.killedDelay + 15*time.Second; took > limit {
				t.Errorf("crawl took %v, want at most %v", took, limit)
			}
		})
	}
}

// A flag after the command "work" would have no effect, so that a second worker
// would serve part 0. It is an error, as is an argument that is not a page's
// URL.
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
			cmd := exec.Command(filepath.Join(dir, e.name), strings.Fields(args)...)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Errorf("%s %s: exit status is 0, want an error", e.name, args)
			}
			if !strings.Contains(string(out), "URL") {
				t.Errorf("%s %s: output is %q, want an error about the URL", e.name, args, out)
			}
		}
	}
}

// Sixty hosts of twenty pages are crawled in little more time than the slowest
// host needs. A page is delivered at most three times, on average.
func TestSixtyHosts(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, e, e.flags, &site{hosts: 60, pages: 20, unit: delay})
			took := r.crawl()
			r.wantFast(took, 2) // other tests run at the same time: see TestTime
		})
	}
}

// wantFast checks that a crawl took at most the ideal time multiplied by
// factor, with at most three deliveries a page.
func (r *run) wantFast(took time.Duration, factor float64) {
	r.t.Helper()
	limit := time.Duration(factor * float64(r.site.ideal()))
	if r.deliveries > 3 || took > limit {
		r.t.Errorf("crawl took %v and %.2f deliveries a page, want at most %v and 3", took, r.deliveries, limit)
	}
}

// Alone on the machine, the same crawl takes at most 1.3 times the time that
// the slowest host needs. With -v, the test prints the figures for other values
// of MaxWait.
func TestTime(t *testing.T) {
	if os.Getenv("COURTESY_QUEUES") == "" {
		t.Skip("SKIPPED: it takes ten minutes: set COURTESY_QUEUES=1 to run it")
	}
	for _, e := range engines {
		waits := []string{""} // the default
		if !e.hasParts {
			waits = []string{"", "-1s", "1s", "3s"}
		}
		for _, wait := range waits {
			t.Run(e.name+" "+wait, func(t *testing.T) {
				flags := e.flags
				if wait != "" {
					flags = append(slices.Clip(flags), "-wait="+wait)
				}
				r := newRun(t, e, flags, &site{hosts: 60, pages: 20, unit: time.Second})
				took := r.crawl()
				t.Logf("crawl took %.2f times the ideal time", took.Seconds()/r.site.ideal().Seconds())
				if wait == "" {
					r.wantFast(took, 1.3)
				}
			})
		}
	}
}

// A run is a crawl by three workers.
type run struct {
	engine
	t       *testing.T
	program string
	flags   []string
	site    *site
	proxy   string

	signal     syscall.Signal // the signal that worker 1 gets during a page; 0 means none
	signalAt   int            // the number of that page
	deliveries float64        // deliveries a page, to the workers that were not killed
}

// build builds the commands, and returns their directory.
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
	go stalls.record()
	status := m.Run()
	if dir, _ := build(); dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(status)
}

// newRun returns a run of an engine, whose server it starts. It skips the test
// if the machine is overloaded.
func newRun(t *testing.T, e engine, flags []string, s *site) *run {
	t.Helper()
	testmain.SkipIfOverloaded(t)
	dir, err := build()
	if err != nil {
		t.Fatal(err)
	}
	s.pagesBy = make(map[string]int)
	proxy := httptest.NewServer(s)
	t.Cleanup(proxy.Close)
	return &run{
		engine:  e,
		t:       t,
		program: filepath.Join(dir, e.name),
		flags:   append(e.start(t), flags...),
		site:    s,
		proxy:   proxy.URL,
	}
}

// crawl puts the pages into the queue, starts three workers, sends the signal
// to worker 1 and starts it again, and waits until the queue is empty. It
// checks the requests to the site, and returns the time from the first request
// to the last. If the machine is overloaded at the end, crawl only checks that
// no disallowed page was requested, and skips the rest of the test: a worker
// that could not run looks like one with an error.
func (r *run) crawl() time.Duration {
	r.putAll()
	signalNow := r.holdPage()
	var workers [3]*process
	for n := range workers {
		workers[n] = r.startWorker(n)
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), r.site.ideal()+5*time.Minute)
	defer cancel()
	outputs := ""
	if r.signal != 0 {
		select {
		case <-signalNow:
		case <-ctx.Done():
			r.t.Fatalf("worker 1 has not requested %d pages:\n%s", r.signalAt, workers[1].output())
		}
		outputs += r.endWorker(ctx, workers[1])
		workers[1] = r.startWorker(1)
	}
	for n, w := range workers {
		if err := w.wait(ctx); err != nil {
			r.t.Errorf("worker %d ended with the error %v:\n%s", n, err, w.output())
		}
		if !strings.Contains(w.output(), "summary:") {
			r.t.Errorf("output of worker %d has no summary:\n%s", n, w.output())
		}
		outputs += w.output()
	}
	defer func() {
		if r.t.Failed() {
			r.t.Log(outputs)
		}
	}()
	r.site.checkAllowed(r.t)
	testmain.SkipIfOverloaded(r.t)
	r.countDeliveries(outputs)
	started, ended := r.site.check(r.t, r.killed())
	r.t.Logf("crawl took %v, ideally %v, with %.2f deliveries a page",
		ended.Sub(started).Round(time.Second/10), r.site.ideal(), r.deliveries)
	return ended.Sub(started)
}

// killed returns the name of the worker that is killed, or "" if none is.
func (r *run) killed() string {
	if r.signal == syscall.SIGKILL {
		return "one"
	}
	return ""
}

// putAll puts the site's pages into the queue. If the command finds links, one
// page of each host is enough.
func (r *run) putAll() {
	var urls []string
	for n := range r.site.hosts {
		for _, path := range r.site.paths() {
			if !r.findsLinks || path == "/0" {
				urls = append(urls, r.site.url(n, path))
			}
		}
	}
	r.put(urls...)
}

// holdPage makes the site delay the page during which worker 1 gets the signal.
// The returned channel gets a value when the page is requested.
func (r *run) holdPage() <-chan bool {
	requested := make(chan bool, 1)
	r.site.mu.Lock()
	defer r.site.mu.Unlock()
	r.site.onPage = func(worker string, pages int, req *http.Request) {
		if r.signal == 0 || worker != "one" || pages != r.signalAt {
			return
		}
		requested <- true
		longEnough := 500 * time.Millisecond // for the signal to arrive
		if r.signal == syscall.SIGKILL {
			longEnough = 10 * time.Second
		}
		select {
		case <-req.Context().Done(): // the worker is dead
		case <-time.After(longEnough):
		}
	}
	return requested
}

// endWorker sends the signal to a worker, and returns its output.
func (r *run) endWorker(ctx context.Context, w *process) string {
	w.cmd.Process.Signal(r.signal)
	err := w.wait(ctx)
	if r.signal == syscall.SIGKILL {
		return w.output()
	}
	if err != nil || !strings.Contains(w.output(), "summary:") {
		r.t.Errorf("after SIGTERM, worker 1 ended with the error %v, want none and a summary:\n%s",
			err, w.output())
	}
	return w.output()
}

var summaryLine = regexp.MustCompile(`summary: (\d+) fetched, (\d+) dropped, (\d+) put back`)

// countDeliveries sets r.deliveries by the summaries in the workers' outputs.
// It checks that all pages were done, unless a worker was killed.
func (r *run) countDeliveries(outputs string) {
	r.t.Helper()
	delivered := 0
	done := 0
	for _, match := range summaryLine.FindAllStringSubmatch(outputs, -1) {
		fetched, _ := strconv.Atoi(match[1])
		dropped, _ := strconv.Atoi(match[2])
		putBack, _ := strconv.Atoi(match[3])
		done += fetched + dropped
		delivered += fetched + dropped + putBack
	}
	r.deliveries = float64(delivered) / float64(max(done, 1))
	all := r.site.hosts * len(r.site.paths())
	if r.killed() == "" && done != all {
		r.t.Errorf("workers have done %d pages, want %d", done, all)
	}
}

// put puts pages into the queue.
func (r *run) put(urls ...string) {
	r.t.Helper()
	put := r.command(0, "put")
	if !r.hasParts {
		put = exec.Command(r.program, append(r.serverFlags(), "put")...)
	}
	put.Stdin = strings.NewReader(strings.Join(urls, "\n"))
	if out, err := put.CombinedOutput(); err != nil {
		r.t.Fatalf("put: %v\n%s", err, out)
	}
}

// serverFlags returns the flag with the address of the server.
func (r *run) serverFlags() []string { return r.flags[:1:1] }

// command returns the command of the n-th worker, "put" or "work".
func (r *run) command(n int, what string) *exec.Cmd {
	args := append([]string{
		"-delay=" + delay.String(),
		"-user-agent=TestBot/1.0 (+https://example.com/bot) " + []string{"zero", "one", "two"}[n],
	}, r.flags...)
	if r.hasParts {
		args = append(args, "-workers=3", fmt.Sprintf("-part=%d", n), "-start-delay="+retryAfter.String())
	}
	cmd := exec.CommandContext(r.t.Context(), r.program, append(args, what)...)
	cmd.Env = append(os.Environ(), "HTTP_PROXY="+r.proxy, "NO_PROXY=")
	return cmd
}

// A process is the process of a worker.
type process struct {
	cmd    *exec.Cmd
	out    bytes.Buffer
	ended  chan struct{}
	status error
}

// start starts the n-th worker.
func (r *run) startWorker(n int) *process {
	p := &process{cmd: r.command(n, "work"), ended: make(chan struct{})}
	p.cmd.Stdout = &p.out
	p.cmd.Stderr = &p.out
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

// wait waits until the process has ended. When ctx ends, it kills the process.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-p.ended:
		return p.status
	case <-ctx.Done():
		p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("process did not end in time: %w", p.status)
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

// startNATS starts a server in this process. If the variable COURTESY_NATS has
// the URL of a server, startNATS uses the stream PAGES of that server.
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
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the NATS server accepts no connection after 10 s")
	}
	return []string{"-nats=" + s.ClientURL()}
}

func startRedis(t *testing.T) []string { return []string{"-redis=" + redisserver.Start(t).Addr} }
