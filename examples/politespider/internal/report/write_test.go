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

// The report has a mark for each request, and for each URL that was not
// requested.
func TestWrite(t *testing.T) {
	c := New("http://a.example/", "ExampleBot/1.0", time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC), time.Second)
	const file = "# ours\nUser-agent: *\nDisallow: /attic/\n"
	records := []record.Record{
		{Seconds: 1.1, Verdict: record.RobotsTxt, URL: "http://a.example/robots.txt", Host: "a.example", Status: 200, Redirects: 1, Requests: []record.Request{
			{URL: "http://a.example/robots.txt", Host: "a.example", At: 0, Took: 0.01, Status: 302, Interval: 1},
			{URL: "http://b.example/r", Host: "b.example", At: 1, Took: 0.02, Status: 200, Interval: 1},
		}},
		{Seconds: 1.01, Verdict: record.Fetched, URL: "http://a.example/", Host: "a.example", Status: 200, NoIndex: true,
			Requests: []record.Request{{At: 1, Took: 0.005, Status: 200, Interval: 2}},
			Said:     record.Said{Directives: []robotsmeta.Rule{{Source: robotsmeta.Meta, Line: 3, Name: "noindex", Known: true, Raw: "noindex"}}}},
		{Seconds: 2.5, Verdict: record.Disallowed, URL: "http://a.example/attic/1", Host: "a.example", Decision: decide(t, file, "http://a.example/attic/1")},
		{Seconds: 2.6, Verdict: record.Disallowed, URL: "http://a.example/attic/2", Host: "a.example", Decision: decide(t, file, "http://a.example/attic/2")},
		{Seconds: 2.1, Verdict: record.PutOff, URL: "https://a.example/busy", Host: "a.example", Status: 429, Tries: 1, Again: 3, PausedUntil: 5.1,
			Requests: []record.Request{{At: 2, Took: 0.1, Status: 429, Interval: 2}}},
		{Seconds: 9, Verdict: record.Failed, URL: "http://c.example/", Host: "c.example", Error: "connection reset"},
	}
	for _, r := range records {
		add(c, r)
	}
	doc := write(t, c, record.Summary{
		Seconds: 9, Fetched: 1, Disallowed: 2, Failed: 1, Lost: records[5:],
		Hosts: []record.HostSummary{
			{Host: "a.example", Requests: 3, Fetched: 1, Disallowed: 2, Interval: 2, RobotsTxt: "200 after 1 redirect"},
			{Host: "b.example", Requests: 1, Interval: 1, Longest: 3.5},
			{Host: "c.example", Lost: 1, Interval: 1},
		},
	})

	var got timeline
	doc.read(t, "timeline-0", &got)
	want := timeline{
		At: []int64{0, 1000, 2000, 2500, 2600}, Took: []int64{10, 5, 100, -1, -1}, Owed: []int64{1000, 2000, 2000, 0, 0},
		Status: []uint16{302, 200, 429, 0, 0}, Verdicts: "rfpbb",
		URLs: []string{"/robots.txt", "/", "https://a.example/busy", "/attic/1", "/attic/2"},
		Note: []uint32{0, 1, 3, 2, 2}, Notes: []string{"", "noindex", "line 3: Disallow: /attic/", "try 1 of 4"},
		Pauses: [][2]int64{{2, 5100}}, Early: [][2]int64{{2, 1000}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	var b timeline
	doc.read(t, "timeline-1", &b)
	// The note about a robots.txt is at the mark of the last request for the
	// file. Here, a redirect led from one host to another, so the last request
	// went to the second host.
	if b.Verdicts != "r" || b.Status[0] != 200 || b.Notes[b.Note[0]] != "after 1 redirect" {
		t.Errorf("of a robots.txt that is behind a redirect, its host has %+v", b)
	}
	var o overview
	doc.read(t, "overview", &o)
	a := o.Hosts[0]
	if a.Tightest != 1000 || a.Owed != 2000 || a.Early != 1 || a.Median != 10 || a.Slowest != 100 {
		t.Errorf("tightest %d of %d, %d early, median %d, slowest %d; want 1000 of 2000, 1, 10, 100", a.Tightest, a.Owed, a.Early, a.Median, a.Slowest)
	}
	if len(a.Rules) != 1 || a.Rules[0].Line != 3 || a.Rules[0].Count != 2 || a.Rules[0].Text != "Disallow: /attic/" || !slices.Equal(a.Rules[0].Group, []int{2}) {
		t.Fatalf("rules: %+v", a.Rules)
	}
	var files map[string][]string
	doc.read(t, "files", &files)
	if lines := files[a.Rules[0].SHA256]; !slices.Equal(lines, []string{"# ours", "User-agent: *", "Disallow: /attic/"}) {
		t.Errorf("the file: %q", lines)
	}
	if len(a.Said) != 1 || !reflect.DeepEqual(*a.Said[0], pageGroup{[]string{"noindex"}, []string{"meta, line 3: noindex"}, []pageExample{{URL: "http://a.example/"}}, 1, 0}) {
		t.Errorf("said: %+v", a.Said[0])
	}
	if want := []lost{{"http://c.example/", "c.example", "failed", 0, "connection reset", 9000}}; !reflect.DeepEqual(o.Lost, want) {
		t.Errorf("lost: %+v", o.Lost)
	}
	for _, want := range []string{"The pace was not kept. 1 of 4 requests was too early", "pauses, all hosts", "1.00 s to 3.50 s"} {
		if text := doc.text(); !strings.Contains(text, want) {
			t.Errorf("report lacks %q:\n%s", want, text)
		}
	}
}

// If net/http repeated a request, the report has several marks for one URL.
// Only the last of these marks is a failure, so the URL counts as lost once.
func TestWrite_SentAgain(t *testing.T) {
	c := New("http://a.example/", "ExampleBot/1.0", time.Now(), 0)
	add(c, record.Record{Seconds: 3, Verdict: record.Failed, URL: "http://a.example/", Host: "a.example", Error: "EOF", Requests: []record.Request{{At: 1}, {At: 2}}})
	var got timeline
	write(t, c, record.Summary{Seconds: 3, Failed: 1, Hosts: []record.HostSummary{{Host: "a.example", Requests: 2, Lost: 1}}}).read(t, "timeline-0", &got)
	if got.Verdicts != "px" || got.Notes[got.Note[0]] != "" || got.Notes[got.Note[1]] != "EOF" {
		t.Errorf("got %+v", got)
	}
}

// These are texts with which a site might try to run a script in the report, or
// to change the report.
var hostile = []string{
	`</script><script>pwned('script')</script>`,
	`<!--<script>`, `-->`, `]]>`,
	`"><img src=x onerror=pwned('img')>`, `' autofocus onfocus=pwned('attribute') '`,
	`javascript:pwned('url')`, `{{.Policy}}`, `${pwned('literal')}`, "`+pwned('tick')+`", `\u003cscript>`, `\"`,
	`</style><style>*{display:none}`, `</title><script>pwned('title')</script>`,
	"\u2028pwned()\u2029", "\u202egnp.exe", "\x00\x1b[2J\xff", "__proto__", "constructor",
}

// Wherever a site can put a hostile text, the report shows the text as data.
// The text adds no element, attribute or script.
func TestWrite_HostileStrings(t *testing.T) {
	plain := write(t, hostileCrawl(t, []string{"harmless"}), hostileSummary("harmless"))
	for _, text := range hostile {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			doc := write(t, hostileCrawl(t, []string{text}), hostileSummary(text))
			if got, want := doc.skeleton(), plain.skeleton(); got != want {
				t.Errorf("the page has other elements:\n%s\nwant\n%s", got, want)
			}
			var files map[string][]string
			doc.read(t, "files", &files)
			for _, lines := range files {
				want := strings.ToValidUTF8("# "+text, "\ufffd")
				if !slices.Contains(lines, want) {
					t.Errorf("robots.txt is shown as %q, without %q", lines, want)
				}
			}
			var o overview
			doc.read(t, "overview", &o)
			var timelines timeline
			doc.read(t, "timeline-0", &timelines)
		})
	}
}

// hostileCrawl returns a crawl that has these texts in every place where a site
// can put text.
func hostileCrawl(t *testing.T, texts []string) *Crawl {
	c := New(texts[0], texts[0], time.Now(), time.Second)
	for n, text := range texts {
		host := text + ".example"
		u := "http://a.example/" + text
		at := float64(2 * n)
		add(c, record.Record{Verdict: record.RobotsTxt, URL: u, Host: host, Error: text, Requests: []record.Request{{URL: u, Host: host, At: at, Interval: 1}}})
		add(c, record.Record{Verdict: record.Fetched, URL: u, Host: host, From: u, Status: 200, Location: text, Requests: []record.Request{{At: at + 1, Interval: 1}}, Said: record.Said{
			Examined: "not examined", Coding: text, Canonical: text, Refresh: text, NotFollowed: []string{text},
			Directives: []robotsmeta.Rule{{Source: robotsmeta.Meta, Scope: text, Name: text, Raw: text}},
			Uses: []preference.Verdict{{Use: preference.TrainAI, Answer: preference.Deny, Evidence: []preference.Statement{{
				Where: "header", Signal: "Content-Usage", Path: text, Raw: text, Policy: text, Draft: "draft",
			}}}},
			Licenses: []record.License{{URL: text, Where: "link"}},
		}})
		line := strings.NewReplacer("\n", "", "\r", "").Replace(text)
		add(c, record.Record{Verdict: record.Disallowed, URL: u, Host: host,
			Decision: decide(t, "# "+line+"\nUser-agent: *\nDisallow: /*\nDisallow: /"+line+"\n", "http://a.example/x")})
	}
	return c
}

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
	sum := func(text string) string {
		h := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(h[:]) + "'"
	}
	var policy, style, script string
	doc.each(func(n *html.Node) {
		switch {
		case n.Data == "meta" && attr(n, "http-equiv") == "Content-Security-Policy":
			policy = attr(n, "content")
		case n.Data == "style":
			style += sum(n.FirstChild.Data)
		case n.Data == "script" && attr(n, "type") == "":
			script += sum(n.FirstChild.Data)
		}
	})
	want := "default-src 'none'; style-src " + style + "; script-src " + script + "; base-uri 'none'; form-action 'none'"
	if policy != want {
		t.Errorf("got  %s\nwant %s", policy, want)
	}
}

// The report loads nothing from outside.
func TestWrite_SelfContained(t *testing.T) {
	doc := write(t, hostileCrawl(t, []string{"http://a.example/"}), hostileSummary("http://a.example/"))
	doc.each(func(n *html.Node) {
		for _, a := range n.Attr {
			switch a.Key {
			case "href":
				if !strings.HasPrefix(a.Val, "#") {
					t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
				}
			case "src", "srcset", "action", "data", "poster", "style", "manifest":
				t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
			}
		}
		if n.Data == "style" && (strings.Contains(n.FirstChild.Data, "url(") || strings.Contains(n.FirstChild.Data, "@import")) {
			t.Error("the style loads something")
		}
	})
}

// A Crawl keeps only a limited amount of data, and the report says so if
// something was left out.
func TestCrawl_Bounds(t *testing.T) {
	c := New("", "", time.Now(), time.Second)
	c.room, c.text = 2, 100
	for n := range 5 {
		add(c, record.Record{Seconds: float64(n), Verdict: record.Failed, Host: "a.example", URL: fmt.Sprintf("http://a.example/%d", n), Error: strings.Repeat("x", 20*n)})
	}
	doc := write(t, c, record.Summary{Failed: 5, Elsewhere: 7})
	var got timeline
	doc.read(t, "timeline-0", &got)
	if len(got.At) != 2 {
		t.Errorf("%d marks are kept, want 2", len(got.At))
	}
	if text := doc.text(); !strings.Contains(text, "3 requests and refusals are counted, not shown") ||
		!strings.Contains(text, "too much text for the report") || !strings.Contains(text, "others have processed 7 other URLs") {
		t.Errorf("the page does not say what is missing:\n%s", text)
	}
}

func TestWrite_Nouns(t *testing.T) {
	lost := make([]record.Record, maxLost+2)
	for i := range lost {
		lost[i] = record.Record{URL: fmt.Sprintf("http://a.example/%d", i), Verdict: record.Failed}
	}
	hosts := []record.HostSummary{{Host: "a.example", Requests: 1}, {Host: "b.example", Requests: 1}}
	for _, tt := range []struct {
		n    int
		want string
	}{
		{1, "1 request or refusal is counted, not shown. | Of 1 request to 1 host, | host 1 | 1 more change is not listed. | 1 more is not listed."},
		{2, "2 requests and refusals are counted, not shown. | Of 2 requests to 2 hosts, | hosts 2 | 2 more changes are not listed. | 2 more are not listed."},
	} {
		c := New("", "", time.Now(), 0)
		c.cut = tt.n
		s := record.Summary{Fetched: tt.n, Hosts: hosts[:tt.n], Lost: lost[:maxLost+tt.n]}
		c.Before = &record.Summary{Lost: lost[:maxLost-maxChanged]}
		text := strings.Join(strings.Fields(write(t, c, s).text()), "")
		for want := range strings.SplitSeq(tt.want, " | ") {
			if !strings.Contains(text, strings.ReplaceAll(want, " ", "")) {
				t.Errorf("with %d of each, the page says nothing of %q:\n%s", tt.n, want, text)
			}
		}
	}
}

// A note adds what the verdict does not say, such as the number of tries.
func TestDetails(t *testing.T) {
	for _, tt := range []struct {
		record record.Record
		want   string
	}{
		{record.Record{Verdict: record.PutOff, Status: 503, Tries: 2}, "try 2 of 4"},
		{record.Record{Verdict: record.GivenUp, Status: 503, Tries: 4}, "requested 4 times"},
		{record.Record{Verdict: record.GivenUp, Status: 503, Tries: 2, Error: "meanwhile it answered"}, "requested 2 times, meanwhile it answered"},
		{record.Record{Verdict: record.Checked, Status: 200, For: "http://a.example/busy"}, "to check the server, because http://a.example/busy was put off"},
		{record.Record{Verdict: record.Moved, Status: 301, Location: "http://a.example/new"}, "to http://a.example/new"},
		{record.Record{Verdict: record.RobotsTxt, Status: 200, Redirects: 2}, "after 2 redirects"},
		{record.Record{Verdict: record.Failed, Error: "EOF"}, "EOF"},
	} {
		if got := details(tt.record, nil); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.record.Verdict, got, tt.want)
		}
	}
}

func TestWrite_Stopped(t *testing.T) {
	for stopped, want := range map[string]string{
		"failed": "failed, 3 URLs still queued", "interrupted": "interrupted, 3 URLs still queued",
		"max-time": "stopped at -max-time, 3 URLs still queued", "max-pages": "stopped at -max-pages, 3 URLs still queued",
	} {
		text := write(t, New("", "", time.Now(), 0), record.Summary{Stopped: stopped, Left: 3}).text()
		if !strings.Contains(text, "· "+want) {
			t.Errorf("page lacks %q:\n%s", want, text)
		}
	}
}

func TestWrite_Fails(t *testing.T) {
	if err := New("", "", time.Now(), 0).Write(fullDisk{}, record.Summary{}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v", err)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func decide(t *testing.T, robots, rawURL string) *robotsmw.Decision {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	var internet robotstest.Internet
	internet.Handle(u.Host, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, robots) }))
	transport, err := robotsmw.NewTransport(robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: &internet, KeepFiles: true})
	if err != nil {
		t.Fatal(err)
	}
	d, err := transport.Checker().Check(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	return &d
}

type document struct{ *html.Node }

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

func (d document) each(visit func(*html.Node)) {
	for n := range d.Descendants() {
		if n.Type == html.ElementNode {
			visit(n)
		}
	}
}

func (d document) read(t *testing.T, id string, into any) {
	t.Helper()
	found := false
	d.each(func(n *html.Node) {
		if n.Data == "script" && attr(n, "id") == id {
			found = true
			if err := json.Unmarshal([]byte(n.FirstChild.Data), into); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
	})
	if !found {
		t.Fatalf("the page has no %s", id)
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

// If pages agree about themselves, they share one row, even if their
// links with rel=nofollow differ.
func TestWrite_FoldsLinks(t *testing.T) {
	c := New("x", "Bot/1.0", time.Now(), time.Second)
	for n := range 30 {
		u := fmt.Sprintf("http://a.example/%d", n)
		add(c, record.Record{Verdict: record.Fetched, URL: u, Host: "a.example", Status: 200, Said: record.Said{NotFollowed: []string{u + "/x", u + "/y"}}})
	}
	var o overview
	write(t, c, record.Summary{}).read(t, "overview", &o)
	if len(o.Hosts) != 1 || len(o.Hosts[0].Said) != 1 {
		t.Fatalf("%d rows, want 1", len(o.Hosts[0].Said))
	}
	s := o.Hosts[0].Said[0]
	if s.Count != 30 || s.Links != 60 || len(s.URLs) != maxExamples || !slices.Equal(s.URLs[1].Links, []string{"http://a.example/1/x", "http://a.example/1/y"}) {
		t.Errorf("%+v", s)
	}
}

func add(c *Crawl, r record.Record) { c.Add(r, record.RuleOf(r, make(map[string]bool)), 0) }
