package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goodbots/courtesy/robotsmw"
)

// serveCrawlPages serves the pages of four crawlers, which are below /go/,
// /chromium/, /python/ and /scrapy/. Each crawler follows the links of its
// first page. The redirect leads to a disallowed page.
func serveCrawlPages(w http.ResponseWriter, r *http.Request) {
	switch dir, file := filepath.Split(r.URL.Path); file {
	case "":
		for _, name := range []string{"1", "2", "hop", "private"} {
			fmt.Fprintf(w, "<a href=%s%s>link</a> ", dir, name)
		}
	case "hop":
		http.Redirect(w, r, dir+"private/hop", http.StatusFound)
	default:
		io.WriteString(w, "a page")
	}
}

// isDisallowed reports whether a page of serveCrawlPages is disallowed, or
// redirects to such a page.
func isDisallowed(url string) bool {
	return strings.HasSuffix(url, "/private") || strings.HasSuffix(url, "/hop")
}

// Four clients of one gate crawl a site at the same time. They share one
// robots.txt and the delay of the host.
func TestOneGate(t *testing.T) {
	const delay = 700 * time.Millisecond
	s := newSite(t, serveCrawlPages)
	gate, opts := newGate(t, delay)
	browser, _ := openBrowser(t, gate, true)
	environment := []string{"GATE=" + gate, "SITE=" + s.URL, "AGENT=" + agent}
	crawlers := []func(){
		func() { crawlWithGo(t, opts, s.URL+"/go/") },
		func() { crawlWithChromium(browser, t, s.URL+"/chromium/") },
		newPythonCrawler(t, "urllib.request", environment, absPath(t, "testdata/crawl.py")),
		newPythonCrawler(t, "scrapy", environment,
			"-m", "scrapy", "runspider", absPath(t, "testdata/spider.py")),
	}
	var running sync.WaitGroup
	for _, crawl := range crawlers {
		running.Go(crawl)
	}
	running.Wait()

	counts := make(map[string]int)
	for _, path := range s.paths(t) {
		counts[path]++
	}
	for _, crawler := range []string{"go", "chromium", "python", "scrapy"} {
		for _, page := range []string{"", "1", "2", "hop"} {
			path := "/" + crawler + "/" + page
			if n := counts[path]; n != 1 {
				t.Errorf("%s was requested %d times, want once", path, n)
			}
		}
	}
	if n := counts["/robots.txt"]; n != 1 {
		t.Errorf("robots.txt was requested %d times, want once", n)
	}
	checkRequests(t, s.requests(), delay)
}

// checkRequests fails the test if a request has a User-Agent other than agent,
// or if requests were sent too soon. A client may use a slot a little late, so
// a single gap may be shorter than the delay, but all gaps together may be
// shorter by at most half a delay.
func checkRequests(t *testing.T, requests []request, delay time.Duration) {
	t.Helper()
	for i, r := range requests {
		if r.agent != agent {
			t.Errorf("User-Agent of the request for %s is %q, want %q", r.path, r.agent, agent)
		}
		if i == 0 {
			continue
		}
		if gap := r.at.Sub(requests[i-1].at); gap < delay/2 {
			t.Errorf("gap before the request for %s is %v, want at least %v", r.path, gap, delay/2)
		}
	}
	took := requests[len(requests)-1].at.Sub(requests[0].at)
	want := time.Duration(len(requests)-1)*delay - delay/2
	if took < want {
		t.Errorf("%d requests took %v, want at least %v", len(requests), took, want)
	}
	t.Logf("%d requests took %v", len(requests), took.Round(time.Millisecond))
}

func absPath(t *testing.T, name string) string {
	t.Helper()
	name, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// newPythonCrawler returns a function that runs a Python program with these
// arguments. If there is no Python with the module, the test is skipped.
func newPythonCrawler(t *testing.T, module string, environment []string, args ...string) func() {
	t.Helper()
	python := findPython(t, module)
	cmd := exec.CommandContext(t.Context(), python, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PYTHONPATH="+absPath(t, "../python"), "PYTHONDONTWRITEBYTECODE=1")
	cmd.Env = append(cmd.Env, environment...)
	return func() {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", module, err, out)
		}
	}
}

func findPython(t *testing.T, module string) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import "+module).Run() == nil {
			return python
		}
	}
	t.Skipf("SKIPPED: no python3 with the module %s: four crawlers of one gate are not tested "+
		"(apt-get install python3 python3-scrapy)", module)
	return ""
}

func crawlWithChromium(browser context.Context, t *testing.T, dir string) {
	for _, name := range []string{"", "1", "2", "hop", "private"} {
		url := dir + name
		_, err := visit(browser, agent, url)
		if failed, want := err != nil, isDisallowed(url); failed != want {
			t.Errorf("chromium: visit of %s returned the error %v, want an error: %t", url, err, want)
		}
	}
}

var link = regexp.MustCompile(`href=(\S+?)>`)

// crawlWithGo crawls with a client that shares the Store and the Limiter of the
// gate.
func crawlWithGo(t *testing.T, opts robotsmw.Options, start string) {
	client, err := robotsmw.NewClient(opts)
	if err != nil {
		t.Error(err)
		return
	}
	seen := make(map[string]bool)
	for queue := []string{start}; len(queue) > 0; queue = queue[1:] {
		url := queue[0]
		resp, err := client.Get(url)
		if err != nil {
			if !isDisallowed(url) {
				t.Errorf("go: Get of %s: %v", url, err)
			}
			continue
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Errorf("go: read the body of %s: %v", url, err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			target := "http://" + resp.Request.URL.Host + m[1]
			if !seen[target] {
				seen[target] = true
				queue = append(queue, target)
			}
		}
	}
}
