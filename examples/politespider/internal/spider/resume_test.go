package spider

import (
	"bytes"
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
	var n int
	if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil || n >= c.pages {
		http.NotFound(w, r)
		return
	}
	c.at(r, n)
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "<a href=/%d>next</a>", n+1)
}

// After Ctrl-C, the spider says how to continue. The continued crawl has the
// settings of the first run.
func TestRun_Resume(t *testing.T) {
	ctx, ctrlC := context.WithCancel(t.Context())
	defer ctrlC()
	site := &chain{pages: 6, at: func(r *http.Request, n int) {
		if n == 3 && ctx.Err() == nil {
			ctrlC()
			<-r.Context().Done() // the spider stops before the answer is sent
		}
	}}
	server := httptest.NewServer(site)
	defer server.Close()
	dir := filepath.Join(t.TempDir(), "the crawl")
	start := server.URL + "/0"

	var stdout, stderr bytes.Buffer
	if status := run(ctx, []string{
		"-user-agent=ExampleBot/1.0",
		"-delay=10ms",
		"-policy-token=train-ai=ExampleAI",
		"-policy-token=search=ExampleSearch",
		"-resume",
		dir,
		start,
	}, &stdout, &stderr); status != tool.ExitInterrupted {
		t.Errorf("exit status %d, want %d", status, tool.ExitInterrupted)
	}
	if want := "politespider -resume '" + dir + "'\n"; !strings.HasSuffix(stderr.String(), want) {
		t.Errorf("standard error %q does not end with %q", stderr.String(), want)
	}
	if !strings.Contains(stdout.String(), "1 URL still in the queue") {
		t.Errorf("standard output says nothing of the queue:\n%s", stdout.String())
	}

	if about, err := frontier.ReadAbout(dir); err != nil || len(about.Flags["policy-token"]) != 2 {
		t.Errorf("kept of the flags: %v, %v", about, err)
	}

	stdout.Reset()
	if status := run(t.Context(), []string{"-resume", dir}, &stdout, &stderr); status != tool.ExitOK {
		t.Errorf("exit status %d, want 0", status)
	}
	if want := "as ExampleBot/1.0\n"; !strings.Contains(stdout.String(), want) {
		t.Errorf("the second run says nothing of %q:\n%s", want, stdout.String())
	}
	if want := "s (2 runs): 6 pages fetched, 1 not found\n"; !strings.Contains(stdout.String(), want) || strings.Contains(stdout.String(), "Earlier runs") {
		t.Errorf("the summary of the second run is not of both runs:\n%s", stdout.String())
	}
	if got, want := strings.Join(site.asked, " "), "/robots.txt /0 /1 /2 /3 /3 /4 /5 /6"; got != want {
		t.Errorf("asked for %s, want %s: robots.txt is kept, too", got, want)
	}

	stderr.Reset()
	if status := run(t.Context(), []string{"-resume", dir}, &stdout, &stderr); status != tool.ExitOK {
		t.Errorf("exit status %d, want 0", status)
	}
	if want := "the crawl in " + dir + " is complete; to crawl again, name another directory\n"; !strings.HasSuffix(stderr.String(), want) {
		t.Errorf("of a crawl that is complete the spider says %q", stderr.String())
	}
}

// The summary of a continued crawl also has what earlier runs lost. It counts
// each second that a run took, but none between two runs.
func TestCrawl_ResumeKnowsWhatWasLost(t *testing.T) {
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
		first, _ := crawlInternet(t, t.Context(), &internet, tool.ExitOK, "-max-pages=2", "-resume", dir, "http://a.example/")
		if len(first.Lost) != 1 || first.Runs != 0 {
			t.Errorf("the first run lost %d, and counts %d runs", len(first.Lost), first.Runs)
		}
		time.Sleep(time.Hour)
		all, lines := crawlInternet(t, t.Context(), &internet, tool.ExitOK, "-max-pages=0", "-resume", dir)
		if all.Runs != 2 || all.Fetched != 3 || all.Refused != 1 || len(all.Lost) != 1 || all.Lost[0].URL != "http://a.example/teapot" || all.Elsewhere != 0 {
			t.Errorf("%+v", all)
		}
		if len(lines) != 2 || lines[0].Seconds > 2 {
			t.Errorf("the second run printed %d lines, the first at %v s; want 2, the times of this run",
				len(lines), lines[0].Seconds)
		}
		if h := all.Hosts[0]; h.Requests != 5 || h.Lost != 1 || all.Seconds > 10 {
			t.Errorf("%+v in %v s", h, all.Seconds)
		}
	})
}

func TestRun_ResumeMaxPages(t *testing.T) {
	site := &chain{pages: 9, at: func(*http.Request, int) {}}
	server := httptest.NewServer(site)
	defer server.Close()
	dir := t.TempDir()
	for _, tt := range []struct {
		args []string
		want int // number of pages requested in all runs so far
	}{
		{[]string{"-user-agent=ExampleBot/1.0", "-delay=0", "-max-pages=3", server.URL + "/0"}, 3},
		{nil, 3}, // no further page, because the first run reached its -max-pages
		{[]string{"-max-pages=5"}, 5},
		{[]string{"-max-pages=0", server.URL + "/0"}, 10},
	} {
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), append([]string{"-resume", dir}, tt.args...), &stdout, &stderr); status != tool.ExitOK {
			t.Errorf("%v: exit status %d, want 0: %s", tt.args, status, stderr.String())
		}
		if more := strings.Contains(stderr.String(), "a larger -max-pages"); more != (tt.want < 10) {
			t.Errorf("%v: %s", tt.args, stderr.String())
		}
		if got := len(site.asked) - 1; got != tt.want {
			t.Errorf("after %v: %d pages, want %d", tt.args, got, tt.want)
		}
	}
}

func TestRun_ResumeAnotherCrawl(t *testing.T) {
	server := httptest.NewServer(&chain{pages: 1, at: func(*http.Request, int) {}})
	defer server.Close()
	dir := t.TempDir()
	args := []string{"-user-agent=ExampleBot/1.0", "-delay=0", "-resume", dir}
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), append(args, server.URL), &stdout, &stderr); status != tool.ExitFailed { // the site has no page at /
		t.Fatalf("exit status %d: %s", status, stderr.String())
	}
	if status := run(t.Context(), append(args, server.URL+"/other"), &stdout, &stderr); status != tool.ExitFailed {
		t.Errorf("exit status %d, want %d", status, tool.ExitFailed)
	}
	if !strings.Contains(stderr.String(), server.URL+"/ (host), not at "+server.URL+"/other (host)") {
		t.Errorf("standard error: %s", stderr.String())
	}
}

func TestRun_ResumeWithoutTerms(t *testing.T) {
	server := httptest.NewServer(&chain{pages: 3, at: func(*http.Request, int) {}})
	defer server.Close()
	dir, terms := t.TempDir(), filepath.Join(t.TempDir(), "terms.xml")
	if err := os.WriteFile(terms, []byte(`<rsl xmlns="https://rslstandard.org/rsl"><content url="/"><license/></content></rsl>`), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{
		"-user-agent=ExampleBot/1.0",
		"-delay=0",
		"-max-pages=1",
		"-rsl",
		terms,
		"-resume",
		dir,
		server.URL + "/0",
	}, &stdout, &stderr); status != tool.ExitOK {
		t.Fatalf("exit status %d: %s", status, stderr.String())
	}
	os.Remove(terms)
	stderr.Reset()
	status := run(t.Context(), []string{"-resume", dir, "-max-pages=2"}, &stdout, &stderr)
	if want := "-resume " + dir + ": the last run of the crawl there had -rsl " + terms + ": "; status != tool.ExitUsage || !strings.Contains(stderr.String(), want) {
		t.Errorf("exit status %d: %s\nwant %q", status, stderr.String(), want)
	}
}

func TestRun_ResumeNotThere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"-resume", file}, &stdout, &stderr); status == tool.ExitOK || !strings.Contains(stderr.String(), file) {
		t.Errorf("exit status %d: %s", status, stderr.String())
	}
}
