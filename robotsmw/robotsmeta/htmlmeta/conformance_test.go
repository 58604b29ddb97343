package htmlmeta

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// sharedDir returns the directory with the cases that are too large for this
// tree. Its path is in the environment variable COURTESY_SHARED, and may be
// relative to the module's root. If the variable is unset, sharedDir skips the
// test.
func sharedDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("COURTESY_SHARED")
	if dir == "" {
		t.Skip("SKIPPED: COURTESY_SHARED is unset; set it to the directory that holds conformance/ and corpus/")
	}
	if filepath.IsAbs(dir) {
		return dir
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return filepath.Join(root, dir)
		}
		root = filepath.Dir(root)
	}
}

// results returns the directives of d, under the names that the shared cases
// use.
func results(d robotsmeta.Directives) map[string]any {
	a := map[string]any{
		"noindex":           d.NoIndex(),
		"nofollow":          d.NoFollow(),
		"noarchive":         d.Says("noarchive"),
		"nosnippet":         d.Says("nosnippet"),
		"noimageindex":      d.Says("noimageindex"),
		"notranslate":       d.Says("notranslate"),
		"noai":              d.Says("noai"),
		"noimageai":         d.Says("noimageai"),
		"max_image_preview": d.Limit("max-image-preview"),
	}
	if n, err := strconv.Atoi(d.Limit("max-snippet")); err == nil {
		a["max_snippet"] = float64(n)
	}
	if t, ok := d.UnavailableAfter(); ok {
		a["unavailable_after"] = t.Format(time.RFC3339)
	}
	return a
}

// TestCasesOfOtherImplementations checks the cases of other implementations.
// The expected result is in the field Ours of a case or, if there is no Ours,
// in the field Expect.
func TestCasesOfOtherImplementations(t *testing.T) {
	f, err := os.Open(filepath.Join(sharedDir(t), "conformance", "page_cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	agreed := 0
	line := 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line++
		var c struct {
			Headers      []string
			HTML, Agent  string
			Expect, Ours map[string]any
			Source       string
			Robots       *string         `json:"robots_txt"`
			TDMRep       json.RawMessage `json:"tdmrep"`
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if c.Robots != nil || c.TDMRep != nil {
			continue // this package does not read robots.txt and tdmrep.json
		}
		want := c.Ours
		if want == nil {
			want = c.Expect
		}
		h := http.Header{}
		for _, s := range c.Headers {
			name, value, _ := strings.Cut(s, ":")
			h.Add(name, strings.TrimSpace(value))
		}
		got := results(robotsmeta.ParseHeader(h, c.Agent).Union(Scan([]byte(c.HTML), c.Agent)))
		isEqual := true
		for key, value := range want {
			if key == "links" || key == "entries" {
				continue
			}
			if got[key] != value {
				isEqual = false
				t.Errorf("line %d (%s): %s is %v, want %v, for the headers %q and the page %q, agent %q",
					line, c.Source, key, got[key], value, c.Headers, c.HTML, c.Agent)
			}
		}
		if isEqual {
			agreed++
		}
	}
	t.Logf("%d cases agree", agreed)
	if agreed < 100 {
		t.Errorf("%d cases agree, want at least 100", agreed)
	}
}
