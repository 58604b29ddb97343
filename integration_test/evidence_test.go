package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/evidence"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// auditResult has the exit status and the output of robotscheck audit -json.
type auditResult struct {
	status                                  int
	violations                              []string // such as "ExampleBot /private/plan.html disallowed"
	Requests, Violations, Robots, Unaudited int
	Broken, Cut                             int
}

func audit(t *testing.T, args ...string) (r auditResult) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), build(t, "robotscheck"), append([]string{"audit", "-json"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		r.status = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if stderr.Len() > 0 {
		t.Logf("robotscheck audit: %s", stderr.Bytes())
	}
	for line := range bytes.Lines(out) {
		var v struct{ Robot, URL, Kind string }
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("line %q of the JSON output: %v", line, err)
		}
		if v.Kind == "" {
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatalf("line %q of the JSON output: %v", line, err)
			}
			continue
		}
		r.violations = append(r.violations, fmt.Sprint(v.Robot, " ", v.URL, " ", v.Kind))
	}
	return r
}

// An audit of the server's log and an audit of the crawler's record both find
// that a crawl broke no rule.
func TestNginx_Audit(t *testing.T) {
	t.Parallel()
	nginx := startNginx(t)
	robots, record := filepath.Join(t.TempDir(), "robots.txt"), filepath.Join(t.TempDir(), "record")
	writeFile(t, robots, nginxRobots)
	rec, err := evidence.Open(record, evidence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	opts := robotsmw.Options{UserAgent: crawler, Base: &http.Transport{}, Limiter: paced(crawlDelay)}
	if err := rec.Observe(&opts); err != nil {
		t.Fatal(err)
	}
	client, err := robotsmw.NewClient(opts)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	for _, path := range []string{"/", "/private/plan.html", "/docs/", "/moved", "/private/press/news.html", "/busy", "/gone.html", "/search?q=a"} {
		resp, err := client.Get(nginx.url + path)
		if err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		} else if !errors.Is(err, robotsmw.ErrDisallowed) {
			t.Errorf("%s: error %v, want nil or ErrDisallowed", path, err)
		}
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	nginx.stop(t)
	if r := audit(t, "-robots", robots, nginx.auditLog()); r.status != 0 || r.Violations != 0 || r.Robots != 1 || r.Unaudited != 0 || r.Broken != 0 || r.Requests < 7 {
		t.Errorf("audit of the server's log: %+v, want 1 robots.txt, at least 7 requests and no faults", r)
	}
	if r := audit(t, record); r.status != 0 || r.Violations != 0 || r.Robots != 1 || r.Unaudited != 0 || r.Broken != 0 || r.Requests < 7 {
		t.Errorf("audit of the record: %+v, want 1 robots.txt, at least 7 requests and no faults", r)
	}
}

// A network link delays each packet by a different time, so requests arrive
// closer together than the spider sent them. This is no violation: the audits
// of the record and of the site's log report none, and both contain the same
// requests.
func TestNginx_AuditBehindAJitteryLink(t *testing.T) {
	t.Parallel()
	nginx := startNginx(t)
	robots, record := filepath.Join(t.TempDir(), "robots.txt"), filepath.Join(t.TempDir(), "record")
	writeFile(t, robots, nginxRobots)
	link := jitteryLink(t, strings.TrimPrefix(nginx.url, "http://"))
	cmd := exec.CommandContext(t.Context(), build(t, "politespider"), "-json", "-delay", crawlDelay.String(), "-evidence", record, "-user-agent", crawler, link+"/")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("politespider: %v\n%s", err, stderr.Bytes())
	}
	_, head, _ := strings.Cut(strings.TrimSpace(stderr.String()), "its head is ")
	nginx.stop(t)
	if r := audit(t, "-robots", robots, nginx.auditLog()); r.status != 0 || r.Violations != 0 || r.Unaudited != 0 || r.Broken != 0 || r.Requests < 12 {
		t.Errorf("audit of the server's log: %+v, want at least 12 requests and no faults", r)
	}
	if r := audit(t, "-head", head, "-against", nginx.auditLog(), record); r.status != 0 || r.Violations != 0 || r.Unaudited != 0 || r.Broken != 0 || r.Requests < 12 {
		t.Errorf("audit of the record: %+v, want at least 12 requests and no faults", r)
	}
	// A log that lacks a request, and one that has another.
	log, err := os.ReadFile(nginx.auditLog())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(log), "\n")
	other := filepath.Join(t.TempDir(), "other.log")
	writeFile(t, other, strings.Join(slices.Delete(lines, 3, 4), "")+strings.Replace(lines[5], " /", " /private/plan.html?", 1))
	if r := audit(t, "-against", other, record); r.status != 2 || r.Broken != 2 {
		t.Errorf("audit against another log: %+v, want status 2 and Broken 2", r)
	}
}

// jitteryLink forwards connections to an address, and returns the URL to use
// instead of that address.
func jitteryLink(t *testing.T, to string) (url string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() { listener.Close(); all.Wait() })
	forward := func(to, from net.Conn) {
		defer to.Close()
		packet := make([]byte, 64<<10)
		for {
			n, err := from.Read(packet)
			if err != nil {
				return
			}
			time.Sleep(20*time.Millisecond + rand.N(100*time.Millisecond))
			if _, err := to.Write(packet[:n]); err != nil {
				return
			}
		}
	}
	all.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			site, err := net.Dial("tcp", to)
			if err != nil {
				from.Close()
				continue
			}
			all.Go(func() { forward(site, from) })
			all.Go(func() { forward(from, site) })
		}
	})
	return "http://" + listener.Addr().String()
}

// An audit repeats each decision in the crawler's record, and gets the same
// result, however odd the robots.txt and the URL are.
func TestAuditOfOddDecisions(t *testing.T) {
	t.Parallel()
	agents := strings.Repeat("User-agent: ExampleBot/2\n", 20) // a group with more user-agent lines than the record keeps
	web := new(robotstest.Internet)
	for host, text := range map[string]string{
		"many.example":   agents + "Disallow: /private\nAllow: /private/open\n",
		"merged.example": "User-agent: EXAMPLEBOT\nDisallow: /private\n\nUser-agent: *\nDisallow: /\n\nUser-agent: examplebot # again\nAllow: /private/open\n",
		"latin1.example": "User-agent: ExampleBot caf\xe9 \xff\xfe\nDisallow: /private\nAllow: /private/open?q=\xe9\xea\nAllow: /private/open$\n",
		"long.example":   "User-agent: ExampleBot " + strings.Repeat("\u20ac", 4000) + "\nDisallow: /private\nAllow: /private/open\n",
		"star.example":   "\ufeffUser-agent: * and others\r\nDisallow: /private\rAllow: /private/open\x00\n",
		"nobody.example": "User-agent: OtherBot\nDisallow: /\n",
		"empty.example":  "User-agent: ExampleBot\n",
		"html.example":   "<html>\x00\xff",
	} {
		web.Handle(host, robotstest.Site{"/robots.txt": text, "/private/open": "a page", "/open": "a page"})
	}
	web.Handle("none.example", robotstest.Site{"/open": "a page"})
	web.Handle("down.example", robotstest.Status(503))
	web.Handle("moved.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/open" {
			http.Redirect(w, r, "http://merged.example"+r.URL.Path, http.StatusFound)
		}
	}))
	hosts := []string{"many", "merged", "latin1", "long", "star", "nobody", "empty", "html", "none", "down", "moved", "mine"}
	web.Handle("mine.example", robotstest.Site{"/open": "a page"})
	record := filepath.Join(t.TempDir(), "record")
	for range 2 { // the second session requests the same URLs
		rec, err := evidence.Open(record, evidence.Options{})
		if err != nil {
			t.Fatal(err)
		}
		opts := robotsmw.Options{UserAgent: crawler, Base: web, Limiter: paced(-1), Override: map[string]string{"http://mine.example": "User-agent: *\nDisallow: /private\nAllow: /private/open\n"}}
		if err := rec.Observe(&opts); err != nil {
			t.Fatal(err)
		}
		client, err := robotsmw.NewClient(opts)
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range hosts {
			for _, path := range []string{"/open", "/private/plan", "/private/open", "/private/open?q=\xe9\xea", "/x/%2e%2e//private/plan?q=\xff#f", "/x/../open", "/robots.txt?", "/\u30c4?\u30c4#\u30c4"} {
				resp, err := client.Get("http://" + host + ".example" + path)
				if err == nil {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				} else if !errors.Is(err, robotsmw.ErrDisallowed) && !errors.Is(err, robotsmw.ErrUnreachable) {
					t.Errorf("%s%s: error %v, want nil, ErrDisallowed or ErrUnreachable", host, path, err)
				}
			}
		}
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if r := audit(t, record); r.status != 0 || r.Violations != 0 || r.Unaudited != 0 || r.Broken != 0 || r.Requests < 80 {
		t.Errorf("audit of the record: %+v, want at least 80 requests and no faults", r)
	}
}

// Audits of a long crawl find that it broke no rule. The server responds to
// some requests with 404, and to one with 503.
func TestNginx_AuditOfMany(t *testing.T) {
	t.Parallel()
	pages := 500
	if full {
		pages = 5000
	}
	nginx := startNginx(t)
	robots, record := filepath.Join(t.TempDir(), "robots.txt"), filepath.Join(t.TempDir(), "record")
	writeFile(t, robots, nginxRobots)
	rec, err := evidence.Open(record, evidence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	opts := robotsmw.Options{UserAgent: "SwiftBot/1.0", Base: &http.Transport{}, Limiter: paced(time.Millisecond)}
	if err := rec.Observe(&opts); err != nil {
		t.Fatal(err)
	}
	client, err := robotsmw.NewClient(opts)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	for i := range pages {
		path := fmt.Sprintf("/page/%d", i) // there is no such page: 404
		switch {
		case i == pages/2:
			path = "/busy" // answers 503, with a Retry-After of one second
		case i%5 == 0:
			path = fmt.Sprintf("/?%d", i)
		case i%7 == 0:
			path = fmt.Sprintf("/private/%d", i)
		case i%11 == 0:
			path = "/moved"
		}
		resp, err := client.Get(nginx.url + path)
		if err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		} else if !errors.Is(err, robotsmw.ErrDisallowed) {
			t.Fatalf("%s: error %v, want nil or ErrDisallowed", path, err)
		}
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	nginx.stop(t)
	least := pages * 6 / 7
	if r := audit(t, "-robots", robots, nginx.auditLog()); r.status != 0 || r.Violations != 0 || r.Unaudited != 0 || r.Broken != 0 || r.Requests < least {
		t.Errorf("audit of the server's log: %+v, want at least %d requests and no faults", r, least)
	}
	if r := audit(t, record); r.status != 0 || r.Violations != 0 || r.Unaudited != 0 || r.Broken != 0 || r.Requests < least {
		t.Errorf("audit of the record: %+v, want at least %d requests and no faults", r, least)
	}
}

// The audit of a server's log names each request that broke a rule.
func TestNginx_AuditOfARudeCrawler(t *testing.T) {
	t.Parallel()
	nginx := startNginx(t)
	robots := filepath.Join(t.TempDir(), "robots.txt")
	writeFile(t, robots, nginxRobots)
	base := new(http.Transport)
	t.Cleanup(base.CloseIdleConnections)
	get := func(agent, path string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, nginx.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("User-Agent", agent)
		resp, err := base.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	get("SwiftBot/2", "/")
	get("SwiftBot/2", "/robots.txt")
	get("SwiftBot/2", "/private/plan.html")
	get("Mozilla/5.0 (compatible; GreedyBot/1.0)", "/robots.txt")
	get("Mozilla/5.0 (compatible; GreedyBot/1.0)", "/docs/?a=\"b")
	get("Mozilla/5.0 (X11; Linux x86_64)", "/private/plan.html") // a browser, which need not obey robots.txt
	nginx.stop(t)
	r := audit(t, "-robots", robots, nginx.auditLog())
	want := []string{"SwiftBot /private/plan.html disallowed", "GreedyBot /docs/?a=\"b disallowed"}
	if r.status != 1 || !slices.Equal(r.violations, want) || r.Requests != 6 || r.Robots != 2 {
		t.Errorf("audit of the server's log: %+v, want status 1, 6 requests, 2 robots and the violations %q", r, want)
	}
}
