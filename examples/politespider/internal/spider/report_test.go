package spider

import (
	"bytes"
	"context"
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

// If the report cannot be written, the crawl counts as failed, and standard
// error does not say that there is a report.
func TestCrawl_ReportLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "reports")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		var internet robotstest.Internet
		internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			os.RemoveAll(dir)
			page200("fine").ServeHTTP(w, r)
		}))
		var stderr bytes.Buffer
		command := tool.Command{
			Crawl:  Crawl,
			Args:   []string{agent, "-report", filepath.Join(dir, "crawl.html"), "http://a.example/"},
			Base:   &internet,
			Stdout: io.Discard,
			Stderr: &stderr,
		}
		if status := command.Run(t.Context()); status != tool.ExitFailed {
			t.Errorf("exit status %d, want %d", status, tool.ExitFailed)
		}
		if got := stderr.String(); !strings.HasPrefix(got, "politespider: write the report: ") || !strings.Contains(got, "crawl.html") || strings.Contains(got, "the report is in") {
			t.Errorf("standard error: %s", got)
		}
	})
}

func TestCrawl_Report(t *testing.T) {
	tests := []struct {
		name  string
		limit time.Duration
		want  int // the exit status
		says  []string
	}{
		{
			"to its end",
			time.Hour,
			tool.ExitOK,
			[]string{
				"The pace was kept.",
				"http://a.example/, http://b.example/",
				"4 requests to 2 hosts",
				`"urls":["/robots.txt","/"]`,
			},
		},
		{
			"interrupted",
			1500 * time.Millisecond,
			tool.ExitInterrupted,
			[]string{"interrupted", "2 URLs still queued"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "crawl.html")
			if err := os.WriteFile(path, []byte(strings.Repeat("an older report\n",
				1<<14)), 0o600); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				var internet robotstest.Internet
				internet.Handle("a.example",
					page200(map[bool]string{true: "<a href=/1>1</a> <a href=/2>2</a>"}[tt.want == tool.ExitInterrupted]))
				internet.Handle("b.example", page200(""))
				ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
				defer cancel()
				var stderr bytes.Buffer
				command := tool.Command{
					Crawl:  Crawl,
					Args:   []string{agent, "-report", path, "http://a.example/", "http://b.example/"},
					Base:   &internet,
					Stdout: io.Discard,
					Stderr: &stderr,
				}
				if status := command.Run(ctx); status != tt.want {
					t.Errorf("exit status %d, want %d", status, tt.want)
				}
				if want := "politespider: the report is in " + path + "\n"; stderr.String() != want {
					t.Errorf("standard error %q, want %q", stderr.String(), want)
				}
			})
			page, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.says {
				if !bytes.Contains(page, []byte(want)) {
					t.Errorf("the report says nothing of %q", want)
				}
			}
			if bytes.Contains(page, []byte("an older report")) || !bytes.HasSuffix(page, []byte("</html>\n")) {
				t.Error("it is not a report from its beginning to its end")
			}
		})
	}
}

func TestCrawl_ReportFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "crawl.html")
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			os.RemoveAll(dir) // the spider has already checked that it can write there
			page200("fine").ServeHTTP(w, r)
		}))
		var stderr bytes.Buffer
		command := tool.Command{
			Crawl:  Crawl,
			Args:   []string{agent, "-report", path, "http://a.example/"},
			Base:   &internet,
			Stdout: io.Discard,
			Stderr: &stderr,
		}
		if status := command.Run(t.Context()); status != tool.ExitFailed {
			t.Errorf("exit status %d, want %d", status, tool.ExitFailed)
		}
		if !strings.Contains(stderr.String(), path) {
			t.Errorf("standard error: %q", stderr.String())
		}
	})
}

func TestRun_ReportOfAllRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/robots.txt":
				w.Write([]byte("User-agent: *\nDisallow: /no"))
			case "/busy":
				w.Header().Set("Retry-After", "30")
				w.WriteHeader(http.StatusServiceUnavailable)
			default:
				page200(`<a href=/no/1>1</a> <a href=/busy>2</a> <a href=/3>3</a> <a href=/4>4</a> <a href=/no/5>5</a>`).ServeHTTP(w, r)
			}
		}))
		dir := t.TempDir()
		file := filepath.Join(dir, "crawl.html")
		began := time.Now()
		var stdout, stderr bytes.Buffer
		for n := range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
			command := tool.Command{
				Crawl: Crawl,
				Args: []string{
					"-resume",
					filepath.Join(dir, "state"),
					"-report",
					file,
					agent,
					"http://a.example/",
				},
				Base:   &internet,
				Stdout: &stdout,
				Stderr: &stderr,
			}
			status := command.Run(ctx)
			cancel()
			if status == tool.ExitOK {
				break
			}
			if status != tool.ExitInterrupted || n == 19 {
				t.Fatalf("run %d: exit status %d: %s", n, status, stderr.String())
			}
			if f, err := os.OpenFile(filepath.Join(dir, "state", "records.jsonl"), os.O_APPEND|os.O_WRONLY, 0); err != nil {
				t.Fatal(err)
			} else {
				f.WriteString(`{"seconds":1,"verd`) // a killed process may leave such a line
				f.Close()
			}
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			`<div><dt>fetched</dt><dd>3</dd></div>`,
			`<div><dt>disallowed</dt><dd>2</dd></div>`,
			`<div><dt>lost</dt><dd class="bad">1</dd></div>`,
			"The pace was kept.",
			began.Format("2 January 2006, 15:04:05"),
			`"text":"Disallow: /no"`, `"User-agent: *"`, // the rule that disallows them, and a line of its robots.txt
		} {
			if !strings.Contains(string(text), want) {
				t.Errorf("the report says nothing of %q", want)
			}
		}
		if strings.Contains(string(text), "in others, and are not shown") {
			t.Error("the report says that it is not of all runs")
		}
	})
}
