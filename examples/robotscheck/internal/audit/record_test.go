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
	web.Handle("a.example", robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /private\n", "/": "a page", "/private": "a page"})
	opts := robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: web, Limiter: &politeness.Limiter{Delay: -1}, Override: override}
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

// What is said of a record itself stands in the text, in JSON and in the page.
// What there is no reason to say does not.
func TestAudit_Record(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	clean, head := crawlOnce(t, nil, "http://a.example/")
	own, _ := crawlOnce(t, map[string]string{"http://a.example": ""}, "http://a.example/private", "http://a.example/")
	_, hash, _ := strings.Cut(head, ":")
	segment := filepath.Join(clean, "evidence-000001.jsonl")
	whole, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	for _, tt := range []struct {
		name   string
		text   string // of the segment; "" means as it was written
		args   []string
		status command.Status
		has    []string
		hasNot []string
	}{
		{"clean", "", []string{clean}, command.OK, []string{hash, "11 lines"}, []string{"changed", "contradicts", "missing", "operator"}},
		{"with its head", "", []string{"-head", head, clean}, command.OK, []string{hash}, []string{"missing", "changed"}},
		{"with the hash alone", "", []string{"-head", hash, clean}, command.OK, []string{hash}, []string{"missing", "changed"}},
		{"another head", "", []string{"-head", strings.Repeat("0", 64), clean}, command.CannotTell, []string{"missing"}, []string{"changed"}},
		{"its end cut off", strings.Join(lines[:8], ""), []string{"-head", head, clean}, command.CannotTell, []string{"missing", "cut"}, []string{"changed"}},
		{"a byte changed", strings.Replace(string(whole), "ExampleBot", "ExampleBox", 1), []string{clean}, command.CannotTell, []string{"changed"}, nil},
		{"two requests by the operator's file", "", []string{own}, command.OK, []string{"2 requests obeyed the operator's file, not the site's"}, []string{"changed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.text == "" {
				tt.text = string(whole)
			}
			if err := os.WriteFile(segment, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			status, text, _ := try(t, nil, "", append([]string{"-html", page}, tt.args...)...)
			html, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			if status != tt.status {
				t.Errorf("status %v, want %v: %s", status, tt.status, text)
			}
			for what, shown := range map[string]string{"the text": text, "the page": strings.ReplaceAll(string(html), "&#39;", "'")} {
				for _, word := range tt.has {
					if !strings.Contains(shown, word) {
						t.Errorf("%s does not have %q: %s", what, word, shown)
					}
				}
				for _, word := range tt.hasNot {
					if strings.Contains(shown, word) {
						t.Errorf("%s has %q: %s", what, word, shown)
					}
				}
			}
		})
	}
	_, text, _ := try(t, nil, "", "-json", own)
	var sums struct {
		Overridden int
		Records    []struct{ Lines int }
	}
	if err := json.Unmarshal([]byte(text), &sums); err != nil || sums.Overridden != 2 || len(sums.Records) != 1 || sums.Records[0].Lines == 0 {
		t.Errorf("%s: %v", text, err)
	}
}

// A head that cannot be one, and a head of two records, are mistakes.
func TestAudit_HeadOfWhat(t *testing.T) {
	dir, head := crawlOnce(t, nil, "http://a.example/")
	for _, args := range [][]string{{"-head", "abc", dir}, {"-head", head, dir, dir}, {"-head", head, "-"}, {"-against", "access.log", "-"}} {
		if status, _, said := try(t, nil, "", args...); status != command.CannotTell || !strings.Contains(said, "usage:") {
			t.Errorf("%q: status %v", args, status)
		}
	}
}
