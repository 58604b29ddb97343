package audit

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
)

// However long a log is, a chart has a bounded number of columns, and they have
// all requests and violations.
func TestTimeline(t *testing.T) {
	start := time.Date(2026, time.November, 20, 10, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name     string
		length   time.Duration
		requests int
	}{{"one request", 0, 1}, {"a second", time.Second, 2}, {"ten minutes", 10 * time.Minute, 100}, {"a day", 24 * time.Hour, 5000}, {"ten years", 10 * 365 * 24 * time.Hour, 5000}} {
		for _, isBackwards := range []bool{false, true} {
			line := newTimeline()
			for i := range tt.requests {
				at := start
				if tt.requests > 1 {
					at = start.Add(tt.length / time.Duration(tt.requests-1) * time.Duration(i))
				}
				if isBackwards {
					at = start.Add(tt.length - at.Sub(start))
				}
				robot := fmt.Sprintf("Bot%d", i%2)
				line.add(robot, at, activity{requests: 1})
				if i == tt.requests/2 {
					line.add(robot, at, activity{violations: 1})
				}
			}
			requests, violations := 0, 0
			columns := line.columns(line.all)
			for i, c := range columns {
				requests, violations = requests+c.Requests, violations+c.Violations
				if !c.To.After(c.From) || c.X < 0 || c.X+c.Width > 100.001 || i > 0 && c.X <= columns[i-1].X || c.Height <= 0 || c.Height > 100 || (c.MarkHeight > 0) != (c.Violations > 0) {
					t.Errorf("%s: %+v", tt.name, c)
				}
			}
			if requests != tt.requests || violations != 1 || len(columns) > maxColumns || len(line.all) > maxPeriods {
				t.Errorf("%s: %d requests, %d violations in %d columns of %d periods", tt.name, requests, violations, len(columns), len(line.all))
			}
			if first, last := columns[0], columns[len(columns)-1]; first.From.After(start) || last.To.Before(start.Add(tt.length-time.Second)) {
				t.Errorf("%s: from %v to %v", tt.name, first.From, last.To)
			}
			if ticks := line.ticks(); len(ticks) != 5 || ticks[0].X != 0 || ticks[4].X != 100 {
				t.Errorf("%s: %v", tt.name, ticks)
			}
		}
	}
	if line := newTimeline(); line.columns(line.all) != nil || line.ticks() != nil {
		t.Error("an empty chart has columns")
	}
	line := newTimeline()
	for i := range 3 * maxLanes {
		line.add(fmt.Sprint(i), start, activity{requests: 1})
	}
	if len(line.robots) != maxLanes || line.columns(line.all)[0].Requests != 3*maxLanes {
		t.Errorf("%d robots have a lane", len(line.robots))
	}
}

// A robot that fetched one forbidden page is before one with a thousand gaps.
func TestByWeight(t *testing.T) {
	robots := []*audit.Tally{
		{Name: "gaps", Violations: 1000, Counts: map[string]int{"gap": 1000}},
		{Name: "clean", Requests: 9},
		{Name: "busy", Requests: 90},
		{Name: "stale", Violations: 3, Counts: map[string]int{"stale": 3}},
		{Name: "one", Violations: 1, Counts: map[string]int{"disallowed": 1}},
		{Name: "one and gaps", Violations: 4, Counts: map[string]int{"disallowed": 1, "gap": 3}},
		{Name: "never asked", Violations: 1, Counts: map[string]int{"before-robots-txt": 1}},
		{Name: "came back", Violations: 2, Counts: map[string]int{"retry-after": 2}},
	}
	slices.SortStableFunc(robots, byWeight)
	var names []string
	for _, robot := range robots {
		names = append(names, robot.Name)
	}
	if want := []string{"one and gaps", "one", "stale", "never asked", "came back", "gaps", "busy", "clean"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}

// The line that was violated is highlighted in that version of robots.txt that
// has it, and a long file is shown only around such lines.
func TestViolated(t *testing.T) {
	broke := func(line int, rule string, n int) *breach {
		return &breach{Violation: audit.Violation{Kind: "disallowed", Line: line, Rule: rule}, N: n}
	}
	long := "User-agent: *\n" + strings.Repeat("Disallow: /x\n", 500) + "Disallow: /end\n"
	for _, tt := range []struct {
		name  string
		files []string
		found []*breach
		// of each file that is shown: its number, and the violated lines with
		// their counts
		want string
	}{
		{"one line", []string{robotsTxt}, []*breach{broke(2, "Disallow: /private/", 3)}, "0 2:3"},
		{"two robots", []string{robotsTxt}, []*breach{broke(2, "Disallow: /private/", 3), broke(2, "Disallow: /private/", 4)}, "0 2:7"},
		{"a comment, and another form", []string{"user-agent:*\ndisallow :/private/ # no\n"}, []*breach{broke(2, "Disallow: /private/", 1)}, "0 2:1"},
		{"two versions", []string{"User-agent: *\nDisallow: /a\n", robotsTxt}, []*breach{broke(2, "Disallow: /private/", 1)}, "1 2:1"},
		{"the worse version first", []string{"User-agent: *\nDisallow: /a\n", robotsTxt}, []*breach{broke(2, "Disallow: /private/", 2), broke(2, "Disallow: /a", 1)}, "1 2:2 0 2:1"},
		{"a rule in a form of its own", []string{"User-agent: *\nDisallow: /pr%69vate/\n"}, []*breach{broke(2, "Disallow: /private/", 1)}, "0 2:1"},
		{"no line", []string{robotsTxt}, []*breach{broke(0, "", 1)}, "0"},
		{"no violation", []string{"a", robotsTxt}, nil, "1"},
		{"no file", nil, []*breach{broke(2, "Disallow: /private/", 1)}, ""},
		{"a line that no file has", []string{robotsTxt}, []*breach{broke(9, "Disallow: /a", 1)}, "0"},
	} {
		var files []*robotsFile
		for i, text := range tt.files {
			files = append(files, newRobotsFile(fmt.Sprint(i), []byte(text)))
		}
		var got []string
		for _, f := range violated(files, &breaches{all: tt.found}) {
			got = append(got, f.Name)
			for _, line := range f.Lines() {
				if line.Hits > 0 {
					got = append(got, fmt.Sprintf("%d:%d", line.Number, line.Hits))
				}
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	f := newRobotsFile("long", []byte(long))
	violated([]*robotsFile{f}, &breaches{all: []*breach{broke(2, "Disallow: /x", 1), broke(502, "Disallow: /end", 1)}})
	var shown []int
	for _, line := range f.Lines() {
		shown = append(shown, line.Number)
		if line.After != (line.Number == 498) {
			t.Errorf("%+v", line)
		}
	}
	if !slices.Equal(shown, []int{1, 2, 3, 4, 5, 6, 498, 499, 500, 501, 502}) {
		t.Errorf("lines %v", shown)
	}
}

// The HTML page contains all that an operator needs: each violation in one
// table, the violated line of robots.txt, and the numbers to copy. It loads
// nothing, and text from the log is escaped.
func TestAudit_PageHasAll(t *testing.T) {
	var log strings.Builder
	for i := range 300 {
		log.WriteString(line(fmt.Sprintf("10:%02d:%02d", i/60, i%60), fmt.Sprintf("/private/%d", i), "WorstBot/1"))
	}
	log.WriteString(line("10:00:00", "/private/</script><script>alert(1)</script>", "Evil</script><b>Bot"))
	log.WriteString(line("11:00:00", "/a", "GoodBot/1") + "words\nwords\n")
	try(t, map[string]string{"r.txt": robotsTxt, "log": log.String()}, "", "-robots", "r.txt", "-html", "page.html", "log")
	bytes, err := os.ReadFile("page.html")
	if err != nil {
		t.Fatal(err)
	}
	text := string(bytes)
	for want, n := range map[string]int{
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
		if got := strings.Count(text, want); got != n {
			t.Errorf("%q is there %d times, want %d", want, got, n)
		}
	}
}

// What the log of -against contradicts is in a table of its own.
func TestAudit_PageContradictions(t *testing.T) {
	dir, _ := crawlOnce(t, nil, "http://a.example/")
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	page := t.TempDir() + "/page.html"
	_, stdout, _ := try(t, nil, "", "-json", dir)
	var sums struct{ Requests int }
	if err := json.Unmarshal([]byte(stdout), &sums); err != nil || sums.Requests == 0 {
		t.Fatal(stdout, err)
	}
	start := time.Now().UTC()
	log := ""
	for i := range 2 {
		log += fmt.Sprintf("192.0.2.66 - - [%s] \"GET /other/%d HTTP/1.1\" 200 512 \"-\" \"ExampleBot/1.0\"\n", start.Format("02/Jan/2006:15:04:05 -0700"), i)
	}
	log += "words\n"
	_, _, stderr := try(t, map[string]string{"log": log}, "", "-against", "log", "-html", page, dir)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err, stderr)
	}
	_, record, _ := strings.Cut(string(text), `id="contradictions-title"`)
	record, _, _ = strings.Cut(record, "</section>")
	if n := strings.Count(record, `<td class="kind">contradicts</td>`); n != 2 {
		t.Errorf("%d contradictions: %s", n, record)
	}
	if strings.Contains(record, "known format") || !strings.Contains(string(text), "known format") {
		t.Errorf("unreadable lines are among them: %s", record)
	}
}
