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
// requests for pages, nginx drops about one, answers about one with 503, and
// about one with 429. It writes its own log, which does not depend on the
// spider's code.
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
	split_clients $request_id $fault { 1%% drop; 1%% rest; 1%% busy; * ""; }
	server {
		listen unix:%[1]s/socket;
		location = /robots.txt { proxy_pass http://%[2]s; }
		location = / { proxy_pass http://%[2]s; } # leads to all others
		location / {
			if ($fault = drop) { return 444; }
			if ($fault = busy) { return 429; }
			if ($fault = rest) { add_header Retry-After 1 always; return 503; }
			proxy_pass http://%[2]s;
		}
	}
}
`

// A jittery connection takes 20 to 120 ms for what is written to it.
type jittery struct{ net.Conn }

func (j jittery) Write(p []byte) (int, error) {
	time.Sleep(20*time.Millisecond + time.Duration(rand.Int64N(int64(100*time.Millisecond))))
	return j.Conn.Write(p)
}

// The crawl's own record and the log of nginx both show a polite crawl,
// although some requests fail, and although the link has jitter. With
// COURTESY_CHAOS set, the crawl requests 5,000 pages or more.
func TestDemo_AuditedFromBothSides(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: the demo takes a quarter of a minute")
	}
	t.Parallel()
	copies, pages := 1, 50
	if os.Getenv("COURTESY_CHAOS") != "" {
		copies, pages = 80, 5000
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
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if host, _, _ := net.SplitHostPort(addr); !hosts[host] {
			return nil, &net.OpError{
				Op:  "dial",
				Net: network,
				Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true},
			}
		}
		conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
		return jittery{conn}, err
	}}
	defer transport.CloseIdleConnections()
	var out, stderr bytes.Buffer
	began := time.Now()
	command := tool.Command{Crawl: Crawl, Args: args, Base: transport, Stdout: &out, Stderr: &stderr}
	if status := command.Run(t.Context()); status != tool.ExitOK {
		t.Fatalf("exit status %d: %s", status, &stderr)
	}
	took := time.Since(began)
	summary, _ := parseOutput(t, out.String())
	log := stop()

	// The audit of the server's log gets the robots.txt files from the demo. It
	// uses no data of the crawl.
	owners, err := demosite.New(domains...)
	if err != nil {
		t.Fatal(err)
	}
	var judge audit.Auditor
	for _, host := range owners.Hosts() {
		status, body := fetchRobots(owners, "http://"+host+"/robots.txt")
		judge.AddRobotsTxt(host, time.Time{}, status, body)
	}
	file, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	seen := polite(t, "the server's log", &judge, func(a *audit.Auditor) error {
		return a.Read(t.Context(), audit.Input{Name: log, Reader: file})
	})
	kept := polite(t, "the record", new(audit.Auditor), func(a *audit.Auditor) error {
		return a.ReadRecord(t.Context(), record, os.DirFS(record))
	})
	maps.DeleteFunc(kept, func(host string, _ int) bool { return !hosts[host] }) // the deleted hosts have no server, and therefore no log
	if !maps.Equal(seen, kept) {
		t.Errorf("by the server's log and by the record, the hosts were asked so often:\n%v\n%v", seen, kept)
	}
	requests := 0
	for _, n := range seen {
		requests += n
	}
	if asked := requests - len(hosts); asked < pages {
		t.Errorf("%d pages were asked for, want %d at least", asked, pages)
	}
	t.Logf("%d requests, %d of them for robots.txt, of %d hosts, in %.0f s; answers to pages by status: %v",
		requests, len(hosts), len(seen), took.Seconds(), summary.Statuses)
}

// polite audits a crawl. It fails the test if the crawl was not polite or
// cannot be judged. It returns how many requests each host got.
func polite(t *testing.T, what string, a *audit.Auditor, read func(*audit.Auditor) error) map[string]int {
	t.Helper()
	a.OnViolation = func(v audit.Violation) { t.Errorf("by %s: %+v", what, v) }
	a.OnBroken = func(input string, line int, err error) {
		t.Errorf("by %s: %s:%d: %v",
			what, input, line, err)
	}
	if err := read(a); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	r := a.Result()
	if r.Violations != 0 || r.Counts["unaudited"] != 0 || r.Counts["broken"] != 0 || r.Counts["cut"] != 0 || r.Counts["jumps"] != 0 || len(r.Robots) != 1 {
		t.Errorf("by %s: %d violations, %d unaudited, %d broken, %d cut, %d jumps, %d robots",
			what, r.Violations, r.Counts["unaudited"], r.Counts["broken"], r.Counts["cut"], r.Counts["jumps"], len(r.Robots))
	}
	t.Logf("by %s: %d requests, %d violations, %d unaudited",
		what, r.Requests, r.Violations, r.Counts["unaudited"])
	hosts := make(map[string]int)
	for _, h := range r.Hosts {
		hosts[h.Name] = h.Requests
	}
	return hosts
}

// fetchRobots returns the site's answer to a request for a URL. It follows up
// to four redirects.
func fetchRobots(site http.Handler, url string) (status int, body []byte) {
	for range 5 {
		answer := httptest.NewRecorder()
		site.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, url, nil))
		status, body = answer.Code, answer.Body.Bytes()
		if url = answer.Header().Get("Location"); url == "" {
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
			t.Skip("SKIPPED: no nginx, so no witness: install Debian's package nginx, or run .ci/run")
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
	nginx.Stdout, nginx.Stderr = &output, &output
	if err := nginx.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { defer close(gone); nginx.Wait() }()
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
