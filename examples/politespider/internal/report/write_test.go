package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// sampleRobots is a robots.txt whose third line disallows a directory.
const sampleRobots = "# ours\nUser-agent: *\nDisallow: /attic/\n"

// sampleRecords returns a record of each kind that the report treats in its own
// way. The robots.txt of a.example redirects to b.example.
func sampleRecords(t *testing.T) []record.Record {
	t.Helper()
	noindex := robotsmeta.Rule{Source: robotsmeta.Meta, Line: 3, Name: "noindex", Known: true, Raw: "noindex"}
	return []record.Record{
		{
			Seconds: 1.1, Verdict: record.RobotsTxt, URL: "http://a.example/robots.txt", Host: "a.example",
			Status: 200, Redirects: 1,
			Requests: []record.Request{
				{
					URL:      "http://a.example/robots.txt",
					Host:     "a.example",
					At:       0,
					Took:     0.01,
					Status:   302,
					Interval: 1,
				},
				{URL: "http://b.example/r", Host: "b.example", At: 1, Took: 0.02, Status: 200, Interval: 1},
			},
		},
		{
			Seconds: 1.01, Verdict: record.Fetched, URL: "http://a.example/", Host: "a.example", Status: 200,
			NoIndex:  true,
			Requests: []record.Request{{At: 1, Took: 0.005, Status: 200, Interval: 2}},
			PageInfo: record.PageInfo{Directives: []robotsmeta.Rule{noindex}},
		},
		{
			Seconds: 2.5, Verdict: record.Disallowed, URL: "http://a.example/attic/1", Host: "a.example",
			Decision: decide(t, sampleRobots, "http://a.example/attic/1"),
		},
		{
			Seconds: 2.6, Verdict: record.Disallowed, URL: "http://a.example/attic/2", Host: "a.example",
			Decision: decide(t, sampleRobots, "http://a.example/attic/2"),
		},
		{
			Seconds: 2.1, Verdict: record.PutOff, URL: "https://a.example/busy", Host: "a.example",
			Status: 429, Tries: 1, RetryIn: 3, PausedUntil: 5.1,
			Requests: []record.Request{{At: 2, Took: 0.1, Status: 429, Interval: 2}},
		},
		{
			Seconds: 9, Verdict: record.Failed, URL: "http://c.example/", Host: "c.example",
			Error: "connection reset",
		},
	}
}

// writeSample writes the report of the sample records.
func writeSample(t *testing.T) document {
	t.Helper()
	c := New("http://a.example/", "ExampleBot/1.0", time.Now(), time.Second)
	records := sampleRecords(t)
	for _, r := range records {
		add(c, r)
	}
	return write(t, c, record.Summary{
		Seconds: 9, Fetched: 1, Disallowed: 2, Failed: 1, Lost: records[5:],
		Hosts: []record.HostSummary{
			{
				Host:       "a.example",
				Requests:   3,
				Fetched:    1,
				Disallowed: 2,
				Interval:   2,
				RobotsTxt:  "200 after 1 redirect",
			},
			{Host: "b.example", Requests: 1, Interval: 1, LongestInterval: 3.5},
			{Host: "c.example", Lost: 1, Interval: 1},
		},
	})
}

// A timeline has a mark for each request, and for each URL that was not
// requested.
func TestWrite_Timeline(t *testing.T) {
	doc := writeSample(t)
	want := timeline{
		At:        []int64{0, 1000, 2000, 2500, 2600},
		Took:      []int64{10, 5, 100, -1, -1},
		Intervals: []int64{1000, 2000, 2000, 0, 0},
		Status:    []uint16{302, 200, 429, 0, 0},
		Verdicts:  "rfpbb",
		URLs:      []string{"/robots.txt", "/", "https://a.example/busy", "/attic/1", "/attic/2"},
		Note:      []uint32{0, 1, 3, 2, 2},
		Notes:     []string{"", "noindex", "line 3: Disallow: /attic/", "try 1 of 4"},
		Pauses:    [][2]int64{{2, 5100}},
		Early:     [][2]int64{{2, 1000}},
	}
	var got timeline
	doc.read(t, "timeline-0", &got)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("timeline of a.example:\n got %+v\nwant %+v", got, want)
	}
	for _, want := range []string{
		"The pace was not kept. 1 of 4 requests was too early",
		"pauses, all hosts",
		"1.00 s to 3.50 s",
	} {
		if text := doc.text(); !strings.Contains(text, want) {
			t.Errorf("report does not contain %q:\n%s", want, text)
		}
	}
}

// The note on a robots.txt belongs to the last request for the file. If a
// redirect leads to another host, the note is in the timeline of that host.
func TestWrite_RobotsRedirect(t *testing.T) {
	var got timeline
	writeSample(t).read(t, "timeline-1", &got)
	if got.Verdicts != "r" || got.Status[0] != 200 {
		t.Fatalf("timeline of b.example has the verdicts %q and statuses %v, want r and [200]",
			got.Verdicts, got.Status)
	}
	if note := got.Notes[got.Note[0]]; note != "after 1 redirect" {
		t.Errorf("note on the robots.txt is %q, want %q", note, "after 1 redirect")
	}
}

// The overview has the pace of each host, and the response times.
func TestWrite_Pace(t *testing.T) {
	var o overview
	writeSample(t).read(t, "overview", &o)
	got := o.Hosts[0].pace
	want := pace{
		Early:     1,
		Tightest:  1000,
		Required:  2000,
		Median:    10,
		P90:       100,
		P99:       100,
		Slowest:   100,
		Responses: 3,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("pace of a.example:\n got %+v\nwant %+v", got, want)
	}
}

// The overview has the lines of robots.txt that disallowed URLs, the directives
// of pages, and the lost URLs.
func TestWrite_Overview(t *testing.T) {
	doc := writeSample(t)
	var o overview
	doc.read(t, "overview", &o)
	host := o.Hosts[0]
	if len(host.Rules) != 1 {
		t.Fatalf("a.example has %d rules, want 1", len(host.Rules))
	}
	r := host.Rules[0]
	if r.Line != 3 || r.Count != 2 || r.Text != "Disallow: /attic/" || !slices.Equal(r.Group, []int{2}) {
		t.Errorf("rule is %+v, want line 3 with 2 URLs, in the group of line 2", r)
	}
	var files map[string][]string
	doc.read(t, "files", &files)
	wantLines := []string{"# ours", "User-agent: *", "Disallow: /attic/"}
	if lines := files[r.SHA256]; !slices.Equal(lines, wantLines) {
		t.Errorf("robots.txt has the lines %q, want %q", lines, wantLines)
	}
	wantGroups := []*pageGroup{{
		Flags:    []string{"noindex"},
		Evidence: []string{"meta, line 3: noindex"},
		URLs:     []pageExample{{URL: "http://a.example/"}},
		Count:    1,
	}}
	if !reflect.DeepEqual(host.Groups, wantGroups) {
		t.Errorf("a.example has the directives %+v, want %+v", host.Groups, wantGroups)
	}
	wantLost := []lost{{
		URL:     "http://c.example/",
		Host:    "c.example",
		Verdict: "failed",
		Why:     "connection reset",
		At:      9000,
	}}
	if !reflect.DeepEqual(o.Lost, wantLost) {
		t.Errorf("lost URLs are %+v, want %+v", o.Lost, wantLost)
	}
}

// If net/http repeated a request, the report has several marks for one URL.
// Only the last of these marks is a failure, so the URL counts as lost once.
func TestWrite_RepeatedRequest(t *testing.T) {
	c := New("http://a.example/", "ExampleBot/1.0", time.Now(), 0)
	add(c, record.Record{
		Seconds: 3, Verdict: record.Failed, URL: "http://a.example/", Host: "a.example", Error: "EOF",
		Requests: []record.Request{{At: 1}, {At: 2}},
	})
	hosts := []record.HostSummary{{Host: "a.example", Requests: 2, Lost: 1}}
	var got timeline
	write(t, c, record.Summary{Seconds: 3, Failed: 1, Hosts: hosts}).read(t, "timeline-0", &got)
	if got.Verdicts != "px" {
		t.Fatalf("verdicts are %q, want px", got.Verdicts)
	}
	notes := []string{got.Notes[got.Note[0]], got.Notes[got.Note[1]]}
	if want := []string{"", "EOF"}; !slices.Equal(notes, want) {
		t.Errorf("notes are %q, want %q", notes, want)
	}
}

// These are texts with which a site might try to run a script in the report, or
// to change the report.
var hostile = []string{
	`</script><script>pwned('script')</script>`,
	`<!--<script>`,
	`-->`,
	`]]>`,
	`"><img src=x onerror=pwned('img')>`,
	`' autofocus onfocus=pwned('attribute') '`,
	`javascript:pwned('url')`,
	`{{.Policy}}`,
	`${pwned('literal')}`,
	"`+pwned('tick')+`",
	`\u003cscript>`,
	`\"`,
	`</style><style>*{display:none}`,
	`</title><script>pwned('title')</script>`,
	"\u2028pwned()\u2029",
	"\u202egnp.exe",
	"\x00\x1b[2J\xff",
	"__proto__",
	"constructor",
}

// Wherever a site can put a hostile text, the report shows the text as data.
// The text adds no element, attribute or script.
func TestWrite_HostileStrings(t *testing.T) {
	plain := write(t, hostileCrawl(t, "harmless"), hostileSummary("harmless"))
	for _, text := range hostile {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			doc := write(t, hostileCrawl(t, text), hostileSummary(text))
			if got, want := doc.skeleton(), plain.skeleton(); got != want {
				t.Errorf("the text changes the elements of the page:\n got %s\nwant %s", got, want)
			}
			var files map[string][]string
			doc.read(t, "files", &files)
			for _, lines := range files {
				want := strings.ToValidUTF8("# "+text, "\ufffd")
				if !slices.Contains(lines, want) {
					t.Errorf("robots.txt has the lines %q, want one of them to be %q", lines, want)
				}
			}
			var o overview
			doc.read(t, "overview", &o)
			var first timeline
			doc.read(t, "timeline-0", &first)
		})
	}
}

// hostileCrawl returns a crawl that contains the text in every place where a
// site can put text.
func hostileCrawl(t *testing.T, text string) *Crawl {
	t.Helper()
	c := New(text, text, time.Now(), time.Second)
	host := text + ".example"
	u := "http://a.example/" + text
	add(c, record.Record{
		Verdict: record.RobotsTxt, URL: u, Host: host, Error: text,
		Requests: []record.Request{{URL: u, Host: host, Interval: 1}},
	})
	add(c, record.Record{
		Verdict: record.Fetched, URL: u, Host: host, From: u, Status: 200, Location: text,
		Requests: []record.Request{{At: 1, Interval: 1}},
		PageInfo: hostilePage(text),
	})
	line := strings.NewReplacer("\n", "", "\r", "").Replace(text)
	robots := "# " + line + "\nUser-agent: *\nDisallow: /*\nDisallow: /" + line + "\n"
	add(c, record.Record{
		Verdict: record.Disallowed, URL: u, Host: host,
		Decision: decide(t, robots, "http://a.example/x"),
	})
	return c
}

// hostilePage returns the information on a page that contains the text wherever
// possible.
func hostilePage(text string) record.PageInfo {
	statement := preference.Statement{
		Where:  "header",
		Signal: "Content-Usage",
		Path:   text,
		Raw:    text,
		Policy: text,
		Draft:  "draft",
	}
	return record.PageInfo{
		Examined:    "not examined",
		Coding:      text,
		Canonical:   text,
		Refresh:     text,
		NotFollowed: []string{text},
		Directives:  []robotsmeta.Rule{{Source: robotsmeta.Meta, Scope: text, Name: text, Raw: text}},
		Uses: []preference.Verdict{{
			Use:      preference.TrainAI,
			Answer:   preference.Deny,
			Evidence: []preference.Statement{statement},
		}},
		Licenses: []record.License{{URL: text, Where: "link"}},
	}
}

// hostileSummary returns a summary that contains the text wherever possible.
func hostileSummary(text string) record.Summary {
	return record.Summary{
		Hosts:  []record.HostSummary{{Host: text + ".example", RobotsTxt: text}},
		Lost:   []record.Record{{URL: text, Host: text, Error: text, Verdict: record.Failed}},
		Uses:   []record.UseSummary{{Use: preference.TrainAI, Deny: 1}},
		Drafts: map[string]string{"Content-Usage": "draft"},
	}
}

// The policy allows the report's own script and style, by their hashes, and
// nothing else.
func TestWrite_Policy(t *testing.T) {
	doc := write(t, New("", "", time.Now(), 0), record.Summary{})
	source := func(text string) string {
		h := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(h[:]) + "'"
	}
	var policy, style, script string
	doc.each(func(n *html.Node) {
		switch {
		case n.Data == "meta" && attr(n, "http-equiv") == "Content-Security-Policy":
			policy = attr(n, "content")
		case n.Data == "style":
			style += source(n.FirstChild.Data)
		case n.Data == "script" && attr(n, "type") == "":
			script += source(n.FirstChild.Data)
		}
	})
	want := "default-src 'none'; style-src " + style + "; script-src " + script +
		"; base-uri 'none'; form-action 'none'"
	if policy != want {
		t.Errorf("Content-Security-Policy is\n     %s\nwant %s", policy, want)
	}
}

// The report loads nothing, not even a style or an image.
func TestWrite_SelfContained(t *testing.T) {
	doc := write(t, hostileCrawl(t, "http://a.example/"), hostileSummary("http://a.example/"))
	doc.each(func(n *html.Node) {
		for _, a := range n.Attr {
			switch a.Key {
			case "href":
				if !strings.HasPrefix(a.Val, "#") {
					t.Errorf("<%s href=%q> leads out of the report, want a fragment only", n.Data, a.Val)
				}
			case "src", "srcset", "action", "data", "poster", "style", "manifest":
				t.Errorf("<%s %s=%q> may load something, want no such attribute", n.Data, a.Key, a.Val)
			}
		}
		if n.Data != "style" {
			return
		}
		for _, loading := range []string{"url(", "@import"} {
			if strings.Contains(n.FirstChild.Data, loading) {
				t.Errorf("style contains %q, which loads something", loading)
			}
		}
	})
}

// A Crawl keeps only a limited amount of data, and the report mentions what was
// omitted.
func TestCrawl_Bounds(t *testing.T) {
	c := New("", "", time.Now(), time.Second)
	c.marksLeft = 2
	c.textLeft = 100
	for n := range 5 {
		add(c, record.Record{
			Seconds: float64(n), Verdict: record.Failed,
			Host: "a.example", URL: fmt.Sprintf("http://a.example/%d", n),
			Error: strings.Repeat("x", 20*n),
		})
	}
	doc := write(t, c, record.Summary{Failed: 5, Elsewhere: 7})
	var got timeline
	doc.read(t, "timeline-0", &got)
	if len(got.At) != 2 {
		t.Errorf("timeline has %d marks, want 2", len(got.At))
	}
	for _, want := range []string{
		"3 requests and refusals are counted, not shown",
		"too much text for the report",
		"others have processed 7 other URLs",
	} {
		if text := doc.text(); !strings.Contains(text, want) {
			t.Errorf("report does not contain %q:\n%s", want, text)
		}
	}
}

// The nouns and verbs of the report agree with their numbers.
func TestWrite_Nouns(t *testing.T) {
	lost := make([]record.Record, maxLost+2)
	for i := range lost {
		lost[i] = record.Record{URL: fmt.Sprintf("http://a.example/%d", i), Verdict: record.Failed}
	}
	hosts := []record.HostSummary{{Host: "a.example", Requests: 1}, {Host: "b.example", Requests: 1}}
	for _, tt := range []struct {
		n    int
		want []string
	}{
		{1, []string{
			"1 request or refusal is counted, not shown.",
			"Of 1 request to 1 host,",
			"host 1",
			"1 more change is not listed.",
			"1 more is not listed.",
		}},
		{2, []string{
			"2 requests and refusals are counted, not shown.",
			"Of 2 requests to 2 hosts,",
			"hosts 2",
			"2 more changes are not listed.",
			"2 more are not listed.",
		}},
	} {
		c := New("", "", time.Now(), 0)
		c.marksOmitted = tt.n
		c.Before = &record.Summary{Lost: lost[:maxLost-maxChanged]}
		s := record.Summary{Fetched: tt.n, Hosts: hosts[:tt.n], Lost: lost[:maxLost+tt.n]}
		text := write(t, c, s).text()
		for _, want := range tt.want {
			if !strings.Contains(withoutSpaces(text), withoutSpaces(want)) {
				t.Errorf("report with %d of each does not contain %q:\n%s", tt.n, want, text)
			}
		}
	}
}

// withoutSpaces removes all spaces, of which a page has more than a browser
// shows.
func withoutSpaces(text string) string { return strings.Join(strings.Fields(text), "") }

// The details of a record contain what its verdict does not, such as the number
// of tries.
func TestDetails(t *testing.T) {
	for _, tt := range []struct {
		record record.Record
		want   string
	}{
		{
			record.Record{Verdict: record.PutOff, Status: 503, Tries: 2},
			"try 2 of 4",
		},
		{
			record.Record{Verdict: record.GivenUp, Status: 503, Tries: 4},
			"requested 4 times",
		},
		{
			record.Record{Verdict: record.GivenUp, Status: 503, Tries: 2, Error: "the server responds"},
			"requested 2 times, the server responds",
		},
		{
			record.Record{Verdict: record.Checked, Status: 200, For: "http://a.example/busy"},
			"to check the server, because http://a.example/busy was put off",
		},
		{
			record.Record{Verdict: record.Moved, Status: 301, Location: "http://a.example/new"},
			"to http://a.example/new",
		},
		{
			record.Record{Verdict: record.RobotsTxt, Status: 200, Redirects: 2},
			"after 2 redirects",
		},
		{
			record.Record{Verdict: record.Failed, Error: "EOF"},
			"EOF",
		},
	} {
		if got := details(tt.record, nil); got != tt.want {
			t.Errorf("details of a record with the verdict %s are %q, want %q", tt.record.Verdict, got, tt.want)
		}
	}
}

// The heading states why the crawl stopped early.
func TestWrite_Stopped(t *testing.T) {
	for stopped, want := range map[string]string{
		"failed":      "failed, 3 URLs still queued",
		"interrupted": "interrupted, 3 URLs still queued",
		"max-time":    "stopped at -max-time, 3 URLs still queued",
		"max-pages":   "stopped at -max-pages, 3 URLs still queued",
	} {
		text := write(t, New("", "", time.Now(), 0), record.Summary{Stopped: stopped, Left: 3}).text()
		if !strings.Contains(text, "· "+want) {
			t.Errorf("report does not contain %q:\n%s", "· "+want, text)
		}
	}
}

func TestWrite_Fails(t *testing.T) {
	err := New("", "", time.Now(), 0).Write(fullDisk{}, record.Summary{})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Write on a full disk: error %v, want %v", err, syscall.ENOSPC)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// decide returns the decision of a robots.txt on a URL.
func decide(t *testing.T, robots, rawURL string) *robotsmw.Decision {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	var internet robotstest.Internet
	serveRobots := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, robots) }
	internet.Handle(u.Host, http.HandlerFunc(serveRobots))
	transport, err := robotsmw.NewTransport(robotsmw.Options{
		UserAgent: "ExampleBot/1.0",
		Base:      &internet,
		KeepFiles: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := transport.Checker().Check(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	return &d
}

// A document is a report as a browser parses it.
type document struct{ *html.Node }

// write writes the report of a crawl and parses it.
func write(t *testing.T, c *Crawl, s record.Summary) document {
	t.Helper()
	var out bytes.Buffer
	if err := c.Write(&out, s); err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(&out)
	if err != nil {
		t.Fatal(err)
	}
	return document{root}
}

// each calls visit with each element.
func (d document) each(visit func(*html.Node)) {
	for n := range d.Descendants() {
		if n.Type == html.ElementNode {
			visit(n)
		}
	}
}

// read parses the JSON in the script element with this id.
func (d document) read(t *testing.T, id string, into any) {
	t.Helper()
	found := false
	d.each(func(n *html.Node) {
		if n.Data == "script" && attr(n, "id") == id {
			found = true
			if err := json.Unmarshal([]byte(n.FirstChild.Data), into); err != nil {
				t.Errorf("JSON of the element %s: %v", id, err)
			}
		}
	})
	if !found {
		t.Fatalf("report has no script element %s", id)
	}
}

// skeleton returns the names of the report's elements and attributes. It must
// be the same whatever texts the sites send.
func (d document) skeleton() string {
	var b strings.Builder
	d.each(func(n *html.Node) {
		b.WriteString(n.Data)
		for _, a := range n.Attr {
			b.WriteString(" " + a.Key)
		}
		b.WriteString("\n")
	})
	return b.String()
}

// text returns the text of the report before its script runs.
func (d document) text() string {
	var b strings.Builder
	for n := range d.Descendants() {
		if n.Type == html.TextNode && n.Parent.Data != "script" && n.Parent.Data != "style" {
			b.WriteString(n.Data)
		}
	}
	return b.String()
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// Pages with the same directives share a row, even if their links with
// rel=nofollow differ.
func TestWrite_NofollowLinks(t *testing.T) {
	c := New("x", "Bot/1.0", time.Now(), time.Second)
	for n := range 30 {
		u := fmt.Sprintf("http://a.example/%d", n)
		add(c, record.Record{
			Verdict: record.Fetched, URL: u, Host: "a.example", Status: 200,
			PageInfo: record.PageInfo{NotFollowed: []string{u + "/x", u + "/y"}},
		})
	}
	var o overview
	write(t, c, record.Summary{}).read(t, "overview", &o)
	if len(o.Hosts) != 1 || len(o.Hosts[0].Groups) != 1 {
		t.Fatalf("hosts are %+v, want one host with one group of pages", o.Hosts)
	}
	group := o.Hosts[0].Groups[0]
	if group.Count != 30 || group.Links != 60 || len(group.URLs) != maxExamples {
		t.Errorf("group has %d pages, %d links and %d examples, want 30, 60 and %d",
			group.Count, group.Links, len(group.URLs), maxExamples)
	}
	want := []string{"http://a.example/1/x", "http://a.example/1/y"}
	if links := group.URLs[1].Links; !slices.Equal(links, want) {
		t.Errorf("the second example has the links %q, want %q", links, want)
	}
}

func add(c *Crawl, r record.Record) { c.Add(r, r.DisallowedBy(make(map[string]bool)), 0) }
