package integration

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

const (
	crawler    = "ExampleBot/1.0 (+https://example.com/bot)"
	crawlDelay = 200 * time.Millisecond // the interval between requests in these tests
)

// The site's robots.txt has several groups, like the files of real sites. The
// second group is for the crawler of the tests.
const nginxRobots = `# nginx.example
User-agent: *
Disallow: /

User-agent: ExampleBot
Disallow: /private/
Disallow: /*.bak$
Disallow: /search?
Allow: /private/press/
Crawl-delay: 0.2

User-agent: GreedyBot
Disallow: /

User-agent: SwiftBot
Disallow: /private/
`

// nginxFiles are the files of the site, with their links. Some files are
// disallowed, and the log must not contain a request for these.
var nginxFiles = map[string]string{
	"index.html": `<!doctype html><title>Front</title>
		<a href="/docs/">docs</a> <a href="/private/plan.html">plan</a> <a href="/private/press/news.html">press</a>
		<a href="/config.bak">backup</a> <a href="/config.bak.html">about the backup</a> <a href="/search?q=a">search</a>
		<a href="/moved">moved</a> <a href="/moved-away">moved away</a> <a href="/hidden.html">hidden</a>
		<a href="/busy">busy</a> <a href="/gone.html">gone</a> <a href="/report.pdf">report</a> <a href="#top">top</a>`,
	"docs/index.html":         `<!doctype html><title>Docs</title><a href="../">up</a> <a href="page.html">page</a>`,
	"docs/page.html":          `<!doctype html><title>Page</title><a href="/private/notes.html">notes</a>`,
	"private/plan.html":       `the plan`,
	"private/notes.html":      `the notes`,
	"private/press/news.html": `<!doctype html><title>News</title>`,
	"config.bak":              `secret`,
	"config.bak.html":         `<!doctype html><title>About the backup</title>`,
	"hidden.html":             `<!doctype html><meta name="robots" content="noindex, nofollow"><a href="/only-from-hidden.html">more</a>`,
	"only-from-hidden.html":   `no link that may be followed leads here`,
	"report.pdf":              `%PDF-1.4`,
}

// nginxPages maps each request of a polite crawl of the site, as "METHOD PATH",
// to the number of times that it is sent.
var nginxPages = map[string]int{
	"GET /robots.txt":              1,
	"GET /":                        1,
	"GET /docs/":                   1,
	"GET /docs/page.html":          1,
	"GET /private/press/news.html": 1,
	"GET /config.bak.html":         1,
	"GET /moved":                   1,
	"GET /moved-away":              1,
	"GET /hidden.html":             1,
	"GET /busy":                    4, // 503: the spider tries three more times, then gives up
	"GET /gone.html":               1, // 404
	"GET /report.pdf":              1,
}

const nginxConfig = `
daemon off;
master_process off;
pid %[1]q;
error_log %[2]q;
events {}
http {
	log_format witness '$msec $request_time $status "$request" "$http_user_agent"';
	access_log %[3]q witness;
	log_format audit '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" '
		'"$http_user_agent" $msec $request_time';
	access_log %[7]q audit;
	client_body_temp_path %[4]q;
	proxy_temp_path %[4]q;
	fastcgi_temp_path %[4]q;
	uwsgi_temp_path %[4]q;
	scgi_temp_path %[4]q;
	types { text/html html; text/plain txt bak; application/pdf pdf; }
	gzip on;
	gzip_min_length 0;
	gzip_types text/plain;
	server {
		listen 127.0.0.1:%[6]d;
		root %[5]q;
		absolute_redirect off;
		location = /moved { return 301 /docs/; }
		location = /moved-away { return 302 /private/plan.html; }
		location = /busy { add_header Retry-After 1 always; return 503; }
		location = /report.pdf { add_header X-Robots-Tag noindex; }
		location = /docs/page.html { expires 1h; }
	}
}
`

func TestNginx_Spider(t *testing.T) {
	t.Parallel()
	nginx := startNginx(t)
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), build(t, "politespider"), "-json", "-delay", crawlDelay.String(), "-from-end", "-user-agent", crawler, nginx.url+"/")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("politespider: %v\n%s", err, stderr.Bytes())
	}

	log := nginx.stop(t)
	auditNginx(t, log, nginxPages)
	auditPace(t, log, crawlDelay)

	verdicts := make(map[string]string)
	for line := range bytes.Lines(out) {
		var r struct{ URL, Verdict string }
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("line %q of the JSON output: %v", line, err)
		}
		if r.URL != "" {
			verdicts[strings.TrimPrefix(r.URL, nginx.url)] = r.Verdict
		}
	}
	for path, want := range map[string]string{
		"/":                        "fetched",
		"/private/press/news.html": "fetched",
		"/private/plan.html":       "disallowed",
		"/private/notes.html":      "disallowed",
		"/config.bak":              "disallowed",
		"/search?q=a":              "disallowed",
		"/moved":                   "moved",
		"/busy":                    "given up",
		"/gone.html":               "not found",
	} {
		if verdicts[path] != want {
			t.Errorf("the verdict of the spider on %s is %q, want %q", path, verdicts[path], want)
		}
	}
}

// A small crawler around an http.Client obeys robots.txt for each redirect and
// for every method. The client follows redirects by itself.
func TestNginx_Client(t *testing.T) {
	t.Parallel()
	nginx := startNginx(t)
	client, err := robotsmw.NewClient(robotsmw.Options{
		UserAgent: crawler,
		Base:      &http.Transport{},
		Limiter:   paced(crawlDelay),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()

	href := regexp.MustCompile(`href="(/[^"]*)"`)
	queue := []string{"/", "/only-from-hidden.html"}
	seen := make(map[string]bool)
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		resp, err := client.Get(nginx.url + path)
		if err != nil {
			if !errors.Is(err, robotsmw.ErrDisallowed) {
				t.Errorf("%s: error %v, want ErrDisallowed", path, err)
			}
			continue
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Errorf("reading %s: %v", path, err)
		}
		page := robotsmw.PageDirectives(resp)
		if want := path == "/hidden.html" || path == "/report.pdf"; page.NoIndex() != want {
			t.Errorf("%s: noindex is %t, want %t", path, page.NoIndex(), want)
		}
		if page.NoFollow() {
			continue
		}
		for _, link := range href.FindAllSubmatch(body, -1) {
			queue = append(queue, string(link[1]))
		}
	}
	for _, method := range []string{"HEAD", "POST", "PUT", "DELETE", "OPTIONS"} {
		req, err := http.NewRequestWithContext(t.Context(), method, nginx.url+"/private/plan.html", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if !errors.Is(err, robotsmw.ErrDisallowed) {
			t.Errorf("%s of a disallowed page: error %v, want ErrDisallowed", method, err)
		}
		if err == nil {
			resp.Body.Close()
		}
	}

	log := nginx.stop(t)
	want := maps.Clone(nginxPages)
	want["GET /busy"] = 1                  // this crawler does not try again
	want["GET /docs/"] = 2                 // reached twice: by a link, and by the redirect from /moved
	want["GET /only-from-hidden.html"] = 1 // this URL is in the queue from the start, and is not disallowed
	delete(want, "GET /docs/page.html")    // this crawler does not find relative links
	auditNginx(t, log, want)
	auditPace(t, log, crawlDelay)
}

// The README's fetch tool obeys robots.txt, and prints the text of a page that
// is allowed.
func TestNginx_HTTPClientExample(t *testing.T) {
	t.Parallel()
	nginx := startNginx(t)
	tool := build(t, "httpclient")
	for _, tt := range []struct {
		path   string
		status int
		output []string // parts of standard output and standard error together
	}{
		{"/private/plan.html", 1, []string{"Disallow: /private/", "line 6"}},
		{"/docs/", 0, []string{"Docs\nup page\n"}},
	} {
		cmd := exec.CommandContext(t.Context(), tool, "-allow-private", nginx.url+tt.path)
		out, err := cmd.CombinedOutput()
		if exit, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
			t.Fatal(err)
		} else if failed && exit.ExitCode() != tt.status || !failed && tt.status != 0 {
			t.Errorf("%s: %v, want exit status %d\n%s", tt.path, err, tt.status, out)
		}
		for _, want := range tt.output {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: the output lacks %q:\n%s", tt.path, want, out)
			}
		}
	}
	auditNginx(t, nginx.stop(t), map[string]int{"GET /robots.txt": 2, "GET /docs/": 1})
}

type nginxServer struct {
	url  string
	log  string // path of the access log
	cmd  *exec.Cmd
	gone chan error
}

// auditLog returns the path of the log that robotscheck audit reads.
func (s *nginxServer) auditLog() string { return s.log + ".audit" }

type nginxRequest struct {
	start     time.Time
	status    int
	request   string // such as "GET /"
	userAgent string
}

func startNginx(t *testing.T) *nginxServer {
	t.Helper()
	binary, err := exec.LookPath("nginx")
	if err != nil {
		if binary, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			t.Skip("SKIPPED: there is no nginx whose log could be checked: install Debian's package nginx, or run .ci/run")
		}
	}
	dir := t.TempDir()
	root := filepath.Join(dir, "site")
	for name, text := range nginxFiles {
		writeFile(t, filepath.Join(root, name), text)
	}
	writeFile(t, filepath.Join(root, "robots.txt"), nginxRobots)

	for range 5 { // another process may take the free port before nginx does
		port := freePort(t)
		s := &nginxServer{url: fmt.Sprintf("http://127.0.0.1:%d", port), log: filepath.Join(dir, "access.log"), gone: make(chan error, 1)}
		config := filepath.Join(dir, "nginx.conf")
		errors := filepath.Join(dir, "error.log")
		writeFile(t, config, fmt.Sprintf(nginxConfig, filepath.Join(dir, "pid"), errors, s.log, filepath.Join(dir, "temp"), root, port, s.auditLog()))
		var output bytes.Buffer
		s.cmd = exec.Command(binary, "-p", dir, "-c", config, "-e", errors)
		s.cmd.Stdout, s.cmd.Stderr = &output, &output
		if err := s.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { s.gone <- s.cmd.Wait() }()
		t.Cleanup(func() { s.cmd.Process.Kill() })
		if s.answers(t) {
			return s
		}
		text, _ := os.ReadFile(errors)
		t.Logf("nginx did not start on port %d: %s%s", port, output.Bytes(), text)
	}
	t.Fatal("nginx did not start on any of five ports")
	return nil
}

// answers waits until nginx accepts connections. If nginx or the test ends
// before that, it returns false.
func (s *nginxServer) answers(t *testing.T) bool {
	for {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err == nil {
			conn.Close()
			return true
		}
		select {
		case err := <-s.gone:
			s.gone <- err
			return false
		case <-t.Context().Done():
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// stop ends nginx, which first completes its log. stop then returns the
// requests in the log, ordered by their starts.
func (s *nginxServer) stop(t *testing.T) []nginxRequest {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	<-s.gone
	file, err := os.Open(s.log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	format := regexp.MustCompile(`^([\d.]+) ([\d.]+) (\d+) "(\S+ \S+) [^"]*" "([^"]*)"$`)
	var log []nginxRequest
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		m := format.FindStringSubmatch(scanner.Text())
		if m == nil {
			t.Fatalf("line %q of the access log does not match the format", scanner.Text())
		}
		end, _ := strconv.ParseFloat(m[1], 64)
		took, _ := strconv.ParseFloat(m[2], 64)
		status, _ := strconv.Atoi(m[3])
		log = append(log, nginxRequest{time.UnixMilli(int64((end - took) * 1000)), status, m[4], m[5]})
	}
	slices.SortStableFunc(log, func(a, b nginxRequest) int { return cmp.Compare(a.start.UnixNano(), b.start.UnixNano()) })
	return log
}

func auditNginx(t *testing.T, log []nginxRequest, want map[string]int) {
	t.Helper()
	got := make(map[string]int)
	for _, r := range log {
		got[r.request]++
		if r.userAgent != crawler {
			t.Errorf("%s has the User-Agent %q, want %q", r.request, r.userAgent, crawler)
		}
	}
	for request, n := range got {
		if n != want[request] {
			t.Errorf("nginx logged %s %d times, want %d", request, n, want[request])
		}
	}
	for request, n := range want {
		if got[request] == 0 {
			t.Errorf("nginx never logged %s, want %d times", request, n)
		}
	}
}

// paced returns a Limiter that counts intervals from the end of a request. If
// intervals were counted from the start, a slow request and a fast one after it
// could reach the server too close together.
func paced(interval time.Duration) *politeness.Limiter {
	return &politeness.Limiter{Delay: interval, EndToStart: true}
}

// auditPace checks that every request arrived at least an interval after the
// previous one. It allows for 2 ms, because the log has times in milliseconds.
// The crawler must count intervals from the end of a request: see paced.
func auditPace(t *testing.T, log []nginxRequest, interval time.Duration) {
	t.Helper()
	for i := 1; i < len(log); i++ {
		if gap := log[i].start.Sub(log[i-1].start); gap < interval-2*time.Millisecond {
			t.Errorf("%s arrived %v after %s, want %v at least", log[i].request, gap, log[i-1].request, interval)
		}
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}
