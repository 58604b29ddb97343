package audit

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The parsers of lines are fast, but not simple. Here, each has a slow and
// simple twin. Both must give the same results.

var (
	slowCombined = regexp.MustCompile(`(?s)^([^\]]{26})\] "((?:[^"\\]|\\.)*)" (\d{3}) (?:\d+|-) "(?:[^"\\]|\\.)*" "((?:[^"\\]|\\.)*)"(.*)$`)
	slowEscape   = regexp.MustCompile(`(?s)\\(x[0-9A-Fa-f]{2}|.|$)`)
	slowRequest  = regexp.MustCompile(`(?s)^([A-Za-z0-9_.-]+) (.*)$`)
	slowPrecise  = regexp.MustCompile(`(?s)^ (\d{1,10})\.(\d{3}) (\d{1,10})\.(\d{3})(?: .*)?$`)
	slowToken    = regexp.MustCompile(`^[A-Za-z0-9_.-]*`)
)

// combinedSlow is the slow twin of parser.combined. ok is false if
// parser.combined returns an error.
func combinedSlow(line []byte) (e event, judged, ok bool) {
	names, rest, found := strings.Cut(string(line), " [")
	m := slowCombined.FindStringSubmatch(rest)
	if !found || m == nil {
		return e, false, false
	}
	end, err := time.Parse("02/Jan/2006:15:04:05 -0700", m[1])
	if err != nil || end.Year() < 1971 || end.Year() > 2261 {
		return e, false, false
	}
	robot := robotSlow(unescapedSlow(m[4]))
	if m[4] == "-" || robot == "" {
		return e, false, true
	}
	request := slowRequest.FindStringSubmatch(m[2])
	if request == nil {
		return e, false, false
	}
	url := request[2]
	if i := strings.LastIndex(url, " HTTP/"); i >= 0 {
		url = url[:i]
	}
	if url == "" {
		return e, false, false
	}
	e = event{start: never, end: end.UnixNano(), rounded: 1e9, robot: robot, url: unescapedSlow(url)}
	e.status, _ = strconv.Atoi(m[3])
	if f := strings.SplitN(names, " ", 4); len(f) == 4 && f[1] != "-" && f[2] == "-" {
		_, e.host = originOf(f[0])
	}
	if p := slowPrecise.FindStringSubmatch(m[5]); p != nil {
		at, _ := strconv.ParseInt(p[1]+p[2], 10, 64)
		took, _ := strconv.ParseInt(p[3]+p[4], 10, 64)
		if away := time.UnixMilli(at).Sub(end).Abs(); away <= 24*time.Hour { // otherwise, the number is not nginx's $msec
			e.start, e.end, e.rounded = (at-took)*1e6, at*1e6, 1e6
		}
	}
	return e, true, true
}

func robotSlow(agent string) string {
	token := slowToken.FindString(agent)
	if strings.EqualFold(token, "Mozilla") {
		i := regexp.MustCompile(`(?i)compatible; *`).FindStringIndex(agent)
		if i == nil {
			return ""
		}
		token = slowToken.FindString(agent[i[1]:])
	}
	return token[:min(len(token), 255)]
}

func unescapedSlow(s string) string {
	return slowEscape.ReplaceAllStringFunc(s, func(s string) string {
		switch {
		case s == `\`:
			return s
		case len(s) == 4:
			n, _ := strconv.ParseUint(s[2:], 16, 8)
			return string([]byte{byte(n)})
		}
		if i := strings.Index("btnrvf", s[1:]); i >= 0 && len(s) == 2 {
			return "\b\t\n\r\v\f"[i : i+1]
		}
		return s[1:]
	})
}

// caddySlow is the slow twin of caddyLine.scan.
func caddySlow(line []byte) (c caddyLine, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	var object map[string]any
	if err := dec.Decode(&object); err != nil || object == nil {
		return c, false
	}
	if _, err := dec.Token(); err != io.EOF {
		return c, false
	}
	raw := func(v any) []byte {
		switch v := v.(type) {
		case string:
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			enc.Encode(v)
			return bytes.TrimSpace(b.Bytes())
		case json.Number:
			return []byte(v)
		}
		return nil
	}
	first := func(v any) []byte {
		if list, ok := v.([]any); ok && len(list) > 0 {
			return raw(list[0])
		}
		return nil
	}
	c.ts, c.duration, c.status, c.logger = raw(object["ts"]), raw(object["duration"]), raw(object["status"]), raw(object["logger"])
	if request, ok := object["request"].(map[string]any); ok {
		c.hasRequest = true
		c.host, c.uri = raw(request["host"]), raw(request["uri"])
		if headers, ok := request["headers"].(map[string]any); ok {
			c.agent = first(headers["User-Agent"])
		}
	}
	if headers, ok := object["resp_headers"].(map[string]any); ok {
		c.retryAfter, c.respDate = first(headers["Retry-After"]), first(headers["Date"])
	}
	return c, true
}

func FuzzLine(f *testing.F) {
	f.Add([]byte(`192.0.2.1 - - [20/Nov/2026:10:00:00 +0000] "GET /a?b HTTP/1.1" 200 512 "-" "ExampleBot/1.0"`))
	f.Add([]byte(`a.example:80 192.0.2.1 - frank [20/Nov/2026:10:00:00 -0130] "GET /\x22 HTTP/1.1" 404 - "-" "Mozilla/5.0 (compatible; B\"ot/1)" 1795168800.123 0.005 x`))
	f.Add([]byte(`192.0.2.1 - - [20/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "B/1" 0.005 0.004`))
	f.Add([]byte(`::1 - - [29/Feb/2028:23:59:59 +0000] "-" 400 0 "-" "-"`))
	f.Add([]byte(`{"ts":1795168800.5,"logger":"http.log.access","request":{"host":"a.example","uri":"/a","headers":{"User-Agent":["ExampleBot/1.0"]}},"duration":0.005,"status":429,"resp_headers":{"Retry-After":["120"],"Date":["Fri, 20 Nov 2026 10:00:00 GMT"]}}`))
	f.Add([]byte(`{"ts":"2026-11-20T10:00:00.5Z","request":{"host":"\u0061.example","uri":"/\ud83d","headers":{"User-Agent":[]},"headers":null},"duration":"1.5ms","a":[1,-0.5e+3,true,null,{}]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.ContainsAny(line, "\n") || len(bytes.TrimSpace(line)) == 0 {
			return
		}
		var p, warm parser
		warm.date([]byte("20/Nov/2026:10:00:00 +0000"))
		if line[0] != '{' {
			want, judged, ok := combinedSlow(line)
			for _, p := range []*parser{&p, &warm, &warm} {
				var got event
				gotJudged, err := p.combined(line, &got)
				if ok != (err == nil) || judged != gotJudged || judged && got != want {
					t.Fatalf("%q: %+v, %t, %v; want %+v, %t, %t", line, got, gotJudged, err, want, judged, ok)
				}
			}
			return
		}
		var c caddyLine
		slow, ok := caddySlow(line)
		if got := c.scan(line); got != ok {
			t.Fatalf("%q: it is an object: %t, want %t", line, got, ok)
		}
		if !ok {
			return
		}
		var got, want event
		gotRequest, gotJudged, gotErr := p.read(&c, &got)
		wantRequest, wantJudged, wantErr := p.read(&slow, &want)
		if gotRequest != wantRequest || gotJudged != wantJudged || (gotErr == nil) != (wantErr == nil) || gotJudged && got != want {
			t.Fatalf("%q: %+v, %t, %t, %v; want %+v, %t, %t, %v", line, got, gotRequest, gotJudged, gotErr, want, wantRequest, wantJudged, wantErr)
		}
	})
}

// For any input, an audit ends, and its counts match the calls of its
// callbacks.
func FuzzRead(f *testing.F) {
	f.Add([]byte(combined("10:00:00 ExampleBot/1.0 /robots.txt\n10:00:01 ExampleBot/1.0 /private/a\n09:00:01 ExampleBot/1.0 /a\n")))
	f.Add([]byte(warcOf(
		answer("https://a.example/robots.txt", "2026-11-20T10:00:00Z", "200 OK", "User-agent: *\nDisallow: /private/\n"),
		asked("https://a.example/private/a", "2026-11-20T10:00:01.5Z", "ExampleBot/1.0"))))
	f.Fuzz(func(t *testing.T, in []byte) {
		a := Auditor{History: always("User-agent: *\nDisallow: /private/\nCrawl-delay: 3\n")}
		violations, broken := 0, 0
		a.OnViolation = func(Violation) { violations++ }
		a.OnBroken = func(b Broken) {
			if b.Line < 1 || b.Input != "log" || b.Err == nil {
				t.Errorf("%+v", b)
			}
			broken++
		}
		if err := a.Read(t.Context(), Input{"log", bytes.NewReader(in)}); err != nil {
			t.Fatal(err)
		}
		r := a.Result()
		if violations != r.Violations || broken != r.Broken+r.Jumps {
			t.Errorf("%d violations and %d broken lines were told, %+v", violations, broken, r)
		}
	})
}
