package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/evidence"
	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
	"github.com/goodbots/courtesy/robotsmw/evidence/internal/chain"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// honestCrawl crawls a small web and records it. It returns the record's
// directory. The hosts of the web differ in their robots.txt: it has rules with
// a Crawl-delay, does not exist, redirects to another host, is unreachable, or
// is overridden by the operator. The second session begins ten seconds after
// the first. If fromEnd is set, intervals are measured from the end of a
// request.
func honestCrawl(t *testing.T, fromEnd bool, between time.Duration) string {
	t.Helper()
	dir := t.TempDir()
	web := new(robotstest.Internet)
	web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if time.Sleep(300 * time.Millisecond); r.URL.Path == "/robots.txt" {
			io.WriteString(w, "User-agent: *\nDisallow: /private\nCrawl-delay: 5\n")
		}
	}))
	web.Handle("b.example", robotstest.Site{"/robots.txt": "User-agent: *\nDisallow:\n", "/": "a page", "/private": "a page"})
	web.Handle("c.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.Redirect(w, r, "http://b.example/robots.txt", http.StatusFound)
		}
	}))
	web.Handle("d.example", robotstest.Site{"/": "a page"})
	web.Handle("e.example", robotstest.Status(503))
	web.Handle("mine.example", robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /\n", "/": "a page"})
	web.Handle("hop.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			http.Redirect(w, r, "/files/robots", http.StatusFound)
		case "/files/robots":
			io.WriteString(w, "User-agent: *\nDisallow: /private\n")
		}
	}))
	synctest.Test(t, func(t *testing.T) {
		for range 2 {
			rec, err := evidence.Open(dir, evidence.Options{})
			if err != nil {
				t.Fatal(err)
			}
			opts := robotsmw.Options{
				UserAgent: "ExampleBot/1.0", Base: web, Limiter: &politeness.Limiter{EndToStart: fromEnd},
				Override: map[string]string{"http://mine.example": "User-agent: *\nAllow: /\n"},
			}
			if err := rec.Observe(&opts); err != nil {
				t.Fatal(err)
			}
			client, err := robotsmw.NewClient(opts)
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{"a.example/1", "a.example/private/2", "a.example/3", "a.example/4", "b.example/", "c.example/", "d.example/", "e.example/", "mine.example/", "hop.example/"} {
				resp, err := client.Get("http://" + path)
				if err == nil {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}
			if err := rec.Close(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(between)
		}
	})
	return dir
}

// forge applies change to each line of a record, and then computes all numbers
// and hashes again. A line is omitted if change returns "".
func forge(t *testing.T, dir string, change func(event, line string) string) fstest.MapFS {
	t.Helper()
	forged := make(fstest.MapFS)
	all, err := chain.Segments(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	end := chain.Start()
	seals := regexp.MustCompile(`^\{"n":\d+,(.*),"prev":"[0-9a-f]{64}","hash":"[0-9a-f]{64}"\}$`)
	for _, n := range all {
		text, err := os.ReadFile(filepath.Join(dir, chain.LinesName(n)))
		if err != nil {
			t.Fatal(err)
		}
		var made []byte
		for line := range strings.Lines(string(text)) {
			members := seals.FindStringSubmatch(strings.TrimSuffix(line, "\n"))[1]
			var v struct{ Event string }
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatal(err)
			}
			if changed := change(v.Event, members); changed != "" {
				made, end = end.Append(made, []byte(changed))
			}
		}
		forged[chain.LinesName(n)] = &fstest.MapFile{Data: made}
		warc, err := os.ReadFile(filepath.Join(dir, chain.WARCName(n)))
		if err != nil {
			t.Fatal(err)
		}
		forged[chain.WARCName(n)] = &fstest.MapFile{Data: warc}
	}
	return forged
}

// auditOf audits a record. found contains a line for each violation and each
// fault.
func auditOf(t *testing.T, dir fstest.MapFS) (r *audit.Result, found string) {
	t.Helper()
	var b strings.Builder
	a := audit.Auditor{
		OnViolation: func(v audit.Violation) { fmt.Fprintln(&b, v.Kind, v.URL) },
		OnBroken:    func(_ string, line int, err error) { fmt.Fprintln(&b, line, err) },
	}
	if err := a.ReadRecord(context.Background(), "record", dir); err != nil {
		t.Fatal(err)
	}
	return a.Result(), b.String()
}

// An attacker who can write all files of a record can compute its hashes again.
// However, the lines then contradict each other, or contain a violation.
func TestReadRecord_Forgeries(t *testing.T) {
	// on returns a change of the lines that match. old is a regular expression.
	on := func(event, has, old, with string) func(string, string) string {
		re := regexp.MustCompile(old)
		return func(e, line string) string {
			if e != event || !strings.Contains(line, has) {
				return line
			}
			return re.ReplaceAllString(line, with)
		}
	}
	drop := func(event, has string) func(string, string) string { return on(event, has, `(?s).*`, "") }
	const page = `"url":"http://a.example/3"`
	decision := `"decision":\{.*\}`
	tests := []struct {
		name    string
		fromEnd bool
		change  func(event, line string) string
		found   string // one of the things that are found, at least
	}{
		{"a page to which no robots.txt applies", false, on("request", page, decision, `"decision":{"allowed":true,"decided":"2000-01-01T00:00:05Z","reason":"not-applicable"}`), "contains no robots_url"},
		{"a page that is robots.txt itself", false, on("request", page, decision, `"decision":{"allowed":true,"decided":"2000-01-01T00:00:05Z","reason":"robots-txt"}`), "contains no robots_url"},
		{"a page as a request for robots.txt", false, on("request", page, `,"start"`, `,"robots":true,"start"`), "marked as one for a robots.txt"},
		{"a decision by the robots.txt of another origin", false, on("request", page, `http://a.example/robots.txt`, `http://b.example/robots.txt`), "another origin"},
		{"an override that there is not", false, on("request", page, `"robots_url":"[^"]*","sha256"`, `"sha256"`), "no such override"},
		{"another override", false, on("robot", "", `("http://mine.example":")[0-9a-f]{8}`, `${1}00000000`), "no such override"},
		{"no delay", false, on("request", page, `"interval":5,"interval_why":"crawl-delay","delay":1`, `"interval":0,"interval_why":"delay","delay":0`), "that of its limiter"},
		{"a shorter Crawl-delay, and a start that keeps it", false, on("request", page, `(?s)"start":"([^"]*:)(\d\d)(\.[^"]*)"(.*)"crawl_delay":5`, `"start":"${1}02${3}"$4"crawl_delay":1`), "gap"},
		{"a Crawl-delay that was agreed, and no settings of single hosts", false, on("request", page, `"crawl_delay":5`, `"crawl_delay":1,"crawl_delay_agreed":true`), "no PerHost"},
		{"a fetch with another status", false, on("fetch", "a.example", `"status":200`, `"status":404`), "differs from the response in"},
		{"a fetch of another file", false, on("fetch", "a.example", `"bytes":\d+,"sha256":"[0-9a-f]{8}`, `"bytes":9,"sha256":"00000000`), "contradicts"},
		{"a robots line with another status", false, on("robots", "a.example", `"status":200,"sha256":"[0-9a-f]*"`, `"status":404`), "no fetch"},
		{"a robots line without a fetch", false, drop("fetch", "a.example"), "no fetch"},
		{"a robots line that is from the store", false, on("robots", "a.example", `"from":"fetch",(.*)"fetched":"2000`, `"from":"store",$1"fetched":"1999`), "24 hours"},
		{"a stale one from the store, and no fetch that failed", false, on("robots", "a.example", `"from":"fetch",(.*)"fetched":"[^"]*","expires":"[^"]*"`, `"from":"store",$1"fetched":"1999-12-30T00:00:00Z","expires":"1999-12-31T00:00:00Z","cause":"503","next_try":"2001-01-01T00:00:00Z"`), "24 hours"},
		{"a failure in place of new rules", false, on("robots", "a.example", `"status":200`, `"status":200,"cause":"a wall"`), "no fetch"},
		{"rules that came later", false, on("robots", "a.example", `"time":"2000-01-01T00:00`, `"time":"2000-01-01T00:02`), "no fetch"},
		{"a longer lifetime", false, on("robots", "a.example", `"expires":"2000`, `"expires":"2001`), "24 hours"},
		{"a decision with another lifetime", false, on("request", page, `"expires":"2000-01-02`, `"expires":"2000-01-05`), "disagree"},
		{"a page without robots_url", false, on("request", page, `"robots_url":"[^"]*",|"sha256":"[^"]*",`, ""), "contains no robots_url"},
		{"the pace of another host", false, on("request", page, `"host":"a.example"`, `"host":"z.example"`), "another host"},
		{"a page that is left out", false, drop("request", page), "is missing"},
		{"another URL", false, on("request", page, "/3", "/private/3"), "disallowed"},
		{"a later end", true, on("done", `"request":2,`, `"end":"2000-01-01T00:00:01`, `"end":"2000-01-01T00:00:09`), "gap"},
		{"a robots.txt that never came", false, on("robots", "e.example", `"status":503,"cause":"[^"]*","next_try":"[^"]*"`, `"status":404`), "no fetch"},
	}
	dirs := map[bool]string{false: honestCrawl(t, false, 10*time.Second), true: honestCrawl(t, true, 10*time.Second)}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := forge(t, dirs[tt.fromEnd], tt.change)
			keep(t, dir)
			if r, found := auditOf(t, dir); r.Violations+r.Counts["broken"] == 0 || !strings.Contains(found, tt.found) {
				t.Errorf("the audit does not report %q, want it among its %d violations and %d faults:\n%s", tt.found, r.Violations, r.Counts["broken"], found)
			}
		})
	}
	for fromEnd, dir := range dirs {
		later := forge(t, dir, func(_, line string) string { return line + `,"later":{"version":1}` })
		r, found := auditOf(t, later)
		if r.Violations > 0 || r.Counts["broken"] > 0 || r.Counts["unaudited"] > 0 || r.Records[0].Counts["overridden"] != 2 {
			t.Errorf("an unforged record with a member of a later version, from end %t: got %+v, want no violations, faults or unaudited requests\n%s", fromEnd, r, found)
		}
	}
}

// A session begins with a new Limiter, which does not delay requests because of
// the pages of the previous session. If a page of the new session follows too
// soon, the audit reports a gap.
func TestReadRecord_SessionsSoonAfterEachOther(t *testing.T) {
	dir := t.TempDir()
	for i, wait := range []time.Duration{0, time.Second, 6 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Duration(i) * time.Hour)
			for range 2 {
				rec, err := evidence.Open(filepath.Join(dir, fmt.Sprint(i)), evidence.Options{})
				if err != nil {
					t.Fatal(err)
				}
				web := new(robotstest.Internet)
				web.Handle("a.example", robotstest.Site{"/robots.txt": "User-agent: *\nCrawl-delay: 5\n", "/": "a page"})
				opts := robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: web, Limiter: &politeness.Limiter{Delay: time.Millisecond}}
				if err := rec.Observe(&opts); err != nil {
					t.Fatal(err)
				}
				client, err := robotsmw.NewClient(opts)
				if err != nil {
					t.Fatal(err)
				}
				if resp, err := client.Get("http://a.example/"); err != nil {
					t.Error(err)
				} else {
					resp.Body.Close()
				}
				if err := rec.Close(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(wait)
			}
		})
		want := 1
		if wait > 5*time.Second {
			want = 0
		}
		a := new(audit.Auditor)
		if err := a.ReadRecord(t.Context(), "record", os.DirFS(filepath.Join(dir, fmt.Sprint(i)))); err != nil {
			t.Fatal(err)
		}
		if r := a.Result(); r.Violations != want || r.Counts["broken"] != 0 {
			t.Errorf("%v apart: %d violations and %d broken lines, want %d and 0",
				wait, r.Violations, r.Counts["broken"], want)
		}
	}
}

// With the head of a record, the audit notices that the record's end was
// removed or a line was changed, even if all hashes were computed again.
func TestReadRecord_Head(t *testing.T) {
	dir := honestCrawl(t, false, 10*time.Second)
	rec, err := evidence.Open(dir, evidence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	head := rec.Head()
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	number, hash, _ := strings.Cut(head, ":")
	n := 0
	count := func(change func(n int, line string) string) func(string, string) string {
		n = 0
		return func(_, line string) string {
			n++
			return change(n, line)
		}
	}
	same := forge(t, dir, func(_, line string) string { return line })
	for _, tt := range []struct {
		name, head string
		dir        fstest.MapFS
		found      bool
	}{
		{"as it was printed", head, same, true},
		{"the hash alone", strings.ToUpper(hash), same, true},
		{"of another line", "1" + number + ":" + hash, same, false},
		{"of no line", strings.Repeat("a", 64), same, false},
		{"the end is cut off", head, forge(t, dir, count(func(n int, line string) string {
			if fmt.Sprint(n) >= number && len(fmt.Sprint(n)) >= len(number) {
				return ""
			}
			return line
		})), false},
		{"a line was changed", head, forge(t, dir, count(func(n int, line string) string {
			if n == 10 {
				return line + `,"later":1`
			}
			return line
		})), false},
	} {
		a := audit.Auditor{Head: tt.head}
		if err := a.ReadRecord(t.Context(), "record", tt.dir); err != nil {
			t.Fatal(err)
		}
		r := a.Result()
		isFound := r.Records[0].Counts["head"] == 1
		isIntact := r.Counts["broken"] == 0
		if isFound != tt.found || isIntact != tt.found {
			t.Errorf("%s: found is %t and intact %t, want both %t", tt.name, isFound, isIntact, tt.found)
		}
	}
}

// keep writes a forged record to the directory in the environment variable
// FORGERIES, if it is set, so that other programs can audit the record.
func keep(t *testing.T, dir fstest.MapFS) {
	if to := os.Getenv("FORGERIES"); to != "" {
		if err := os.CopyFS(filepath.Join(to, filepath.Base(t.Name())), dir); err != nil {
			t.Fatal(err)
		}
	}
}

// A record and the log of the site must contain the same requests. A request
// that only one of them contains is reported.
func TestReadRecord_AgainstALog(t *testing.T) {
	dir := honestCrawl(t, false, 10*time.Second)
	var lines []string
	record := forge(t, dir, func(event, line string) string {
		var v struct {
			URL  string
			Time time.Time
		}
		if err := json.Unmarshal([]byte("{"+line+"}"), &v); err != nil {
			t.Fatal(err)
		}
		if host, path, _ := strings.Cut(strings.TrimPrefix(v.URL, "http://"), "/"); event == "request" {
			lines = append(lines, fmt.Sprintf(`%s:80 192.0.2.1 - - [%s] "GET /%s HTTP/1.1" 200 1 "-" "ExampleBot/1.0"`, host, v.Time.Format("02/Jan/2006:15:04:05 -0700"), path))
		}
		return line
	})
	against := func(log []string) (r *audit.Result, found string) {
		var b strings.Builder
		a := audit.Auditor{OnBroken: func(_ string, _ int, err error) { fmt.Fprintln(&b, err) }}
		if err := a.ReadRecord(t.Context(), "record", record, audit.Input{Name: "log", Reader: strings.NewReader(strings.Join(log, "\n"))}); err != nil {
			t.Fatal(err)
		}
		return a.Result(), b.String()
	}
	if r, found := against(lines); found != "" || r.Records[0].Counts["both"] != len(lines) {
		t.Errorf("the whole log: the counts are %v, want %d of both and no faults:\n%s", r.Records[0].Counts, len(lines), found)
	}
	missing := slices.Concat(lines[:4], lines[5:])
	more := strings.Replace(lines[4], "GET /", "GET /private/", 1)
	r, found := against(append(missing, more, strings.Replace(more, "ExampleBot", "OtherBot", 1)))
	if n := r.Records[0].Counts; n["only_log"] != 1 || n["only_record"] != 1 || r.Counts["broken"] != 2 || !strings.Contains(found, "only the log has the request for \""+strings.Fields(lines[4])[0][:5]) {
		t.Errorf("a changed log: the counts are %v, want one only_log and one only_record:\n%s", n, found)
	}
}
