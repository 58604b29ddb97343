package spider

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// reports is the directory in which TestReport_Crawls leaves its reports for
// inspection; "" means none.
var reports = flag.String("reports", "", "keep the reports in this `directory`")

// archive returns a site in which each page links to ten others. Some pages
// fail, and responses take up to 300 ms.
func archive(pages int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		fmt.Sscanf(r.URL.Path, "/archive/%d", &n)
		time.Sleep(time.Duration(40+n*37%260) * time.Millisecond)
		switch {
		case r.URL.Path == "/robots.txt":
			io.WriteString(w, "User-agent: *\nCrawl-delay: 0.5\nDisallow: /private/\nDisallow: /*?print\n")
		case n%47 == 46:
			http.NotFound(w, r)
		case n%131 == 130:
			http.Redirect(w, r, fmt.Sprintf("/archive/%d", n+1), http.StatusMovedPermanently)
		case n%977 == 976:
			w.WriteHeader(http.StatusServiceUnavailable)
		case n%1499 == 1498:
			http.Error(w, "no", http.StatusForbidden)
		default:
			page200(archiveLinks(n, pages)).ServeHTTP(w, r)
		}
	})
}

// archiveLinks returns the HTML of the n-th page of an archive.
func archiveLinks(n, pages int) string {
	var b strings.Builder
	for m := 10*n + 1; m <= 10*n+10 && m < pages; m++ {
		fmt.Fprintf(&b, "<a href=/archive/%d>%d</a> ", m, m)
	}
	if n%9 == 0 {
		fmt.Fprintf(&b, "<a href=/private/%d>private</a> ", n)
		fmt.Fprintf(&b, "<a href=/archive/%d?print>print</a> ", n)
		fmt.Fprintf(&b, "<a rel=nofollow href=/login?from=%d>log in</a>", n)
	}
	return b.String()
}

// busyArchive returns an archive that responds to each seventh request for a
// page with a 429.
func busyArchive(pages int) http.Handler {
	site := archive(pages)
	requests := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			io.WriteString(w, "User-agent: *\nCrawl-delay: 3\nDisallow: /private/\n")
			return
		}
		requests++
		if requests%7 == 6 {
			w.Header().Set("Retry-After", "20")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		site.ServeHTTP(w, r)
	})
}

// A reportCrawl is a crawl with a report.
type reportCrawl struct {
	name     string
	hosts    map[string]http.Handler // nil means the hosts of the demo
	args     []string
	compare  bool          // compare with an earlier crawl of 40 pages
	interval time.Duration // interrupt and resume the crawl after each interval; 0 means never
	status   int
	want     []string // parts of the report
}

func reportCrawls() []reportCrawl {
	manyPages := 600
	if *reports != "" {
		manyPages = 10_000
	}
	disallowAll := func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "# no robots, please\nUser-agent: *\nDisallow: /\n")
	}
	const longName = "www.a-rather-long-name-of-a-host.a.example"
	return []reportCrawl{
		{
			name:   "small",
			args:   []string{"demo"},
			status: tool.ExitOK,
			want: []string{
				`<div><dt>not found</dt><dd>1</dd></div>`,
				`<th scope="row">5xx</th>`,
				`404 Not Found: 1`,
			},
		},
		{
			name:   "many pages",
			hosts:  map[string]http.Handler{"archive.example": archive(manyPages)},
			args:   []string{"-max-pages=0", "-delay=500ms", "http://archive.example/archive/0"},
			status: tool.ExitOK,
			want:   []string{"The pace was kept.", "rel=nofollow on links of the page"},
		},
		{
			name:  "all disallowed",
			hosts: map[string]http.Handler{"closed.example": http.HandlerFunc(disallowAll)},
			args: []string{
				"http://closed.example/",
				"http://closed.example/a",
				"http://closed.example/b",
			},
			status: tool.ExitFailed,
			want: []string{
				`<dt>disallowed</dt><dd>3</dd>`,
				"There was no response.",
				"No page was fetched.",
			},
		},
		{
			name:   "unreachable",
			hosts:  map[string]http.Handler{},
			args:   []string{"http://nowhere.example/", "http://missing.example/"},
			status: tool.ExitFailed,
			want:   []string{`<dt>lost</dt><dd class="bad">2</dd>`},
		},
		{
			name:     "resumed",
			hosts:    map[string]http.Handler{"a.example": archive(200), "b.example": archive(60)},
			args:     []string{"-max-pages=0", "http://a.example/archive/0", "http://b.example/archive/0"},
			interval: 40 * time.Second,
			status:   tool.ExitOK,
			want:     []string{"The pace was kept."},
		},
		{
			name:    "two hosts",
			hosts:   map[string]http.Handler{"a.example": archive(80), longName: archive(30)},
			args:    []string{"http://a.example/archive/0", "http://" + longName + "/archive/0"},
			compare: true,
			status:  tool.ExitOK,
			want:    []string{"Since the earlier crawl"},
		},
		{
			name: "ports and pauses",
			hosts: map[string]http.Handler{
				"a.example:8080": busyArchive(40),
				"a.example":      archive(30),
				"b.example":      archive(12),
			},
			args: []string{
				"-max-time=5m",
				"http://a.example:8080/archive/0",
				"http://a.example/archive/0",
				"http://b.example/archive/0",
			},
			status: tool.ExitOK,
			want:   []string{`a.example:8080`, "pauses"},
		},
	}
}

// The sentences in a report fit its crawl, whatever the end of the crawl was.
func TestReport_Crawls(t *testing.T) {
	for _, tt := range reportCrawls() {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				if *reports != "" {
					dir = *reports
				}
				file := filepath.Join(dir, strings.ReplaceAll(tt.name, " ", "-")+".html")
				if status := tt.run(t, file); status != tt.status {
					t.Errorf("exit status is %d, want %d", status, tt.status)
				}
				wantText(t, "report", readFile(t, file), tt.want...)
			})
		})
	}
}

// run runs the crawl until it is complete, and returns the last exit status.
// The report is written to the file.
func (c reportCrawl) run(t *testing.T, file string) (status int) {
	t.Helper()
	base := c.internet(t)
	args := append([]string{
		"-report",
		file,
		"-user-agent=ExampleBot/1.0 (+https://example.com/bot)",
	}, c.args...)
	if c.compare {
		earlier := runOn(t.Context(), base, agent, "-json", "-max-pages=40", c.args[0])
		path := filepath.Join(t.TempDir(), "earlier.jsonl")
		writeFile(t, path, earlier.stdout)
		args = append(args, "-compare", path)
	}
	if c.interval == 0 {
		return runOn(t.Context(), base, args...).status
	}
	args = append(args, "-resume", t.TempDir())
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), c.interval)
		status = runOn(ctx, base, args...).status
		cancel()
		if status != tool.ExitInterrupted {
			break
		}
		time.Sleep(20 * time.Second)
	}
	return status
}

// internet returns an internet with the hosts of the crawl.
func (c reportCrawl) internet(t *testing.T) http.RoundTripper {
	t.Helper()
	if c.hosts == nil {
		_, internet := demoInternet(t)
		return internet
	}
	internet := new(robotstest.Internet)
	for host, handler := range c.hosts {
		internet.Handle(host, handler)
	}
	return internet
}
