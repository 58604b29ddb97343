package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goodbots/courtesy/robotsmw"
)

// Four crawlers take the links of a page: /go/, /chromium/ and so on. They may
// see all but the private ones.
func crawlPages(w http.ResponseWriter, r *http.Request) {
	switch dir, file := filepath.Split(r.URL.Path); file {
	case "":
		fmt.Fprintf(w, "<a href=%[1]s1>1</a> <a href=%[1]s2>2</a> <a href=%[1]shop>hop</a> <a href=%[1]sprivate>private</a>", dir)
	case "hop":
		http.Redirect(w, r, dir+"private/hop", http.StatusFound)
	default:
		io.WriteString(w, "a page")
	}
}

var link = regexp.MustCompile(`href=(\S+?)>`)

// The clients of one gate keep one robots.txt and one pace, whatever they are
// written in. They crawl a site at the same time.
func TestOneGate(t *testing.T) {
	const delay = 700 * time.Millisecond
	s := newSite(t, crawlPages)
	gate, opts := newGate(t, delay)
	browser, _ := openBrowser(t, gate, true)
	clients, err := filepath.Abs("../python")
	if err != nil {
		t.Fatal(err)
	}
	python := func(module string, args ...string) (run func()) {
		for _, python := range []string{"python3", "/usr/bin/python3"} {
			if exec.Command(python, "-c", "import "+module).Run() == nil {
				return func() {
					cmd := exec.CommandContext(t.Context(), python, args...)
					cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "PYTHONPATH="+clients, "PYTHONDONTWRITEBYTECODE=1", "GATE="+gate, "SITE="+s.URL, "AGENT="+agent)
					if out, err := cmd.CombinedOutput(); err != nil {
						t.Errorf("%s: %v\n%s", module, err, out)
					}
				}
			}
		}
		t.Skipf("SKIPPED: no python3 with the module %s: four crawlers of one gate are not tested (apt-get install python3 python3-scrapy)", module)
		return nil
	}
	spiders, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	crawlers := []func(){
		func() { crawlWithGo(t, opts, s.URL+"/go/") },
		func() {
			for _, path := range []string{"", "1", "2", "hop", "private"} {
				if _, err := visit(browser, agent, s.URL+"/chromium/"+path); (err != nil) != (path == "hop" || path == "private") {
					t.Errorf("chromium: /%s: %v", path, err)
				}
			}
		},
		python("urllib.request", filepath.Join(spiders, "crawl.py")),
		python("scrapy", "-m", "scrapy", "runspider", filepath.Join(spiders, "spider.py")),
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
			if n := counts["/"+crawler+"/"+page]; n != 1 {
				t.Errorf("%s asked %d times for its page %q", crawler, n, page)
			}
		}
	}
	if n := counts["/robots.txt"]; n != 1 {
		t.Errorf("robots.txt was fetched %d times", n)
	}
	log := s.requests()
	for i, r := range log {
		if r.agent != agent {
			t.Errorf("%s was asked for by %s", r.path, r.agent)
		}
		if i > 0 && r.at.Sub(log[i-1].at) < delay/2 {
			t.Errorf("%s came %v after %s", r.path, r.at.Sub(log[i-1].at), log[i-1].path)
		}
	}
	// A turn that is given may be used a little later, so a gap may be shorter
	// than the delay. All of them together may not.
	took, least := log[len(log)-1].at.Sub(log[0].at), time.Duration(len(log)-1)*delay
	if took < least-delay/2 {
		t.Errorf("%d requests in %v, want %v at least", len(log), took, least)
	}
	t.Logf("%d requests in %v, at the least %v", len(log), took.Round(time.Millisecond), least)
}

// crawlWithGo shares the gate's Store and Limiter.
func crawlWithGo(t *testing.T, opts robotsmw.Options, start string) {
	client, err := robotsmw.NewClient(opts)
	if err != nil {
		t.Error(err)
		return
	}
	var seen []string
	for queue := []string{start}; len(queue) > 0; queue = queue[1:] {
		resp, err := client.Get(queue[0])
		if err != nil {
			if private := strings.HasSuffix(queue[0], "/private") || strings.HasSuffix(queue[0], "/hop"); !private {
				t.Errorf("go: %v", err)
			}
			continue
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if target := "http://" + resp.Request.URL.Host + m[1]; !slices.Contains(seen, target) {
				seen = append(seen, target)
				queue = append(queue, target)
			}
		}
	}
}
