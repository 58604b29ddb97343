package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// What a person reads in a pipe or a file: no colour, no line without its verdict.
func TestTextPrinter(t *testing.T) {
	const u = "http://a.example/"
	tests := []struct {
		record Record
		want   string
	}{
		{Record{Seconds: 0.04, Verdict: RobotsTxt, URL: u + "robots.txt", Status: 200},
			"   0.0s           robots.txt    200  http://a.example/robots.txt"},
		{Record{Seconds: 1, Verdict: RobotsTxt, URL: u + "robots.txt", Status: 200, Redirects: 1},
			"   1.0s           robots.txt    200  http://a.example/robots.txt                 after 1 redirect"},
		{Record{Seconds: 1.04, Verdict: Fetched, URL: u, Status: 200, Waited: 1.04, Links: 2},
			"   1.0s     1.0s  fetched       200  http://a.example/                           2 new links"},
		{Record{Seconds: 2, Verdict: Fetched, URL: u + "staff", Status: 200, NoIndex: true, NoFollow: true, LinksLeft: 1},
			"   2.0s           fetched       200  http://a.example/staff                      noindex, nofollow, 1 link not followed"},
		{Record{Seconds: 3, Verdict: Blocked, URL: u + "private/", Decision: &robotsmw.Decision{Reason: robotsmw.ByRule, Kind: robotstxt.Disallow, Rule: "/private/", Line: 7}},
			"   3.0s           blocked            http://a.example/private/                   line 7: Disallow: /private/"},
		{Record{Seconds: 4, Verdict: Moved, URL: u + "old", Status: 301, Location: u + "new"},
			"   4.0s           moved         301  http://a.example/old                        -> http://a.example/new"},
		{Record{Seconds: 75, Verdict: Later, URL: u + "busy", Status: 429, Put: 1, Again: 3},
			"  1m15s           later         429  http://a.example/busy                       again in 3.0s (1 of 3)"},
		{Record{Seconds: 75, Verdict: Later, URL: u + "slow", Again: 300},
			"  1m15s           later              http://a.example/slow                       its turn is in 5m0s"},
		{Record{Seconds: 80, Verdict: Missing, URL: u + "busy", Status: 503, Put: 3},
			"  1m20s           missing       503  http://a.example/busy                       given up after 3 more tries"},
		{Record{Seconds: 80, Verdict: Unreachable, URL: u, Error: "robots.txt: 503 Service Unavailable"},
			"  1m20s           unreachable        http://a.example/                           robots.txt: 503 Service Unavailable"},
	}
	for _, tt := range tests {
		var plain, colour bytes.Buffer
		(&textPrinter{&plain, false}).record(tt.record)
		(&textPrinter{&colour, true}).record(tt.record)
		if got := strings.TrimSuffix(plain.String(), "\n"); got != tt.want {
			t.Errorf("plain\n got %q\nwant %q", got, tt.want)
		}
		if got := uncoloured(colour.String()); got != plain.String() {
			t.Errorf("without its colours, the line is\n %q, want\n %q", got, plain.String())
		}
		if !strings.Contains(colour.String(), "\x1b[") {
			t.Errorf("no colour: %q", colour.String())
		}
	}
}

// A robots.txt may hold anything, and its lines are shown.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"Disallow: /a*b$":            "Disallow: /a*b$",
		"Disallow: /ツ":               "Disallow: /ツ",
		"Disallow: /\x1b[2J\x1b[31m": `Disallow: /\x1b[2J\x1b[31m`,
		"Disallow: /\xff":            `Disallow: /\xff`,
		"Disallow: /\u202egpj.exe":   `Disallow: /\u202egpj.exe`,
		strings.Repeat("/", 1<<20):   strings.Repeat("/", 100) + "...",
	} {
		if got := printable(text); got != want {
			t.Errorf("%.40q: got %q, want %q", text, got, want)
		}
	}
}

func TestJSONPrinter_URLsAreReadable(t *testing.T) {
	var out bytes.Buffer
	newJSONPrinter(&out).record(Record{Verdict: Fetched, URL: "http://a.example/?a=1&b=<2>"})
	if !strings.Contains(out.String(), `"url":"http://a.example/?a=1&b=<2>"`) {
		t.Errorf("got %s", out.String())
	}
	if !json.Valid(out.Bytes()) {
		t.Errorf("not JSON: %s", out.String())
	}
}

func TestIsTerminal_Not(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, w := range []io.Writer{file, new(bytes.Buffer)} {
		if isTerminal(w) {
			t.Errorf("%T is treated as a terminal", w)
		}
	}
}

func TestLivePrinter(t *testing.T) {
	var out bytes.Buffer
	p := livePrinter{&textPrinter{&out, false}}
	p.progress(3, frontier.State{Queued: 7, Out: 1, Next: "a.example", Wait: 1400 * time.Millisecond})
	p.record(Record{Verdict: Fetched, Status: 200, URL: "http://a.example/"})
	want := "\r\x1b[2K  3 fetched, 7 queued, 1 under way, next: a.example in 1.4s\r" +
		"\r\x1b[2K   0.0s           fetched       200  http://a.example/\n"
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
}

// uncoloured drops the terminal's attributes.
func uncoloured(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, s, _ = strings.Cut(after, "m")
	}
}
