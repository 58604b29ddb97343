package main

import (
	"bytes"
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

// interpreter returns a Python that has the module, or skips the test. The one
// in the path may be another than the one that the system's packages are for.
func interpreter(t *testing.T, module string) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import "+module).Run() == nil {
			return python
		}
	}
	t.Skipf("SKIPPED: no python3 with the module %s: the client in Python is not tested (apt-get install python3 python3-scrapy)", module)
	return ""
}

// runPython runs a program beside the clients, and returns what it prints.
func runPython(t *testing.T, python string, args ...string) string {
	t.Helper()
	clients, err := filepath.Abs("python")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"courtesy.py", "courtesy_scrapy.py"} {
		os.Stat(filepath.Join(clients, name)) // go test then knows that its result depends on it
	}
	cmd := exec.CommandContext(t.Context(), python, args...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+clients, "PYTHONDONTWRITEBYTECODE=1")
	cmd.Dir = t.TempDir()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%s", python, args, err, stderr.String())
	}
	if t.Failed() || testing.Verbose() {
		t.Log(stderr.String())
	}
	return stdout.String()
}

// A crawled site writes down when it was asked for what.
type crawled struct {
	*httptest.Server
	mu    sync.Mutex
	paths []string
	times []time.Time
}

func newCrawled(t *testing.T, serve http.HandlerFunc) *crawled {
	c := new(crawled)
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.paths, c.times = append(c.paths, r.URL.Path), append(c.times, time.Now())
		c.mu.Unlock()
		if r.URL.Path == "/robots.txt" {
			io.WriteString(w, "User-agent: TestBot\nDisallow: /private")
			return
		}
		serve(w, r)
	}))
	t.Cleanup(c.Close)
	return c
}

// requests returns what the site was asked for so far.
func (c *crawled) requests() (paths []string, times []time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.paths), slices.Clone(c.times)
}

func TestPython(t *testing.T) {
	t.Parallel()
	python := interpreter(t, "urllib.request")
	site := newCrawled(t, func(w http.ResponseWriter, r *http.Request) {
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
	for _, tt := range []struct{ name, code, want string }{
		{"check", `print(gate.check(site + "/")["allowed"], gate.check(site + "/private")["line"])`, "True 2"},
		{"fetch", `
with gate.fetch(site + "/") as page:
    print(page.status, page.read())`, "200 b'page'"},
		{"a page that is gone", `
with gate.fetch(site + "/gone") as page:
    print(page.status, page.read().strip())`, "410 b'it is gone'"},
		{"the page's URL", `
for path in "/", "/gone?a=b", "/moved":
    with gate.fetch(site + path) as page:
        print(page.url.removeprefix(site), page.geturl().removeprefix(site))`, "/ /\n/gone?a=b /gone?a=b\n/moved /moved"},
		{"a redirect is the caller's to follow", `
with gate.fetch(site + "/moved") as page:
    print(page.status, page.headers["Location"])`, "302 /private"},
		{"refused", `
try:
    gate.fetch(site + "/private")
except Refused as refused:
    print(refused, refused.verdict["line"])`, "rule /private 2"},
		{"a bad URL", `
try:
    gate.fetch("ftp://example.com/")
except Refused as refused:
    print(refused)`, "gate: the url must begin with http:// or https:// and a host"},
		{"robots.txt itself", `
with gate.fetch(site + "/robots.txt") as page:
    print(page.status)`, "200"},
		{"no gate", `
import urllib.error
try:
    Gate(site + "/gone").fetch(site)
except urllib.error.HTTPError as error:
    print(error.status)`, "410"},
		{"a bad URL is checked", `
try:
    gate.check("ftp://example.com/")
except Refused as refused:
    print(refused)`, "gate: the url must begin with http:// or https:// and a host"},
		{"its own requests", `
import urllib.request
for path in "/1", "/2":
    with gate.turn(site + path) as turn:
        turn.status = urllib.request.urlopen(site + path).status
    print(turn.status)`, "200\n200"},
		{"a turn that is refused", `
try:
    with gate.turn(site + "/private"):
        print("not here")
except Refused as refused:
    print(refused)`, "rule /private"},
		{"a turn that fails", `
try:
    with gate.turn(site + "/"):
        raise ValueError("broken")
except ValueError as error:
    print(error)
with gate.turn(site + "/"):
    print("next")`, "broken\nnext"},
		{"a gate that is away", `
try:
    Gate("http://127.0.0.1:1").fetch(site + "/")
except OSError as error:
    print("away")`, "away"},
		{"a site that is busy", `
with gate.fetch(site + "/busy") as page:
    print(page.status)
try:
    gate.fetch(site + "/")
except Refused as refused:
    print(refused.verdict["until"] > "2")`, "429\nTrue"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code := "import sys\nfrom courtesy import Gate, Refused\ngate, site = Gate(sys.argv[1]), sys.argv[2]\n" + strings.TrimSpace(tt.code)
			if got := strings.TrimSpace(runPython(t, python, "-c", code, base, site.URL)); got != tt.want {
				t.Errorf("it prints %q, want %q", got, tt.want)
			}
		})
	}
	paths, _ := site.requests()
	if slices.Contains(paths, "/private") {
		t.Error("DISALLOWED: /private was requested")
	}
	if n := len(slices.DeleteFunc(paths, func(path string) bool { return path != "/robots.txt" })); n != 2 {
		t.Errorf("robots.txt was requested %d times, want once by the gate and once by us", n)
	}
}

// The README's program in Python runs as it stands there.
func TestPython_Readme(t *testing.T) {
	t.Parallel()
	python := interpreter(t, "urllib.request")
	site := newCrawled(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "page") })
	base, stop := start(t, "-allow-private")
	defer stop()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(readme), "```python\n")
	code, _, _ = strings.Cut(code, "```")
	here := strings.NewReplacer("Gate()", "Gate('"+base+"')", "https://example.com", site.URL)
	if got := runPython(t, python, "-c", here.Replace(code)); got != "200 b'page'\n" {
		t.Errorf("it prints %q", got)
	}
}

// Scrapy runs with the settings of courtesy_scrapy's doc, and its own pace
// switched off.
func TestScrapy(t *testing.T) {
	t.Parallel()
	python := interpreter(t, "scrapy")
	site := newCrawled(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/private/moved", http.StatusFound)
		case "/":
			io.WriteString(w, "<a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a> <a href=/moved>4</a> <a href=/private>5</a>")
		}
	})
	const delay = 600 * time.Millisecond // a turn that is given may be used a little later
	base, stop := start(t, "-allow-private", "-delay", delay.String())
	defer stop()
	spider := filepath.Join(t.TempDir(), "spider.py")
	if err := os.WriteFile(spider, []byte(`
import scrapy

class Spider(scrapy.Spider):
    name = "test"
    start_urls = ["`+site.URL+`/"]
    custom_settings = {
        "ROBOTSTXT_OBEY": True,
        "ROBOTSTXT_PARSER": "courtesy_scrapy.GateParser",
        "DOWNLOADER_MIDDLEWARES": {"courtesy_scrapy.GateMiddleware": 950},
        "COURTESY_GATE": "`+base+`",
        "USER_AGENT": "`+agent+`",
        "TELNETCONSOLE_ENABLED": False,
    }

    def parse(self, response):
        print(response.url)
        yield from response.follow_all(css="a")
`), 0o600); err != nil {
		t.Fatal(err)
	}
	printed := runPython(t, python, "-m", "scrapy", "runspider", spider)
	paths, times := site.requests()
	slices.Sort(paths)
	if got, want := strings.Join(paths, " "), "/ /1 /2 /3 /moved /robots.txt"; got != want {
		t.Errorf("the site was asked for %s, want %s", got, want)
	}
	for i, at := range times[1:] {
		if gap := at.Sub(times[i]); gap < delay/2 {
			t.Errorf("request %d came %v after the one before", i+1, gap)
		}
	}
	if took := times[len(times)-1].Sub(times[0]); took < time.Duration(len(times)-1)*delay-delay/2 {
		t.Errorf("%d requests took %v", len(times), took)
	}
	if n := strings.Count(printed, site.URL); n != 4 {
		t.Errorf("%d pages were parsed, want 4:\n%s", n, printed)
	}
}
