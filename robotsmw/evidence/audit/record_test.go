package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/robotsmw/evidence/internal/chain"
)

// A recorded writes the lines of a record. It contains the number and the hash
// of the latest line.
type recorded struct {
	n    int
	prev string
}

var robotsForm = regexp.MustCompile(`^"event":"robots","time":"([^"]*)","robots_url":"([^"]*)"(?:,"from":"fetch")?,"status":(\d+)(?:,"sha256":"([^"]*)")?`)

// answered inserts a fetch line before each robots line that is not from a
// Store.
func answered(members []string) (all []string) {
	for _, m := range members {
		if f := robotsForm.FindStringSubmatch(m); f != nil {
			fetch := fmt.Sprintf(`"event":"fetch","time":"%s","robots_url":"%s","url":"%[2]s","status":%s`, f[1], f[2], f[3])
			if f[4] != "" {
				fetch += fmt.Sprintf(`,"sha256":"%s"`, f[4])
			}
			if !slices.Contains(all, fetch) {
				all = append(all, fetch)
			}
		}
		all = append(all, m)
	}
	return all
}

func (r *recorded) lines(members ...string) string {
	var b strings.Builder
	for _, m := range answered(members) {
		if r.prev == "" {
			r.prev = strings.Repeat("0", 64)
		}
		r.n++
		text := fmt.Sprintf(`{"n":%d,%s,"prev":"%s"`, r.n, m, r.prev)
		sum := sha256.Sum256([]byte(text))
		r.prev = hex.EncodeToString(sum[:])
		fmt.Fprintf(&b, "%s,\"hash\":\"%s\"}\n", text, r.prev)
	}
	return b.String()
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// These are JSON fields for lines in the record of a crawl. The crawl began on
// 20 November at 10:00.
const (
	opened  = `"event":"segment","time":"2026-11-20T10:00:00Z","format":1,"segment":1,"session":"s1","why":"open"`
	crawler = `"event":"robot","time":"2026-11-20T10:00:00Z","user_agent":"ExampleBot/1.0","tokens":["ExampleBot"]`
	limits  = `"event":"limiter","time":"2026-11-20T10:00:00Z","limiter":1,"delay":1,"concurrency":1,"max_crawl_delay":60,"max_retry_after":86400`
	closed  = `"event":"close","time":"2026-11-20T23:00:00Z","session":"s1"`

	rulesThen = "User-agent: *\nDisallow: /private/\nCrawl-delay: 2\n"
	rulesNow  = "User-agent: *\nDisallow: /private/\nDisallow: /news/\nCrawl-delay: 2\n"
)

func fileLine(text string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`"event":"file","time":"2026-11-20T10:00:00Z","sha256":"%s","size":%d,"text":%s`, hashOf(text), len(text), quoted)
}

func robotsLine(clock, text string) string {
	return fmt.Sprintf(`"event":"robots","time":"2026-11-20T%[1]sZ","robots_url":"https://a.example/robots.txt","from":"fetch","status":200,"sha256":"%[2]s","fetched":"2026-11-20T%[1]sZ","expires":"2026-11-21T%[1]sZ"`, clock, hashOf(text))
}

func fetchLine(clock string) string {
	return fmt.Sprintf(`"event":"request","time":"2026-11-20T%[1]sZ","limiter":1,"request":1,"url":"https://a.example/robots.txt","host":"a.example","robots":true,"start":"2026-11-20T%[1]sZ","interval":1,"delay":1`, clock)
}

// pageLine returns the JSON fields of a line about a request for a page. The
// decision was made when the request began. The last two arguments are about
// the robots.txt that decided: the time of its fetch, and its content.
func pageLine(start, path, fetched, text string) string {
	date := "2026-11-20T"
	if strings.Contains(start, "T") {
		date = ""
	}
	return fmt.Sprintf(`"event":"request","time":"%[6]s%[1]sZ","limiter":1,"request":2,"url":"https://a.example%[2]s","host":"a.example","start":"%[6]s%[1]sZ","interval":2,"delay":1,"crawl_delay":2,"decision":{"allowed":true,"decided":"%[6]s%[1]sZ","reason":"no-match","group":["*"],"group_lines":[1],"robots_url":"https://a.example/robots.txt","sha256":"%[3]s","status":200,"fetched":"2026-11-20T%[4]sZ","expires":"2026-11-21T%[4]sZ"%[5]s}`,
		start, path, hashOf(text), fetched, "", date)
}

// perHost is the limiter line of a Limiter with a PerHost.
var perHost = limits + `,"per_host":true`

// agreed is like pageLine, for a host with a delay of 0.1 s and with a
// Crawl-delay that its owner has agreed to.
func agreed(start, path string, crawlDelay float64) string {
	line := pageLine(start, path, "10:00:01", rulesThen)
	return strings.Replace(line, `"interval":2,"delay":1,"crawl_delay":2`, fmt.Sprintf(`"interval":%v,"delay":0.1,"crawl_delay":%v,"crawl_delay_agreed":true`, max(0.1, crawlDelay), crawlDelay), 1)
}

func readRecord(t testing.TB, dir fs.FS) audited {
	t.Helper()
	var got audited
	a := Auditor{
		OnViolation: func(v Violation) { got.violations = append(got.violations, v) },
		OnBroken: func(input string, line int, err error) {
			got.broken = append(got.broken, broken{input, line, err})
		},
	}
	if err := a.ReadRecord(t.Context(), "record", dir); err != nil {
		t.Fatal(err)
	}
	got.result = a.Result()
	return got
}

func recordOf(members ...string) fstest.MapFS {
	var r recorded
	return fstest.MapFS{"evidence-000001.jsonl": {Data: []byte(r.lines(members...))}, "lock": {}}
}

// In each row, a crawler violates at most one rule. The audit must report
// exactly the requests that violate the rule.
func TestReadRecord_BrokenPromises(t *testing.T) {
	begin := []string{opened, crawler, limits, fetchLine("10:00:00"), fileLine(rulesThen), robotsLine("10:00:01", rulesThen)}
	good := pageLine("10:00:01.5", "/a", "10:00:01", rulesThen)
	tests := []struct {
		name  string
		lines []string
		want  string
	}{
		{"none", []string{good, pageLine("10:00:03.5", "/b", "10:00:01", rulesThen)}, ""},
		{"a disallowed URL", []string{good, pageLine("10:00:03.5", "/private/a", "10:00:01", rulesThen), pageLine("10:00:05.5", "/b", "10:00:01", rulesThen)},
			"10:00:03.5 ExampleBot a.example/private/a disallowed\n"},
		{"another name of one", []string{pageLine("10:00:03.5", "/x/..//private/a", "10:00:01", rulesThen)},
			"10:00:03.5 ExampleBot a.example/x/..//private/a disallowed\n"},
		{"one that it knew to be disallowed", []string{strings.Replace(pageLine("10:00:03.5", "/a", "10:00:01", rulesThen), `"allowed":true`, `"allowed":false`, 1)},
			"10:00:03.5 ExampleBot a.example/a disallowed\n"},
		{"a gap below the Crawl-delay", []string{good, pageLine("10:00:03.4999", "/b", "10:00:01", rulesThen)},
			"10:00:03.499 ExampleBot a.example/b gap\n"},
		{"one that it says is shorter than in the file", []string{good, strings.Replace(pageLine("10:00:03", "/b", "10:00:01", rulesThen), `"crawl_delay":2`, `"crawl_delay":1`, 1)},
			"10:00:03 ExampleBot a.example/b gap\n"},
		{"one that was cut, in an old record", []string{strings.Replace(limits, `"max_crawl_delay":60`, `"max_crawl_delay":0.5,"clamp_crawl_delay":true`, 1),
			good, strings.Replace(pageLine("10:00:02.5", "/b", "10:00:01", rulesThen), `"crawl_delay":2`, `"crawl_delay":0.5`, 1)}, ""},
		{"another Crawl-delay that was agreed", []string{perHost, agreed("10:00:01.5", "/a", 0.5), agreed("10:00:02.5", "/b", 0.5), agreed("10:00:02.9", "/c", 0.5)},
			"10:00:02.9 ExampleBot a.example/c gap\n"},
		{"none, as was agreed", []string{perHost, agreed("10:00:01.5", "/a", 0), agreed("10:00:01.6", "/b", 0), agreed("10:00:01.65", "/c", 0)},
			"10:00:01.65 ExampleBot a.example/c gap\n"},
		{"the delay of one host", []string{perHost, good, agreed("10:00:03.5", "/b", 0), strings.Replace(fetchLine("10:00:03.55"), `"delay":1`, `"delay":0.1`, 1)},
			"10:00:03.55 ExampleBot a.example/robots.txt gap\n"},
		{"a gap below the delay", []string{good, fetchLine("10:00:02.4")}, "10:00:02.4 ExampleBot a.example/robots.txt gap\n"},
		{"lines out of order", []string{pageLine("10:00:03.5", "/b", "10:00:01", rulesThen), good}, ""},
		{"a page before robots.txt", []string{strings.ReplaceAll(good, "a.example", "b.example")}, "10:00:01.5 ExampleBot b.example/a before-robots-txt\n"},
		{"one that nobody decided about", []string{strings.Split(good, `,"decision"`)[0]}, ""},
		{"one that anybody would have forbidden", []string{strings.Replace(strings.Split(good, `,"decision"`)[0], "/a\"", "/private/a\"", 1)},
			"10:00:01.5 ExampleBot a.example/private/a disallowed\n"},
		{"a stale file", []string{pageLine("2026-11-21T10:00:30", "/b", "10:00:01", rulesThen)}, "10:00:30 ExampleBot a.example/b stale\n"},
		{"one of a server that is down", []string{
			`"event":"robots","time":"2026-11-21T10:00:00Z","robots_url":"https://a.example/robots.txt","status":503,"cause":"503","sha256":"` + hashOf(rulesThen) + `","fetched":"2026-11-20T10:00:01Z","expires":"2026-11-21T10:00:01Z"`,
			pageLine("2026-11-22T10:00:30", "/b", "10:00:01", rulesThen)}, ""},
		{"a changed robots.txt ignored", []string{fileLine(rulesNow), robotsLine("10:30:00", rulesNow), pageLine("10:30:06", "/news/a", "10:00:01", rulesThen), pageLine("10:30:20", "/b", "10:00:01", rulesThen)},
			"10:30:06 ExampleBot a.example/news/a disallowed\n10:30:20 ExampleBot a.example/b stale\n"},
		{"a decision while it changed", []string{fileLine(rulesNow), robotsLine("10:30:00", rulesNow), pageLine("10:30:03", "/news/a", "10:00:01", rulesThen)}, ""},
		{"the clock was set back after robots.txt had changed", []string{fileLine(rulesNow), robotsLine("10:30:00", rulesNow), pageLine("10:20:00", "/b", "10:30:00", rulesNow)}, ""},
		{"a disallowed URL after the clock was set back", []string{fileLine(rulesNow), robotsLine("10:30:00", rulesNow), pageLine("10:20:00", "/news/a", "10:30:00", rulesNow)},
			"10:20:00 ExampleBot a.example/news/a disallowed\n"},
		{"inside Retry-After", []string{good,
			`"event":"answer","limiter":1,"request":2,"host":"a.example","at":"2026-11-20T10:00:02Z","status":429,"retry_after":"60","asks":60`,
			pageLine("10:01:01.9", "/b", "10:00:01", rulesThen), pageLine("10:01:04", "/c", "10:00:01", rulesThen)}, "10:01:01.9 ExampleBot a.example/b retry-after\n"},
		{"inside a pause", []string{good,
			`"event":"pause","limiter":1,"request":2,"host":"a.example","at":"2026-11-20T10:00:02Z","wait":5,"until":"2026-11-20T10:00:07Z","status":429`,
			pageLine("10:00:06.9", "/b", "10:00:01", rulesThen)}, "10:00:06.9 ExampleBot a.example/b retry-after\n"},
		{"another limiter's host", []string{good, strings.Replace(pageLine("10:00:01.6", "/b", "10:00:01", rulesThen), `"limiter":1`, `"limiter":2`, 1)}, ""},
		{"robots.txt unreachable", []string{`"event":"robots","time":"2026-11-20T10:10:00Z","robots_url":"https://a.example/robots.txt","status":503,"cause":"503"`,
			pageLine("10:20:00", "/b", "10:00:01", rulesThen)}, "10:20:00 ExampleBot a.example/b disallowed\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := readRecord(t, recordOf(append(append(append([]string{}, begin...), tt.lines...), closed)...))
			if got.String() != tt.want || got.result.Counts["cut"] != 0 || got.result.Counts["unaudited"] != 0 {
				t.Errorf("the audit reports\n%swant\n%sthe result is %+v, and the faults are %v; want no cut and no unaudited requests", got, tt.want, got.result, got.broken)
			}
		})
	}
}

// After 30 days without a robots.txt, a crawler with AllowAfter30Days may fetch
// pages. The record must show that 30 days are over.
func TestReadRecord_AllowAfter30Days(t *testing.T) {
	robots := func(day, answer string) string {
		return fmt.Sprintf(`"event":"robots","time":"2026-%sT10:00:01Z","robots_url":"https://a.example/robots.txt","from":"fetch",%s`, day, answer)
	}
	page := func(since string) string {
		return `"event":"request","time":"2026-12-20T10:00:30Z","limiter":1,"request":2,"url":"https://a.example/b","host":"a.example","start":"2026-12-20T10:00:30Z","interval":1,"delay":1,"decision":{"allowed":true,"decided":"2026-12-20T10:00:30Z","reason":"unreachable","robots_url":"https://a.example/robots.txt","status":503,"cause":"503","failed_since":"2026-` + since + `T10:00:01Z"}`
	}
	const down, none, disallowed = `"status":503,"cause":"503"`, `"status":404,"fetched":"2026-12-01T10:00:01Z"`, "10:00:30 ExampleBot a.example/b disallowed\n"
	allows := crawler + `,"allow_after_30_days":true`
	tests := []struct {
		name  string
		lines []string
		want  string
	}{
		{"30 days", []string{allows, robots("11-20", down), robots("12-20", down), page("11-20")}, ""},
		{"without the option", []string{crawler, robots("11-20", down), robots("12-20", down), page("11-20")}, disallowed},
		{"29 days", []string{allows, robots("11-21", down), robots("12-20", down), page("11-21")}, disallowed},
		{"the last try on day 29", []string{allows, robots("11-20", down), robots("12-19", down), page("11-20")}, disallowed},
		{"since before the record", []string{allows, robots("12-20", down), page("11-20")}, ""},
		{"an answer on the way", []string{allows, robots("11-20", down), robots("12-01", none), robots("12-02", down), robots("12-20", down), page("11-20")}, disallowed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := readRecord(t, recordOf(append(append([]string{opened, limits, fetchLine("10:00:00")}, tt.lines...), closed)...))
			if got.String() != tt.want || got.result.Counts["cut"] != 0 || got.result.Counts["unaudited"] != 0 {
				t.Errorf("the audit reports\n%swant\n%sthe result is %+v, and the faults are %v; want no cut and no unaudited requests", got, tt.want, got.result, got.broken)
			}
		})
	}
}

// If a part of a record is missing or changed, the audit reports the line at
// which it detects the fault. The crawler itself may have recorded a loss of
// lines. For such a loss, the audit reports no line.
func TestReadRecord_Incomplete(t *testing.T) {
	begin := []string{opened, crawler, limits, fetchLine("10:00:00"), fileLine(rulesThen), robotsLine("10:00:01", rulesThen)}
	good := pageLine("10:00:01.5", "/a", "10:00:01", rulesThen)
	whole := append(append([]string{}, begin...), good, pageLine("10:00:04", "/b", "10:00:01", rulesThen), closed)
	var r recorded
	text := r.lines(whole...)
	cut := text[:len(text)-300]
	var second recorded
	n := strings.Count(cut, "\n")
	second.lines(answered(whole)[:n]...)
	goodLength := strings.LastIndex(cut, "\n") + 1
	next := second.lines(strings.Replace(strings.Replace(opened, `"segment":1`, `"segment":2`, 1), `"session":"s1"`, fmt.Sprintf(`"session":"s2","cut":{"segment":1,"offset":%d,"bytes":%d}`, goodLength, len(cut)-goodLength), 1), crawler, limits, closed)
	tests := []struct {
		name  string
		dir   fstest.MapFS
		lines string // the file and line of each problem that is reported
		cut   int
	}{
		{"whole", fstest.MapFS{"evidence-000001.jsonl": {Data: []byte(text)}}, "", 0},
		{"killed", fstest.MapFS{"evidence-000001.jsonl": {Data: []byte(cut)}}, "evidence-000001.jsonl:9 ", 1},
		{"killed between two lines", fstest.MapFS{"evidence-000001.jsonl": {Data: []byte(text[:goodLength])}}, "evidence-000001.jsonl:8 ", 1},
		{"killed, and gone on with", fstest.MapFS{"evidence-000001.jsonl": {Data: []byte(cut)}, "evidence-000002.jsonl": {Data: []byte(next)}}, "evidence-000002.jsonl:1 ", 1},
		{"killed, killed before its first line, and gone on with", fstest.MapFS{"evidence-000001.jsonl": {Data: []byte(cut)}, "evidence-000002.jsonl": {}, "evidence-000003.jsonl": {Data: []byte(next)}}, "evidence-000003.jsonl:1 ", 1},
		{"a line taken out", fstest.MapFS{"evidence-000001.jsonl": {Data: []byte(strings.Join(append(strings.SplitAfter(text, "\n")[:6:6], strings.SplitAfter(text, "\n")[7:]...), ""))}}, "evidence-000001.jsonl:7 ", 1},
		{"the first segment deleted", fstest.MapFS{"evidence-000002.jsonl": {Data: []byte(next)}}, "evidence-000002.jsonl:1 ", 1},
		{"a loss", recordOf(append(append([]string{}, begin...), `"event":"loss","time":"2026-11-20T10:00:09Z","from":"2026-11-20T10:00:02Z","to":"2026-11-20T10:00:08Z","lost":{"request":3,"done":2},"cause":"disk full"`, closed)...), "", 1},
		{"a decision by a file that is not there", recordOf(append(append([]string{}, begin...), pageLine("10:00:09", "/b", "10:00:01.5", rulesThen), closed)...), "evidence-000001.jsonl:8 ", 1},
		{"a decision with another line", recordOf(append(append([]string{}, begin...), strings.Replace(good, `"reason":"no-match"`, `"reason":"rule","line":7,"rule":"Allow: /"`, 1), closed)...), "evidence-000001.jsonl:8 ", 1},
		{"another robots.txt", recordOf(opened, crawler, limits, strings.Replace(fileLine(rulesThen), "/private/", "/nothing/", 1), closed), "evidence-000001.jsonl:4 ", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := readRecord(t, tt.dir)
			reported := ""
			for _, b := range got.broken {
				reported += fmt.Sprintf("%s:%d ", strings.TrimPrefix(b.Input, "record/"), b.Line)
			}
			if reported != tt.lines {
				t.Errorf("OnBroken was called for %q, want %q: %+v", reported, tt.lines, got.broken)
			}
			if n := got.result.Counts["cut"]; n != tt.cut {
				t.Errorf("cut is %d, want %d", n, tt.cut)
			}
			if len(got.violations) != 0 {
				t.Errorf("the audit reports\n%swant no violations", got)
			}
		})
	}
	if r := readRecord(t, tests[7].dir).result; r.Counts["unaudited"] != 3 || len(r.Spans) != 1 {
		t.Errorf("a loss of three requests: %d are unaudited, and the spans are %+v; want 3 and one span",
			r.Counts["unaudited"], r.Spans)
	}
	if err := new(Auditor).ReadRecord(t.Context(), "record", fstest.MapFS{}); !errors.Is(err, errNoRecord) {
		t.Errorf("an empty directory: got the error %v, want errNoRecord", err)
	}
}

// The reasons of a decision are changed, and all later hashes are computed
// again. The audit notices the change, because the decision no longer follows
// from the robots.txt.
func TestReadRecord_ForgedDecisions(t *testing.T) {
	text := "User-agent: OtherBot\nDisallow: /\n\nUser-agent: ExampleBot\nUser-agent: examplebot/2\nDisallow: /private/\nAllow: /private/open/\n"
	const group = `"group":["ExampleBot","examplebot/2"],"group_lines":[4,5]`
	decided := func(event, path, allowed, reason string) string {
		return fmt.Sprintf(`"event":"%s","time":"2026-11-20T10:00:02Z","limiter":1,"request":2,"url":"https://a.example%s","host":"a.example","start":"2026-11-20T10:00:02Z","interval":1,"delay":1,"decision":{"allowed":%s,"decided":"2026-11-20T10:00:02Z","reason":%s,%s,"robots_url":"https://a.example/robots.txt","sha256":"%s","status":200,"fetched":"2026-11-20T10:00:01Z","expires":"2026-11-21T10:00:01Z"}`,
			event, path, allowed, reason, group, hashOf(text))
	}
	honest := map[string]string{
		"a page":                decided("request", "/a", "true", `"no-match"`),
		"a page by a rule":      decided("request", "/private/open/a", "true", `"rule","rule":"Allow: /private/open/","line":7`),
		"a refusal":             decided("decision", "/private/a", "false", `"rule","rule":"Disallow: /private/","line":6`),
		"one by another name":   decided("decision", "/x/..//private/a", "false", `"rule","rule":"Disallow: /private/","line":6,"resolved":"/private/a"`),
		"what would be refused": decided("decision", "/private/a", "true", `"rule","dry_run":true,"rule":"Disallow: /private/","line":6`),
	}
	forged := map[string][2]string{
		"another group":                   {`["ExampleBot","examplebot/2"]`, `["OtherBot","examplebot/2"]`},
		"its agents in another order":     {`["ExampleBot","examplebot/2"]`, `["examplebot/2","ExampleBot"]`},
		"an agent less":                   {group, `"group":["ExampleBot"],"group_lines":[4]`},
		"an agent more":                   {group, `"group":["ExampleBot","examplebot/2","*"],"group_lines":[4,5,6]`},
		"the group in other lines":        {"[4,5]", "[1,5]"},
		"fewer lines than agents":         {"[4,5]", "[4]"},
		"no group":                        {group + ",", ""},
		"no lines":                        {`,"group_lines":[4,5]`, ""},
		"another rule":                    {"llow: /private/", "llow: /p"},
		"another line":                    {`,"line":`, `,"line":1`},
		"a URL that is not so decided on": {"/private/", "/public/"},
	}
	read := func(line string) audited {
		return readRecord(t, recordOf(opened, crawler, limits, fetchLine("10:00:00"), fileLine(text), robotsLine("10:00:01", text), line, closed))
	}
	for what, line := range honest {
		if got := read(line); got.result.Counts["cut"] != 0 || got.result.Counts["broken"] != 0 || got.result.Violations != 0 {
			t.Errorf("%s: got %v and the faults %v, want no violations and no faults", what, got.result, got.broken)
		}
		for how, change := range forged {
			changed := strings.Replace(line, change[0], change[1], 1)
			if changed == line {
				continue
			}
			got := read(changed)
			if got.result.Counts["cut"] != 1 || len(got.broken) != 1 || !errors.Is(got.broken[0].Err, errDecision) || got.broken[0].Line != 8 {
				t.Errorf("%s, with %s: got the faults %v, want errDecision in line 8", what, how, got.broken)
			}
		}
	}
}

// The audit notices each changed byte of a record and of the WARC file that the
// record names.
func TestReadRecord_AnyByte(t *testing.T) {
	t.Parallel()
	warc := "warcinfo request response metadata"
	fetch := fmt.Sprintf(`"event":"fetch","time":"2026-11-20T10:00:00Z","robots_url":"https://a.example/robots.txt","url":"https://a.example/robots.txt","status":200,"warc":{"file":"robots-000001.warc.gz","request":{"offset":9,"length":7,"sha256":"%s"}}`, hashOf("request"))
	var r recorded
	text := r.lines(opened, crawler, limits, fetchLine("10:00:00"), fetch, fileLine(rulesThen), robotsLine("10:00:01", rulesThen), pageLine("10:00:01.5", "/a", "10:00:01", rulesThen),
		fmt.Sprintf(`%s,"warc":{"file":"robots-000001.warc.gz","bytes":%d,"sha256":"%s"}`, closed, len(warc), hashOf(warc)))
	dir := func(text, warc []byte) fstest.MapFS {
		return fstest.MapFS{"evidence-000001.jsonl": {Data: text}, "robots-000001.warc.gz": {Data: warc}}
	}
	if got := readRecord(t, dir([]byte(text), []byte(warc))); got.result.Counts["cut"] != 0 || got.result.Counts["broken"] != 0 || got.result.Violations != 0 {
		t.Fatalf("the unchanged record: got %+v and the faults %v, want no violations and no faults", got.result, got.broken)
	}
	step := 1
	if testmain.RaceEnabled { // the race detector makes this ten times slower
		step = 7
	}
	for i := 0; i < len(text); i += step {
		for _, flip := range []byte{1, 0x20, 0x80} {
			changed := []byte(text)
			changed[i] ^= flip
			if got := readRecord(t, dir(changed, []byte(warc))); got.result.Counts["cut"] == 0 || got.result.Counts["broken"] == 0 {
				t.Fatalf("byte %d of the record was changed from %q to %q, which is not reported, want a fault", i, text[i], changed[i])
			}
		}
	}
	if got := readRecord(t, dir([]byte(text), []byte(warc+"\n"))); got.result.Counts["cut"] != 1 || got.result.Counts["broken"] != 1 {
		t.Errorf("with another byte at the end of the WARC file, got %+v and the faults %v, want one fault", got.result, got.broken)
	}
	for i := range warc {
		changed := []byte(warc)
		changed[i] ^= 1
		if got := readRecord(t, dir([]byte(text), changed)); got.result.Counts["cut"] == 0 || got.result.Counts["broken"] == 0 {
			t.Fatalf("a change of byte %d of the WARC file is not reported, want a fault", i)
		}
	}
}

func FuzzReadRecord(f *testing.F) {
	var r recorded
	f.Add([]byte(r.lines(opened, crawler, limits, fileLine(rulesThen), robotsLine("10:00:01", rulesThen), pageLine("10:00:01.5", "/a", "10:00:01", rulesThen), closed)), true)
	f.Add([]byte(opened+"\n"+limits+"\n"+closed+"\n"), false)
	f.Fuzz(func(t *testing.T, text []byte, raw bool) {
		if !raw { // compute correct numbers and hashes
			var r recorded
			text = []byte(r.lines(strings.Split(string(text), "\n")...))
		}
		a := new(Auditor)
		if err := a.ReadRecord(t.Context(), "record", fstest.MapFS{"evidence-000001.jsonl": {Data: text}}); err != nil {
			t.Fatal(err)
		}
		a.Result()
	})
}

// While the audit reads a record, the crawler is still running and deletes the
// oldest segments. The audit must not report this as a change of the record.
func TestReadRecord_WhileSegmentsAreDeleted(t *testing.T) {
	var r recorded
	whole := make(fstest.MapFS)
	for i := range 4 {
		next := strings.Replace(opened, `"segment":1`, fmt.Sprintf(`"segment":%d`, i+1), 1)
		if i > 0 {
			next = strings.Replace(next, `"open"`, `"full"`, 1)
		}
		members := []string{next, crawler, limits}
		if i == 3 {
			members = append(members, closed)
		}
		whole[chain.LinesName(i+1)] = &fstest.MapFile{Data: []byte(r.lines(members...))}
	}
	for deleted := 1; deleted <= 3; deleted++ {
		for first := 1; first+deleted <= 4; first++ {
			var a Auditor
			a.OnBroken = func(_ string, _ int, err error) {
				if !strings.HasPrefix(err.Error(), "cut: ") {
					t.Errorf("segments %d to %d are deleted: got the fault %v, want only cut", first, first+deleted-1, err)
				}
			}
			if err := a.ReadRecord(t.Context(), "record", deletedFiles{whole, first, first + deleted}); err != nil {
				t.Error(err)
			}
			if counts := a.Result().Records[0].Counts; counts["faults"] != deleted || counts["lines"] == 0 {
				t.Errorf("segments %d to %d are deleted: the counts are %v, want %d faults and some lines", first, first+deleted-1, counts, deleted)
			}
		}
	}
}

// A deletedFiles is a file system that lists some segments, but cannot open
// them.
type deletedFiles struct {
	fstest.MapFS
	from, to int
}

func (d deletedFiles) Open(name string) (fs.File, error) {
	for n := d.from; n < d.to; n++ {
		if name == chain.LinesName(n) {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
	}
	return d.MapFS.Open(name)
}

// A line refers to a response that is longer than package evidence writes. The
// audit must report the length, and must not report that the bytes, whose hash
// is correct, do not match the hash.
func TestReadRecord_OversizedResponse(t *testing.T) {
	response := strings.Repeat("a", maxAnswer+1)
	fetch := fmt.Sprintf(`"event":"fetch","time":"2026-11-20T10:00:01Z","url":"https://a.example/robots.txt","warc":{"file":"robots-000001.warc.gz","response":{"offset":0,"length":%d,"sha256":"%s"}}`,
		len(response), hashOf(response))
	dir := recordOf(opened, crawler, limits, fetch, closed)
	dir["robots-000001.warc.gz"] = &fstest.MapFile{Data: []byte(response)}
	got := readRecord(t, dir)
	want := fmt.Sprintf("has %d bytes, more than %d", maxAnswer+1, maxAnswer)
	isReported := slices.ContainsFunc(got.broken, func(b broken) bool { return strings.Contains(fmt.Sprint(b), want) })
	if !isReported {
		t.Errorf("OnBroken received %+v, want an error that contains %q", got.broken, want)
	}
	for _, b := range got.broken {
		if strings.Contains(fmt.Sprint(b), "do not match the hash") {
			t.Errorf("OnBroken received %+v, want no error about the hash, which is correct", b)
		}
	}
}
