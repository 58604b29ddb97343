package output

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file for -compare may have gone through an editor or through jq.
func TestReadSummary(t *testing.T) {
	const record, summary = `{"verdict":"fetched"}` + "\n", `{"summary":{"fetched":3}}`
	for name, tt := range map[string]struct {
		text string
		want int // 0 means there is no summary
	}{
		"as written":           {record + summary + "\n", 3},
		"no newline":           {record + summary, 3},
		"a blank line":         {record + summary + "\n\n", 3},
		"indented":             {"{\n  \"summary\": {\n    \"fetched\": 3\n  }\n}\n", 3},
		"two crawls":           {summary + "\n" + record + `{"summary":{"fetched":4}}` + "\n", 4},
		"no summary":           {record, 0},
		"nothing":              {"", 0},
		"cut short":            {record + summary[:15], 0},
		"something after it":   {summary + "\nthat is all\n", 0},
		"not the type of line": {"[]\n" + summary + "\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "old.jsonl")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := ReadSummary(path)
			switch {
			case tt.want == 0:
				if err == nil || !strings.Contains(err.Error(), "no summary found") {
					t.Errorf("%v, %v", got, err)
				}
			case err != nil || got.Fetched != tt.want:
				t.Errorf("%v, %v; want %d fetched", got, err, tt.want)
			}
		})
	}
}
