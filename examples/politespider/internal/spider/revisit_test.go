package spider

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A newspaper is a site with pages that change.
type newspaper struct {
	mu       sync.Mutex
	pages    map[string]string // path → text
	bodies   []string          // the paths of responses with a body
	requests int
}

func (n *newspaper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	text, ok := n.pages[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	n.requests++
	etag := fmt.Sprintf(`"%x"`, text)
	w.Header().Set("ETag", etag)
	w.Header().Set("Content-Type", "text/html")
	if r.URL.Path == "/imprint" {
		w.Header().Set("Cache-Control", "max-age=86400")
	}
	if r.URL.Path == "/robots.txt" {
		w.Header().Set("Content-Type", "text/plain")
	}
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	n.bodies = append(n.bodies, r.URL.Path)
	io.WriteString(w, text)
}

// takeResponses returns the paths of the responses with a body since the last
// call, sorted, and the number of responses without a body.
func (n *newspaper) takeResponses() (bodies []string, unchanged int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	bodies = n.bodies
	unchanged = n.requests - len(n.bodies)
	n.bodies = nil
	n.requests = 0
	slices.Sort(bodies)
	return bodies, unchanged
}

// verdicts returns the last verdict on each URL.
func verdicts(lines []line) map[string]record.Verdict {
	found := make(map[string]record.Verdict)
	for _, l := range lines {
		if l.Verdict != record.RobotsTxt {
			found[l.URL] = l.Verdict
		}
	}
	return found
}

// newNewspaper returns an internet with a newspaper.
func newNewspaper() (*newspaper, *robotstest.Internet) {
	paper := &newspaper{pages: map[string]string{
		"/robots.txt": "User-agent: *\nAllow: /",
		"/":           "<a href=/a>a</a> <a href=/imprint>imprint</a>",
		"/a":          "<meta name=robots content=noindex><a href=/b>b</a>",
		"/b":          "<meta name=robots content=nofollow><a href=/never>never</a>",
		"/imprint":    "<p>we",
	}}
	web := new(robotstest.Internet)
	web.Handle("paper.example", paper)
	return paper, web
}

// crawlNewspaper crawls the newspaper and returns the verdicts. It checks that
// the directives of pages are reported.
func crawlNewspaper(t *testing.T, web http.RoundTripper, dir string) (record.Summary, map[string]record.Verdict) {
	t.Helper()
	args := []string{"-revisit", dir, "http://paper.example/"}
	summary, lines := crawlInternet(t, t.Context(), web, tool.ExitOK, args...)
	for _, l := range lines {
		if l.URL == "http://paper.example/a" && !l.NoIndex {
			t.Errorf("record of %s (%s) lacks noindex", l.URL, l.Verdict)
		}
		if l.URL == "http://paper.example/b" && !l.NoFollow {
			t.Errorf("record of %s (%s) lacks nofollow", l.URL, l.Verdict)
		}
	}
	return summary, verdicts(lines)
}

// A second crawl requests only pages that may have changed. It finds the pages
// to which only unchanged pages lead.
func TestRevisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paper, web := newNewspaper()
		dir := t.TempDir()
		crawlNewspaper(t, web, dir)
		if bodies, _ := paper.takeResponses(); len(bodies) != 5 {
			t.Fatalf("first crawl fetched %q, want all five pages", bodies)
		}

		time.Sleep(time.Hour)
		paper.pages["/a"] = "<meta name=robots content=noindex><a href=/b>b</a> news"
		summary, got := crawlNewspaper(t, web, dir)
		want := map[string]record.Verdict{
			"http://paper.example/":        record.Unchanged,
			"http://paper.example/a":       record.Fetched,
			"http://paper.example/b":       record.Unchanged,
			"http://paper.example/imprint": record.Unchanged,
		}
		if !maps.Equal(got, want) {
			t.Errorf("verdicts of the second crawl are %v, want %v", got, want)
		}
		bodies, unchanged := paper.takeResponses()
		if !slices.Equal(bodies, []string{"/a", "/robots.txt"}) || unchanged != 2 {
			t.Errorf("second crawl fetched %q and got %d responses without a body, want /a and /robots.txt, and 2",
				bodies, unchanged)
		}
		if summary.Unchanged != 3 || summary.Fetched != 1 {
			t.Errorf("summary has %d unchanged and %d fetched pages, want 3 and 1",
				summary.Unchanged, summary.Fetched)
		}
	})
}

// If the stored links of a page are lost, the page is requested without
// conditions, once.
func TestRevisit_LinksLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paper, web := newNewspaper()
		dir := t.TempDir()
		crawlNewspaper(t, web, dir)
		paper.takeResponses()
		removeLinks(t, dir, "links http://paper.example/")

		_, got := crawlNewspaper(t, web, dir)
		if verdict := got["http://paper.example/"]; verdict != record.Fetched {
			t.Errorf("verdict on the page without links is %q, want fetched", verdict)
		}
		if verdict := got["http://paper.example/b"]; verdict != record.Unchanged {
			t.Errorf("verdict on another page is %q, want unchanged", verdict)
		}
		if bodies, _ := paper.takeResponses(); !slices.Equal(bodies, []string{"/", "/robots.txt"}) {
			t.Errorf("second crawl fetched %q, want / and /robots.txt", bodies)
		}
		_, got = crawlNewspaper(t, web, dir)
		if verdict := got["http://paper.example/"]; verdict != record.Unchanged {
			t.Errorf("verdict in the third crawl is %q, want unchanged", verdict)
		}
	})
}

// removeLinks removes the file of a diskstore with this key.
func removeLinks(t *testing.T, dir, key string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if keyIn([]byte(readFile(t, name))) == key {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no file has the key %q", key)
}

// keyIn returns the key in a file of a diskstore, if the file contains links.
func keyIn(text []byte) string {
	const minLength = len("links http://paper.example/")
	start := bytes.Index(text, []byte("links "))
	if start < 0 || len(text)-start <= minLength {
		return ""
	}
	key, _, _ := strings.Cut(string(text[start:]), "{")
	return key
}

// A 304 is not a valid response to a request without conditions.
func TestRevisit_UnexpectedNotModified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("odd.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.NotFound(w, r)
				return
			}
			w.WriteHeader(http.StatusNotModified)
		}))
		for _, args := range [][]string{nil, {"-revisit", t.TempDir()}} {
			args := append(args, "http://odd.example/")
			_, lines := crawlInternet(t, t.Context(), &web, tool.ExitFailed, args...)
			if verdict := verdicts(lines)["http://odd.example/"]; verdict != record.Failed {
				t.Errorf("with the arguments %q, the verdict on the page is %q, want failed", args, verdict)
			}
		}
	})
}

// crawlDemoInBubble crawls the demo, and returns the verdicts and the requests
// with their times.
func crawlDemoInBubble(t *testing.T, args ...string) (found map[string]record.Verdict, requests []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		site, internet := demoInternet(t)
		_, lines := crawlJSON(t, t.Context(), internet, tool.ExitOK, args...)
		found = verdicts(lines)
		for _, r := range site.Log() {
			requests = append(requests, fmt.Sprintf("%v %s%s %d",
				r.At.Sub(start), r.Host, r.Target, r.Status))
		}
	})
	slices.Sort(requests)
	return found, requests
}

// The first crawl of the demo is the same with -revisit and without it: the
// same verdicts, requests and times. In the second crawl, pages with validators
// are unchanged. The record of both shows no violation.
func TestRevisit_Demo(t *testing.T) {
	pages := t.TempDir()
	evidence := t.TempDir()
	plain, plainRequests := crawlDemoInBubble(t)
	first, firstRequests := crawlDemoInBubble(t, "-revisit", pages, "-evidence", evidence)
	if !maps.Equal(first, plain) {
		t.Errorf("verdicts with -revisit are %v, want those without it: %v", first, plain)
	}
	if !slices.Equal(firstRequests, plainRequests) {
		t.Errorf("requests with -revisit are\n%q\nwant those without it:\n%q", firstRequests, plainRequests)
	}
	second, _ := crawlDemoInBubble(t, "-revisit", pages, "-evidence", evidence)
	unchanged := 0
	for url, want := range first {
		if want == record.Fetched && second[url] == record.Unchanged {
			unchanged++
			continue
		}
		if second[url] != want {
			t.Errorf("verdict on %s in the second crawl is %q, want %q as in the first", url, second[url], want)
		}
	}
	if unchanged < 10 {
		t.Errorf("%d pages are unchanged, want at least 10", unchanged)
	}
	auditCrawl(t, "the record", new(audit.Auditor), func(a *audit.Auditor) error {
		return a.ReadRecord(t.Context(), evidence, os.DirFS(evidence))
	})
}

// twoFacedInternet returns an internet with a site that serves another
// robots.txt, and other directives, to each crawler, without a Vary.
func twoFacedInternet() *robotstest.Internet {
	web := new(robotstest.Internet)
	web.Handle("paper.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isFirst := strings.HasPrefix(r.UserAgent(), "FirstBot/")
		w.Header().Set("Cache-Control", "max-age=86400")
		switch {
		case r.URL.Path == "/robots.txt" && isFirst:
			io.WriteString(w, "User-agent: *\nDisallow: /a\n")
		case r.URL.Path == "/robots.txt":
			io.WriteString(w, "User-agent: *\nDisallow: /b\n")
		case r.URL.Path == "/" && isFirst:
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<meta name=robots content=noindex><a href=/a>a</a><a href=/b>b</a>")
		case r.URL.Path == "/":
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<a href=/a>a</a><a href=/b>b</a>")
		}
	}))
	return web
}

// Two crawls with different User-Agents share the directories of -store and
// -revisit. Each obeys the robots.txt and the directives that the site serves
// to it, in the first crawl and in later ones.
func TestTwoUserAgentsShareDirectories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := twoFacedInternet()
		pages := t.TempDir()
		robots := t.TempDir()
		for round := range 2 {
			for userAgent, disallowed := range map[string]string{"FirstBot/1.0": "/a", "SecondBot/1.0": "/b"} {
				_, lines := crawlInternet(t, t.Context(), web, tool.ExitOK,
					"-user-agent", userAgent, "-revisit", pages, "-store", robots, "http://paper.example/")
				for _, l := range lines {
					wantDisallowed := l.URL == "http://paper.example"+disallowed
					if isDisallowed := l.Verdict == record.Disallowed; isDisallowed != wantDisallowed {
						t.Errorf("round %d, %s: verdict on %s is %q, want only %s to be disallowed",
							round, userAgent, l.URL, l.Verdict, disallowed)
					}
					wantNoIndex := userAgent == "FirstBot/1.0"
					if l.URL == "http://paper.example/" && l.NoIndex != wantNoIndex {
						t.Errorf("round %d, %s: noindex of the front page is %t, want %t",
							round, userAgent, l.NoIndex, wantNoIndex)
					}
				}
			}
			time.Sleep(time.Minute)
		}
	})
}
