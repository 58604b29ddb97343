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

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	makeDirectory(t, filepath.Dir(name))
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func makeDirectory(t *testing.T, name string) {
	t.Helper()
	if err := os.MkdirAll(name, 0o700); err != nil {
		t.Fatal(err)
	}
}

// linkFullDisk makes a link with this name to a file to which nothing can be
// written.
func linkFullDisk(t *testing.T, name string) {
	t.Helper()
	const device = "/dev/full"
	if _, err := os.Stat(device); err != nil {
		t.Skip("SKIPPED: there is no " + device)
	}
	makeDirectory(t, filepath.Dir(name))
	if err := os.Symlink(device, name); err != nil {
		t.Fatal(err)
	}
}

// If the spider cannot write or read a file, the error names the flag, or what
// the spider tried to do.
func TestCrawl_FileErrors(t *testing.T) {
	for _, tt := range []struct {
		name    string
		args    string             // file names are relative to the test's directory
		prepare func(t *testing.T) // called before the crawl; may be nil
		during  func(t *testing.T) // called when the first page is requested; may be nil
		status  int
		want    string // the beginning of a line of standard error
	}{
		{
			name:    "a file instead of the directory for robots.txt",
			args:    "-resume state",
			prepare: func(t *testing.T) { writeFile(t, "state/robots", "") },
			status:  tool.ExitFailed,
			want:    "politespider: -resume state: ",
		},
		{
			name:    "a directory instead of the lock",
			args:    "-resume state",
			prepare: func(t *testing.T) { makeDirectory(t, "state/lock") },
			status:  tool.ExitFailed,
			want:    "politespider: -resume state: ",
		},
		{
			name:    "a directory instead of the records",
			args:    "-resume state",
			prepare: func(t *testing.T) { makeDirectory(t, "state/records.jsonl") },
			status:  tool.ExitFailed,
			want:    "politespider: -resume state: ",
		},
		{
			name:    "a file of records with other text",
			args:    "-resume state -report crawl.html",
			prepare: func(t *testing.T) { writeFile(t, "state/records.jsonl", "dear diary\n") },
			status:  tool.ExitFailed,
			want:    "politespider: read the history of the crawl: state/records.jsonl: line 1 is damaged: ",
		},
		{
			name:    "a journal with other text",
			args:    "-resume state",
			prepare: func(t *testing.T) { writeFile(t, "state/journal.jsonl", "dear diary\n") },
			status:  tool.ExitUsage,
			want:    "politespider: -resume state: ",
		},
		{
			name:    "a file instead of the store",
			args:    "-store robots",
			prepare: func(t *testing.T) { writeFile(t, "robots", "") },
			status:  tool.ExitFailed,
			want:    "politespider: -store: ",
		},
		{
			name:    "a file instead of the directory for pages",
			args:    "-pages pages",
			prepare: func(t *testing.T) { writeFile(t, "pages", "") },
			status:  tool.ExitFailed,
			want:    "politespider: -pages: ",
		},
		{
			name:    "a directory instead of the index of pages",
			args:    "-pages pages",
			prepare: func(t *testing.T) { makeDirectory(t, "pages/index.jsonl") },
			status:  tool.ExitFailed,
			want:    "politespider: -pages: ",
		},
		{
			name:    "a full disk for the index",
			args:    "-pages pages",
			prepare: func(t *testing.T) { linkFullDisk(t, "pages/index.jsonl") },
			status:  tool.ExitFailed,
			want:    "politespider: the crawl has failed: store a page: ",
		},
		{
			name:    "a full disk for the report",
			args:    "-report crawl.html",
			prepare: func(t *testing.T) { linkFullDisk(t, "crawl.html") },
			status:  tool.ExitFailed,
			want:    "politespider: write the report to crawl.html: report: ",
		},
		{
			name:   "a comparison with a directory",
			args:   "-report crawl.html -compare .",
			status: tool.ExitUsage,
			want:   "politespider: -compare: read .: is a directory",
		},
		{
			name:    "a comparison with a truncated summary",
			args:    "-report crawl.html -compare old",
			prepare: func(t *testing.T) { writeFile(t, "old", `{"summary":`) },
			status:  tool.ExitUsage,
			want:    "politespider: -compare old: ",
		},
		{
			name:   "an evidence record with a line of another program",
			args:   "-report crawl.html -evidence record",
			during: func(t *testing.T) { writeFile(t, "record/evidence-000009.jsonl", `{"event":"decision",`+"\n") },
			status: tool.ExitFailed,
			want:   "politespider: read the evidence record: record/evidence-000009.jsonl: ",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if tt.prepare != nil {
				tt.prepare(t)
			}
			synctest.Test(t, func(t *testing.T) {
				var internet robotstest.Internet
				internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if tt.during != nil && r.URL.Path == "/" {
						tt.during(t)
					}
					page200("fine").ServeHTTP(w, r)
				}))
				args := append([]string{agent, "http://a.example/"}, strings.Fields(tt.args)...)
				r := runOn(context.Background(), &internet, args...)
				r.wantStatus(t, tt.status)
				if !strings.Contains("\n"+r.stderr, "\n"+tt.want) {
					t.Errorf("standard error has no line that begins with %q:\n%s", tt.want, r.stderr)
				}
			})
		})
	}
}

// If a request ends with neither a response nor an error, the page fails,
// because a callback must have aborted the request.
func TestRun_CallbackAborts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		withoutRequests := func(ctx context.Context, job *tool.Job) error {
			for visit := range job.Visits(ctx) {
				visit.End(ctx, nil)
			}
			return nil
		}
		var stdout bytes.Buffer
		command := tool.Command{
			Crawl:  withoutRequests,
			Args:   []string{agent, "http://a.example/"},
			Base:   new(robotstest.Internet),
			Stdout: &stdout,
			Stderr: new(bytes.Buffer),
		}
		command.Run(t.Context())
		wantText(t, "output", stdout.String(), "failed: a callback aborted the request\n")
	})
}
