package spider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func runSite(t *testing.T, site http.Handler, wantStatus int, args ...string) string {
	t.Helper()
	server := httptest.NewServer(site)
	defer server.Close()
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), append(append([]string{
		"-delay=0",
		"-user-agent=ExampleBot/1.0",
	}, args...), server.URL+"/0"), &stdout, &stderr); status != wantStatus {
		t.Errorf("exit status %d, want %d: %s", status, wantStatus, stderr.String())
	}
	return stdout.String() + stderr.String()
}

func TestRun_Depth(t *testing.T) {
	site := &chain{pages: 9, at: func(*http.Request, int) {}}
	runSite(t, site, tool.ExitOK, "-depth=2")
	if got, want := strings.Join(site.asked, " "), "/robots.txt /0 /1 /2"; got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
}

func TestRun_DepthOfARedirect(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/0", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<a href=/old>old</a>")
	})
	mux.Handle("/old", http.RedirectHandler("/new", http.StatusMovedPermanently))
	mux.HandleFunc("/new", func(http.ResponseWriter, *http.Request) {})
	if out := runSite(t, mux, tool.ExitOK, "-depth=1"); !strings.Contains(out, "/new\n") {
		t.Errorf("the redirect was not followed:\n%s", out)
	}
}

func TestRun_Scope(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<a href=/docs/1>1</a> <a href=/docs/>docs</a> <a href=/shop/>shop</a>")
	})
	if out := runSite(t, mux, tool.ExitOK, "-scope=prefix"); !strings.Contains(out, "/shop/") {
		t.Errorf("the prefix of /0 is /:\n%s", out)
	}
	server := httptest.NewServer(mux)
	defer server.Close()
	var stdout, stderr bytes.Buffer
	run(t.Context(), []string{
		"-delay=0",
		"-user-agent=ExampleBot/1.0",
		"-scope=prefix",
		server.URL + "/docs/0",
	}, &stdout, &stderr)
	if out := stdout.String(); strings.Contains(out, "/shop/") || !strings.Contains(out, "/docs/1") {
		t.Errorf("the prefix is /docs/:\n%s", out)
	}
}

func TestCrawl_MaxTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", page200(`<a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a>`))
		start := time.Now()
		summary, _ := crawlInternet(t, t.Context(), &internet, tool.ExitOK, "-max-time=2500ms", "http://a.example/")
		if time.Since(start) != 2500*time.Millisecond || summary.Stopped != "max-time" || summary.Fetched != 2 || summary.Left != 2 {
			t.Errorf("after %v: stopped %q, %d fetched, %d left",
				time.Since(start), summary.Stopped, summary.Fetched, summary.Left)
		}
	})
}

func TestRun_MaxTime(t *testing.T) {
	t.Parallel()
	site := &chain{pages: 1 << 30, at: func(*http.Request, int) { time.Sleep(50 * time.Millisecond) }}
	if out := runSite(t, site, tool.ExitOK, "-max-time=2s", "-max-pages=0"); !strings.Contains(out, "Stopped at -max-time: 1 URL still in the queue.") {
		t.Errorf("%s", out)
	}
}

// When a host's daily budget is spent, the spider leaves the host alone until
// the next day.
func TestCrawl_Budget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example",
			page200(`<a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a> <a href=/4>4</a>`))
		args := []string{"-budget-requests=3", "-budget-bytes=1000000", "http://a.example/"}
		summary, _ := crawlInternet(t, t.Context(), &internet, tool.ExitOK, append([]string{"-max-time=100h"}, args...)...)
		if summary.Stopped != "" || summary.Left != 0 {
			t.Errorf("at last: %+v", summary)
		}
		days := make(map[int]int)
		for _, r := range internet.Log() {
			days[r.Time.UTC().YearDay()]++
		}
		for day, n := range days {
			if n > 3 {
				t.Errorf("%d requests on day %d", n, day)
			}
		}
		if len(days) < 2 {
			t.Errorf("requests by day: %v", days)
		}
	})
}

func TestCrawl_Hosts(t *testing.T) {
	for _, hosts := range []int{1, 2, 3} {
		synctest.Test(t, func(t *testing.T) {
			var internet robotstest.Internet
			var now, most atomic.Int32
			slow := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				n := now.Add(1)
				defer now.Add(-1)
				most.Store(max(most.Load(), n))
				time.Sleep(3 * time.Second)
			})
			args := []string{fmt.Sprintf("-hosts=%d", hosts)}
			for _, host := range []string{"a.example", "b.example", "c.example", "d.example"} {
				internet.Handle(host, slow)
				args = append(args, "http://"+host+"/")
			}
			crawlInternet(t, t.Context(), &internet, tool.ExitOK, args...)
			if int(most.Load()) != hosts {
				t.Errorf("%d hosts were asked at a time, want %d", most.Load(), hosts)
			}
		})
	}
}

// When the bytes of -budget-bytes are used up, standard error says that the
// host waits for the next day.
func TestCrawl_BudgetBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example",
			page200(`<a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a>`+strings.Repeat(" ", 1000)))
		var stdout, stderr bytes.Buffer
		command := tool.Command{
			Crawl:  Crawl,
			Args:   []string{agent, "-budget-bytes=1500", "-max-time=1h", "http://a.example/"},
			Base:   &internet,
			Stdout: &stdout,
			Stderr: &stderr,
		}
		if status := command.Run(t.Context()); status != tool.ExitOK {
			t.Errorf("exit status %d: %s", status, stderr.String())
		}
		if !strings.Contains(stdout.String(), ": 2 pages fetched") {
			t.Errorf("with two pages the budget is spent:\n%s", stdout.String())
		}
		if !strings.Contains(stderr.String(), "the daily budget of a host is exhausted; its crawl resumes the next day") {
			t.Errorf("standard error: %s", stderr.String())
		}
	})
}

// If a host takes one second to answer, -adaptive=10 makes the spider leave it
// alone for at least ten seconds.
func TestCrawl_Adaptive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			page200(`<a href=/1>1</a> <a href=/2>2</a>`).ServeHTTP(w, r)
		}))
		crawlInternet(t, t.Context(), &internet, tool.ExitOK, "-adaptive=10", "http://a.example/")
		log := internet.Log()
		if len(log) != 4 {
			t.Fatalf("%d requests, want 4", len(log))
		}
		for i := 2; i < len(log); i++ {
			if gap := log[i].Time.Sub(log[i-1].Time); gap < 10*time.Second {
				t.Errorf("%s came after %v, want 10s at least", log[i].URL, gap)
			}
		}
	})
}

// If a host takes 20 ms to answer, -adaptive=10 makes the spider leave it alone
// for at least 200 ms. This test runs in real time.
func TestRun_Adaptive(t *testing.T) {
	t.Parallel()
	site := &chain{pages: 3, at: func(*http.Request, int) { time.Sleep(20 * time.Millisecond) }}
	start := time.Now()
	runSite(t, site, tool.ExitOK, "-adaptive=10")
	if took := time.Since(start); took < 3*200*time.Millisecond {
		t.Errorf("the crawl took %v, want 3 rests of 200 ms at least", took)
	}
}

func TestRun_Proxy(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
	}))
	defer proxy.Close()
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{
		"-delay=0",
		"-user-agent=ExampleBot/1.0",
		"-proxy",
		proxy.URL,
		"http://a.example/",
	}, &stdout, &stderr); status != tool.ExitOK {
		t.Errorf("exit status %d: %s", status, stderr.String())
	}
	if got, want := strings.Join(asked, " "), "http://a.example/robots.txt http://a.example/"; got != want {
		t.Errorf("the proxy was asked for %s, want %s", got, want)
	}
}

func TestRun_ProxySecret(t *testing.T) {
	for _, proxy := range []string{
		"http://bot:hunter2@127.0.0.1:1",
		"http://bot:hunter2@[::1",
		"ftp://bot:hunter2@127.0.0.1",
	} {
		var stdout, stderr bytes.Buffer
		status := run(t.Context(), []string{
			"-delay=0",
			"-user-agent=ExampleBot/1.0",
			"-proxy",
			proxy,
			"http://a.example/",
		}, &stdout, &stderr)
		if out := stdout.String() + stderr.String(); status == tool.ExitOK || strings.Contains(out, "hunter2") {
			t.Errorf("%s: exit status %d: %s", proxy, status, out)
		}
	}
}

func TestRun_Store(t *testing.T) {
	site := &chain{pages: 1, at: func(*http.Request, int) {}}
	server := httptest.NewServer(site)
	defer server.Close()
	dir := t.TempDir()
	for _, want := range []string{
		"  404: everything allowed\n",
		"  kept from before\n",
	} { // in the table of hosts, in the column "robots.txt"
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), []string{
			"-delay=0",
			"-user-agent=ExampleBot/1.0",
			"-store",
			dir,
			server.URL + "/0",
		}, &stdout, &stderr); status != tool.ExitOK {
			t.Errorf("exit status %d: %s", status, stderr.String())
		}
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("it prints nothing of %q:\n%s", want, stdout.String())
		}
	}
	if got, want := strings.Join(site.asked, " "), "/robots.txt /0 /1 /0 /1"; got != want {
		t.Errorf("two crawls asked for %s, want %s", got, want)
	}
}

func pagesSite() http.Handler {
	mux := http.NewServeMux()
	html := func(path, text string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, text)
		})
	}
	html("/0",
		"<a href=/noindex>1</a> <a href=/noarchive>2</a> <a href=/file>3</a> <a href=/missing>4</a> <a href=/odd>5</a>")
	html("/noindex", "<meta name=robots content=noindex>")
	html("/noarchive", "<meta name=robots content=noarchive>")
	mux.HandleFunc("/file", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "a file") })
	mux.HandleFunc("/odd", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", "br") // br cannot be decoded, so the page's directives are unknown
		fmt.Fprint(w, "????")
	})
	return mux
}

func TestRun_Pages(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "/0 /file"},
		{[]string{"-pages-all"}, "/0 /file /noarchive /noindex /odd"},
	} {
		dir := t.TempDir()
		runSite(t, pagesSite(), tool.ExitOK, append(tt.args, "-pages", dir)...)
		index, err := os.ReadFile(filepath.Join(dir, "index.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		type pageLine struct{ URL, File string }
		kept := make(map[string]pageLine)
		for text := range strings.Lines(string(index)) {
			var l pageLine
			if err := json.Unmarshal([]byte(text), &l); err != nil {
				t.Fatal(err)
			}
			kept[l.URL[strings.LastIndexByte(l.URL, '/'):]] = l
		}
		for path := range strings.FieldsSeq("/0 /file /noarchive /noindex /odd /missing") {
			if _, ok := kept[path]; ok != strings.Contains(" "+tt.want+" ", " "+path+" ") {
				t.Errorf("%v: %s is kept: %t", tt.args, path, ok)
			}
		}
		if body, err := os.ReadFile(filepath.Join(dir, kept["/file"].File)); err != nil || string(body) != "a file" {
			t.Errorf("%q, %v", body, err)
		}
		files := 0
		filepath.WalkDir(dir, func(_ string, d fs.DirEntry, _ error) error {
			if !d.IsDir() {
				files++
			}
			return nil
		})
		if files != len(kept)+1 {
			t.Errorf("%d files, want %d and the index", files, len(kept))
		}
	}
}

// If a page cannot be stored, the crawl ends, and the page does not count as
// done.
func TestRun_PagesNoRoom(t *testing.T) {
	dir := t.TempDir()
	pages := filepath.Join(dir, "pages")
	resume := filepath.Join(dir, "resume")
	site := &chain{pages: 2, at: func(_ *http.Request, n int) {
		if n == 0 {
			os.RemoveAll(pages)
			os.WriteFile(pages, nil, 0o600) // a file where the directory should be
		}
	}}
	server := httptest.NewServer(site)
	defer server.Close()
	var stdout, stderr bytes.Buffer
	args := []string{"-delay=0", "-user-agent=ExampleBot/1.0", "-pages", pages, "-resume", resume}
	if status := run(t.Context(), append(args, server.URL+"/0"), &stdout, &stderr); status != tool.ExitFailed {
		t.Errorf("exit status %d, want %d", status, tool.ExitFailed)
	}
	if !strings.Contains(stderr.String(), "store a page") || !strings.Contains(stdout.String(), "Failed: 1 URL still in the queue") {
		t.Errorf("standard error: %s\nstandard output: %s", stderr.String(), stdout.String())
	}
	if status := run(t.Context(), args, &stdout, &stderr); status != tool.ExitFailed || !strings.Contains(stderr.String(), "-pages") {
		t.Errorf("exit status %d: %s", status, stderr.String())
	}
	os.Remove(pages)
	site.at = func(*http.Request, int) {}
	if status := run(t.Context(), []string{"-resume", resume}, &stdout, &stderr); status != tool.ExitOK {
		t.Errorf("exit status %d: %s", status, stderr.String())
	}
	if got, want := strings.Join(site.asked, " "), "/robots.txt /0 /0 /1 /2"; got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
}
