package spider

import (
	"fmt"
	"io"
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

// A newspaper has pages that change, and counts the bodies that it sends.
type newspaper struct {
	mu     sync.Mutex
	issue  map[string]string // by path
	bodies []string          // the paths of what was sent with a body
	asked  []string
}

func (n *newspaper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	text, ok := n.issue[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	n.asked = append(n.asked, r.URL.Path)
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

// take returns the paths that were sent with a body since the last call, and
// how many requests there were for other pages.
func (n *newspaper) take() (bodies []string, other int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	bodies, other = n.bodies, len(n.asked)-len(n.bodies)
	n.bodies, n.asked = nil, nil
	slices.Sort(bodies)
	return bodies, other
}

func verdicts(lines []line) map[string]record.Verdict {
	found := make(map[string]record.Verdict)
	for _, l := range lines {
		if l.Verdict != record.RobotsTxt {
			found[l.URL] = l.Verdict
		}
	}
	return found
}

// A second crawl asks only for what may have changed, and finds the pages that
// only unchanged pages lead to.
func TestRevisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paper := &newspaper{issue: map[string]string{
			"/robots.txt": "User-agent: *\nAllow: /",
			"/":           "<a href=/a>a</a> <a href=/imprint>imprint</a>",
			"/a":          "<meta name=robots content=noindex><a href=/b>b</a>",
			"/b":          "<meta name=robots content=nofollow><a href=/never>never</a>",
			"/imprint":    "<p>we",
		}}
		var web robotstest.Internet
		web.Handle("paper.example", paper)
		dir := t.TempDir()
		crawl := func() (record.Summary, map[string]record.Verdict) {
			summary, lines := crawlInternet(t, t.Context(), &web, 0, "-revisit", dir, "http://paper.example/")
			for _, l := range lines {
				if l.URL == "http://paper.example/a" && !l.NoIndex || l.URL == "http://paper.example/b" && !l.NoFollow {
					t.Errorf("%s (%s): what it says is lost", l.URL, l.Verdict)
				}
			}
			return summary, verdicts(lines)
		}
		crawl()
		if bodies, _ := paper.take(); len(bodies) != 5 {
			t.Fatalf("the first crawl fetched %q", bodies)
		}

		time.Sleep(time.Hour)
		paper.issue["/a"] = "<meta name=robots content=noindex><a href=/b>b</a> news"
		summary, found := crawl()
		want := map[string]record.Verdict{
			"http://paper.example/": record.Unchanged, "http://paper.example/a": record.Fetched,
			"http://paper.example/b": record.Unchanged, "http://paper.example/imprint": record.Unchanged,
		}
		if fmt.Sprint(found) != fmt.Sprint(want) {
			t.Errorf("the second crawl found %v, want %v", found, want)
		}
		if bodies, other := paper.take(); !slices.Equal(bodies, []string{"/a", "/robots.txt"}) || other != 2 {
			t.Errorf("the second crawl fetched %q, and %d other pages were asked for; want /a, and / and /b",
				bodies, other)
		}
		if summary.Unchanged != 3 || summary.Fetched != 1 {
			t.Errorf("%d unchanged, %d fetched", summary.Unchanged, summary.Fetched)
		}

		// The links of a page are lost: it comes as a whole.
		files, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
		for _, name := range files {
			if text, _ := os.ReadFile(name); keyIn(text) == "links http://paper.example/" {
				os.Remove(name)
			}
		}
		_, found = crawl()
		if found["http://paper.example/"] != record.Fetched || found["http://paper.example/b"] != record.Unchanged {
			t.Errorf("without the links of a page: %v", found)
		}
		if bodies, _ := paper.take(); !slices.Equal(bodies, []string{"/", "/robots.txt"}) {
			t.Errorf("without the links of a page, %q came", bodies)
		}
		if _, found = crawl(); found["http://paper.example/"] != record.Unchanged {
			t.Errorf("afterwards: %v", found)
		}
	})
}

// keyIn returns the key in a file of a diskstore.
func keyIn(text []byte) string {
	for i := range text {
		if rest := string(text[i:]); len(rest) > 28 && rest[:6] == "links " {
			for j := range rest {
				if rest[j] == '{' {
					return rest[:j]
				}
			}
		}
	}
	return ""
}

// Without -revisit, a 304 is no answer to a request without conditions.
func TestRevisit_UnaskedFor(t *testing.T) {
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
			_, lines := crawlInternet(t, t.Context(), &web, 1, append(args, "http://odd.example/")...)
			if found := verdicts(lines); found["http://odd.example/"] != record.Failed {
				t.Errorf("%q: %v", args, found)
			}
		}
	})
}

// The first crawl of the demo is the same with -revisit and without it: the
// same verdicts, requests and pace. The second one asks at the same pace, and
// bodies come only of the pages that say nothing by which they could be known.
// The record of both is clean.
func TestRevisit_Demo(t *testing.T) {
	known, evidence := t.TempDir(), t.TempDir()
	crawlAgain := func(args ...string) (found map[string]record.Verdict, requests []string) {
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
	plain, requests := crawlAgain()
	first, same := crawlAgain("-revisit", known, "-evidence", evidence)
	if fmt.Sprint(first) != fmt.Sprint(plain) {
		t.Errorf("with -revisit the verdicts are %v, without it %v", first, plain)
	}
	if !slices.Equal(same, requests) {
		t.Errorf("with -revisit the requests are\n%q\nwithout it\n%q", same, requests)
	}
	second, _ := crawlAgain("-revisit", known, "-evidence", evidence)
	unchanged := 0
	for url, verdict := range first {
		want := verdict
		if verdict == record.Fetched && second[url] == record.Unchanged {
			want, unchanged = record.Unchanged, unchanged+1
		}
		if second[url] != want {
			t.Errorf("%s: %q at first, then %q", url, verdict, second[url])
		}
	}
	if unchanged < 10 {
		t.Errorf("%d pages are unchanged", unchanged)
	}
	polite(t, "the record", new(audit.Auditor), func(a *audit.Auditor) error { return a.ReadRecord(t.Context(), evidence, os.DirFS(evidence)) })
}

// A site serves another robots.txt, and other directives, to each crawler,
// without a Vary. Two crawls with different User-Agents share the directories
// of -store and -revisit. Each does what the site says to it, in the first
// crawl and in later ones.
func TestTwoUserAgentsShareDirectories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
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
		known, robots := t.TempDir(), t.TempDir()
		for round := range 2 {
			for agent, forbidden := range map[string]string{"FirstBot/1.0": "/a", "SecondBot/1.0": "/b"} {
				_, lines := crawlInternet(t, t.Context(), &web, 0, "-user-agent", agent, "-revisit", known, "-store", robots, "http://paper.example/")
				for _, l := range lines {
					isForbidden := l.URL == "http://paper.example"+forbidden
					if isForbidden != (l.Verdict == record.Disallowed) {
						t.Errorf("round %d, %s: %s is %s", round, agent, l.URL, l.Verdict)
					}
					if l.URL == "http://paper.example/" && l.NoIndex != (agent == "FirstBot/1.0") {
						t.Errorf("round %d, %s: noindex %v", round, agent, l.NoIndex)
					}
				}
			}
			time.Sleep(time.Minute)
		}
	})
}
