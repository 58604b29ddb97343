package spider

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/demosite"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
)

// demoNginx is the configuration of an nginx in front of the demo. Of a hundred
// requests for pages, nginx drops about one, responds to about one with 503,
// and to about one with 429. It writes its own log, which does not depend on
// the spider's code.
const demoNginx = `
daemon off;
master_process off;
pid %[1]s/pid;
error_log %[1]s/error.log;
worker_rlimit_nofile 8192;
events { worker_connections 4096; }
http {
	log_format audit '$host:80 $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" '
		'"$http_user_agent" $msec $request_time';
	access_log %[1]s/access.log audit;
	client_body_temp_path %[1]s/temp;
	proxy_temp_path %[1]s/temp;
	fastcgi_temp_path %[1]s/temp;
	uwsgi_temp_path %[1]s/temp;
	scgi_temp_path %[1]s/temp;
	proxy_set_header Host $host;
	split_clients $request_id $fault { 1%% drop; 1%% pause; 1%% busy; * ""; }
	server {
		listen unix:%[1]s/socket;
		location = /robots.txt { proxy_pass http://%[2]s; }
		location = / { proxy_pass http://%[2]s; } # leads to all others
		location / {
			if ($fault = drop) { return 444; }
			if ($fault = busy) { return 429; }
			if ($fault = pause) { add_header Retry-After 1 always; return 503; }
			proxy_pass http://%[2]s;
		}
	}
}
`

// A jittery connection delays each write by 20 to 120 ms.
type jittery struct{ net.Conn }

func (j jittery) Write(p []byte) (int, error) {
	time.Sleep(20*time.Millisecond + time.Duration(rand.Int64N(int64(100*time.Millisecond))))
	return j.Conn.Write(p)
}

// The crawl's own record and the log of nginx both show a polite crawl,
// although some requests fail and the connections have jitter. With
// COURTESY_CHAOS set, the crawl requests at least 5,000 pages.
func TestDemo_RecordAndServerLog(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: the demo takes a quarter of a minute")
	}
	t.Parallel()
	copies := 1
	minPages := 50
	if os.Getenv("COURTESY_CHAOS") != "" {
		copies = 80
		minPages = 5000
	}
	var domains []string
	for n := range copies {
		domains = append(domains, fmt.Sprint(n+1, ".example"))
	}
	site, err := demosite.New(domains...)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(site)
	defer server.Close()
	socket, stop := startDemoNginx(t, server.Listener.Addr().String())

	hosts := make(map[string]bool)
	args := []string{
		"-user-agent=ExampleBot/1.0",
		"-json",
		"-scope=domain",
		"-max-pages=0",
		"-hosts=300",
		"-delay=100ms",
	}
	for _, host := range site.Hosts() {
		hosts[host] = true
		if strings.HasPrefix(host, "town.") {
			args = append(args, "http://"+host+"/")
		}
	}
	record := filepath.Join(t.TempDir(), "record")
	args = append([]string{"-evidence=" + record}, args...)
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if host, _, _ := net.SplitHostPort(addr); !hosts[host] {
			return nil, &net.OpError{
				Op:  "dial",
				Net: network,
				Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true},
			}
		}
		conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
		return jittery{conn}, err
	}
	transport := &http.Transport{DialContext: dial}
	defer transport.CloseIdleConnections()
	began := time.Now()
	crawl := runOn(t.Context(), transport, args...)
	if crawl.status != tool.ExitOK {
		t.Fatalf("exit status is %d, want %d:\n%s", crawl.status, tool.ExitOK, crawl.stderr)
	}
	took := time.Since(began)
	summary, _ := parseOutput(t, crawl.stdout)
	log := stop()

	// The audit of the server's log gets the robots.txt files from the demo. It
	// uses no data of the crawl.
	owners, err := demosite.New(domains...)
	if err != nil {
		t.Fatal(err)
	}
	var auditor audit.Auditor
	for _, host := range owners.Hosts() {
		status, body := fetchRobots(owners, "http://"+host+"/robots.txt")
		auditor.AddRobotsTxt(host, time.Time{}, status, body)
	}
	file, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	inLog := auditCrawl(t, "the server's log", &auditor, func(a *audit.Auditor) error {
		return a.Read(t.Context(), audit.Input{Name: log, Reader: file})
	})
	inRecord := auditCrawl(t, "the record", new(audit.Auditor), func(a *audit.Auditor) error {
		return a.ReadRecord(t.Context(), record, os.DirFS(record))
	})
	// Hosts without a server have no log.
	maps.DeleteFunc(inRecord, func(host string, _ int) bool { return !hosts[host] })
	if !maps.Equal(inLog, inRecord) {
		t.Errorf("requests by host in the server's log are\n%v\nwant those in the record:\n%v", inLog, inRecord)
	}
	requests := 0
	for _, n := range inLog {
		requests += n
	}
	if pages := requests - len(hosts); pages < minPages {
		t.Errorf("%d pages were requested, want at least %d", pages, minPages)
	}
	t.Logf("%d requests, %d of them for robots.txt, to %d hosts, in %.0f s; responses for pages by status: %v",
		requests, len(hosts), len(inLog), took.Seconds(), summary.Statuses)
}

// auditCrawl audits a crawl. The test fails if the crawl was not polite or
// cannot be judged. It returns the number of requests to each host.
func auditCrawl(t *testing.T, what string, a *audit.Auditor, read func(*audit.Auditor) error) map[string]int {
	t.Helper()
	a.OnViolation = func(v audit.Violation) { t.Errorf("audit of %s: violation %+v, want none", what, v) }
	a.OnBroken = func(input string, line int, err error) {
		t.Errorf("audit of %s: %s, line %d: %v, want no errors", what, input, line, err)
	}
	if err := read(a); err != nil {
		t.Errorf("audit of %s returned the error %v, want none", what, err)
	}
	r := a.Result()
	for _, name := range []string{"unaudited", "broken", "cut", "jumps"} {
		if n := r.Counts[name]; n != 0 {
			t.Errorf("audit of %s: count %q is %d, want 0", what, name, n)
		}
	}
	if r.Violations != 0 || len(r.Robots) != 1 {
		t.Errorf("audit of %s: %d violations and %d robots, want 0 and 1", what, r.Violations, len(r.Robots))
	}
	t.Logf("audit of %s: %d requests", what, r.Requests)
	hosts := make(map[string]int)
	for _, h := range r.Hosts {
		hosts[h.Name] = h.Requests
	}
	return hosts
}

// fetchRobots returns the site's response to a request for a URL. It follows up
// to four redirects.
func fetchRobots(site http.Handler, url string) (status int, body []byte) {
	for range 5 {
		response := httptest.NewRecorder()
		site.ServeHTTP(response, httptest.NewRequest(http.MethodGet, url, nil))
		status = response.Code
		body = response.Body.Bytes()
		url = response.Header().Get("Location")
		if url == "" {
			break
		}
	}
	return status, body
}

// startDemoNginx starts an nginx that passes requests on to the demo's server
// at the given address. The returned function ends the nginx and returns the
// name of its complete log.
func startDemoNginx(t *testing.T, demo string) (socket string, stop func() (log string)) {
	t.Helper()
	binary, err := exec.LookPath("nginx")
	if err != nil {
		if binary, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			t.Skip("SKIPPED: the audit of a server log needs nginx: install Debian's package nginx, or run .ci/run")
		}
	}
	dir, err := os.MkdirTemp("", "nginx") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	config := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, demoNginx, dir, demo), 0o600); err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	nginx := exec.CommandContext(t.Context(), binary, "-p", dir, "-c", config, "-e", filepath.Join(dir, "error.log"))
	nginx.Stdout = &output
	nginx.Stderr = &output
	if err := nginx.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		nginx.Wait()
	}()
	socket = filepath.Join(dir, "socket")
	for {
		if conn, err := net.Dial("unix", socket); err == nil {
			conn.Close()
			break
		}
		select {
		case <-gone:
			text, _ := os.ReadFile(filepath.Join(dir, "error.log"))
			t.Fatalf("nginx did not start: %s%s", output.Bytes(), text)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return socket, func() string {
		if err := nginx.Process.Signal(syscall.SIGQUIT); err != nil {
			t.Fatal(err)
		}
		<-gone
		return filepath.Join(dir, "access.log")
	}
}
