package output

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	recordLine  = `{"verdict":"fetched"}` + "\n"
	summaryLine = `{"summary":{"fetched":3}}`
)

// The file for -compare may have been changed by an editor or by jq.
func TestReadSummary(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want int
	}{
		"unchanged":          {recordLine + summaryLine + "\n", 3},
		"no newline":         {recordLine + summaryLine, 3},
		"a blank line":       {recordLine + summaryLine + "\n\n", 3},
		"an indented object": {"{\n  \"summary\": {\n    \"fetched\": 3\n  }\n}\n", 3},
		"two crawls":         {summaryLine + "\n" + recordLine + `{"summary":{"fetched":4}}` + "\n", 4},
	} {
		summary, err := ReadSummary(writeLines(t, tt.text))
		if err != nil {
			t.Errorf("%s: error %v", name, err)
		} else if summary.Fetched != tt.want {
			t.Errorf("%s: summary has %d fetched pages, want %d", name, summary.Fetched, tt.want)
		}
	}
}

func TestReadSummary_NoSummary(t *testing.T) {
	const want = "no summary found"
	for name, text := range map[string]string{
		"only a record":        recordLine,
		"an empty file":        "",
		"a truncated summary":  recordLine + summaryLine[:15],
		"text after a summary": summaryLine + "\nthat is all\n",
		"a line with an array": "[]\n" + summaryLine + "\n",
	} {
		summary, err := ReadSummary(writeLines(t, text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: summary %v and error %v, want an error that contains %q", name, summary, err, want)
		}
	}
}

// writeLines writes a file for -compare, and returns its path.
func writeLines(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "old.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
