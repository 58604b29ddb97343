package audit

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
)

// A robot that fetched one disallowed page precedes a robot with a thousand
// gaps.
func TestCompareSeverity(t *testing.T) {
	robots := []*audit.Tally{
		{Name: "gaps", Violations: 1000, Counts: map[string]int{"gap": 1000}},
		{Name: "clean", Requests: 9},
		{Name: "busy", Requests: 90},
		{Name: "stale", Violations: 3, Counts: map[string]int{"stale": 3}},
		{Name: "disallowed", Violations: 1, Counts: map[string]int{"disallowed": 1}},
		{Name: "disallowed and gaps", Violations: 4, Counts: map[string]int{"disallowed": 1, "gap": 3}},
		{Name: "before", Violations: 1, Counts: map[string]int{"before-robots-txt": 1}},
		{Name: "retry-after", Violations: 2, Counts: map[string]int{"retry-after": 2}},
	}
	slices.SortStableFunc(robots, compareSeverity)
	var names []string
	for _, robot := range robots {
		names = append(names, robot.Name)
	}
	want := []string{
		"disallowed and gaps", "disallowed", "stale", "before", "retry-after", "gaps", "busy", "clean",
	}
	if !slices.Equal(names, want) {
		t.Errorf("the order of the robots is %q, want %q", names, want)
	}
}

// The HTML page contains each violation in one table, the violated line of
// robots.txt, and the numbers to copy. It loads nothing, and text from the log
// is escaped.
func TestAudit_Page_Complete(t *testing.T) {
	var log strings.Builder
	for i := range 300 {
		clock := fmt.Sprintf("10:%02d:%02d", i/60, i%60)
		log.WriteString(line(clock, fmt.Sprintf("/private/%d", i), "WorstBot/1"))
	}
	log.WriteString(line("10:00:00", "/private/</script><script>alert(1)</script>", "Evil</script><b>Bot"))
	log.WriteString(line("11:00:00", "/a", "GoodBot/1") + "words\nwords\n")
	files := map[string]string{"r.txt": robotsTxt, "log": log.String()}
	runAudit(t, files, "", "-robots", "r.txt", "-html", "page.html", "log")
	page := readPage(t, "page.html")
	for part, want := range map[string]int{
		`<tr data-kind="disallowed">`:               301,
		`class="hit"`:                               1,
		"301 violations</b>":                        1,
		"WorstBot\t300\t0\t300\t0\t0\t0\t0\t0\t1\n": 1,
		`<div data-n="301" class="bad"><dt>violations</dt><dd>301</dd></div>`: 1,
		"<script>":                       1,
		"</script>":                      1,
		"<b>Bot":                         0,
		"the line is in no known format": 2,
		"http://":                        0,
		"https://":                       0,
	} {
		if got := strings.Count(page, part); got != want {
			t.Errorf("page contains %q %d times, want %d", part, got, want)
		}
	}
}

// The contradictions between a record and the log of -against have a table of
// their own.
func TestAudit_Page_Contradictions(t *testing.T) {
	dir, _ := crawlOnce(t, nil, "http://a.example/")
	r := runAudit(t, nil, "", "-json", dir)
	var summary struct{ Requests int }
	if err := json.Unmarshal([]byte(r.stdout), &summary); err != nil || summary.Requests == 0 {
		t.Fatalf("summary of the record is %q, error %v; want one with requests", r.stdout, err)
	}
	now := time.Now().UTC().Format("02/Jan/2006:15:04:05 -0700")
	log := ""
	for i := range 2 {
		log += fmt.Sprintf("192.0.2.66 - - [%s] \"GET /other/%d HTTP/1.1\" 200 512 \"-\" \"ExampleBot/1.0\"\n",
			now, i)
	}
	files := map[string]string{"log": log + "words\n"}
	name := filepath.Join(t.TempDir(), "page.html")
	runAudit(t, files, "", "-against", "log", "-html", name, dir)
	page := readPage(t, name)
	_, section, _ := strings.Cut(page, `id="contradictions-title"`)
	section, _, _ = strings.Cut(section, "</section>")
	if n := strings.Count(section, `<td class="kind">contradicts</td>`); n != 2 {
		t.Errorf("section has %d contradictions, want 2:\n%s", n, section)
	}
	const unreadable = "known format"
	if strings.Contains(section, unreadable) {
		t.Errorf("section contains an unreadable line:\n%s", section)
	}
	checkContains(t, "page", page, unreadable)
}
