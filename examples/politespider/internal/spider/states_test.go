package spider

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

var reports = flag.String("reports",
	"", "directory in which the reports of TestReport_States are left, to be looked at")

// The sentences in a report fit its crawl, in whatever way the crawl ended.
func TestReport_States(t *testing.T) {
	archive := func(pages int) http.Handler { // each page links to ten others, and some pages fail
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
				var b strings.Builder
				for m := 10*n + 1; m <= 10*n+10 && m < pages; m++ {
					fmt.Fprintf(&b, "<a href=/archive/%d>%d</a> ", m, m)
				}
				if n%9 == 0 {
					fmt.Fprintf(&b, "<a href=/private/%d>private</a> <a href=/archive/%d?print>print</a> <a rel=nofollow href=/login?from=%d>log in</a>", n, n, n)
				}
				page200(b.String()).ServeHTTP(w, r)
			}
		})
	}
	asked := 0
	busy := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // answers each seventh request with a pause
		if r.URL.Path == "/robots.txt" {
			io.WriteString(w, "User-agent: *\nCrawl-delay: 3\nDisallow: /private/\n")
			return
		}
		if asked++; asked%7 == 6 {
			w.Header().Set("Retry-After", "20")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		archive(40).ServeHTTP(w, r)
	})
	many := 600
	if *reports != "" {
		many = 10_000
	}
	for name, state := range map[string]struct {
		hosts map[string]http.Handler // nil means the hosts of the demo
		args  []string
		limit time.Duration
		want  int
		says  []string
	}{
		"small": {
			nil,
			[]string{"demo"},
			0,
			tool.ExitOK,
			[]string{`<div><dt>not found</dt><dd>1</dd></div>`, `<th scope="row">5xx</th>`, `404 Not Found: 1`},
		},
		"many pages": {map[string]http.Handler{"archive.example": archive(many)}, []string{
			"-max-pages=0",
			"-delay=500ms",
			"http://archive.example/archive/0",
		}, 0, tool.ExitOK,
			[]string{"The pace was kept.", "rel=nofollow on links of the page"}},
		"all disallowed": {map[string]http.Handler{"closed.example": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "# nobody, please\nUser-agent: *\nDisallow: /\n")
		})}, []string{
			"http://closed.example/",
			"http://closed.example/a",
			"http://closed.example/b",
		}, 0, tool.ExitFailed, []string{
			`<dt>disallowed</dt><dd>3</dd>`,
			"There was no response.",
			"No page was fetched.",
		}},
		"unreachable": {
			map[string]http.Handler{},
			[]string{"http://nowhere.example/", "http://nobody.example/"},
			0,
			tool.ExitFailed,
			[]string{`<dt>lost</dt><dd class="bad">2</dd>`},
		},
		"resumed": {map[string]http.Handler{
			"a.example": archive(200),
			"b.example": archive(60),
		}, []string{
			"-resume",
			"",
			"-max-pages=0",
			"http://a.example/archive/0",
			"http://b.example/archive/0",
		}, 40 * time.Second, tool.ExitOK,
			[]string{"The pace was kept."}},
		"two hosts": {map[string]http.Handler{
			"a.example": archive(80),
			"www.a-rather-long-name-of-a-host.a.example": archive(30),
		}, []string{
			"-compare",
			"",
			"http://a.example/archive/0",
			"http://www.a-rather-long-name-of-a-host.a.example/archive/0",
		}, 0, tool.ExitOK,
			[]string{"Since the earlier crawl"}},
		"ports and pauses": {map[string]http.Handler{
			"a.example:8080": busy,
			"a.example":      archive(30),
			"b.example":      archive(12),
		},
			[]string{
				"-max-time=5m",
				"http://a.example:8080/archive/0",
				"http://a.example/archive/0",
				"http://b.example/archive/0",
			}, 0, tool.ExitOK,
			[]string{`a.example:8080`, "pauses"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				if *reports != "" {
					dir = *reports
				}
				file := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".html")
				args := append([]string{
					"-report",
					file,
					"-user-agent=ExampleBot/1.0 (+https://example.com/bot)",
				}, state.args...)
				var base http.RoundTripper
				if state.hosts == nil {
					_, base = demoInternet(t)
				} else {
					internet := new(robotstest.Internet)
					for host, handler := range state.hosts {
						internet.Handle(host, handler)
					}
					base = internet
				}
				for i, arg := range args {
					switch {
					case arg == "" && args[i-1] == "-resume":
						args[i] = t.TempDir()
					case arg == "" && args[i-1] == "-compare":
						args[i] = filepath.Join(t.TempDir(), "earlier.jsonl")
						var earlier bytes.Buffer
						command := tool.Command{
							Crawl:  Crawl,
							Args:   []string{agent, "-json", "-max-pages=40", args[len(args)-2]},
							Base:   base,
							Stdout: &earlier,
							Stderr: io.Discard,
						}
						command.Run(t.Context())
						if err := os.WriteFile(args[i], earlier.Bytes(), 0o600); err != nil {
							t.Fatal(err)
						}
					}
				}
				status := tool.ExitInterrupted
				for runs := 0; status == tool.ExitInterrupted && runs < 20; runs++ {
					ctx, cancel := t.Context(), context.CancelFunc(func() {})
					if state.limit > 0 {
						ctx, cancel = context.WithTimeout(ctx, state.limit)
					}
					status = tool.Command{
						Crawl:  Crawl,
						Args:   args,
						Base:   base,
						Stdout: io.Discard,
						Stderr: io.Discard,
					}.Run(ctx)
					cancel()
					time.Sleep(20 * time.Second)
				}
				if status != state.want {
					t.Errorf("exit status %d, want %d", status, state.want)
				}
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, want := range state.says {
					if !strings.Contains(string(text), want) {
						t.Errorf("the report says nothing of %q", want)
					}
				}
			})
		})
	}
}
