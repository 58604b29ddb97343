package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/evidence"
)

// auditResult is what robotscheck audit -json prints.
type auditResult struct {
	status                                  int
	violations                              []string // "ExampleBot /private/plan.html disallowed"
	Requests, Violations, Robots, Unaudited int
	Broken, Cut                             int
}

// audit runs robotscheck audit.
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
			t.Fatalf("%q: %v", line, err)
		}
		if v.Kind == "" {
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			continue
		}
		r.violations = append(r.violations, fmt.Sprint(v.Robot, " ", v.URL, " ", v.Kind))
	}
	return r
}

// By the server's log and by the crawler's own record, a crawl was polite.
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
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	nginx.stop(t)
	if r := audit(t, "-robots", robots, nginx.auditLog()); r.status != 0 || r.Violations != 0 || r.Robots != 1 || r.Unaudited != 0 || r.Broken != 0 || r.Requests < 7 {
		t.Errorf("by the server's log: %+v", r)
	}
	if r := audit(t, record); r.status != 0 || r.Violations != 0 || r.Robots != 1 || r.Unaudited != 0 || r.Broken != 0 || r.Requests < 7 {
		t.Errorf("by the record: %+v", r)
	}
}

// A crawl of many pages, from a server that fails now and then.
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
		path := fmt.Sprintf("/page/%d", i) // a 404
		switch {
		case i == pages/2:
			path = "/busy" // a 503, with a Retry-After of a second
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
			t.Fatalf("%s: %v", path, err)
		}
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	nginx.stop(t)
	least := pages * 6 / 7
	if r := audit(t, "-robots", robots, nginx.auditLog()); r.status != 0 || r.Violations != 0 || r.Unaudited != 0 || r.Broken != 0 || r.Requests < least {
		t.Errorf("by the server's log: %+v", r)
	}
	if r := audit(t, record); r.status != 0 || r.Violations != 0 || r.Unaudited != 0 || r.Broken != 0 || r.Requests < least {
		t.Errorf("by the record: %+v", r)
	}
}

// A crawler obeys nothing. The log names each of its requests that broke a
// rule.
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
	get("Mozilla/5.0 (X11; Linux x86_64)", "/private/plan.html") // a browser
	nginx.stop(t)
	r := audit(t, "-robots", robots, nginx.auditLog())
	want := []string{"SwiftBot / before-robots-txt", "SwiftBot /private/plan.html disallowed", "GreedyBot /docs/?a=\"b disallowed"}
	if r.status != 1 || !slices.Equal(r.violations, want) || r.Requests != 6 || r.Robots != 2 {
		t.Errorf("%+v, want %q", r, want)
	}
}
