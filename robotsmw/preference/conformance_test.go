package preference

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// TestCasesOfOtherImplementations checks the test cases of other
// implementations that are about robots.txt and tdmrep.json. The tests of
// package htmlmeta check those about pages.
func TestCasesOfOtherImplementations(t *testing.T) {
	dir := os.Getenv("COURTESY_SHARED")
	if dir == "" {
		t.Skip("SKIPPED: COURTESY_SHARED is unset; set it to the directory of conformance/ and corpus/")
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for !filepath.IsAbs(dir) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			dir = filepath.Join(root, dir)
		}
		root = filepath.Dir(root)
	}
	f, err := os.Open(filepath.Join(dir, "conformance", "page_cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases := 0
	line := 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line++
		var c conformanceCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if c.Robots == nil && c.TDMRep == nil {
			continue
		}
		cases++
		result := c.robotsResult
		if c.TDMRep != nil {
			result = c.tdmResult
		}
		for key, want := range c.Expect {
			if key == "skip_ref" {
				continue
			}
			// The project tamnd/gao uses the longest location that matches, and
			// compares it with the whole path. In TDMRep, the first location
			// that matches applies, and a location matches like a path in
			// robots.txt. According to these rules, everything is reserved in
			// the cases of gao.
			if c.TDMRep != nil && strings.HasPrefix(c.Source, "tamnd/gao") {
				want = "reserved"
			}
			if got := result(key); got != want {
				t.Errorf("line %d (%s): %s is %v, want %v", line, c.Source, key, got, want)
			}
		}
	}
	t.Logf("%d cases", cases)
	if cases < 10 {
		t.Errorf("%d cases were checked, want at least 10", cases)
	}
}

// A conformanceCase is a line of conformance/page_cases.jsonl.
type conformanceCase struct {
	Agent, Path, Source string
	Robots              *string `json:"robots_txt"`
	TDMRep              json.RawMessage
	Expect              map[string]any // the results by key
}

// tdmResult returns whether TDMRep reserves a path.
func (c *conformanceCase) tdmResult(path string) any {
	switch (Input{TDMRep: c.TDMRep, Target: path}).For(TrainAI).Answer {
	case Deny:
		return "reserved"
	case Allow:
		return "not-reserved"
	}
	return ""
}

// robotsResult returns the result with the given key for Robots.
func (c *conformanceCase) robotsResult(key string) any {
	in := Input{
		Robots: robotstxt.Parse([]byte(*c.Robots)),
		Tokens: []string{c.Agent},
		Target: c.Path,
	}
	letter := map[Answer]string{Allow: "y", Deny: "n", Unknown: "unknown"}
	switch key {
	case "allowed":
		return in.For(TrainAI).Answer != Deny
	case "search":
		return letter[in.For(Search).Answer]
	case "ai-train":
		return letter[in.For(TrainAI).Answer]
	case "ai-input":
		return letter[in.For(AIInput).Answer]
	case "use":
		least, _ := in.ContentUse()
		return least
	case "crawl_delay":
		delay, _ := in.Robots.Rules(c.Agent).CrawlDelay()
		return delay.Seconds()
	}
	return nil
}
