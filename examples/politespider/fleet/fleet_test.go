package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/goodbots/courtesy/examples/politespider/internal/spider"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
	"github.com/goodbots/courtesy/examples/politespider/internal/tooltest"
	"github.com/goodbots/courtesy/integration_test/redisserver"
	"github.com/goodbots/courtesy/integration_test/testmain"
)

func TestMain(m *testing.M) {
	testmain.Quiet()
	testmain.Parallel(8)
	// While Redis is unreachable, go-redis runs a goroutine for the client.
	// This goroutine checks only once a second whether the client was closed,
	// so it may outlive the tests.
	const dialer = "github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(dialer))
}

const agent = "-user-agent=ExampleBot/1.0"

// run runs the command, and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return tool.Command{
		Crawl:  spider.Crawl,
		Shared: new(redisCrawl),
		Args:   args,
		Stdout: stdout,
		Stderr: stderr,
	}.Run(ctx)
}

// crawlThrough crawls http://a.example/0 through a proxy that responds like the
// site, and checks the exit status. It returns the output.
func crawlThrough(t *testing.T, site http.Handler, wantStatus int, args ...string) string {
	t.Helper()
	proxy := httptest.NewServer(site)
	defer proxy.Close()
	var stdout, stderr bytes.Buffer
	args = append([]string{"-delay=0", agent, "-proxy", proxy.URL, "http://a.example/0"}, args...)
	if status := run(t.Context(), args, &stdout, &stderr); status != wantStatus {
		t.Errorf("exit status is %d, want %d; standard error:\n%s", status, wantStatus, stderr.String())
	}
	return stdout.String() + stderr.String()
}

// wantText checks that the output contains all parts.
func wantText(t *testing.T, out string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(out, part) {
			t.Errorf("output does not contain %q:\n%s", part, out)
		}
	}
}

// A pathLog is a site that records the requested paths.
type pathLog struct {
	http.Handler
	mu    sync.Mutex
	paths []string
}

func (l *pathLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	l.paths = append(l.paths, r.URL.Path)
	l.mu.Unlock()
	l.Handler.ServeHTTP(w, r)
}

// wantRequests checks which paths were requested since the last call, separated
// by spaces.
func (l *pathLog) wantRequests(t *testing.T, name, want string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := strings.Join(l.paths, " "); got != want {
		t.Errorf("%s: requests were for %q, want %q", name, got, want)
	}
	l.paths = nil
}

// chain returns a site of pages /0, /1 and so on, each of which links to the
// next. It calls onPage, unless it is nil, with the number of each page that is
// requested.
func chain(pages int, onPage func(n int)) *pathLog {
	return &pathLog{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			fmt.Fprint(w, "User-agent: *\nDisallow: /private")
			return
		}
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil || n >= pages {
			http.NotFound(w, r)
			return
		}
		if onPage != nil {
			onPage(n)
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<a href=/%d>next</a> <a href=/private>no</a>", n+1)
	})}
}

// If the command line is wrong, the error names the flag.
func TestRun_UsageError(t *testing.T) {
	const redis = "-redis=redis://127.0.0.1:1"
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{
			"a crawl without -redis",
			[]string{agent, "http://a.example/"},
			"-redis is required: the URL of the Redis server that the processes of the crawl share",
		},
		{"-resume", []string{"-resume=dir", redis}, "not defined: -resume"},
		{
			"an empty -crawl",
			[]string{redis, "-crawl="},
			"-crawl \"\": must be a name without spaces, braces, brackets",
		},
		{
			"a -crawl with braces",
			[]string{redis, "-crawl={a}"},
			"-crawl \"{a}\": must be a name without spaces",
		},
		{
			"a -crawl with a space",
			[]string{redis, "-crawl=a b"},
			"-crawl \"a b\": must be a name without spaces",
		},
		{"a zero -lease", []string{redis, "-lease=0"}, "-lease 0s: must be at least 1s"},
		{
			"a -redis without a scheme",
			[]string{"-redis=127.0.0.1:6379"},
			"; example: redis://user:password@127.0.0.1:6379/0 (rediss for TLS)",
		},
		{
			"a -redis with an http URL",
			[]string{"-redis=http://127.0.0.1:6379"},
			"-redis: not a Redis URL; example: redis://user",
		},
		{"an invalid database", []string{"-redis=redis://127.0.0.1:6379/first"}, "database"},
		{"an unknown option", []string{"-redis=redis://127.0.0.1:6379?colour=red"}, "colour"},
		{
			"an unknown option of a cluster",
			[]string{"-redis=redis://127.0.0.1:6379?addr=127.0.0.1:6380&colour=red"},
			"colour",
		},
		{
			"an unknown option of sentinels",
			[]string{"-redis=redis://127.0.0.1:6379?master_name=m&colour=red"},
			"colour",
		},
		{"a crawl without a URL", []string{redis}, "no URL to crawl"},
		{"-store", []string{redis, "-store=a"}, "-store"},
		{
			"a mistyped flag",
			[]string{"-redi=redis://127.0.0.1:1"},
			"did you mean -redis? (fleet -h lists the flags)",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runArgs := func(stdout, stderr io.Writer) int { return run(t.Context(), tt.args, stdout, stderr) }
			tooltest.CheckUsageError(t, runArgs, tt.want)
		})
	}
}

func TestRun_Help(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"-h"}, &stdout, &stderr); status != tool.ExitOK {
		t.Errorf("exit status is %d, want %d", status, tool.ExitOK)
	}
	if stderr.Len() > 0 {
		t.Errorf("standard error is %q, want none", stderr.String())
	}
	wantText(t, stdout.String(), "-redis", "-crawl", "-lease", "-user-agent")
	if strings.Contains(stdout.String(), "\n  -resume") {
		t.Errorf("help lists -resume, which the fleet does not have:\n%s", stdout.String())
	}
}

// Crawls with different names can share a Redis. The output contains how to
// continue a crawl, or that the crawl is complete.
func TestRun_CrawlNames(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	site := chain(4, nil)
	for _, tt := range []struct {
		name     string
		args     []string
		requests string
		want     string // a part of the output
	}{
		{
			"the first pages",
			[]string{"-crawl=a", "-max-pages=2"},
			"/robots.txt /0 /1",
			"politespider: the other processes continue the crawl; " +
				"to resume it here, run the same command again, with a larger -max-pages\n",
		},
		{
			"the other pages",
			[]string{"-crawl=a"},
			"/2 /3 /4",
			"Earlier runs and other processes of this crawl have finished 2 other URLs.",
		},
		{
			"a complete crawl",
			[]string{"-crawl=a"},
			"",
			"Earlier runs and other processes of this crawl have finished 6 other URLs.", // includes a disallowed URL
		},
		{
			"a complete crawl again",
			[]string{"-crawl=a"},
			"",
			"politespider: the crawl \"a\" is complete; to crawl again, use another name with -crawl\n",
		},
		{
			"a crawl with another name",
			[]string{"-crawl=b"},
			"/0 /1 /2 /3 /4", // robots.txt comes from Redis
			"1 host in ",
		},
	} {
		// The proxy has a new address each time, but the site keeps its name.
		out := crawlThrough(t, site, tool.ExitOK, append([]string{"-redis", "redis://" + server.Addr}, tt.args...)...)
		wantText(t, out, tt.want)
		site.wantRequests(t, tt.name, tt.requests)
	}
}

// A site serves another robots.txt to each robot. Two crawls with different
// User-Agents share a Redis. Each fetches its own robots.txt and obeys it. With
// the file of the other, the second crawl would request a disallowed page.
func TestRun_TwoUserAgents(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	site := &pathLog{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/robots.txt":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<a href=/1>1</a>")
		case strings.HasPrefix(r.UserAgent(), "SecondBot/"):
			fmt.Fprint(w, "User-agent: *\nDisallow: /1\n")
		default:
			fmt.Fprint(w, "User-agent: *\nDisallow:\n")
		}
	})}
	for _, tt := range []struct{ crawl, userAgent, requests string }{
		{"first", "FirstBot/1.0", "/robots.txt /0 /1"},
		{"second", "SecondBot/1.0", "/robots.txt /0"},
		{"first-again", "FirstBot/1.0", "/0 /1"}, // its robots.txt comes from Redis
		{"second-again", "SecondBot/1.0", "/0"},
	} {
		crawlThrough(t, site, tool.ExitOK,
			"-redis", "redis://"+server.Addr, "-crawl", tt.crawl, "-user-agent", tt.userAgent)
		site.wantRequests(t, tt.crawl, tt.requests)
	}
}

// A process that joins a crawl prints the state of the crawl, even if other
// processes have all its hosts.
func TestRun_Join(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	requested := make(chan bool)
	respond := make(chan bool)
	site := chain(3, func(n int) {
		if n == 1 {
			close(requested)
			<-respond
		}
	})
	proxy := httptest.NewServer(site)
	defer proxy.Close()
	args := []string{
		"-delay=0",
		agent,
		"-proxy", proxy.URL,
		"-redis", "redis://" + server.Addr,
		"http://a.example/0",
	}
	var processes sync.WaitGroup
	processes.Go(func() { run(t.Context(), args, io.Discard, io.Discard) })
	<-requested
	stderr := &firstWrite{text: make(chan string, 1)}
	processes.Go(func() { run(t.Context(), args, io.Discard, stderr) })
	const want = "politespider: joining a crawl with 1 URL done, 1 queued and 1 host busy; " +
		"this process starts when a host is free\n"
	if got := <-stderr.text; got != want {
		t.Errorf("first line of standard error is %q, want %q", got, want)
	}
	close(respond)
	processes.Wait()
}

// A firstWrite sends the first text that is written to it.
type firstWrite struct {
	once sync.Once
	text chan string
}

func (f *firstWrite) Write(text []byte) (int, error) {
	f.once.Do(func() { f.text <- string(text) })
	return len(text), nil
}

// If Redis becomes unreachable, the spider waits for it until -max-time has
// passed.
func TestRun_RedisUnreachable(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	site := chain(9, func(n int) {
		if n == 0 {
			server.Kill()
		}
	})
	// On a busy machine, the first message about Redis is printed after 8 s.
	out := crawlThrough(t, site, tool.ExitOK, "-redis", "redis://"+server.Addr, "-max-time=15s")
	wantText(t, out,
		"Redis is unreachable; the crawl is paused",
		"politespider: the other processes continue the crawl; to resume it here, run the same command again\n")
}

// No output contains the password of Redis.
func TestRun_RedisPassword(t *testing.T) {
	t.Parallel()
	for _, rawURL := range []string{
		"redis://bot:hunter2@127.0.0.1:1",
		"redis://bot:hunter2@127.0.0.1:1/?password=hunter2",
		"redis://bot:hunter2@[::1",
		"redis://bot:hunter2@127.0.0.1:port",
		"://bot:hunter2@127.0.0.1",
		"redis://bot:hunter2@127.0.0.1:1?addr=127.0.0.1:2",
		"redis://bot:hunter2@127.0.0.1:1?master_name=m",
	} {
		var stdout, stderr bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		status := run(ctx, []string{"-redis", rawURL, "demo"}, &stdout, &stderr)
		cancel()
		if status != tool.ExitFailed && status != tool.ExitUsage {
			t.Errorf("-redis %s: exit status is %d, want %d or %d",
				rawURL, status, tool.ExitFailed, tool.ExitUsage)
		}
		wantText(t, stderr.String(), "-redis")
		if out := stdout.String() + stderr.String(); strings.Contains(out, "hunter2") {
			t.Errorf("-redis %s: output contains the password:\n%s", rawURL, out)
		}
	}
}

// The pages that a host refuses count for all processes of a crawl. Each
// process ends with the exit status of -max-refused, and a process with a
// larger -max-refused fetches the other pages.
func TestRun_MaxRefused(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	isRefusing := true
	const links = "<a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a> <a href=/4>4</a> <a href=/5>5</a>"
	site := &pathLog{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/robots.txt":
			http.NotFound(w, r)
		case r.URL.Path == "/0":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, links)
		case isRefusing:
			w.WriteHeader(http.StatusForbidden)
		}
	})}
	crawl := func(wantStatus int, limit string) string {
		t.Helper()
		return crawlThrough(t, site, wantStatus, "-redis", "redis://"+server.Addr, "-max-refused="+limit)
	}
	const ended = "Hosts stopped at -max-refused (crawl incomplete):\n" +
		"  a.example                                   3 URLs still in the queue\n"
	const hint = "run the same command again, with a larger -max-refused\n"
	wantText(t, crawl(tool.ExitRefused, "2"), ended, hint)
	site.wantRequests(t, "first process", "/robots.txt /0 /1 /2")
	wantText(t, crawl(tool.ExitRefused, "2"), ended, hint)
	site.wantRequests(t, "second process", "")
	isRefusing = false
	crawl(tool.ExitOK, "3")
	site.wantRequests(t, "process with a larger limit", "/3 /4 /5")
}
