package audit

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

func TestMain(m *testing.M) {
	testmain.Quiet()
	goleak.VerifyTestMain(m)
}

// audited contains the result of an audit and the arguments of its callbacks.
// Its method String returns a line for each violation and for each call of
// OnBroken.
type audited struct {
	violations []Violation
	broken     []broken
	result     *Result
}

func (a audited) String() string {
	var b strings.Builder
	for _, v := range a.violations {
		path := strings.TrimPrefix(v.URL, "https://"+v.Host)
		fmt.Fprintf(&b, "%s %s %s%s %s\n", v.Time.Format("15:04:05.999"), v.Robot, v.Host, path, v.Kind)
	}
	for _, broken := range a.broken {
		fmt.Fprintf(&b, "line %d\n", broken.Line)
	}
	return b.String()
}

// broken contains the arguments of a call of OnBroken.
type broken struct {
	Input string
	Line  int
	Err   error
}

// read audits logs by the robots.txt files of h, which may be nil.
func read(t testing.TB, h *history, inputs ...string) audited {
	t.Helper()
	if h == nil {
		h = new(history)
	}
	var got audited
	a := Auditor{
		given:       *h,
		OnViolation: func(v Violation) { got.violations = append(got.violations, v) },
		OnBroken: func(input string, line int, err error) {
			got.broken = append(got.broken, broken{input, line, err})
		},
	}
	var ins []Input
	for i, in := range inputs {
		ins = append(ins, Input{fmt.Sprint("input", i), strings.NewReader(in)})
	}
	if err := a.Read(t.Context(), ins...); err != nil {
		t.Fatal(err)
	}
	got.result = a.Result()
	return got
}

// give adds a robots.txt to a history, as AddRobotsTxt does.
func give(h *history, host string, from time.Time, status int, body []byte) {
	a := Auditor{given: *h}
	a.AddRobotsTxt(host, from, status, body)
	*h = a.given
}

// always returns a history in which the given robots.txt is in force on all
// hosts, at all times.
func always(text string) *history {
	h := new(history)
	give(h, "", time.Time{}, 200, []byte(text))
	return h
}

// combined turns short lines such as "10:00:00 ExampleBot/1.0 /a" into lines of
// the combined format. A status may follow the URL. If a short line has " |",
// the text after that is appended to the long line.
func combined(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		line, end, _ := strings.Cut(strings.TrimSpace(line), " |")
		if line == "" {
			continue
		}
		f := append(strings.Fields(line), "200")
		date, clock, ok := strings.Cut(f[0], "T")
		if !ok {
			date, clock = "20", f[0]
		}
		fmt.Fprintf(&b, "192.0.2.1 - - [%s/Nov/2026:%s +0000] \"GET %s HTTP/1.1\" %s 512 \"-\" \"%s\"%s\n", date, clock, f[2], f[3], f[1], end)
	}
	return b.String()
}

const rulesOfSite = `User-agent: *
Disallow: /private/
User-agent: SlowBot
Crawl-delay: 10
Disallow: /private/
`

func TestRead_Rules(t *testing.T) {
	changed := new(history)
	give(changed, "", time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), 200, []byte("User-agent: *\nDisallow:\n"))
	give(changed, "", time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), 200, []byte("User-agent: *\nDisallow: /private/\n"))
	tests := []struct {
		name    string
		history *history
		log     string
		want    string
	}{
		{"allowed", always(rulesOfSite), combined(`
			10:00:00 ExampleBot/1.0 /robots.txt
			10:00:01 ExampleBot/1.0 /a`), ""},
		{"disallowed", always(rulesOfSite), combined(`
			10:00:00 ExampleBot/1.0 /robots.txt
			10:00:01 ExampleBot/1.0 /private/a`), "10:00:01 ExampleBot /private/a disallowed\n"},
		{"curl is a robot, a browser is not", always(rulesOfSite), combined(`
			10:00:01 curl/8.5.0 /private/a
			10:00:02 Mozilla/5.0 /private/a
			10:00:03 - /private/a`), "10:00:01 curl /private/a disallowed\n"},
		{"robots.txt is unreachable", always(rulesOfSite), combined(`
			10:00:01 ExampleBot/1.0 /robots.txt 503
			10:00:02 ExampleBot/1.0 /a`), ""},
		{"names that differ only in case", always(rulesOfSite), combined(`
			10:00:00 ExampleBot/1.0 /robots.txt
			10:00:01 examplebot/1.0 /a`), ""},
		{"a change within 24 hours", changed, combined(`
			20T11:00:00 ExampleBot/1.0 /robots.txt
			20T13:00:00 ExampleBot/1.0 /private/a
			21T11:00:00 ExampleBot/1.0 /private/b`), ""},
		{"a change after 24 hours", changed, combined(`
			20T11:00:00 ExampleBot/1.0 /robots.txt
			21T11:01:01 ExampleBot/1.0 /private/a`), "11:01:01 ExampleBot /private/a stale\n"},
		{"a change that the robot has received", changed, combined(`
			20T11:00:00 ExampleBot/1.0 /robots.txt
			20T13:00:00 ExampleBot/1.0 /robots.txt 304
			20T13:00:01 ExampleBot/1.0 /private/a`), "13:00:01 ExampleBot /private/a disallowed\n"},
		{"a change during which robots.txt was unreachable", changed, combined(`
			20T11:00:00 ExampleBot/1.0 /robots.txt
			20T13:00:00 ExampleBot/1.0 /robots.txt 503
			20T13:00:01 ExampleBot/1.0 /private/a`), ""},
		{"a change, and no request for robots.txt", changed, combined(`
			21T12:01:01 ExampleBot/1.0 /private/a`), "12:01:01 ExampleBot /private/a disallowed\n"},

		{"a short gap that the duration of a request explains", always(rulesOfSite), combined(`
			10:00:00 SlowBot/1.0 /robots.txt
			10:00:20 SlowBot/1.0 /a
			10:00:21 SlowBot/1.0 /b`), ""},
		{"a short gap that nothing explains", always(rulesOfSite), combined(`
			10:00:00 SlowBot/1.0 /robots.txt
			10:00:01 SlowBot/1.0 /a
			10:00:02 SlowBot/1.0 /b`), "10:00:02 SlowBot /b gap\n"},
		{"a gap that is short only because of rounding", always(rulesOfSite), combined(`
			10:00:00 SlowBot/1.0 /robots.txt
			10:00:00 SlowBot/1.0 /a
			10:00:09 SlowBot/1.0 /b
			10:00:20 SlowBot/1.0 /c`), "10:00:09 SlowBot /b gap\n"},
		{"five pages in one second", always(rulesOfSite), combined(`
			10:00:00 SlowBot/1.0 /robots.txt
			10:00:30 SlowBot/1.0 /a
			10:00:30 SlowBot/1.0 /b
			10:00:30 SlowBot/1.0 /c
			10:00:30 SlowBot/1.0 /d
			10:00:30 SlowBot/1.0 /e`), "10:00:30 SlowBot /e gap\n"},
		{"a gap between two starts", always(rulesOfSite), combined(`
			10:00:00 SlowBot/1.0 /robots.txt | 1795168800.000 0.000
			10:00:20 SlowBot/1.0 /a | 1795168820.500 0.500
			10:00:29 SlowBot/1.0 /b | 1795168828.999 0.000
			10:00:45 SlowBot/1.0 /c | 1795168845.999 6.000
			10:00:50 SlowBot/1.0 /d | 1795168850.000 0.001 upstream=1`), "10:00:28.999 SlowBot /b gap\n"},
		{"two durations instead of $msec", always(rulesOfSite), combined(`
			10:00:00 SlowBot/1.0 /robots.txt | 0.005 0.004
			10:00:20 SlowBot/1.0 /a | 9.500 0.004
			10:00:30 SlowBot/1.0 /b | 0.005 0.004`), ""},
		{"a fetch of robots.txt between two pages", always(rulesOfSite), combined(`
			10:00:00 SlowBot/1.0 /robots.txt | 1795168800.000 0.000
			10:00:01 SlowBot/1.0 /a | 1795168801.000 0.000
			10:00:02 SlowBot/1.0 /robots.txt | 1795168802.000 0.000
			10:00:11 SlowBot/1.0 /b | 1795168811.000 0.000`), ""},
		{"lines out of order", always(rulesOfSite), combined(`
			10:00:08 SlowBot/1.0 /a | 1795168808.000 0.000
			10:00:00 SlowBot/1.0 /robots.txt | 1795168800.000 0.000
			10:00:18 SlowBot/1.0 /b | 1795168818.000 0.000`), ""},
		{"a download of a minute", always(rulesOfSite), combined(`
			10:00:00 SlowBot/1.0 /robots.txt | 1795168800.000 0.000
			10:00:20 SlowBot/1.0 /b | 1795168820.000 0.000
			10:00:30 SlowBot/1.0 /c | 1795168830.000 0.000
			10:01:00 SlowBot/1.0 /long | 1795168870.000 60.000`), ""},
		{"a download that began too early", always(rulesOfSite), combined(`
			10:00:00 SlowBot/1.0 /robots.txt | 1795168800.000 0.000
			10:00:20 SlowBot/1.0 /b | 1795168820.000 0.000
			10:00:30 SlowBot/1.0 /c | 1795168830.000 0.000
			10:01:10 SlowBot/1.0 /long | 1795168870.000 45.000`), "10:00:25 SlowBot /long gap\n10:00:30 SlowBot /c gap\n"},
		{"the logs of two front ends, concatenated", always(rulesOfSite), combined(`
			10:00:00 SlowBot/1.0 /robots.txt
			10:10:00 SlowBot/1.0 /a
			10:05:00 SlowBot/1.0 /b
			10:05:01 SlowBot/1.0 /private/c`), "10:05:01 SlowBot /private/c disallowed\n"},
		{"a URL that is not a page", always(rulesOfSite), combined(`
			10:00:00 ExampleBot/1.0 *`), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := read(t, tt.history, tt.log).String(); got != tt.want {
				t.Errorf("the audit reports\n%swant\n%s", got, tt.want)
			}
		})
	}
}

func TestViolation_JSON(t *testing.T) {
	h := always("User-agent: *\nDisallow: /private/ # keep out\nCrawl-delay: 2.5\n")
	got := read(t, h, combined(`
		10:00:00 ExampleBot/1.0 /robots.txt | 1795168800.000 0.000
		10:00:01 ExampleBot/1.0 /a?b=<c>&d | 1795168801.000 0.250
		10:00:02 ExampleBot/1.0 /private/\x22 | 1795168802.000 0.000`))
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, v := range got.violations {
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	want := `{"time":"2026-11-20T10:00:02Z","robot":"ExampleBot","address":"192.0.2.1","host":"","url":"/private/\"","kind":"disallowed","line":2,"rule":"Disallow: /private/"}
{"time":"2026-11-20T10:00:02Z","robot":"ExampleBot","address":"192.0.2.1","host":"","url":"/private/\"","kind":"gap","line":3,"rule":"Crawl-delay: 2.5","previous":"2026-11-20T10:00:00.75Z","gap":1.25,"want":2.5}
`
	if b.String() != want {
		t.Errorf("the JSON of the violations is\n%swant\n%s", b.String(), want)
	}
}

// A request for which no robots.txt is known is unaudited, and is not counted
// as allowed.
func TestRead_Unaudited(t *testing.T) {
	h := new(history)
	give(h, "", time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC), 200, []byte(rulesOfSite))
	got := read(t, h, combined(`
		10:00:00 ExampleBot/1.0 /robots.txt
		10:00:01 ExampleBot/1.0 /private/a
		10:59:59 ExampleBot/1.0 /b
		11:00:00 ExampleBot/1.0 /a
		11:00:01 ExampleBot/1.0 /private/a`))
	if got.String() != "" {
		t.Errorf("the audit reports\n%swant no violations", got)
	}
	// The file of 11:00 disallows the last request. However, the robot may
	// still obey the file that it fetched an hour before. That file is not
	// known, so the last request is unaudited too.
	if n := got.result.Counts["unaudited"]; n != 3 {
		t.Errorf("%d requests are unaudited, want 3", n)
	}
	spans := got.result.Spans
	if len(spans) != 2 {
		t.Fatalf("the spans are %+v, want two", spans)
	}
	first := spans[0].First.Format(time.TimeOnly)
	last := spans[0].Last.Format(time.TimeOnly)
	if spans[0].Requests != 2 || first != "10:00:01" || last != "10:59:59" {
		t.Errorf("the first span is %+v, want 2 requests from 10:00:01 to 10:59:59", spans[0])
	}
}

// If no robots.txt is known for the host of a log, all pages are unaudited.
func TestRead_UnauditedLog(t *testing.T) {
	twoHosts := new(history)
	give(twoHosts, "https://a.example", time.Time{}, 200, nil)
	give(twoHosts, "https://b.example", time.Time{}, 200, nil)
	for _, tt := range []struct {
		name    string
		history *history
	}{
		{"no robots.txt", nil},
		{"robots.txt files of two hosts, and a log without hosts", twoHosts},
	} {
		got := read(t, tt.history, combined(`
			10:00:00 ExampleBot/1.0 /robots.txt
			10:00:01 ExampleBot/1.0 /a`))
		if n := got.result.Counts["unaudited"]; n != 1 {
			t.Errorf("%s: %d requests are unaudited, want 1", tt.name, n)
		}
	}
}

// Each host has its own robots.txt.
func TestRead_Caddy(t *testing.T) {
	h := new(history)
	give(h, "https://a.example", time.Time{}, 200, []byte("User-agent: *\nDisallow: /private/\nCrawl-delay: 3\n"))
	give(h, "b.example", time.Time{}, 200, []byte("User-agent: *\nAllow: /\n"))
	line := func(ts, took float64, host, uri, agent string, status int, more string) string {
		return fmt.Sprintf(`{"level":"info","ts":%f,"logger":"http.log.access.log0","msg":"handled request","request":{"remote_ip":"192.0.2.1","proto":"HTTP/2.0","method":"GET","host":%q,"uri":%q,"headers":{"Accept":["*/*"],"User-Agent":[%q]},"tls":{"version":772}},"bytes_read":0,"duration":%f,"size":1,"status":%d,"resp_headers":{"Server":["Caddy"]%s}}`+"\n", ts, host, uri, agent, took, status, more)
	}
	const t0 = 1795168800
	log := line(t0, 0.1, "a.example", "/robots.txt", "ExampleBot/1.0", 200, "") +
		line(t0+1, 0.1, "A.example:443", "/a", "ExampleBot/1.0", 200, "") +
		line(t0+2.5, 0.7, "a.example", "/b", "ExampleBot/1.0", 200, "") +
		line(t0+10, 0, "b.example", "/private/a", "ExampleBot/1.0", 200, "") +
		line(t0+20, 0.5, "a.example", "/c", "ExampleBot/1.0", 429, `,"Retry-After":["60"]`) +
		line(t0+79, 0, "a.example", "/d", "ExampleBot/1.0", 200, "") +
		line(t0+81, 0, "a.example", "/e", "ExampleBot/1.0", 200, "") +
		`{"level":"info","ts":1795168900,"logger":"tls","msg":"cleaning storage unit"}` + "\n" +
		`{"level":"error","ts":1795168900,"logger":"http.log.error","msg":"no","request":{"host":"a.example","uri":"/f"}}` + "\n" +
		line(t0+90, 0, "c.example", "/", "ExampleBot/1.0", 200, "") +
		`{"ts":1795168900,` + "\n"
	got := read(t, h, log)
	want := "10:00:01.8 ExampleBot a.example/b gap\n" +
		"10:01:19 ExampleBot a.example/d retry-after\n" +
		"line 11\n"
	if got.String() != want {
		t.Errorf("the audit reports\n%swant\n%s", got, want)
	}
	r := got.result
	if r.Requests != 8 || r.Counts["unaudited"] != 1 {
		t.Errorf("%d requests, %d of them unaudited; want 8, 1", r.Requests, r.Counts["unaudited"])
	}
	if len(r.Robots) != 1 || len(r.Hosts) != 3 {
		t.Fatalf("%d robots and %d hosts, want 1 and 3", len(r.Robots), len(r.Hosts))
	}
	if n := r.Robots[0].Counts["hosts"]; n != 3 {
		t.Errorf("the robot has visited %d hosts, want 3", n)
	}
}

// The request of a robot may contain text that resembles members of Caddy's
// JSON. The parser must not take such text for members.
func TestRead_CaddyTextsLikeMembers(t *testing.T) {
	h := new(history)
	give(h, "a.example", time.Time{}, 200, []byte("User-agent: *\nDisallow: /private/\n"))
	line := func(ts int, uri, status string) string {
		return fmt.Sprintf(`{"level":"info","ts":%d,"logger":"http.log.access","msg":"handled request","request":{"client_ip":"192.0.2.1","method":"GET","host":"a.example","uri":%q,"headers":{"Date":["Fri, 20 Nov 2020 10:00:00 GMT"],"Host":["b.example"],"Retry-After":["3600"],"Status":["200"],"User-Agent":["ExampleBot/1.0 \",\"ts\":1,\"status\":200,\"uri\":\"/b\",\"host\":\"b.example\""],"X":["\"resp_headers\":{\"Retry-After\":[\"9\"]}"]}},"duration":0,"size":1,%s}`+"\n", ts, uri, status)
	}
	const t0 = 1795168800
	log := line(t0, "/robots.txt", `"status":200,"resp_headers":{"Server":["Caddy"]}`) +
		line(t0+10, "/a?\"uri\":\"/c\"", `"status":429,"resp_headers":{"Date":["Fri, 20 Nov 2026 10:00:10 GMT"],"Retry-After":["Fri, 20 Nov 2026 10:01:10 GMT"]}`) +
		line(t0+60, "/private/b", `"status":503,"resp_headers":{"Server":["Caddy"]}`) +
		line(t0+71, "/c", `"resp_headers":{"Server":["Caddy"]},"status":200`) +
		strings.TrimSuffix(line(t0+80, "/d", `"status":200,"resp_headers":{}`), "}\n") + "\n"
	got := read(t, h, log)
	want := "10:01:00 ExampleBot a.example/private/b disallowed\n" +
		"10:01:00 ExampleBot a.example/private/b retry-after\n" +
		"line 5\n"
	if got.String() != want {
		t.Errorf("the audit reports\n%swant\n%s", got, want)
	}
	r := got.result
	if address := r.Robots[0].Addresses[0]; r.Requests != 4 || address != "192.0.2.1" {
		t.Errorf("%d requests from %s, want 4 from 192.0.2.1", r.Requests, address)
	}
}

// An audit of several parts of a log reports the same violations for any order
// of the parts, and whether or not they are compressed.
func TestRead_Parts(t *testing.T) {
	parts := []string{
		combined("10:00:00 SlowBot/1.0 /robots.txt\n10:00:01 SlowBot/1.0 /a\n"),
		combined("10:00:02 SlowBot/1.0 /b\n10:00:03 SlowBot/1.0 /private/c\n"),
		combined("10:00:04 SlowBot/1.0 /d\n"),
	}
	want := read(t, always(rulesOfSite), strings.Join(parts, "")).String()
	if n := strings.Count(want, "\n"); n != 4 {
		t.Fatalf("for the parts in order, the audit reports\n%swant 4 violations", want)
	}
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	io.WriteString(zip, parts[1])
	zip.Close()
	parts[1] = zipped.String()
	for range 6 {
		parts[0], parts[1], parts[2] = parts[1], parts[2], parts[0]
		if got := read(t, always(rulesOfSite), parts...).String(); got != want {
			t.Errorf("the audit reports\n%swant\n%s", got, want)
		}
		parts[0], parts[1] = parts[1], parts[0]
	}
}

func TestRead_BadInput(t *testing.T) {
	good := combined("10:00:00 ExampleBot/1.0 /robots.txt\n10:00:01 ExampleBot/1.0 /a\n")
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	io.WriteString(zip, good)
	zip.Close()
	tests := []struct {
		name                  string
		log                   string
		requests, broken, cut int
	}{
		{"nothing", "", 0, 0, 0},
		{"blank lines", "\n \r\n" + good, 2, 0, 0},
		{"no end of line", strings.TrimSuffix(good, "\n"), 2, 0, 0},
		{"CR LF", strings.ReplaceAll(good, "\n", "\r\n"), 2, 0, 0},
		{"words", "these are words\n" + good + "and these\n", 2, 2, 0},
		{"zero bytes, as after a crash", strings.Repeat("\x00", 5000) + "\n" + good, 2, 1, 0},
		{"a line cut short", good + good[:len(good)-20], 3, 1, 0},
		{"no such date", strings.Replace(good, "20/Nov", "31/Nov", 1), 1, 1, 0},
		{"an impossible year", strings.Replace(good, "/2026", "/0026", 1), 1, 1, 0},
		{"the common format", `192.0.2.1 - - [20/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 512` + "\n", 0, 1, 0},
		{"a client that speaks TLS", `192.0.2.1 - - [20/Nov/2026:10:00:00 +0000] "\x16\x03\x01" 400 157 "-" "-"` + "\n", 1, 0, 0},
		{"a connection without a request", `192.0.2.1 - - [20/Nov/2026:10:00:00 +0000] "" 400 0 "-" "-"` + "\n", 1, 0, 0},
		{"a robot without a request line", `192.0.2.1 - - [20/Nov/2026:10:00:00 +0000] "-" 408 0 "-" "ExampleBot/1.0"` + "\n", 0, 1, 0},
		{"a long line", strings.Repeat("x", 3<<20) + "\n" + good, 2, 1, 0},
		{"a line that is almost too long", strings.Replace(good, "/a", "/"+strings.Repeat("a", 1<<19), 1), 2, 0, 0},
		{"JSON cut short", good + caddySample[:len(caddySample)-1] + "\n" + caddySample + "\n", 3, 1, 0},
		{"JSON and more", good + caddySample + "}\n" + caddySample + " \r\n", 3, 1, 0},
		{"JSON with an extra comma", good + strings.Replace(caddySample, `"size":10900,`, `"size":10900,,`, 1) + "\n", 2, 1, 0},
		{"JSON with an invalid number", good + strings.Replace(caddySample, "10900", "010900", 1) + "\n", 2, 1, 0},
		{"JSON with an unknown escape", good + strings.Replace(caddySample, "B/1", `B/1\x22`, 1) + "\n", 2, 1, 0},
		{"JSON with a byte that is not UTF-8", good + strings.Replace(caddySample, "B/1", "B/1 \xff", 1) + "\n", 3, 0, 0},
		{"a gzip file cut short", zipped.String()[:zipped.Len()-12], 0, 1, 1},
		{"not a gzip file", "\x1f\x8bwords", 0, 1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := read(t, always(rulesOfSite), tt.log)
			r := got.result
			// How much of a gzip file can be read depends on the compressor.
			mayReadPart := tt.cut > 0 && r.Requests <= 2
			if r.Requests != tt.requests && !mayReadPart {
				t.Errorf("%d requests were read, want %d", r.Requests, tt.requests)
			}
			if r.Counts["broken"] != tt.broken || r.Counts["cut"] != tt.cut {
				t.Errorf("%d lines are broken (%v) and %d inputs are cut, want %d and %d",
					r.Counts["broken"], got.broken, r.Counts["cut"], tt.broken, tt.cut)
			}
			if len(got.broken) != r.Counts["broken"] {
				t.Errorf("OnBroken was called %d times, want %d", len(got.broken), r.Counts["broken"])
			}
		})
	}
}

// If only the first part of an input can be read, the requests in that part are
// judged.
func TestRead_Fails(t *testing.T) {
	a := Auditor{given: *always(rulesOfSite)}
	good := combined("10:00:00 ExampleBot/1.0 /robots.txt\n10:00:01 ExampleBot/1.0 /a\n")
	failing := io.MultiReader(strings.NewReader(good), errorReader{})
	if err := a.Read(t.Context(), Input{"log", failing}); err != nil {
		t.Fatal(err)
	}
	r := a.Result()
	if r.Requests != 2 || r.Counts["cut"] != 1 || r.Counts["broken"] != 1 {
		t.Errorf("the counts are %d requests, %d cut and %d broken, want 2, 1 and 1", r.Requests, r.Counts["cut"], r.Counts["broken"])
	}
}

type errorReader struct{}

func (errorReader) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

// Whether a line is too long depends only on its length, not on where it ends
// in the buffer.
func TestLineReader_LongestLine(t *testing.T) {
	for _, n := range []int{maxLine, maxLine + 1, 2*maxLine - 1, 3 * maxLine} {
		for _, end := range []string{"", "\n"} {
			l := lineReader{in: bufio.NewReaderSize(strings.NewReader("a\n"+strings.Repeat("x", n)+end), 64<<10)}
			l.next()
			line, err := l.next()
			var want error
			wantLength := n
			if n > maxLine {
				want = errLong
				wantLength = 0
			}
			if err != want || len(line) != wantLength {
				t.Errorf("a line of %d bytes and %q: got %d bytes (error %v), want %d (error %v)",
					n, end, len(line), err, wantLength, want)
			}
			if l.number != 2 {
				t.Errorf("a line of %d bytes and %q has the number %d, want 2", n, end, l.number)
			}
		}
	}
}

// The memory of an audit does not grow with the number or length of the lines.
func TestRead_Memory(t *testing.T) {
	line := combined("10:00:00 ExampleBot/1.0 /a\n")
	a := Auditor{given: *always(rulesOfSite)}
	in := io.MultiReader(
		io.LimitReader(repeat{line}, 1<<20),
		strings.NewReader("\n"),
		io.LimitReader(repeat{"x"}, 64<<20),
		strings.NewReader("\n"+line),
	)
	allocated := allocatedBy(func() {
		if err := a.Read(t.Context(), Input{"log", in}); err != nil {
			t.Fatal(err)
		}
	})
	// The limit is generous, because each request allocates its URL.
	if allocated > 24<<20 {
		t.Errorf("%d bytes were allocated for 1 MiB of lines and a line of 64 MiB, want at most 24 MiB", allocated)
	}
	r := a.Result()
	if r.Requests < 10_000 || r.Counts["broken"] == 0 {
		t.Errorf("%d requests were read, and %d lines are broken; want at least 10,000 and 1", r.Requests, r.Counts["broken"])
	}
}

func allocatedBy(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

type repeat struct{ text string }

func (r repeat) Read(p []byte) (n int, err error) {
	for n+len(r.text) <= len(p) {
		n += copy(p[n:], r.text)
	}
	if n == 0 {
		n = copy(p, r.text)
	}
	return n, nil
}

// Several Auditors may be used concurrently.
func TestRead_Concurrently(t *testing.T) {
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			got := read(t, always(rulesOfSite), combined("10:00:00 ABot/1.0 /robots.txt 404\n10:00:01 ABot/1.0 /private/a"))
			wantAccused(t, got)
		})
	}
	wg.Wait()
}

// Read returns an error when its context is canceled. TestMain checks that no
// goroutine is left.
func TestRead_Interrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a := Auditor{given: *always(rulesOfSite), OnViolation: func(Violation) {}}
	line := combined("10:00:00 ExampleBot/1.0 /a\n")
	done := make(chan error)
	go func() { done <- a.Read(ctx, Input{"log", repeat{line}}) }()
	cancel()
	if err := <-done; err == nil {
		t.Error("Read returns no error after its context was canceled, want one")
	}
}

func TestRobotName(t *testing.T) {
	for agent, want := range map[string]string{
		"ExampleBot/1.0 (+https://example.com/bot)": "ExampleBot",
		"curl/8.5.0": "curl",
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)":                         "Googlebot",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/)": "GPTBot",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36":                    "",
		"mozilla/5.0 (Compatible;archive.org_bot)":                                                         "archive.org_bot",
		"": "", " ": "", "(no name)": "",
	} {
		if got := robotName(agent); got != want {
			t.Errorf("robotName(%q) = %q, want %q", agent, got, want)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	var combined, msec, caddy strings.Builder
	const n = 50_000
	for i := range n {
		at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC).Add(time.Duration(i) * 50 * time.Millisecond)
		line := fmt.Sprintf("192.0.2.%d - - [%s] \"GET /products/item-%d.html?ref=%d HTTP/1.1\" 200 %d \"https://www.example.com/\" \"Mozilla/5.0 (compatible; Bot%d/2.1; +http://www.example.com/bot.html)\"",
			i%256, at.Format("02/Jan/2006:15:04:05 -0700"), i, i%7, i, i%40)
		fmt.Fprintln(&combined, line)
		fmt.Fprintf(&msec, "%s %d.%03d 0.00%d\n", line, at.Unix(), at.UnixMilli()%1000, i%10)
		fmt.Fprintf(&caddy, `{"level":"info","ts":%d.%03d,"logger":"http.log.access.log0","msg":"handled request","request":{"remote_ip":"192.0.2.%d","remote_port":"41342","client_ip":"192.0.2.1","proto":"HTTP/2.0","method":"GET","host":"www.example.com","uri":"/products/item-%d.html?ref=7","headers":{"User-Agent":["Mozilla/5.0 (compatible; Bot%d/2.1; +http://www.example.com/bot.html)"],"Accept":["*/*"],"Accept-Encoding":["gzip, deflate, br"]},"tls":{"resumed":false,"version":772,"cipher_suite":4865,"proto":"h2","server_name":"www.example.com"}},"bytes_read":0,"user_id":"","duration":0.000929675,"size":10900,"status":200,"resp_headers":{"Server":["Caddy"],"Content-Encoding":["gzip"],"Content-Type":["text/html; charset=utf-8"],"Vary":["Accept-Encoding"]}}`+"\n",
			at.Unix(), at.UnixMilli()%1000, i%256, i, i%40)
	}
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	io.WriteString(zip, combined.String())
	zip.Close()
	logs := []struct {
		name string
		text func() string
	}{{"combined", combined.String}, {"msec", msec.String}, {"gzip", zipped.String}, {"caddy", caddy.String}}
	for _, format := range logFormats {
		if format.format == FormatCombined || format.format == FormatCaddy {
			continue
		}
		text := func() string {
			var text strings.Builder
			text.WriteString(format.header)
			for i := range n {
				h := hit{morning.Add(time.Duration(i) * 50 * time.Millisecond), 5 * time.Millisecond, fmt.Sprintf("192.0.2.%d", i%256), "www.example.com",
					fmt.Sprintf("Mozilla/5.0 (compatible; Bot%d/2.1; +http://www.example.com/bot.html)", i%40), fmt.Sprintf("/products/item-%d.html?ref=7", i), 200}
				text.WriteString(format.line(h) + "\n")
			}
			return text.String()
		}
		logs = append(logs, struct {
			name string
			text func() string
		}{strings.ReplaceAll(format.name, ",", ""), text})
	}
	for _, log := range logs {
		b.Run(log.name, func(b *testing.B) {
			text := log.text()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				a := Auditor{given: *always("User-agent: *\nDisallow: /private/\nDisallow: /*.pdf$\nCrawl-delay: 0.1\n")}
				if err := a.Read(b.Context(), Input{"log", strings.NewReader(text)}); err != nil {
					b.Fatal(err)
				}
				if r := a.Result(); r.Requests != n || r.Counts["broken"] > 0 || len(r.Robots) != 40 {
					b.Fatalf("the result is %+v, want %d requests, no broken lines and 40 robots", r, n)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}
