package integration

import (
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/diskstore"
	"github.com/goodbots/courtesy/robotsmw/revisit"
)

// A client visits a site of static files twice. The ETags are weak, because the
// server compresses with gzip. The site's own log shows that the second visit
// received the bodies of changed files only.
func TestNginx_Revisit(t *testing.T) {
	t.Parallel()
	nginx := startNginx(t)
	pages := []string{"/", "/docs/", "/docs/page.html", "/hidden.html", "/report.pdf", "/gone.html"}
	dir := t.TempDir()
	visitAll := func() map[string]revisit.Visit {
		store, err := diskstore.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		client, err := robotsmw.NewClient(robotsmw.Options{
			UserAgent: crawler, Store: store, Limiter: &politeness.Limiter{Delay: crawlDelay},
			Wrap: func(robots http.RoundTripper) http.RoundTripper {
				return &revisit.Transport{Base: robots, Store: store}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer client.CloseIdleConnections()
		visits := make(map[string]revisit.Visit)
		for _, path := range pages {
			resp, err := client.Get(nginx.url + path)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			visit, ok := revisit.Of(resp)
			if !ok {
				t.Errorf("the response for %s has no Visit", path)
			}
			visits[path] = visit
			if path == "/report.pdf" || path == "/hidden.html" {
				if !visit.Directives.NoIndex() || !robotsmw.PageDirectives(resp).NoIndex() {
					t.Errorf("the response for %s (%s) has no noindex, want one", path, resp.Status)
				}
			}
		}
		return visits
	}
	visitAll()
	root := filepath.Join(filepath.Dir(nginx.log), "site")
	writeFile(t, filepath.Join(root, "docs/index.html"), "<!doctype html><title>Docs</title>and a new one")
	second := visitAll()
	for path, unchanged := range map[string]bool{"/": true, "/docs/": false, "/docs/page.html": true, "/hidden.html": true, "/report.pdf": true, "/gone.html": false} {
		if second[path].Unchanged != unchanged {
			t.Errorf("Unchanged of the second visit to %s is %v, want %v", path, second[path].Unchanged, unchanged)
		}
	}

	got := make(map[string][]int)
	for _, r := range nginx.stop(t) {
		got[r.request] = append(got[r.request], r.status)
	}
	for request, want := range map[string][]int{
		"GET /":               {200, 304},
		"GET /docs/":          {200, 200},
		"GET /docs/page.html": {200}, // fresh for an hour
		"GET /hidden.html":    {200, 304},
		"GET /report.pdf":     {200, 304},
		"GET /gone.html":      {404, 404},
		"GET /robots.txt":     {200}, // from the Store
	} {
		if len(got[request]) != len(want) || got[request][0] != want[0] || got[request][len(want)-1] != want[len(want)-1] {
			t.Errorf("%s received the statuses %d, want %d", request, got[request], want)
		}
	}
}

// In the spider's second crawl of a site, the site sends no body again.
func TestNginx_SpiderRevisits(t *testing.T) {
	t.Parallel()
	nginx := startNginx(t)
	dir := t.TempDir()
	for range 2 {
		cmd := exec.CommandContext(t.Context(), build(t, "politespider"), "-json", "-delay", crawlDelay.String(),
			"-user-agent", crawler, "-revisit", dir, nginx.url+"/docs/")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("politespider: %v\n%s", err, out)
		}
	}
	bodies := make(map[string]int)
	for _, r := range nginx.stop(t) {
		if r.status == http.StatusOK {
			bodies[r.request]++
		}
	}
	for _, request := range []string{"GET /docs/", "GET /docs/page.html", "GET /hidden.html", "GET /"} {
		if bodies[request] != 1 {
			t.Errorf("in two crawls, the response for %s had a body %d times, want once", request, bodies[request])
		}
	}
}
