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
	// While Redis cannot be reached, go-redis runs a goroutine for the client.
	// This goroutine checks only once a second whether the client was closed.
	// So it may outlive the tests.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

const agent = "-user-agent=ExampleBot/1.0"

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return tool.Command{
		Crawl:  spider.Crawl,
		Shared: new(place),
		Args:   args,
		Stdout: stdout,
		Stderr: stderr,
	}.Run(ctx)
}

// A chain is a site in which each page links to the next. ServeHTTP adds each
// requested path to chain.asked. If the page exists, ServeHTTP calls chain.at.
type chain struct {
	pages int
	at    func(r *http.Request, n int)

	mu    sync.Mutex
	asked []string
}

func (c *chain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.asked = append(c.asked, r.URL.Path)
	c.mu.Unlock()
	if r.URL.Path == "/robots.txt" {
		fmt.Fprint(w, "User-agent: *\nDisallow: /private")
		return
	}
	var n int
	if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil || n >= c.pages {
		http.NotFound(w, r)
		return
	}
	c.at(r, n)
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "<a href=/%d>next</a> <a href=/private>no</a>", n+1)
}

func TestRun_Mistakes(t *testing.T) {
	const redis = "-redis=redis://127.0.0.1:1"
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{
			"no Redis",
			[]string{agent, "http://a.example/"},
			"-redis is required: the URL of the Redis server that the processes of the crawl share",
		},
		{"kept in two places", []string{"-resume=dir", redis}, "not defined: -resume"},
		{
			"crawl without a name",
			[]string{redis, "-crawl="},
			"-crawl \"\": must be a name without spaces, braces, brackets",
		},
		{"crawl with braces", []string{redis, "-crawl={a}"}, "-crawl \"{a}\": must be a name without spaces"},
		{"crawl with a space", []string{redis, "-crawl=a b"}, "-crawl \"a b\": must be a name without spaces"},
		{"no lease", []string{redis, "-lease=0"}, "-lease 0s: must be at least 1s"},
		{
			"Redis without a scheme",
			[]string{"-redis=127.0.0.1:6379"},
			"; example: redis://user:password@127.0.0.1:6379/0 (rediss for TLS)",
		},
		{
			"Redis with another",
			[]string{"-redis=http://127.0.0.1:6379"},
			"-redis: not a Redis URL; example: redis://user",
		},
		{"Redis database", []string{"-redis=redis://127.0.0.1:6379/first"}, "database"},
		{"Redis option", []string{"-redis=redis://127.0.0.1:6379?colour=red"}, "colour"},
		{
			"Redis cluster option",
			[]string{"-redis=redis://127.0.0.1:6379?addr=127.0.0.1:6380&colour=red"},
			"colour",
		},
		{"Redis sentinel option", []string{"-redis=redis://127.0.0.1:6379?master_name=m&colour=red"}, "colour"},
		{"a crawl of nothing in Redis", []string{redis}, "no URL to crawl"},
		{"robots.txt kept in two places", []string{redis, "-store=a"}, "-store"},
		{
			"a mistyped flag",
			[]string{"-redi=redis://127.0.0.1:1"},
			"did you mean -redis? (fleet -h lists the flags)",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tooltest.CheckMistake(t, func(stdout, stderr io.Writer) int { return run(t.Context(), tt.args, stdout, stderr) }, tt.want)
		})
	}
}

func TestRun_Help(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"-h"}, &stdout, &stderr); status != tool.ExitOK || stderr.Len() > 0 {
		t.Errorf("exit status %d, want 0; standard error: %s", status, stderr.String())
	}
	for _, flag := range []string{"-redis", "-crawl", "-lease", "-user-agent"} {
		if !strings.Contains(stdout.String(), flag) {
			t.Errorf("the help does not mention %s", flag)
		}
	}
	if strings.Contains(stdout.String(), "\n  -resume") {
		t.Error("the help lists -resume")
	}
}

// Crawls with different names can share a Redis. The output says how to
// continue a crawl, or that the crawl is complete.
func TestRun_RedisCrawls(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	site := &chain{pages: 4, at: func(*http.Request, int) {}}
	for _, tt := range []struct {
		name  string
		args  []string
		asked string // the paths that the site was asked for
		says  string
	}{
		{"the first pages", []string{"-crawl=a", "-max-pages=2"}, "/robots.txt /0 /1",
			"politespider: the other processes continue the crawl; to resume it here, run the same command again, with a larger -max-pages\n"},
		{
			"the rest",
			[]string{"-crawl=a"},
			"/2 /3 /4",
			"Earlier runs and other processes of this crawl have finished 2 other URLs.",
		},
		{
			"what others finished counts too, if nothing was sent for it",
			[]string{"-crawl=a"},
			"",
			"Earlier runs and other processes of this crawl have finished 6 other URLs.",
		},
		{
			"nothing is left",
			[]string{"-crawl=a"},
			"",
			"politespider: the crawl \"a\" is complete; to crawl again, use another name with -crawl\n",
		},
		{
			"under another name",
			[]string{"-crawl=b"},
			"/0 /1 /2 /3 /4",
			"1 host in ",
		}, // robots.txt comes from Redis
	} {
		site.asked = nil
		// The proxy has a new address each time, but the site keeps its name.
		out := runThrough(t, site, append([]string{"-redis", "redis://" + server.Addr}, tt.args...)...)
		if got := strings.Join(site.asked, " "); got != tt.asked || !strings.Contains(out, tt.says) {
			t.Errorf("%s: it asked for %q, want %q, and said\n%s\nwant %q",
				tt.name, got, tt.asked, out, tt.says)
		}
	}
}

// A site serves another robots.txt to each robot. Two crawls with different
// User-Agents share a Redis. Each fetches its own robots.txt and obeys it. With
// the file of the other, the second crawl would request a disallowed page.
func TestRun_RedisOfTwoRobots(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	var mu sync.Mutex
	var asked []string
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.URL.Path)
		switch {
		case r.URL.Path != "/robots.txt":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<a href=/1>1</a>")
		case strings.HasPrefix(r.UserAgent(), "SecondBot/"):
			fmt.Fprint(w, "User-agent: *\nDisallow: /1\n")
		default:
			fmt.Fprint(w, "User-agent: *\nDisallow:\n")
		}
	})
	for _, tt := range []struct{ crawl, agent, asked string }{
		{"first", "FirstBot/1.0", "/robots.txt /0 /1"},
		{"second", "SecondBot/1.0", "/robots.txt /0"},
		{"the first again", "FirstBot/1.0", "/0 /1"}, // its robots.txt comes from Redis
		{"the second again", "SecondBot/1.0", "/0"},
	} {
		asked = nil
		crawl := strings.ReplaceAll(tt.crawl, " ", "-")
		runThrough(t, site, "-redis", "redis://"+server.Addr, "-crawl", crawl, "-user-agent", tt.agent)
		if got := strings.Join(asked, " "); got != tt.asked {
			t.Errorf("%s: it asked for %q, want %q", tt.crawl, got, tt.asked)
		}
	}
}

// A process that joins a crawl says so, even if others have all its hosts.
func TestRun_SaysThatItJoins(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	under, answer := make(chan bool), make(chan bool)
	site := &chain{pages: 3, at: func(_ *http.Request, n int) {
		if n == 1 {
			close(under)
			<-answer
		}
	}}
	proxy := httptest.NewServer(site)
	defer proxy.Close()
	args := []string{
		"-delay=0",
		agent,
		"-proxy",
		proxy.URL,
		"-redis",
		"redis://" + server.Addr,
		"http://a.example/0",
	}
	var first sync.WaitGroup
	first.Go(func() { run(t.Context(), args, io.Discard, io.Discard) })
	<-under
	var stdout bytes.Buffer
	stderr := &joined{says: make(chan string, 1)}
	var second sync.WaitGroup
	second.Go(func() { run(t.Context(), args, &stdout, stderr) })
	if got, want := <-stderr.says, "politespider: joining a crawl with 1 URL done, 1 queued and 1 host busy; this process starts when a host is free\n"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	close(answer)
	first.Wait()
	second.Wait()
}

// A joined sends the first text that is written to it.
type joined struct {
	once sync.Once
	says chan string
}

func (j *joined) Write(text []byte) (int, error) {
	j.once.Do(func() { j.says <- string(text) })
	return len(text), nil
}

// If Redis goes away, the spider waits for it until -max-time has passed.
func TestRun_RedisGone(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	site := &chain{pages: 9, at: func(_ *http.Request, n int) {
		if n == 0 {
			server.Kill()
		}
	}}
	out := runThrough(t, site, "-redis", "redis://"+server.Addr, "-max-time=15s") // on a busy machine, the first word about Redis comes after 8 s
	for _, want := range []string{
		"Redis is unreachable; the crawl is paused",
		"politespider: the other processes continue the crawl; to resume it here, run the same command again\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
}

// runThrough crawls http://a.example/0 through a proxy that answers like site.
// It returns the output.
func runThrough(t *testing.T, site http.Handler, args ...string) string {
	t.Helper()
	proxy := httptest.NewServer(site)
	defer proxy.Close()
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), append([]string{
		"-delay=0",
		agent,
		"-proxy",
		proxy.URL,
		"http://a.example/0",
	}, args...), &stdout, &stderr); status != tool.ExitOK {
		t.Errorf("exit status %d: %s", status, stderr.String())
	}
	return stdout.String() + stderr.String()
}

func TestRun_RedisSecret(t *testing.T) {
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
		if status != tool.ExitFailed && status != tool.ExitUsage || !strings.Contains(stderr.String(), "-redis") {
			t.Errorf("%s: exit status %d: %s", rawURL, status, stderr.String())
		}
		if strings.Contains(stdout.String()+stderr.String(), "hunter2") {
			t.Errorf("%s: %s", rawURL, stderr.String())
		}
	}
}

// The pages that a host refuses count for all processes of a crawl. Each
// process ends with the exit status of -max-refused, and a process with a
// larger -max-refused goes on with the same pages.
func TestRun_MaxRefused(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	blocked := true
	var asked []string
	var mu sync.Mutex
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.URL.Path == "/robots.txt":
			http.NotFound(w, r)
			return
		case r.URL.Path == "/0":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a> <a href=/4>4</a> <a href=/5>5</a>")
		case blocked:
			w.WriteHeader(http.StatusForbidden)
		}
		asked = append(asked, r.URL.Path)
	}))
	defer proxy.Close()
	crawl := func(want int, args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		args = append([]string{
			"-delay=0",
			agent,
			"-proxy",
			proxy.URL,
			"-redis",
			"redis://" + server.Addr,
			"http://a.example/0",
		}, args...)
		if status := run(t.Context(), args, &stdout, &stderr); status != want {
			t.Errorf("exit status %d, want %d: %s%s", status, want, stdout.String(), stderr.String())
		}
		return stdout.String() + stderr.String()
	}
	for range 2 { // the second process finds what the first has left
		out := crawl(tool.ExitRefused, "-max-refused=2")
		for _, want := range []string{
			"Hosts stopped at -max-refused (crawl incomplete):\n  a.example                                   3 URLs still in the queue\n",
			"run the same command again, with a larger -max-refused\n",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("output lacks %q:\n%s", want, out)
			}
		}
		if got, want := strings.Join(asked, " "), "/0 /1 /2"; got != want {
			t.Errorf("asked for %s, want %s", got, want)
		}
	}
	blocked = false
	crawl(tool.ExitOK, "-max-refused=3")
	if got, want := strings.Join(asked, " "), "/0 /1 /2 /3 /4 /5"; got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
}
