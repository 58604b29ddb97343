package evidence

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/goodbots/courtesy/politeness"
)

// The limiter line of a zero Limiter contains the values that the Limiter uses.
func TestDefaults_LimiterLine(t *testing.T) {
	dir := t.TempDir()
	r, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.Pace(new(politeness.Limiter))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "evidence-000001.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"delay":           politeness.DefaultDelay.Seconds(),
		"max_crawl_delay": politeness.DefaultMaxCrawlDelay.Seconds(),
		"max_retry_after": politeness.DefaultMaxRetryAfter.Seconds(),
		"back_off":        politeness.DefaultBackOff.Seconds(),
		"max_back_off":    politeness.DefaultMaxBackOff.Seconds(),
		"lease":           politeness.DefaultLease.Seconds(),
	}
	for line := range bytes.Lines(text) {
		var got map[string]any
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatal(err)
		}
		if got["event"] != "limiter" {
			continue
		}
		for name, seconds := range want {
			if got[name] != seconds {
				t.Errorf("%s in the limiter line is %v, want %v", name, got[name], seconds)
			}
		}
		return
	}
	t.Errorf("the record has no limiter line, want one:\n%s", text)
}
