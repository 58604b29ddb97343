package spider

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// runSite crawls a site in real time and without a delay, from its page /0. It
// returns standard output and standard error.
func runSite(t *testing.T, site http.Handler, wantStatus int, args ...string) string {
	t.Helper()
	server := httptest.NewServer(site)
	defer server.Close()
	args = append([]string{"-delay=0", agent}, args...)
	r := runOn(t.Context(), nil, append(args, server.URL+"/0")...)
	r.wantStatus(t, wantStatus)
	return r.stdout + r.stderr
}

func TestRun_Depth(t *testing.T) {
	site := &chain{pages: 9}
	runSite(t, site, tool.ExitOK, "-depth=2")
	site.wantRequests(t, "/robots.txt /0 /1 /2")
}

// A redirect does not count as a link.
func TestRun_DepthOfRedirect(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/0", page200("<a href=/old>old</a>"))
	mux.Handle("/old", http.RedirectHandler("/new", http.StatusMovedPermanently))
	mux.HandleFunc("/new", func(http.ResponseWriter, *http.Request) {})
	wantText(t, "output", runSite(t, mux, tool.ExitOK, "-depth=1"), "/new\n")
}

// The prefix of a URL is its path up to the last slash.
func TestRun_Scope(t *testing.T) {
	site := page200("<a href=/docs/1>1</a> <a href=/docs/>docs</a> <a href=/shop/>shop</a>")
	wantText(t, "output for /0", runSite(t, site, tool.ExitOK, "-scope=prefix"), "/shop/")

	server := httptest.NewServer(site)
	defer server.Close()
	r := runOn(t.Context(), nil, "-delay=0", agent, "-scope=prefix", server.URL+"/docs/0")
	wantText(t, "output for /docs/0", r.stdout, "/docs/1")
	wantNoText(t, "output for /docs/0", r.stdout, "/shop/")
}

func TestCrawl_MaxTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", page200(`<a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a>`))
		start := time.Now()
		args := []string{"-max-time=2500ms", "http://a.example/"}
		summary, _ := crawlInternet(t, t.Context(), &internet, tool.ExitOK, args...)
		if took := time.Since(start); took != 2500*time.Millisecond {
			t.Errorf("crawl ended after %v, want 2.5s", took)
		}
		wantCounts(t, summary, counts{Fetched: 2, Left: 2, Stopped: "max-time"})
	})
}

// The limit -max-time also works in real time.
func TestRun_MaxTime(t *testing.T) {
	t.Parallel()
	sleep := func(*http.Request, int) { time.Sleep(50 * time.Millisecond) }
	site := &chain{pages: 1 << 30, onPage: sleep}
	out := runSite(t, site, tool.ExitOK, "-max-time=2s", "-max-pages=0")
	wantText(t, "output", out, "Stopped at -max-time: 1 URL still in the queue.")
}

// When a host's daily budget is spent, the host is paused until the next day.
func TestCrawl_Budget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example",
			page200(`<a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a> <a href=/4>4</a>`))
		summary, _ := crawlInternet(t, t.Context(), &internet, tool.ExitOK,
			"-max-time=100h", "-budget-requests=3", "-budget-bytes=1000000", "http://a.example/")
		wantCounts(t, summary, counts{Fetched: 5})
		requests := make(map[int]int) // by day
		for _, r := range internet.Log() {
			requests[r.Time.UTC().YearDay()]++
		}
		for day, n := range requests {
			if n > 3 {
				t.Errorf("%d requests were sent on day %d, want at most 3", n, day)
			}
		}
		if len(requests) < 2 {
			t.Errorf("requests by day are %v, want at least two days", requests)
		}
	})
}

// The flag -hosts limits the number of hosts to which requests are sent at a
// time.
func TestCrawl_Hosts(t *testing.T) {
	for _, hosts := range []int{1, 2, 3} {
		synctest.Test(t, func(t *testing.T) {
			var internet robotstest.Internet
			var now, maximum atomic.Int32
			slow := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				n := now.Add(1)
				defer now.Add(-1)
				maximum.Store(max(maximum.Load(), n))
				time.Sleep(3 * time.Second)
			})
			args := []string{fmt.Sprintf("-hosts=%d", hosts)}
			for _, host := range []string{"a.example", "b.example", "c.example", "d.example"} {
				internet.Handle(host, slow)
				args = append(args, "http://"+host+"/")
			}
			crawlInternet(t, t.Context(), &internet, tool.ExitOK, args...)
			if got := int(maximum.Load()); got != hosts {
				t.Errorf("with -hosts=%d, requests were sent to up to %d hosts at a time, want %d", hosts, got, hosts)
			}
		})
	}
}

// When the budget of -budget-bytes is spent, standard error contains that the
// host waits for the next day.
func TestCrawl_BudgetBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		const links = `<a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a>`
		internet.Handle("a.example", page200(links+strings.Repeat(" ", 1000)))
		r := runOn(t.Context(), &internet, agent, "-budget-bytes=1500", "-max-time=1h", "http://a.example/")
		r.wantStatus(t, tool.ExitOK)
		wantText(t, "output", r.stdout, ": 2 pages fetched")
		wantText(t, "standard error", r.stderr,
			"the daily budget of a host is exhausted; its crawl resumes the next day")
	})
}

// If the responses of a host take one second, -adaptive=10 makes the spider
// wait for at least ten seconds.
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
			t.Fatalf("%d requests were sent, want 4", len(log))
		}
		for i := 2; i < len(log); i++ {
			if gap := log[i].Time.Sub(log[i-1].Time); gap < 10*time.Second {
				t.Errorf("%s was requested %v after the previous request, want at least 10s", log[i].URL, gap)
			}
		}
	})
}

// If the responses of a host take 20 ms, -adaptive=10 makes the spider wait for
// at least 200 ms. This test runs in real time.
func TestRun_Adaptive(t *testing.T) {
	t.Parallel()
	sleep := func(*http.Request, int) { time.Sleep(20 * time.Millisecond) }
	start := time.Now()
	runSite(t, &chain{pages: 3, onPage: sleep}, tool.ExitOK, "-adaptive=10")
	if took := time.Since(start); took < 3*200*time.Millisecond {
		t.Errorf("crawl took %v, want at least 3 times 200 ms", took)
	}
}

func TestRun_Proxy(t *testing.T) {
	var requested []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requested = append(requested, r.URL.String())
	}))
	defer proxy.Close()
	r := runOn(t.Context(), nil, "-delay=0", agent, "-proxy", proxy.URL, "http://a.example/")
	r.wantStatus(t, tool.ExitOK)
	want := []string{"http://a.example/robots.txt", "http://a.example/"}
	if !slices.Equal(requested, want) {
		t.Errorf("requests to the proxy were for %q, want %q", requested, want)
	}
}

// No output contains the password of a proxy.
func TestRun_ProxyPassword(t *testing.T) {
	for _, proxy := range []string{
		"http://bot:hunter2@127.0.0.1:1",
		"http://bot:hunter2@[::1",
		"ftp://bot:hunter2@127.0.0.1",
	} {
		r := runOn(t.Context(), nil, "-delay=0", agent, "-proxy", proxy, "http://a.example/")
		if r.status == tool.ExitOK {
			t.Errorf("-proxy %s: exit status is %d, want an error", proxy, r.status)
		}
		wantNoText(t, "output for "+proxy, r.stdout+r.stderr, "hunter2")
	}
}

// With -store, a later crawl does not fetch robots.txt again. The table of
// hosts shows that.
func TestRun_Store(t *testing.T) {
	site := &chain{pages: 1}
	server := httptest.NewServer(site)
	defer server.Close()
	dir := t.TempDir()
	for _, want := range []string{"  404: everything allowed\n", "  from an earlier crawl\n"} {
		r := runOn(t.Context(), nil, "-delay=0", agent, "-store", dir, server.URL+"/0")
		r.wantStatus(t, tool.ExitOK)
		wantText(t, "output", r.stdout, want)
	}
	site.wantRequests(t, "/robots.txt /0 /1 /0 /1")
}

// pagesSite is a site with pages that must be kept or must not be kept.
func pagesSite() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/0", page200("<a href=/noindex>1</a> <a href=/noarchive>2</a> <a href=/file>3</a> "+
		"<a href=/missing>4</a> <a href=/odd>5</a>"))
	mux.Handle("/noindex", page200("<meta name=robots content=noindex>"))
	mux.Handle("/noarchive", page200("<meta name=robots content=noarchive>"))
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
		want []string // the paths of the pages that are kept
	}{
		{nil, []string{"/0", "/file"}},
		{[]string{"-pages-all"}, []string{"/0", "/file", "/noarchive", "/noindex", "/odd"}},
	} {
		dir := t.TempDir()
		runSite(t, pagesSite(), tool.ExitOK, append(tt.args, "-pages", dir)...)
		files := pageFiles(t, dir)
		if kept := slices.Sorted(maps.Keys(files)); !slices.Equal(kept, tt.want) {
			t.Errorf("%v: index lists the pages %q, want %q", tt.args, kept, tt.want)
		}
		if text := readFile(t, filepath.Join(dir, files["/file"])); text != "a file" {
			t.Errorf("%v: kept text of /file is %q, want %q", tt.args, text, "a file")
		}
		if got, want := countFiles(t, dir), len(files)+1; got != want { // the index is a file too
			t.Errorf("%v: directory has %d files, want %d", tt.args, got, want)
		}
	}
}

// pageFiles returns the file of each path in the index of kept pages.
func pageFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	for text := range strings.Lines(readFile(t, filepath.Join(dir, "index.jsonl"))) {
		var page struct{ URL, File string }
		if err := json.Unmarshal([]byte(text), &page); err != nil {
			t.Fatal(err)
		}
		path := page.URL[strings.LastIndexByte(page.URL, '/'):]
		files[path] = page.File
	}
	return files
}

func countFiles(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// If a page cannot be stored, the crawl ends, and the page does not count as
// done.
func TestRun_PagesCannotBeStored(t *testing.T) {
	pages := filepath.Join(t.TempDir(), "pages")
	resume := filepath.Join(t.TempDir(), "resume")
	site := &chain{pages: 2, onPage: func(_ *http.Request, n int) {
		if n == 0 {
			os.RemoveAll(pages)
			os.WriteFile(pages, nil, 0o600) // a file instead of the directory
		}
	}}
	server := httptest.NewServer(site)
	defer server.Close()
	args := []string{"-delay=0", agent, "-pages", pages, "-resume", resume}
	first := runOn(t.Context(), nil, append(args, server.URL+"/0")...)
	first.wantStatus(t, tool.ExitFailed)
	wantText(t, "standard error of the first run", first.stderr, "store a page")
	wantText(t, "output of the first run", first.stdout, "Failed: 1 URL still in the queue")

	second := runOn(t.Context(), nil, args...)
	second.wantStatus(t, tool.ExitFailed)
	wantText(t, "standard error of the second run", second.stderr, "-pages")

	if err := os.Remove(pages); err != nil {
		t.Fatal(err)
	}
	site.onPage = nil
	third := runOn(t.Context(), nil, "-resume", resume)
	third.wantStatus(t, tool.ExitOK)
	site.wantRequests(t, "/robots.txt /0 /0 /1 /2")
}
