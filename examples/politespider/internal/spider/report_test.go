package spider

import (
	"context"
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

// If the report cannot be written, the crawl counts as failed, and standard
// error does not mention a report.
func TestCrawl_ReportLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "reports")
		makeDirectory(t, dir)
		var internet robotstest.Internet
		internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			os.RemoveAll(dir) // the spider has already checked that it can write there
			page200("fine").ServeHTTP(w, r)
		}))
		path := filepath.Join(dir, "crawl.html")
		r := runOn(t.Context(), &internet, agent, "-report", path, "http://a.example/")
		r.wantStatus(t, tool.ExitFailed)
		wantText(t, "standard error", r.stderr, "politespider: write the report: ", path)
		wantNoText(t, "standard error", r.stderr, "the report is in")
	})
}

// The report replaces an older file as a whole.
func TestCrawl_Report(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limit  time.Duration
		page   string // the page of a.example
		status int
		want   []string // parts of the report
	}{
		{
			"a complete crawl",
			time.Hour,
			"",
			tool.ExitOK,
			[]string{
				"The pace was kept.",
				"http://a.example/, http://b.example/",
				"4 requests to 2 hosts",
				`"urls":["/robots.txt","/"]`,
			},
		},
		{
			"an interrupted crawl",
			1500 * time.Millisecond,
			"<a href=/1>1</a> <a href=/2>2</a>",
			tool.ExitInterrupted,
			[]string{"interrupted", "2 URLs still queued"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "crawl.html")
			writeFile(t, path, strings.Repeat("an older report\n", 1<<14))
			synctest.Test(t, func(t *testing.T) {
				var internet robotstest.Internet
				internet.Handle("a.example", page200(tt.page))
				internet.Handle("b.example", page200(""))
				ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
				defer cancel()
				r := runOn(ctx, &internet, agent, "-report", path, "http://a.example/", "http://b.example/")
				r.wantStatus(t, tt.status)
				if want := "politespider: the report is in " + path + "\n"; r.stderr != want {
					t.Errorf("standard error is %q, want %q", r.stderr, want)
				}
			})
			page := readFile(t, path)
			wantText(t, "report", page, tt.want...)
			wantNoText(t, "report", page, "an older report")
			if !strings.HasSuffix(page, "</html>\n") {
				t.Errorf("report ends with %q, want </html>", page[max(len(page)-20, 0):])
			}
		})
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// If a crawl is interrupted and continued many times, its report covers all
// runs. A killed process may leave an incomplete line in the history.
func TestRun_ReportOfAllRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		const links = `<a href=/no/1>1</a> <a href=/busy>2</a> <a href=/3>3</a> <a href=/4>4</a> <a href=/no/5>5</a>`
		internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/robots.txt":
				w.Write([]byte("User-agent: *\nDisallow: /no"))
			case "/busy":
				w.Header().Set("Retry-After", "30")
				w.WriteHeader(http.StatusServiceUnavailable)
			default:
				page200(links).ServeHTTP(w, r)
			}
		}))
		state := filepath.Join(t.TempDir(), "state")
		report := filepath.Join(t.TempDir(), "crawl.html")
		began := time.Now()
		isComplete := false
		for n := 0; !isComplete && n < 20; n++ {
			ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
			r := runOn(ctx, &internet, "-resume", state, "-report", report, agent, "http://a.example/")
			cancel()
			isComplete = r.status == tool.ExitOK
			if !isComplete {
				r.wantStatus(t, tool.ExitInterrupted)
				appendText(t, filepath.Join(state, "records.jsonl"), `{"seconds":1,"verd`)
			}
		}
		if !isComplete {
			t.Fatal("crawl is not complete after 20 runs")
		}
		page := readFile(t, report)
		wantText(t, "report", page,
			`<div><dt>fetched</dt><dd>3</dd></div>`,
			`<div><dt>disallowed</dt><dd>2</dd></div>`,
			`<div><dt>lost</dt><dd class="bad">1</dd></div>`,
			"The pace was kept.",
			began.Format("2 January 2006, 15:04:05"),
			`"text":"Disallow: /no"`,
			`"User-agent: *"`, // a line of the robots.txt with the rule
		)
		wantNoText(t, "report", page, "This is one process, or one run, of a crawl")
	})
}

func appendText(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}
