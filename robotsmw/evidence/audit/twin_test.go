package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// These tests compare the parser of combined lines, which is fast but complex,
// with a slow and simple one.

var (
	slowCombined = regexp.MustCompile(`(?s)^(.*?) \[([^\]]{26})\] "((?:[^"\\]|\\.)*)" (\d{3}) (?:\d+|-) "(?:[^"\\]|\\.)*" "((?:[^"\\]|\\.)*)"(.*)$`)
	slowRequest  = regexp.MustCompile(`(?s)^([A-Za-z0-9_.-]+) (.*)$`)
	slowPrecise  = regexp.MustCompile(`(?s)^ (\d{1,10})\.(\d{3}) (\d{1,10})\.(\d{3})(?: .*)?$`)
	slowQuoted   = regexp.MustCompile(`(?s)^ "((?:[^"\\]|\\.)*)"(.*)$`)
)

// clientSlow is a slow version of event.readRest. It returns the client in the
// quoted texts before and after the numbers.
func clientSlow(rest string) (client, numbers string) {
	quoted := func() {
		for m := slowQuoted.FindStringSubmatch(rest); m != nil; m = slowQuoted.FindStringSubmatch(rest) {
			first, _, _ := strings.Cut(m[1], ",")
			if _, ok := parseAddress([]byte(strings.Trim(first, " \""))); ok && client == "" {
				client = forwardedFor(m[1])
			}
			rest = m[2]
		}
	}
	quoted()
	numbers = rest
	if m := regexp.MustCompile(`(?s)^ \d{1,10}\.\d{3} \d{1,10}\.\d{3}( .*)?$`).FindStringSubmatch(rest); m != nil {
		rest = m[1]
	}
	quoted()
	return client, numbers
}

// combinedSlow is a slow version of parser.combined. ok is false if
// parser.combined returns an error.
func combinedSlow(line []byte) (e *event, ok bool) {
	names, _, found := strings.Cut(string(line), `] "`)
	m := slowCombined.FindStringSubmatch(string(line))
	if !found || m == nil || m[1]+" ["+m[2] != names {
		return nil, false
	}
	end, err := time.Parse("02/Jan/2006:15:04:05 -0700", m[2])
	if err != nil || end.Year() < 1971 || end.Year() > 2261 {
		return nil, false
	}
	robot := robotName(unescaped([]byte(m[5])))
	if m[5] == "-" || robot == "" {
		return nil, true
	}
	request := slowRequest.FindStringSubmatch(m[3])
	if request == nil {
		return nil, false
	}
	url := request[2]
	if i := strings.LastIndex(url, " HTTP/"); i >= 0 {
		url = url[:i]
	}
	if url == "" {
		return nil, false
	}
	e = &event{at: end.UnixNano(), end: end.UnixNano(), rounded: 1e9, doubt: 60e9, robot: robot, url: unescaped([]byte(url))}
	e.status, _ = strconv.Atoi(m[4])
	e.notGet = request[1] != "GET"
	id := new(parser).identify([]byte(m[1])) // see FuzzIdentify
	named, numbers := clientSlow(m[6])
	e.host, e.address = id.host, cmp.Or(named, id.client)
	e.isAnonymous = e.address == ""
	if p := slowPrecise.FindStringSubmatch(numbers); p != nil {
		at, _ := strconv.ParseInt(p[1]+p[2], 10, 64)
		took, _ := strconv.ParseInt(p[3]+p[4], 10, 64)
		if away := time.UnixMilli(at).Sub(end).Abs(); away <= 24*time.Hour { // otherwise, the number is not nginx's $msec
			e.at, e.end, e.rounded, e.doubt = (at-took)*1e6, at*1e6, 1e6, 1e9
		}
	}
	return e, true
}

// TestUnescaped checks the escape sequences of nginx and Apache, and invalid
// ones.
func TestUnescaped(t *testing.T) {
	for text, want := range map[string]string{
		`/a?b`: "/a?b", `\x22\xe9\x5C`: "\"\xe9\\", `a\"b\\c\n\t`: "a\"b\\c\n\t", `\`: `\`, `\x2`: `\x2`, `/\q`: `/\q`, "": "",
	} {
		if got := unescaped([]byte(text)); got != want {
			t.Errorf("unescaped(%q) = %q, want %q", text, got, want)
		}
	}
}

// The parser returns the same event as combinedSlow for any line, with and
// without caches.
func FuzzLine(f *testing.F) {
	f.Add([]byte(`192.0.2.1 - - [20/Nov/2026:10:00:00 +0000] "GET /a?b HTTP/1.1" 200 512 "-" "ExampleBot/1.0"`))
	f.Add([]byte(`a.example:80 192.0.2.1 - frank [20/Nov/2026:10:00:00 -0130] "GET /\x22 HTTP/1.1" 404 - "-" "Mozilla/5.0 (compatible; B\"ot/1)" 1795168800.123 0.005 x`))
	f.Add([]byte(`192.0.2.1 - a [b [20/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "B/1" 0.005 0.004`))
	f.Add([]byte(`::1 - - [29/Feb/2028:23:59:59 +0000] "-" 400 0 "-" "-"`))
	f.Add([]byte(`Nov 20 10:00:00 web-1 nginx[42]: 192.0.2.1 - - [20/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "B/1" "203.0.113.7, 10.0.0.1" 1795168800.123 0.005 "-"`))
	f.Add([]byte(`<190>1 2026-11-20T10:00:00Z web-1 nginx 42 - [a b="c"] unknown, 10.0.0.1 - - [20/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "B/1"`))
	f.Add([]byte(`a.example:443 198.51.100.7 192.0.2.1:60162 - - [20/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "B/1"`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.ContainsAny(line, "\n") || len(bytes.TrimSpace(line)) == 0 || line[0] == '{' || line[0] == '#' || beginsLikeALB(line) {
			return
		}
		var p, warm parser
		warm.date([]byte("20/Nov/2026:10:00:30 +0000"))
		warm.pool = new(eventPool)
		warm.pool.put(&event{wait: 1, scheme: "https", capture: new(capture), isFile: true, notGet: true, isAnonymous: true, isAtEdge: true, isHop: true})
		want, ok := combinedSlow(line)
		for _, p := range []*parser{&p, &warm, &warm} {
			entry, err := p.line(line)
			got := entry.event
			if ok != (err == nil) || (want == nil) != (got == nil) || got != nil && *got != *want {
				t.Fatalf("%q: the event is %+v (error %v), want %+v (ok %t)", line, got, err, want, ok)
			}
		}
	})
}

// The parser caches the minute of the previous date. Here each date follows
// each of the others, and the results are compared with those of time.Parse.
func TestDate(t *testing.T) {
	dates := []string{
		"20/Nov/2026:10:00:00 +0000", "20/Nov/2026:10:00:59 +0000", "20/Nov/2026:10:01:00 +0000", "20/Nov/2026:10:00:30 -0130", "21/Nov/2026:10:00:00 +0000",
		"20/Nov/2026:10:00:60 +0000", "20/Nov/2026:10:00:0x +0000", "20/Nov/2026:10:00: 5 +0000", "20/Nov/2026:24:00:00 +0000", "20 Nov/2026:10:00:00 +0000",
		"20/Nov/1969:10:00:00 +0000", "20/Nov/2300:10:00:00 +0000", "2/Nov/2026:9:00:00.5 +0000",
	}
	for _, before := range dates {
		for _, date := range dates {
			var p parser
			p.date([]byte(before))
			got, ok := p.date([]byte(date))
			want, err := time.Parse("02/Jan/2006:15:04:05 -0700", date)
			isKnown := err == nil && want.Year() > 1970 && want.Year() < 2262 && date[2] == '/'
			if ok != isKnown || ok && got != want.UnixNano() {
				t.Errorf("the date %s after %s is %d, %t, want %d, %t", date, before, got, ok, want.UnixNano(), isKnown)
			}
		}
	}
}

// memberSlow is a slow version of caddyLine.split that searches a line for one
// member.
func memberSlow(line []byte, name string) []byte {
	_, value, _ := bytes.Cut(line, []byte(`"`+name+`":`))
	value = bytes.TrimLeft(value, " [")
	if _, rest, ok := quoted(value); ok {
		return value[:len(value)-len(rest)]
	}
	return value[:max(bytes.IndexAny(value, ",}] "), 0)]
}

// FuzzCaddy compares caddyLine.split with memberSlow. Lines with an escaped
// quote are skipped, because memberSlow would take the end of such a text for a
// name.
func FuzzCaddy(f *testing.F) {
	f.Add([]byte(`{"level":"info","ts":1795168800.123,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"192.0.2.1","client_ip":"192.0.2.1","method":"GET",` +
		`"host":"a.example","uri":"/a","headers":{"User-Agent":["B/1"],"X-Forwarded-For":["192.0.2.7"]}},"duration":0.005,"status":503,"resp_headers":{"Retry-After":["120"],"Date":["x"]}}`))
	f.Add([]byte(`{"Retry-After":1,"ts": [ "a" ],"host":{},"uri":[],"status":{"status":1},"resp_headers":null,"Date":[[2]],"remote_addr":""}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if !json.Valid(line) || bytes.Contains(line, []byte(`\"`)) {
			return
		}
		var l caddyLine
		if !l.split(line) {
			t.Fatalf("split returns false for %s, want true", line)
		}
		for name, got := range map[string][]byte{
			"logger": l.logger, "msg": l.message, "request": l.request, "ts": l.ts, "duration": l.duration, "remote_ip": l.remoteIP, "remote_addr": l.remoteAddr,
			"client_ip": l.clientIP, "X-Forwarded-For": l.forwardedFor, "method": l.method, "host": l.host, "uri": l.uri, "User-Agent": l.userAgent, "status": l.status,
		} {
			if want := memberSlow(line, name); !bytes.Equal(got, want) {
				t.Errorf("split of %s: the member %q is %q, want %q", line, name, got, want)
			}
		}
		_, answer, _ := bytes.Cut(line, []byte(`"resp_headers":`))
		for name, got := range map[string][]byte{"Retry-After": l.retryAfter, "Date": l.date} {
			if want := memberSlow(answer, name); !bytes.Equal(got, want) {
				t.Errorf("split of %s: the response's field %q is %q, want %q", line, name, got, want)
			}
		}
	})
}

// For any input, an audit terminates, and its counts match the calls of its
// callbacks.
func FuzzRead(f *testing.F) {
	f.Add([]byte(combined("10:00:00 ExampleBot/1.0 /robots.txt\n10:00:01 ExampleBot/1.0 /private/a\n09:00:01 ExampleBot/1.0 /a\n")))
	f.Add([]byte(warcOf(
		answer("https://a.example/robots.txt", "2026-11-20T10:00:00Z", "200 OK", "User-agent: *\nDisallow: /private/\n"),
		asked("https://a.example/private/a", "2026-11-20T10:00:01.5Z", "ExampleBot/1.0"))))
	f.Fuzz(func(t *testing.T, in []byte) {
		a := Auditor{given: *always("User-agent: *\nDisallow: /private/\nCrawl-delay: 3\n")}
		violations, broken := 0, 0
		a.OnViolation = func(Violation) { violations++ }
		a.OnBroken = func(input string, line int, err error) {
			if line < 1 || input != "log" || err == nil {
				t.Errorf("OnBroken was called with %q, %d, %v; want the log, a line and an error", input, line, err)
			}
			broken++
		}
		err := a.Read(t.Context(), Input{"log", bytes.NewReader(in)})
		if _, isUnknown := errors.AsType[*FormatError](err); err != nil && !isUnknown {
			t.Fatal(err)
		}
		r := a.Result()
		if violations != r.Violations || broken != r.Counts["broken"]+r.Counts["jumps"] {
			t.Errorf("the callbacks received %d violations and %d broken lines, want those of %+v", violations, broken, r)
		}
	})
}
