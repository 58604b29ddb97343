package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// findPython returns a Python with the module, or skips the test. The packages
// of the system may be for another Python than the one in the path.
func findPython(t *testing.T, module string) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import "+module).Run() == nil {
			return python
		}
	}
	t.Skipf("SKIPPED: no python3 with the module %s: the client in Python is not tested "+
		"(apt-get install python3 python3-scrapy)", module)
	return ""
}

// runPython runs a program that can import the clients, and returns its
// standard output.
func runPython(t *testing.T, python string, args ...string) string {
	t.Helper()
	clients, err := filepath.Abs("python")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"courtesy.py", "courtesy_scrapy.py"} {
		os.Stat(filepath.Join(clients, name)) // so that go test's cache notices a change of the file
	}
	cmd := exec.CommandContext(t.Context(), python, args...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+clients, "PYTHONDONTWRITEBYTECODE=1")
	cmd.Dir = t.TempDir()
	var stdout, stderr bytes.Buffer
	cmd.Stdout = &stdout
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%s", python, args, err, stderr.String())
	}
	if t.Failed() || testing.Verbose() {
		t.Log(stderr.String())
	}
	return stdout.String()
}

// A crawledSite is a site that logs its requests.
type crawledSite struct {
	*httptest.Server
	mu  sync.Mutex
	log []siteRequest
}

type siteRequest struct {
	path string
	at   time.Time
}

func newCrawledSite(t *testing.T, serve http.HandlerFunc) *crawledSite {
	s := new(crawledSite)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.log = append(s.log, siteRequest{r.URL.Path, time.Now()})
		s.mu.Unlock()
		if r.URL.Path == "/robots.txt" {
			io.WriteString(w, "User-agent: TestBot\nDisallow: /private")
			return
		}
		serve(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *crawledSite) requests() []siteRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// countRequests returns the number of requests for a path.
func (s *crawledSite) countRequests(path string) (n int) {
	for _, r := range s.requests() {
		if r.path == path {
			n++
		}
	}
	return n
}

func TestPython(t *testing.T) {
	t.Parallel()
	python := findPython(t, "urllib.request")
	site := newCrawledSite(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/private", http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/gone"):
			http.Error(w, "it is gone", http.StatusGone)
		case r.URL.Path == "/busy":
			w.Header().Set("Retry-After", "1000")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			io.WriteString(w, "page")
		}
	})
	base, stop := start(t, "-allow-private", "-delay", "1ms")
	defer stop()
	for _, tt := range pythonTests {
		t.Run(tt.name, func(t *testing.T) {
			code := pythonSetup + strings.TrimSpace(tt.code)
			got := strings.TrimSpace(runPython(t, python, "-c", code, base, site.URL))
			if got != tt.want {
				t.Errorf("program printed %q, want %q", got, tt.want)
			}
		})
	}
	if site.countRequests("/private") > 0 {
		t.Error("/private was requested, want no request for a disallowed page")
	}
	if n := site.countRequests("/robots.txt"); n != 2 {
		t.Errorf("robots.txt was requested %d times, want once by the gate and once by a program", n)
	}
}

const pythonSetup = `
import sys
from courtesy import Gate, Refused
gate, site = Gate(sys.argv[1]), sys.argv[2]
`

// pythonTests are programs that follow pythonSetup, and their output.
var pythonTests = []struct{ name, code, want string }{
	{"check", `
print(gate.check(site + "/")["allowed"], gate.check(site + "/private")["line"])`, "True 2"},
	{"fetch", `
with gate.fetch(site + "/") as page:
    print(page.status, page.read())`, "200 b'page'"},
	{"a missing page", `
with gate.fetch(site + "/gone") as page:
    print(page.status, page.read().strip())`, "410 b'it is gone'"},
	{"the page's URL", `
for path in "/", "/gone?a=b", "/moved":
    with gate.fetch(site + path) as page:
        print(page.url.removeprefix(site), page.geturl().removeprefix(site))`,
		"/ /\n/gone?a=b /gone?a=b\n/moved /moved"},
	{"a redirect", `
with gate.fetch(site + "/moved") as page:
    print(page.status, page.headers["Location"])`, "302 /private"},
	{"a disallowed page", `
try:
    gate.fetch(site + "/private")
except Refused as refused:
    print(refused, refused.verdict["line"])`, "rule /private 2"},
	{"an invalid URL", `
try:
    gate.fetch("ftp://example.com/")
except Refused as refused:
    print(refused)`, "gate: the url must begin with http:// or https:// and a host"},
	{"robots.txt", `
with gate.fetch(site + "/robots.txt") as page:
    print(page.status)`, "200"},
	{"another server than a gate", `
import urllib.error
try:
    Gate(site + "/gone").fetch(site)
except urllib.error.HTTPError as error:
    print(error.status)`, "410"},
	{"a check of an invalid URL", `
try:
    gate.check("ftp://example.com/")
except Refused as refused:
    print(refused)`, "gate: the url must begin with http:// or https:// and a host"},
	{"requests of the caller", `
import urllib.request
for path in "/1", "/2":
    with gate.turn(site + path) as turn:
        turn.status = urllib.request.urlopen(site + path).status
    print(turn.status)`, "200\n200"},
	{"a turn for a disallowed page", `
try:
    with gate.turn(site + "/private"):
        print("not here")
except Refused as refused:
    print(refused)`, "rule /private"},
	{"an exception during a turn", `
try:
    with gate.turn(site + "/"):
        raise ValueError("broken")
except ValueError as error:
    print(error)
with gate.turn(site + "/"):
    print("next")`, "broken\nnext"},
	{"an unreachable gate", `
try:
    Gate("http://127.0.0.1:1").fetch(site + "/")
except OSError as error:
    print("away")`, "away"},
	{"a paused host", `
with gate.fetch(site + "/busy") as page:
    print(page.status)
try:
    gate.fetch(site + "/")
except Refused as refused:
    print(refused.verdict["until"] > "2")`, "429\nTrue"},
}

// The program in the README works, apart from its URLs.
func TestPython_Readme(t *testing.T) {
	t.Parallel()
	python := findPython(t, "urllib.request")
	site := newCrawledSite(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "page")
	})
	base, stop := start(t, "-allow-private")
	defer stop()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(readme), "```python\n")
	code, _, _ = strings.Cut(code, "```")
	code = strings.ReplaceAll(code, "Gate()", "Gate('"+base+"')")
	code = strings.ReplaceAll(code, "https://example.com", site.URL)
	const want = "200 b'page'\n"
	if got := runPython(t, python, "-c", code); got != want {
		t.Errorf("program printed %q, want %q", got, want)
	}
}

// Scrapy obeys robots.txt and the delay of the gate with the settings in the
// documentation of courtesy_scrapy.
func TestScrapy(t *testing.T) {
	t.Parallel()
	python := findPython(t, "scrapy")
	site := newCrawledSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/private/moved", http.StatusFound)
		case "/":
			for _, path := range []string{"/1", "/2", "/3", "/moved", "/private"} {
				fmt.Fprintf(w, "<a href=%s>link</a> ", path)
			}
		}
	})
	const delay = 600 * time.Millisecond
	base, stop := start(t, "-allow-private", "-delay", delay.String())
	defer stop()
	spider := filepath.Join(t.TempDir(), "spider.py")
	code := strings.NewReplacer("{site}", site.URL, "{gate}", base, "{agent}", agent).Replace(spiderCode)
	if err := os.WriteFile(spider, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	printed := runPython(t, python, "-m", "scrapy", "runspider", spider)
	if n := strings.Count(printed, site.URL); n != 4 {
		t.Errorf("the spider parsed %d pages, want 4:\n%s", n, printed)
	}
	requests := site.requests()
	var paths []string
	for _, r := range requests {
		paths = append(paths, r.path)
	}
	slices.Sort(paths)
	if want := []string{"/", "/1", "/2", "/3", "/moved", "/robots.txt"}; !slices.Equal(paths, want) {
		t.Fatalf("the site received requests for %q, want %q", paths, want)
	}
	checkDelay(t, requests, delay)
}

const spiderCode = `
import scrapy

class Spider(scrapy.Spider):
    name = "test"
    start_urls = ["{site}/"]
    custom_settings = {
        "ROBOTSTXT_OBEY": True,
        "ROBOTSTXT_PARSER": "courtesy_scrapy.GateParser",
        "DOWNLOADER_MIDDLEWARES": {"courtesy_scrapy.GateMiddleware": 950},
        "COURTESY_GATE": "{gate}",
        "USER_AGENT": "{agent}",
        "TELNETCONSOLE_ENABLED": False,
    }

    def parse(self, response):
        print(response.url)
        yield from response.follow_all(css="a")
`

// checkDelay fails the test if requests were sent too soon. A client may use a
// slot a little late, so a single gap may be shorter than the delay, but all
// gaps together may be shorter by at most half a delay.
func checkDelay(t *testing.T, requests []siteRequest, delay time.Duration) {
	t.Helper()
	for i := 1; i < len(requests); i++ {
		if gap := requests[i].at.Sub(requests[i-1].at); gap < delay/2 {
			t.Errorf("gap before request %d is %v, want at least %v", i, gap, delay/2)
		}
	}
	took := requests[len(requests)-1].at.Sub(requests[0].at)
	if want := time.Duration(len(requests)-1)*delay - delay/2; took < want {
		t.Errorf("%d requests took %v, want at least %v", len(requests), took, want)
	}
}
