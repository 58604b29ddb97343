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

// This test runs those test cases of other implementations that are about
// robots.txt and tdmrep.json. The tests of package htmlmeta run those about
// pages.
func TestCasesOfOtherImplementations(t *testing.T) {
	dir := os.Getenv("COURTESY_SHARED")
	if dir == "" {
		t.Skip("SKIPPED: COURTESY_SHARED is unset; set it to the directory that holds conformance/ and corpus/")
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
	cases, line := 0, 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line++
		var c struct {
			Agent, Path, Source string
			Robots              *string `json:"robots_txt"`
			TDMRep              json.RawMessage
			Expect              map[string]any
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if c.Robots == nil && c.TDMRep == nil {
			continue
		}
		cases++
		if c.TDMRep != nil {
			for path, want := range c.Expect {
				if path == "skip_ref" {
					continue
				}
				got := map[Answer]string{Deny: "reserved", Allow: "not-reserved"}[Input{
					TDMRep: c.TDMRep,
					Target: path,
				}.For(TrainAI).Answer]
				// The project tamnd/gao lets the longest location decide, and
				// compares it with the whole path. In TDMRep, the first
				// location that matches decides, and a location matches like a
				// path in robots.txt. By these rules of TDMRep, everything is
				// reserved in gao's cases.
				if strings.HasPrefix(c.Source, "tamnd/gao") {
					want = "reserved"
				}
				if got != want {
					t.Errorf("line %d (%s): %s is %s, want %s", line, c.Source, path, got, want)
				}
			}
			continue
		}
		in := Input{
			Robots: robotstxt.Parse([]byte(*c.Robots)),
			Tokens: []string{c.Agent},
			Target: c.Path,
		}
		letter := map[Answer]string{Allow: "y", Deny: "n", Unknown: "unknown"}
		delay, _ := in.Robots.Rules(c.Agent).CrawlDelay()
		for key, want := range c.Expect {
			var got any
			switch key {
			case "allowed":
				got = in.For(TrainAI).Answer != Deny
			case "search":
				got = letter[in.For(Search).Answer]
			case "ai-train":
				got = letter[in.For(TrainAI).Answer]
			case "ai-input":
				got = letter[in.For(AIInput).Answer]
			case "use":
				got, _ = in.ContentUse()
			case "crawl_delay":
				got = delay.Seconds()
			}
			if got != want {
				t.Errorf("line %d (%s): %s is %v, want %v", line, c.Source, key, got, want)
			}
		}
	}
	t.Logf("%d cases", cases)
	if cases < 10 {
		t.Errorf("only %d cases", cases)
	}
}
