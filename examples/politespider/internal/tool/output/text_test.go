package output

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// The text output has a line for each record. Colors do not change the text of
// the lines.
func TestTextPrinter(t *testing.T) {
	const u = "http://a.example/"
	for _, tt := range []struct {
		record record.Record
		want   string
	}{
		{
			record.Record{Seconds: 0.04, Verdict: record.RobotsTxt, URL: u + "robots.txt", Status: 200},
			"   0.0s           robots.txt    200  http://a.example/robots.txt",
		},
		{
			record.Record{
				Seconds:   1,
				Verdict:   record.RobotsTxt,
				URL:       u + "robots.txt",
				Status:    200,
				Redirects: 1,
			},
			"   1.0s           robots.txt    200  http://a.example/robots.txt                 after 1 redirect",
		},
		{
			record.Record{Seconds: 1.04, Verdict: record.Fetched, URL: u, Status: 200, Waited: 1.04, Links: 2},
			"   1.0s     1.0s  fetched       200  http://a.example/                           2 new links",
		},
		{
			record.Record{
				Seconds: 2, Verdict: record.Fetched, URL: u + "staff", Status: 200,
				NoIndex: true, NoFollow: true, LinksLeft: 1,
			},
			"   2.0s           fetched       200  http://a.example/staff                      " +
				"noindex, nofollow, 1 link not followed",
		},
		{
			record.Record{
				Seconds: 3, Verdict: record.Disallowed, URL: u + "private/",
				Decision: &robotsmw.Decision{
					Reason: robotsmw.ByRule,
					Kind:   robotstxt.Disallow,
					Rule:   "/private/",
					Line:   7,
				},
			},
			"   3.0s           disallowed         http://a.example/private/                   " +
				"line 7: Disallow: /private/",
		},
		{
			record.Record{Seconds: 4, Verdict: record.Moved, URL: u + "old", Status: 301, Location: u + "new"},
			"   4.0s           moved         301  http://a.example/old                        " +
				"-> http://a.example/new",
		},
		{
			record.Record{
				Seconds: 75,
				Verdict: record.PutOff,
				URL:     u + "busy",
				Status:  429,
				Tries:   1,
				RetryIn: 3,
			},
			"  1m15s           put off       429  http://a.example/busy                       " +
				"retry in 3.0s (try 2 of 4)",
		},
		{
			record.Record{Seconds: 76, Verdict: record.NotFound, URL: u + "gone", Status: 410},
			"  1m16s           not found     410  http://a.example/gone",
		},
		{
			record.Record{Seconds: 77, Verdict: record.Refused, URL: u + "staff", Status: 403},
			"  1m17s           refused       403  http://a.example/staff",
		},
		{
			record.Record{Seconds: 78, Verdict: record.Failed, URL: u + "cgi", Status: 500},
			"  1m18s           failed        500  http://a.example/cgi",
		},
		{
			record.Record{Seconds: 80, Verdict: record.GivenUp, URL: u + "busy", Status: 503, Tries: 4},
			"  1m20s           given up      503  http://a.example/busy                       requested 4 times",
		},
		{
			record.Record{
				Seconds: 80, Verdict: record.GivenUp, URL: u + "busy", Status: 503, Tries: 2,
				Error: "the server responds",
			},
			"  1m20s           given up      503  http://a.example/busy                       " +
				"requested 2 times, the server responds",
		},
		{
			record.Record{Seconds: 80, Verdict: record.Checked, URL: u, Status: 200, For: u + "busy"},
			"  1m20s           checked       200  http://a.example/                           " +
				"to check the server, because http://a.example/busy was put off",
		},
		{
			record.Record{
				Seconds: 80, Verdict: record.Unreachable, URL: u,
				Error: "robots.txt: 503 Service Unavailable",
			},
			"  1m20s           unreachable        http://a.example/                           " +
				"robots.txt: 503 Service Unavailable",
		},
	} {
		var plain, color bytes.Buffer
		(&textPrinter{w: &plain}).record(tt.record)
		(&textPrinter{w: &color, color: true}).record(tt.record)
		if got := strings.TrimSuffix(plain.String(), "\n"); got != tt.want {
			t.Errorf("line is\n     %q\nwant %q", got, tt.want)
		}
		if got := uncolored(color.String()); got != plain.String() {
			t.Errorf("line without its colors is\n     %q\nwant %q", got, plain.String())
		}
		if !strings.Contains(color.String(), "\x1b[") {
			t.Errorf("line %q has no color", color.String())
		}
	}
}

// trainAIDenied returns a preference in the second line of a robots.txt.
func trainAIDenied() preference.Verdict {
	return preference.Verdict{
		Use:    preference.TrainAI,
		Answer: preference.Deny,
		Evidence: []preference.Statement{{
			Use:    preference.TrainAI,
			Answer: preference.Deny,
			Signal: "Content-Usage",
			Where:  "robots.txt",
			Line:   2,
			Path:   "/a",
			Raw:    "train-ai=n",
			Draft:  "draft-x",
		}},
	}
}

// Evidence is below the line of its page. Statements from robots.txt are
// printed once for each host. Control characters are escaped.
func TestTextPrinter_Evidence(t *testing.T) {
	uses := []preference.Verdict{trainAIDenied()}
	page := record.Record{
		Verdict: record.Fetched, URL: "http://a.example/", Host: "a.example",
		PageInfo: record.PageInfo{
			Directives: []robotsmeta.Rule{
				{Source: robotsmeta.Meta, Line: 3, Name: "noarchive", Known: true, Raw: "noarchive"},
				{Source: robotsmeta.Meta, Line: 3, Name: "no\x1b[2J", Raw: "no\x1b[2J"},
				{
					Source: robotsmeta.XRobotsTag,
					Line:   1,
					Scope:  "examplebot",
					Name:   "nosnippet",
					Known:  true,
					Raw:    "nosnippet",
				},
			},
			Uses: uses,
			NotFollowed: []string{
				"http://a.example/1",
				"http://a.example/2",
				"http://a.example/3",
				"http://a.example/4",
				"http://a.example/5",
			},
		},
	}
	second := record.Record{
		Verdict: record.Fetched, URL: "http://a.example/second", Host: "a.example",
		PageInfo: record.PageInfo{Uses: uses},
	}
	otherHost := record.Record{
		Verdict: record.Fetched, URL: "http://b.example/", Host: "b.example",
		PageInfo: record.PageInfo{Uses: uses},
	}
	var out bytes.Buffer
	p := &textPrinter{w: &out, printed: make(map[string]bool)}
	for _, r := range []record.Record{page, second, otherHost} {
		p.record(r)
	}
	const want = `   0.0s           fetched            http://a.example/                           no train-ai
                     meta, line 3: noarchive, no\x1b[2J (unknown)
                     X-Robots-Tag, line 1, to examplebot: nosnippet
                     uses: train-ai deny
                     robots.txt, line 2: Content-Usage: /a train-ai=n (draft)
                     rel=nofollow: http://a.example/1
                     rel=nofollow: http://a.example/2
                     rel=nofollow: http://a.example/3
                     rel=nofollow: 2 more links
   0.0s           fetched            http://a.example/second                     no train-ai
   0.0s           fetched            http://b.example/                           no train-ai
                     uses: train-ai deny
                     robots.txt, line 2: Content-Usage: /a train-ai=n (draft)
`
	checkOutput(t, out.String(), want)
}

// checkOutput checks the output of a printer.
func checkOutput(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("output is\n%s\nwant\n%s", got, want)
	}
}

func TestTextPrinter_Hosts(t *testing.T) {
	var out bytes.Buffer
	(&textPrinter{w: &out}).hosts([]record.HostSummary{
		{
			Host: "a.example", Requests: 12, Fetched: 7, Moved: 1, NotFound: 2, Disallowed: 3, Lost: 1,
			Interval: 1, Closest: 1, Paused: 90,
			Addresses: 2, RobotsTxt: "http://a.example 200; http://a.example:81 404: everything allowed",
		},
		{Host: "b.example", Interval: 300, Addresses: 1, RobotsTxt: "200 after 1 redirect"},
	})
	const want = `
  host       requests  fetched  moved  not found  disallowed  lost  interval  closest  paused  robots.txt
  a.example        12        7      1          2           3     1      1.0s     1.0s   1m30s  http://a.example 200; http://a.example:81 404: everything allowed
  b.example         -        -      -          -           -     -      5m0s        -       -  200 after 1 redirect
  interval: the minimum time between two requests for pages; closest: the shortest time measured;
  paused: how long responses such as 429 and 503 paused the host;
  the ports of a host share one pace, but each port has its own robots.txt and Crawl-delay
`
	checkOutput(t, out.String(), want)
}

// A summary without hosts has no table of hosts.
func TestTextPrinter_Lost(t *testing.T) {
	var out bytes.Buffer
	const u = "http://a.example/"
	(&textPrinter{w: &out}).summary(record.Summary{Lost: []record.Record{
		{Verdict: record.Refused, URL: u + "staff", Status: 403},
		{Verdict: record.GivenUp, URL: u + "busy", Status: 503, Tries: 4},
		{Verdict: record.Failed, URL: u, Error: "EOF"},
	}})
	const want = `
0 hosts in 0.0s: 0 pages fetched

Lost:
  http://a.example/staff                      refused: 403
  http://a.example/busy                       given up: 503, requested 4 times
  http://a.example/                           failed: EOF
`
	checkOutput(t, out.String(), want)
}

// The summary lists the pages that must not be kept, the usage preferences, and
// the work of earlier runs and other processes. It states why the crawl
// stopped.
func TestTextPrinter_Summary(t *testing.T) {
	var out bytes.Buffer
	noindex := record.Record{Verdict: record.Fetched, URL: "http://a.example/staff", Status: 200, NoIndex: true}
	(&textPrinter{w: &out}).summary(record.Summary{
		Seconds: 3, Fetched: 2, Moved: 1, NotFound: 1, Refused: 1, Elsewhere: 3, Stopped: "max-pages", Left: 1,
		NotToKeep: []record.Record{noindex},
		Uses: []record.UseSummary{
			{Use: preference.Search, Allow: 2},
			{Use: preference.TrainAI, Allow: 1, Deny: 1},
		},
		Drafts: map[string]string{"Content-Usage": "draft-x-01"},
	})
	const want = `
0 hosts in 3.0s: 2 pages fetched, 1 moved, 1 not found, 1 refused

Fetched, but must not be kept (noindex):
  http://a.example/staff

Usage preferences, by number of pages:
  search      2 allow,   0 deny
  train-ai    1 allow,   1 deny
  (draft) Content-Usage: draft-x-01

Earlier runs and other processes of this crawl have finished 3 other URLs.

Stopped at -max-pages: 1 URL still in the queue.
`
	checkOutput(t, out.String(), want)
}

// The summary states why a crawl stopped, even if no URL is left in the queue.
func TestTextPrinter_Stopped(t *testing.T) {
	for _, tt := range []struct {
		stopped string
		left    int
		want    string
	}{
		{"", 0, ""},
		{"max-time", 0, "\nStopped at -max-time: 0 URLs still in the queue.\n"},
		{"max-time", 2, "\nStopped at -max-time: 2 URLs still in the queue.\n"},
		{"max-pages", 1, "\nStopped at -max-pages: 1 URL still in the queue.\n"},
		{"interrupted", 0, "\nInterrupted: 0 URLs still in the queue.\n"},
		{"failed", 1, "\nFailed: 1 URL still in the queue.\n"},
	} {
		var out bytes.Buffer
		(&textPrinter{w: &out}).summary(record.Summary{Stopped: tt.stopped, Left: tt.left})
		if got := strings.TrimPrefix(out.String(), "\n0 hosts in 0.0s: 0 pages fetched\n"); got != tt.want {
			t.Errorf("summary of a crawl with Stopped %q and Left %d ends with %q, want %q",
				tt.stopped, tt.left, got, tt.want)
		}
	}
}

func TestTextPrinter_Begin(t *testing.T) {
	var out bytes.Buffer
	(&textPrinter{w: &out}).begin("http://a.example/", "ExampleBot/1.0")
	const want = "Crawling http://a.example/ as ExampleBot/1.0\n\n   time   waited  verdict            URL\n"
	checkOutput(t, out.String(), want)
}

func TestRobotsSummary(t *testing.T) {
	for _, tt := range []struct {
		record record.Record
		want   string
	}{
		{record.Record{Status: 200}, "200"},
		{record.Record{Status: 200, Redirects: 1}, "200 after 1 redirect"},
		{record.Record{Status: 200, Redirects: 2}, "200 after 2 redirects"},
		{record.Record{Status: 404, Redirects: 1}, "404: everything allowed"},
		{record.Record{Status: 503, Error: "status 503"}, "nothing allowed: status 503"},
	} {
		if got := robotsSummary(tt.record); got != tt.want {
			t.Errorf("robotsSummary of status %d with %d redirects and error %q = %q, want %q",
				tt.record.Status, tt.record.Redirects, tt.record.Error, got, tt.want)
		}
	}
}

// The JSON output does not escape characters that only HTML requires to be
// escaped.
func TestJSONPrinter_UnescapedURLs(t *testing.T) {
	var out bytes.Buffer
	newPrinter(&out, &out, true).record(record.Record{
		Verdict: record.Fetched,
		URL:     "http://a.example/?a=1&b=<2>",
	})
	if want := `"url":"http://a.example/?a=1&b=<2>"`; !strings.Contains(out.String(), want) {
		t.Errorf("output is %s, want it to contain %s", out.String(), want)
	}
	if !json.Valid(out.Bytes()) {
		t.Errorf("output is not valid JSON: %s", out.String())
	}
}

// On a terminal, the progress line is erased before each record. It is cut off
// before it would wrap.
func TestTextPrinter_Progress(t *testing.T) {
	var out bytes.Buffer
	p := &textPrinter{w: &out, live: true}
	p.progress(record.Summary{Fetched: 3, Disallowed: 2, Seconds: 2}, frontier.State{
		Queued: 7, Out: 1, Hosts: 4, Next: "a.example", Wait: 1400 * time.Millisecond,
	})
	p.progress(record.Summary{}, frontier.State{
		Queued: 1, Hosts: 1, Next: strings.Repeat("a", 80) + ".example", Wait: time.Second,
	})
	p.record(record.Record{Verdict: record.Fetched, Status: 200, URL: "http://a.example/"})
	want := "\r\x1b[2K  3 fetched (1.5/s), 2 disallowed, 8 queued, 4 hosts waiting; a.example in 1.4s\r" +
		"\r\x1b[2K  0 fetched, 0 disallowed, 1 queued, 1 host waiting; " + strings.Repeat("a", 26) + "\r" +
		"\r\x1b[2K   0.0s           fetched       200  http://a.example/\n"
	if out.String() != want {
		t.Errorf("output is\n     %q\nwant %q", out.String(), want)
	}
}

// uncolored removes the codes for styles from a text.
func uncolored(s string) string {
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
