package audit

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

func warcOf(records ...string) string { return strings.Join(records, "") }

// warcText returns a record. fields contains further header fields, each of
// which ends with CR LF.
func warcText(kind, uri, date, fields, block string) string {
	return fmt.Sprintf("WARC/1.1\r\nWARC-Type: %s\r\nWARC-Date: %s\r\nWARC-Target-URI: %s\r\n%sContent-Length: %d\r\n\r\n%s\r\n\r\n", kind, date, uri, fields, len(block), block)
}

func asked(uri, date, agent string) string {
	return warcText("request", uri, date, "", "GET "+pathAndQuery(uri)+" HTTP/1.1\r\nHost: x\r\nUser-Agent: "+agent+"\r\n\r\n")
}

func answer(uri, date, status, body string, header ...string) string {
	return warcText("response", uri, date, "", "HTTP/1.1 "+status+"\r\n"+strings.Join(append(header, ""), "\r\n")+"\r\n"+body)
}

func pair(uri, date, agent, status, body string, header ...string) string {
	return asked(uri, date, agent) + answer(uri, date, status, body, header...)
}

func gzipped(texts ...string) string {
	var b bytes.Buffer
	for _, text := range texts {
		zip := gzip.NewWriter(&b)
		io.WriteString(zip, text)
		zip.Close()
	}
	return b.String()
}

const shut = "User-agent: *\nDisallow: /private/\n"

func TestRead_WARC(t *testing.T) {
	const bot = "ExampleBot/1.0"
	at := func(clock string) string { return "2026-11-20T" + clock + "Z" }
	robots := pair("https://a.example/robots.txt", at("10:00:00"), bot, "200 OK", shut)
	page := func(path, clock string) string {
		return pair("https://a.example"+path, at(clock), bot, "200 OK", "")
	}
	tests := []struct {
		name      string
		warc      string
		want      string
		requests  int
		unaudited int
	}{
		{"pages that are allowed", robots + page("/a", "10:00:01"), "", 2, 0},
		{"one that is not", robots + page("/private/a", "10:00:01"), "10:00:01 ExampleBot a.example/private/a disallowed\n", 2, 0},
		{"answers first", answer("https://a.example/robots.txt", at("10:00:00"), "200 OK", shut) + asked("https://a.example/robots.txt", at("10:00:00"), bot) +
			answer("https://a.example/private/a", at("10:00:01"), "200 OK", "") + asked("https://a.example/private/a", at("10:00:01"), bot),
			"10:00:01 ExampleBot a.example/private/a disallowed\n", 2, 0},
		{"halves that name each other", robots +
			warcText("request", "https://a.example/private/a", at("10:00:01"), "WARC-Record-ID: <urn:1>\r\nWARC-Concurrent-To: <urn:2>\r\n", "GET / HTTP/1.1\r\nUser-Agent: ExampleBot/1.0\r\n\r\n") +
			warcText("request", "https://a.example/private/a", at("10:00:05"), "WARC-Record-ID: <urn:3>\r\nWARC-Concurrent-To: <urn:4>\r\n", "GET / HTTP/1.1\r\nUser-Agent: OtherBot/1.0\r\n\r\n") +
			warcText("response", "https://a.example/private/a", at("10:00:05"), "WARC-Record-ID: <urn:4>\r\n", "HTTP/1.1 200 OK\r\n\r\n") +
			warcText("response", "https://a.example/private/a", at("10:00:01"), "WARC-Record-ID: <urn:2>\r\n", "HTTP/1.1 200 OK\r\n\r\n"),
			"10:00:01 ExampleBot a.example/private/a disallowed\n10:00:05 OtherBot a.example/private/a disallowed\n", 3, 0},
		{"answers alone, of a robot that warcinfo names", warcText("warcinfo", "", at("10:00:00"), "", "software: x\r\nhttp-header-user-agent: ExampleBot/1.0\r\n") +
			answer("https://a.example/robots.txt", at("10:00:00"), "200 OK", shut) + answer("https://a.example/private/a", at("10:00:01"), "200 OK", ""),
			"10:00:01 ExampleBot a.example/private/a disallowed\n", 2, 0},
		{"a robots.txt that is not there", pair("https://a.example/robots.txt", at("10:00:00"), bot, "404 Not Found", shut) + page("/private/a", "10:00:01"), "", 2, 0},
		{"one that cannot be had", pair("https://a.example/robots.txt", at("10:00:00"), bot, "503 Busy", "") + page("/a", "10:00:01"), "", 2, 1},
		{"one that cannot be had, and a page that it forbade", robots + pair("https://a.example/robots.txt", at("10:01:00"), bot, "503 Busy", "") + page("/private/a", "10:01:01"),
			"10:01:01 ExampleBot a.example/private/a disallowed\n", 3, 0},
		{"one that has not changed", robots + warcText("request", "https://a.example/robots.txt", at("11:00:00"), "", "GET /robots.txt HTTP/1.1\r\nUser-Agent: ExampleBot/1.0\r\n\r\n") +
			warcText("revisit", "https://a.example/robots.txt", at("11:00:00"), "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified\r\n", "HTTP/1.1 304 Not Modified\r\n\r\n") +
			page("/private/a", "11:00:01"), "11:00:01 ExampleBot a.example/private/a disallowed\n", 3, 0},
		{"one that moved to another host", pair("https://a.example/robots.txt", at("10:00:00"), bot, "301 Moved", "", "Location: https://www.a.example/robots.txt") +
			pair("https://www.a.example/robots.txt", at("10:00:01"), bot, "200 OK", shut) + page("/private/a", "10:00:02"),
			"10:00:02 ExampleBot a.example/private/a disallowed\n", 3, 0},
		{"one that moved to where nobody looked", pair("https://a.example/robots.txt", at("10:00:00"), bot, "301 Moved", "", "Location: /other.txt") + page("/a", "10:00:02"), "", 2, 1},
		{"the way to a robots.txt is no page", pair("https://a.example/robots.txt", at("10:00:00"), bot, "301 Moved", "", "Location: https://b.example/a.txt") +
			pair("https://b.example/a.txt", at("10:00:01"), bot, "200 OK", shut), "", 2, 0},
		{"http and https", robots + pair("http://a.example/a", at("10:00:02"), bot, "200 OK", ""), "", 2, 1},
		{"http and https have a robots.txt each", robots + pair("http://a.example/robots.txt", at("10:00:01"), bot, "200 OK", "") +
			page("/private/a", "10:00:02") + pair("http://a.example/private/a", at("10:00:03"), bot, "200 OK", ""),
			"10:00:02 ExampleBot a.example/private/a disallowed\n", 4, 0},
		{"http that leads to https", pair("http://a.example/robots.txt", at("10:00:00"), bot, "301 Moved", "", "Location: https://a.example/robots.txt") +
			pair("https://a.example/robots.txt", at("10:00:01"), bot, "200 OK", "") + pair("https://a.example/robots.txt", at("10:05:00"), "OtherBot/1.0", "200 OK", shut) +
			pair("http://a.example/private/a", at("10:06:00"), bot, "200 OK", ""), "", 4, 0},
		{"no robots.txt", page("/a", "10:00:01"), "", 1, 1},
		{"codings", pair("https://a.example/robots.txt", at("10:00:00"), bot, "200 OK", "22\r\n"+shut[:0x22]+"\r\n0\r\n\r\n", "Transfer-Encoding: chunked") + page("/private/a", "10:00:01") +
			pair("https://b.example/robots.txt", at("10:00:00"), bot, "200 OK", gzipped(shut), "Content-Encoding: gzip") + pair("https://b.example/private/b", at("10:00:01"), bot, "200 OK", ""),
			"10:00:01 ExampleBot a.example/private/a disallowed\n10:00:01 ExampleBot b.example/private/b disallowed\n", 4, 0},
		{"codings that have been undone", pair("https://a.example/robots.txt", at("10:00:00"), bot, "200 OK", shut, "Transfer-Encoding: chunked", "Content-Encoding: gzip") + page("/private/a", "10:00:01"),
			"10:00:01 ExampleBot a.example/private/a disallowed\n", 2, 0},
		{"a Crawl-delay", pair("https://a.example/robots.txt", at("10:00:00"), bot, "200 OK", "User-agent: *\nCrawl-delay: 10\n") +
			page("/a", "10:00:01") + page("/b", "10:00:11") + page("/c", "10:00:21") + page("/d", "10:00:29.5"), "10:00:29.5 ExampleBot a.example/d gap\n", 5, 0},
		{"a Retry-After", robots + pair("https://a.example/a", at("10:00:10"), bot, "429 Slow Down", "", "Retry-After: 60") + page("/b", "10:01:00") + page("/c", "10:01:12") +
			pair("https://a.example/d", at("10:02:00"), bot, "503 Busy", "", "Date: Fri, 20 Nov 2026 11:02:00 GMT", "Retry-After: Fri, 20 Nov 2026 11:03:00 GMT") + page("/e", "10:02:30"),
			"10:01:00 ExampleBot a.example/b retry-after\n10:02:30 ExampleBot a.example/e retry-after\n", 6, 0},
		{"what is neither request nor answer", robots + warcText("metadata", "https://a.example/private/a", at("10:00:01"), "", "via: x") +
			warcText("response", "dns:a.example", at("10:00:01"), "", "20261120100000\na.example. 3600 IN A 192.0.2.1\n") +
			warcText("conversion", "https://a.example/private/a", at("10:00:01"), "", "text"), "", 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, warc := range []string{tt.warc, gzipped(tt.warc)} {
				got := read(t, nil, warc)
				if got.String() != tt.want || got.result.Requests != tt.requests || got.result.Counts["unaudited"] != tt.unaudited {
					t.Errorf("the audit reports\n%swant\n%sthe result has %d requests, %d of them unaudited, want %d and %d; the broken records are %v", got, tt.want, got.result.Requests, got.result.Counts["unaudited"], tt.requests, tt.unaudited, got.broken)
				}
			}
		})
	}
}

// RobotsTxts reads the robots.txt files of a WARC file. If they are all of one
// host, that host is assumed for the lines of a log that do not contain a host.
func TestRobotsTxts(t *testing.T) {
	file := warcOf(
		answer("http://a.example/robots.txt", "2026-11-20T09:00:00Z", "301 Moved", "", "Location: https://a.example/robots.txt"),
		answer("https://a.example/robots.txt", "2026-11-20T09:00:00Z", "200 OK", "User-agent: *\nAllow: /\n"),
		answer("https://a.example/robots.txt", "2026-11-20T10:00:02Z", "200 OK", shut),
		"WARC/1.0\r\nnonsense\r\n\r\n",
		answer("https://a.example/robots.txt", "2026-11-20T10:30:00Z", "503 Busy", ""),
	)
	h, broken := historyOf(t, gzipped(file))
	if len(broken) != 1 || len(h.hosts) != 1 {
		t.Fatalf("RobotsTxts yields the errors %v and files of %d hosts, want one error and one host", broken, len(h.hosts))
	}
	got := read(t, h, combined(`
		10:00:00 ExampleBot/1.0 /private/a
		10:02:00 ExampleBot/1.0 /robots.txt
		10:02:01 ExampleBot/1.0 /private/b
		10:02:02 OtherBot/1.0 /robots.txt
		10:31:00 OtherBot/1.0 /a`)).String()
	want := "10:02:01 ExampleBot a.example/private/b disallowed\n"
	if got != want { // OtherBot may still obey the file of 10:00:02, which allows /a
		t.Errorf("the audit reports\n%swant\n%s", got, want)
	}
}

// historyOf returns a history with the robots.txt files of a WARC file.
func historyOf(t *testing.T, warc string) (h *history, broken []error) {
	t.Helper()
	h = new(history)
	for resp, err := range RobotsTxts(strings.NewReader(warc)) {
		if err != nil {
			broken = append(broken, err)
			continue
		}
		from, err := time.Parse(time.RFC3339, resp.Header.Get("Warc-Date"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if resp.StatusCode/100 == 3 {
			text = []byte(resp.Header.Get("Location"))
		}
		if err != nil {
			t.Fatal(err)
		}
		give(h, resp.Request.URL.String(), from, resp.StatusCode, text)
	}
	return h, broken
}

// If a file ends within a record, that record is broken. A robots.txt whose end
// is missing must not be treated as one that allows everything.
func TestRead_WARCCutShort(t *testing.T) {
	const date, bot = "2026-11-20T10:00:00Z", "ExampleBot/1.0"
	robots := pair("https://a.example/robots.txt", date, bot, "200 OK", shut)
	tests := []struct {
		name                                string
		warc                                string
		cutOff                              int
		requests, unaudited, record, robots int
	}{
		{"in a robots.txt", robots, len("private/\n\r\n\r\n"), 1, 0, 2, 1},
		{"in a robots.txt of codings", pair("https://a.example/robots.txt", date, bot, "200 OK", gzipped(shut), "Content-Encoding: gzip"), 12, 1, 0, 2, 1},
		{"in who asks", robots + asked("https://a.example/a", date, bot), len("Bot/1.0\r\n\r\n\r\n\r\n"), 1, 0, 3, 1},
		{"in a request that is not robots.txt's", robots + asked("https://a.example/a", date, bot)[:60], 0, 1, 0, 3, 1},
		{"in the answer's header", robots + asked("https://a.example/a", date, bot) + answer("https://a.example/a", date, "200 OK", ""), 10, 2, 0, 4, 1},
		{"in a page", robots + asked("https://a.example/a", date, bot) + answer("https://a.example/a", date, "200 OK", "a page"), 6, 2, 0, 4, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cut := tt.warc[:len(tt.warc)-tt.cutOff]
			for _, file := range []string{cut, zippedUntil(t, cut)} {
				got := read(t, nil, file)
				r := got.result
				if len(got.violations) > 0 || len(got.broken) != 1 || got.broken[0].Line != tt.record || r.Counts["cut"] != 1 || r.Requests != tt.requests || r.Counts["unaudited"] != tt.unaudited || len(r.Robots) != tt.robots {
					t.Errorf("the audit reports\n%sthe broken records are %v, and the result is %+v; want no violations, record %d broken, %d requests, %d unaudited and %d robots",
						got, got.broken, r, tt.record, tt.requests, tt.unaudited, tt.robots)
				}
			}
		})
	}

	file := answer("https://a.example/robots.txt", date, "200 OK", shut)
	if h, broken := historyOf(t, file[:len(file)-12]); len(broken) != 1 || len(h.hosts) != 0 || !errors.Is(broken[0], io.ErrUnexpectedEOF) {
		t.Errorf("a truncated file: got the errors %v and %d hosts, want io.ErrUnexpectedEOF and no host", broken, len(h.hosts))
	}
}

// zippedUntil returns the beginning of a gzip file. A reader that decompresses
// it gets the given text, and then an error.
func zippedUntil(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	io.WriteString(zip, text)
	if err := zip.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWARCReader_BadInput(t *testing.T) {
	good := answer("https://a.example/a", "2026-11-20T10:00:00Z", "200 OK", "body")
	tests := []struct {
		name         string
		file         string
		good, broken int
		cut          bool
	}{
		{"nothing is wrong", good + good, 2, 0, false},
		{"one gzip member a record", gzipped(good, good), 2, 0, false},
		{"the version of another file", good + strings.Replace(good, "WARC/1.1", "FILE/1.1", 1) + good, 2, 1, false},
		{"a line that is no field", good + strings.Replace(good, "WARC-Type:", "WARC-Type", 1) + good, 2, 1, false},
		{"no length", good + strings.Replace(good, "Content-Length: ", "Content-Length: x", 1) + good, 2, 1, false},
		{"no date", good + strings.Replace(good, "2026-11-20", "yesterday", 1) + good, 2, 1, false},
		{"a header without end", good + "WARC/1.1\r\n" + strings.Repeat("a: b\r\n", 20000) + "\r\n" + good, 2, 1, false},
		{"a line without end", good + "WARC/1.1\r\na: " + strings.Repeat("b", 1<<20) + "\r\nContent-Length: 0\r\n\r\n" + good, 2, 1, false},
		{"a block cut short", good + good[:len(good)-6], 1, 1, false},
		{"a header cut short", good + good[:40], 1, 1, false},
		{"a file cut short", gzipped(good, good)[:len(gzipped(good, good))-9], 2, 0, true},
		{"a length of much more", strings.Replace(good, "Content-Length: ", "Content-Length: 9", 1), 0, 1, false},
		{"words", "words", 0, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, broken, cut := 0, 0, false
			w, err := newWARCReader(strings.NewReader(tt.file))
			for err == nil {
				var r *warcRecord
				if r, err = w.next(); err != nil {
					break
				}
				if r.err != nil {
					broken++
				} else if _, err := io.Copy(io.Discard, r.block); err == nil && w.block.N == 0 {
					n++
				}
			}
			cut = !errors.Is(err, io.EOF)
			if n != tt.good || broken != tt.broken || cut != tt.cut {
				t.Errorf("%d records are valid, %d are broken, and the file is cut: %t; want %d, %d, %t", n, broken, cut, tt.good, tt.broken, tt.cut)
			}
		})
	}
}

// A record of 64 MiB, and a robots.txt that decompresses to 64 MiB, must not be
// read into memory.
func TestRead_ZipBomb(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("the race detector finds nothing in one goroutine, and makes this ten times slower")
	}
	bomb := func(to io.Writer) {
		zip, _ := gzip.NewWriterLevel(to, gzip.BestSpeed)
		io.CopyN(zip, repeat{strings.Repeat("User-agent: *\nDisallow: /a\n", 1000)}, 64<<20)
		zip.Close()
	}
	var body bytes.Buffer
	bomb(&body)
	var file bytes.Buffer
	zip, _ := gzip.NewWriterLevel(&file, gzip.BestSpeed)
	head := "HTTP/1.1 200 OK\r\n\r\n"
	fmt.Fprintf(zip, "WARC/1.1\r\nWARC-Type: response\r\nWARC-Date: 2026-11-20T10:00:00Z\r\nWARC-Target-URI: https://a.example/zeros\r\nContent-Length: %d\r\n\r\n%s", len(head)+64<<20, head)
	io.CopyN(zip, repeat{"\x00"}, 64<<20)
	io.WriteString(zip, "\r\n\r\n"+pair("https://a.example/robots.txt", "2026-11-20T10:00:00Z", "ExampleBot/1.0", "200 OK", body.String(), "Content-Encoding: gzip"))
	io.WriteString(zip, pair("https://a.example/a", "2026-11-20T10:00:01Z", "ExampleBot/1.0", "200 OK", ""))
	zip.Close()
	a := Auditor{}
	allocated := allocatedBy(func() {
		if err := a.Read(t.Context(), Input{"log", &file}); err != nil {
			t.Fatal(err)
		}
	})
	r := a.Result()
	if r.Requests != 3 || r.Violations != 1 || r.Counts["broken"] != 0 {
		t.Errorf("got %d requests, %d violations and %d broken records, want 3, 1 and 0", r.Requests, r.Violations, r.Counts["broken"])
	}
	if allocated > 32<<20 {
		t.Errorf("%d bytes were allocated, want at most 32 MiB", allocated)
	}
}

func FuzzWARC(f *testing.F) {
	f.Add([]byte(pair("https://a.example/robots.txt", "2026-11-20T10:00:00Z", "ExampleBot/1.0", "200 OK", shut, "Transfer-Encoding: chunked")))
	f.Add([]byte(gzipped(answer("https://a.example/robots.txt", "2026-11-20T10:00:00.123Z", "301 Moved", "", "Location: /a"))))
	f.Fuzz(func(t *testing.T, in []byte) {
		for resp, err := range RobotsTxts(bytes.NewReader(in)) {
			if err != nil {
				continue
			}
			if _, err := time.Parse(time.RFC3339Nano, resp.Header.Get("Warc-Date")); err != nil || resp.Request.URL == nil {
				t.Fatalf("the response has the URL %v, and its Warc-Date has the error %v; want a URL and a valid date", resp.Request.URL, err)
			}
			if body, err := io.ReadAll(resp.Body); err != nil || len(body) > 512_001 {
				t.Fatalf("a robots.txt has %d bytes (error %v), want at most 512,001", len(body), err)
			}
		}
	})
}

// If the date of a record in a WARC file jumps back, Read counts a jump, and
// reads the file to its end.
func TestRead_WARCUnsorted(t *testing.T) {
	got := read(t, nil, pair("https://a.example/robots.txt", "2026-11-20T10:00:00Z", "ExampleBot/1.0", "200 OK", shut)+
		pair("https://a.example/b", "2026-11-20T10:05:00Z", "ExampleBot/1.0", "200 OK", "")+
		pair("https://a.example/private/a", "2026-11-20T10:01:00Z", "ExampleBot/1.0", "200 OK", ""))
	if want := "10:01:00 ExampleBot a.example/private/a disallowed\nline 6\n"; got.String() != want || got.result.Counts["jumps"] != 1 {
		t.Errorf("the audit reports\n%swant\n%sand one jump; the result is %+v", got, want, got.result)
	}
}
