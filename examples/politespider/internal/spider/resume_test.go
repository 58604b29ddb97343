package spider

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A chain is a site in which each page links to the next. ServeHTTP adds each
// requested path to chain.requested. If the page exists, ServeHTTP calls
// chain.onPage.
type chain struct {
	pages  int
	onPage func(r *http.Request, n int) // may be nil

	mu        sync.Mutex
	requested []string
}

func (c *chain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.requested = append(c.requested, r.URL.Path)
	c.mu.Unlock()
	var n int
	if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil || n >= c.pages {
		http.NotFound(w, r)
		return
	}
	if c.onPage != nil {
		c.onPage(r, n)
	}
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "<a href=/%d>next</a>", n+1)
}

// wantRequests checks which paths were requested, separated by spaces.
func (c *chain) wantRequests(t *testing.T, want string) {
	t.Helper()
	if got := strings.Join(c.requested, " "); got != want {
		t.Errorf("requests were for %s, want %s", got, want)
	}
}

// After Ctrl-C, the spider prints how to continue. The continued crawl has the
// settings of the first run, and the robots.txt.
func TestRun_Resume(t *testing.T) {
	ctx, ctrlC := context.WithCancel(t.Context())
	defer ctrlC()
	site := &chain{pages: 6, onPage: func(r *http.Request, n int) {
		if n == 3 && ctx.Err() == nil {
			ctrlC()
			<-r.Context().Done() // the spider stops before the response is sent
		}
	}}
	server := httptest.NewServer(site)
	defer server.Close()
	dir := filepath.Join(t.TempDir(), "the crawl")

	first := runOn(ctx, nil, agent, "-delay=10ms",
		"-policy-token=train-ai=ExampleAI", "-policy-token=search=ExampleSearch",
		"-resume", dir, server.URL+"/0")
	first.wantStatus(t, tool.ExitInterrupted)
	if want := "politespider -resume '" + dir + "'\n"; !strings.HasSuffix(first.stderr, want) {
		t.Errorf("standard error is %q, want it to end with %q", first.stderr, want)
	}
	wantText(t, "output of the first run", first.stdout, "1 URL still in the queue")
	about, err := frontier.ReadAbout(dir)
	if err != nil {
		t.Fatal(err)
	}
	if tokens := about.Flags["policy-token"]; len(tokens) != 2 {
		t.Errorf("stored values of -policy-token are %q, want both", tokens)
	}

	second := runOn(t.Context(), nil, "-resume", dir)
	second.wantStatus(t, tool.ExitOK)
	wantText(t, "output of the second run", second.stdout,
		"as ExampleBot/1.0\n",
		"s (2 runs): 6 pages fetched, 1 not found\n")
	wantNoText(t, "output of the second run", second.stdout, "Earlier runs")
	site.wantRequests(t, "/robots.txt /0 /1 /2 /3 /3 /4 /5 /6")

	third := runOn(t.Context(), nil, "-resume", dir)
	third.wantStatus(t, tool.ExitOK)
	wantText(t, "standard error of the third run", third.stderr,
		"the crawl in "+dir+" is complete; to crawl again, name another directory\n")
}

// The summary of a continued crawl also contains what earlier runs lost. It
// counts the seconds that the runs took, but not those between two runs.
func TestCrawl_ResumeSummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/teapot" {
				w.WriteHeader(http.StatusTeapot)
				return
			}
			page200(`<a href=/teapot>1</a> <a href=/2>2</a> <a href=/3>3</a>`).ServeHTTP(w, r)
		}))
		dir := t.TempDir()
		args := []string{"-max-pages=2", "-resume", dir, "http://a.example/"}
		first, _ := crawlInternet(t, t.Context(), &internet, tool.ExitOK, args...)
		if len(first.Lost) != 1 || first.Runs != 0 {
			t.Errorf("first run lost %d URLs and counts %d runs, want 1 and 0", len(first.Lost), first.Runs)
		}
		time.Sleep(time.Hour)
		args = []string{"-max-pages=0", "-resume", dir}
		all, lines := crawlInternet(t, t.Context(), &internet, tool.ExitOK, args...)
		wantCounts(t, all, counts{Fetched: 3, Refused: 1})
		if all.Runs != 2 || all.Elsewhere != 0 || all.Seconds > 10 {
			t.Errorf("summary has %d runs, %d URLs of unknown runs and %v s, want 2, 0 and at most 10 s",
				all.Runs, all.Elsewhere, all.Seconds)
		}
		if len(all.Lost) != 1 || all.Lost[0].URL != "http://a.example/teapot" {
			t.Errorf("lost URLs are %+v, want /teapot", all.Lost)
		}
		if len(lines) != 2 || lines[0].Seconds > 2 {
			t.Errorf("second run printed %d lines, the first at %v s; want 2 lines with the times of this run",
				len(lines), lines[0].Seconds)
		}
		if host := all.Hosts[0]; host.Requests != 5 || host.Lost != 1 {
			t.Errorf("host has %d requests and %d lost URLs, want 5 and 1", host.Requests, host.Lost)
		}
	})
}

// The limit -max-pages counts the pages of all runs.
func TestRun_ResumeMaxPages(t *testing.T) {
	site := &chain{pages: 9}
	server := httptest.NewServer(site)
	defer server.Close()
	dir := t.TempDir()
	for _, tt := range []struct {
		args []string
		want int // number of pages requested in all runs so far
	}{
		{[]string{agent, "-delay=0", "-max-pages=3", server.URL + "/0"}, 3},
		{nil, 3}, // no further page, because the first run reached its -max-pages
		{[]string{"-max-pages=5"}, 5},
		{[]string{"-max-pages=0", server.URL + "/0"}, 10},
	} {
		r := runOn(t.Context(), nil, append([]string{"-resume", dir}, tt.args...)...)
		r.wantStatus(t, tool.ExitOK)
		const hint = "a larger -max-pages"
		if isComplete := tt.want == 10; isComplete {
			wantNoText(t, "standard error", r.stderr, hint)
		} else {
			wantText(t, "standard error", r.stderr, hint)
		}
		if got := len(site.requested) - 1; got != tt.want {
			t.Errorf("after a run with %q, %d pages were requested, want %d", tt.args, got, tt.want)
		}
	}
}

// A crawl cannot be continued with other start URLs.
func TestRun_ResumeOtherURL(t *testing.T) {
	server := httptest.NewServer(&chain{pages: 1})
	defer server.Close()
	dir := t.TempDir()
	args := []string{agent, "-delay=0", "-resume", dir}
	first := runOn(t.Context(), nil, append(args, server.URL)...)
	first.wantStatus(t, tool.ExitFailed) // the site has no page at /
	second := runOn(t.Context(), nil, append(args, server.URL+"/other")...)
	second.wantStatus(t, tool.ExitFailed)
	wantText(t, "standard error", second.stderr,
		server.URL+"/ (host), not at "+server.URL+"/other (host)")
}

// If a file that a flag of the last run names is missing, the error contains
// the flag.
func TestRun_ResumeWithoutTerms(t *testing.T) {
	server := httptest.NewServer(&chain{pages: 3})
	defer server.Close()
	dir := t.TempDir()
	terms := filepath.Join(t.TempDir(), "terms.xml")
	writeFile(t, terms, `<rsl xmlns="https://rslstandard.org/rsl"><content url="/"><license/></content></rsl>`)
	first := runOn(t.Context(), nil, agent, "-delay=0", "-max-pages=1",
		"-rsl", terms, "-resume", dir, server.URL+"/0")
	first.wantStatus(t, tool.ExitOK)
	if err := os.Remove(terms); err != nil {
		t.Fatal(err)
	}
	second := runOn(t.Context(), nil, "-resume", dir, "-max-pages=2")
	second.wantStatus(t, tool.ExitUsage)
	wantText(t, "standard error", second.stderr,
		"-resume "+dir+": the last run of the crawl there had -rsl "+terms+": ")
}

func TestRun_ResumeFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	writeFile(t, file, "")
	r := runOn(t.Context(), nil, "-resume", file)
	r.wantStatus(t, tool.ExitUsage)
	wantText(t, "standard error", r.stderr, file)
}
