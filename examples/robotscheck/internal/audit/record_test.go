package audit

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/evidence"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// crawlOnce records a crawl of these URLs, and returns the directory of the
// record and its head.
func crawlOnce(t *testing.T, override map[string]string, urls ...string) (dir, head string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "record")
	rec, err := evidence.Open(dir, evidence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	web := new(robotstest.Internet)
	web.Handle("a.example", robotstest.Site{
		"/robots.txt": "User-agent: *\nDisallow: /private\n",
		"/":           "a page",
		"/private":    "a page",
	})
	opts := robotsmw.Options{
		UserAgent: "ExampleBot/1.0",
		Base:      web,
		Limiter:   &politeness.Limiter{Delay: -1},
		Override:  override,
	}
	if err := rec.Observe(&opts); err != nil {
		t.Fatal(err)
	}
	client, err := robotsmw.NewClient(opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range urls {
		resp, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, rec.Head()
}

// The text and the page contain the state of a record, and only the notes that
// apply to it.
func TestAudit_Record(t *testing.T) {
	clean, head := crawlOnce(t, nil, "http://a.example/")
	_, hash, _ := strings.Cut(head, ":")
	overridden := map[string]string{"http://a.example": ""}
	own, _ := crawlOnce(t, overridden, "http://a.example/private", "http://a.example/")
	segment := filepath.Join(clean, "evidence-000001.jsonl")
	original, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(original), "\n")
	truncated := strings.Join(lines[:8], "")
	modified := strings.Replace(string(original), "ExampleBot", "ExampleBox", 1)
	for _, tt := range []struct {
		name    string
		segment string // "" means the original
		args    []string
		status  command.Status
		has     []string
		lacks   []string
	}{
		{
			name: "a clean record", args: []string{clean},
			has:   []string{hash, "11 lines"},
			lacks: []string{"changed", "contradicts", "missing", "operator"},
		},
		{
			name: "its head", args: []string{"-head", head, clean},
			has: []string{hash}, lacks: []string{"missing", "changed"},
		},
		{
			name: "the hash of its head", args: []string{"-head", hash, clean},
			has: []string{hash}, lacks: []string{"missing", "changed"},
		},
		{
			name: "another head", args: []string{"-head", strings.Repeat("0", 64), clean},
			status: command.CannotTell,
			has:    []string{"missing"}, lacks: []string{"changed"},
		},
		{
			name: "a truncated segment", segment: truncated, args: []string{"-head", head, clean},
			status: command.CannotTell,
			has:    []string{"missing", "cut"}, lacks: []string{"changed"},
		},
		{
			name: "a modified byte", segment: modified, args: []string{clean},
			status: command.CannotTell,
			has:    []string{"changed"},
		},
		{
			name: "two requests by the operator's file", args: []string{own},
			has:   []string{"2 requests obeyed the operator's file, not the site's"},
			lacks: []string{"changed"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.segment == "" {
				tt.segment = string(original)
			}
			if err := os.WriteFile(segment, []byte(tt.segment), 0o600); err != nil {
				t.Fatal(err)
			}
			r := runAudit(t, nil, "", append([]string{"-html", "page.html"}, tt.args...)...)
			r.checkStatus(t, tt.status)
			page := strings.ReplaceAll(readPage(t, "page.html"), "&#39;", "'")
			for name, text := range map[string]string{"standard output": r.stdout, "page": page} {
				checkContains(t, name, text, tt.has...)
				for _, part := range tt.lacks {
					if strings.Contains(text, part) {
						t.Errorf("%s contains %q, want it not to:\n%s", name, part, text)
					}
				}
			}
		})
	}
}

// The summary counts the requests that obeyed a file of the operator.
func TestAudit_Record_JSON(t *testing.T) {
	overridden := map[string]string{"http://a.example": ""}
	dir, _ := crawlOnce(t, overridden, "http://a.example/private", "http://a.example/")
	r := runAudit(t, nil, "", "-json", dir)
	var summary struct {
		Overridden int
		Records    []struct{ Lines int }
	}
	if err := json.Unmarshal([]byte(r.stdout), &summary); err != nil {
		t.Fatal(err)
	}
	if summary.Overridden != 2 {
		t.Errorf("overridden is %d, want 2", summary.Overridden)
	}
	if len(summary.Records) != 1 || summary.Records[0].Lines == 0 {
		t.Errorf("records are %+v, want one with lines", summary.Records)
	}
}

// -head requires a valid head, and -head and -against require one record.
func TestAudit_Record_Usage(t *testing.T) {
	dir, head := crawlOnce(t, nil, "http://a.example/")
	for _, args := range [][]string{
		{"-head", "abc", dir},
		{"-head", head, dir, dir},
		{"-head", head, "-"},
		{"-against", "access.log", "-"},
	} {
		r := runAudit(t, nil, "", args...)
		r.checkStatus(t, command.CannotTell)
		checkContains(t, "standard error", r.stderr, "usage:")
	}
}
