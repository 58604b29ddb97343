package spider

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// If the spider cannot write or read a file, the error names the flag, or says
// what the spider tried to do.
func TestCrawl_CannotKeep(t *testing.T) {
	file := func(t *testing.T, name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	directory := func(t *testing.T, name string) {
		t.Helper()
		if err := os.MkdirAll(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	full := func(t *testing.T, name string) {
		t.Helper()
		const device = "/dev/full"
		if _, err := os.Stat(device); err != nil {
			t.Skip("SKIPPED: there is no " + device)
		}
		directory(t, filepath.Dir(name))
		if err := os.Symlink(device, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name    string
		args    string             // file names are relative to the test's directory
		prepare func(t *testing.T) // called before the crawl
		during  func(t *testing.T) // called when the first page is asked for; nil means nothing is called
		status  int
		want    string // the beginning of a line of standard error
	}{
		{
			"robots.txt where a file is",
			"-resume state",
			func(t *testing.T) { file(t, "state/robots", "") },
			nil,
			tool.ExitFailed,
			"politespider: -resume state: ",
		},
		{
			"the lock where a directory is",
			"-resume state",
			func(t *testing.T) { directory(t, "state/lock") },
			nil,
			tool.ExitFailed,
			"politespider: -resume state: ",
		},
		{
			"the records where a directory is",
			"-resume state",
			func(t *testing.T) { directory(t, "state/records.jsonl") },
			nil,
			tool.ExitFailed,
			"politespider: -resume state: ",
		},
		{"records that are not those of a crawl", "-resume state -report crawl.html", func(t *testing.T) { file(t, "state/records.jsonl", "dear diary\n") }, nil,
			tool.ExitFailed, "politespider: read the history of the crawl: state/records.jsonl: line 1 is damaged: "},
		{
			"a journal that is not of a crawl",
			"-resume state",
			func(t *testing.T) { file(t, "state/journal.jsonl", "dear diary\n") },
			nil,
			tool.ExitUsage,
			"politespider: -resume state: ",
		},
		{
			"a store where a file is",
			"-store robots",
			func(t *testing.T) { file(t, "robots", "") },
			nil,
			tool.ExitFailed,
			"politespider: -store: ",
		},
		{
			"pages where a file is",
			"-pages pages",
			func(t *testing.T) { file(t, "pages", "") },
			nil,
			tool.ExitFailed,
			"politespider: -pages: ",
		},
		{
			"the index of pages where a directory is",
			"-pages pages",
			func(t *testing.T) { directory(t, "pages/index.jsonl") },
			nil,
			tool.ExitFailed,
			"politespider: -pages: ",
		},
		{
			"no room for the index",
			"-pages pages",
			func(t *testing.T) { full(t, "pages/index.jsonl") },
			nil,
			tool.ExitFailed,
			"politespider: the crawl has failed: store a page: ",
		},
		{
			"no room for the report",
			"-report crawl.html",
			func(t *testing.T) { full(t, "crawl.html") },
			nil,
			tool.ExitFailed,
			"politespider: write the report to crawl.html: report: ",
		},
		{
			"a comparison with a directory",
			"-report crawl.html -compare .",
			func(*testing.T) {},
			nil,
			tool.ExitUsage,
			"politespider: -compare: read .: is a directory",
		},
		{
			"a comparison with half a summary",
			"-report crawl.html -compare old",
			func(t *testing.T) { file(t, "old", `{"summary":`) },
			nil,
			tool.ExitUsage,
			"politespider: -compare old: ",
		},
		{"a record that somebody else writes, too", "-report crawl.html -evidence record", func(*testing.T) {},
			func(t *testing.T) { file(t, "record/evidence-000009.jsonl", `{"event":"decision",`+"\n") }, tool.ExitFailed, "politespider: read the evidence record: record/evidence-000009.jsonl: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			tt.prepare(t)
			synctest.Test(t, func(t *testing.T) {
				var internet robotstest.Internet
				internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if tt.during != nil && r.URL.Path == "/" {
						tt.during(t)
					}
					page200("fine").ServeHTTP(w, r)
				}))
				var stdout, stderr bytes.Buffer
				command := tool.Command{
					Crawl:  Crawl,
					Args:   append([]string{agent, "http://a.example/"}, strings.Fields(tt.args)...),
					Base:   &internet,
					Stdout: &stdout,
					Stderr: &stderr,
				}
				if status := command.Run(context.Background()); status != tt.status {
					t.Errorf("exit status %d, want %d", status, tt.status)
				}
				if !strings.Contains("\n"+stderr.String(), "\n"+tt.want) {
					t.Errorf("standard error\n%s\nhas no line that begins with %q", stderr.String(), tt.want)
				}
			})
		})
	}
}

// If a request ends with neither a response nor an error, the spider says that
// a callback aborted the request.
func TestRun_CallbackAborts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := func(ctx context.Context, job *tool.Job) error {
			for visit := range job.Visits(ctx) {
				visit.End(ctx, nil)
			}
			return nil
		}
		var stdout bytes.Buffer
		command := tool.Command{
			Crawl:  deaf,
			Args:   []string{agent, "http://a.example/"},
			Base:   new(robotstest.Internet),
			Stdout: &stdout,
			Stderr: new(bytes.Buffer),
		}
		command.Run(t.Context())
		if !strings.Contains(stdout.String(), "failed: a callback aborted the request\n") {
			t.Errorf("it prints\n%s", stdout.String())
		}
	})
}
