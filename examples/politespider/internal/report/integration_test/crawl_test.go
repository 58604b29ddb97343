package integration

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/examples/politespider/internal/report"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// An inventedCrawl is a crawl that never took place. It contains nearly
// everything that a report shows, and is the same each time.
type inventedCrawl struct {
	*report.Crawl
	summary record.Summary
	random  *rand.Rand
	checker *robotsmw.Checker
	early   int // number of requests that are still to be too early
}

// invented returns the report of an invented crawl with the given number of
// hosts, of pages on each host, and of requests that are too early.
func invented(t testing.TB, hosts, pages, early int) (*report.Crawl, record.Summary) {
	t.Helper()
	began := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
	const agent = "ExampleBot/1.0 (+https://example.com/bot)"
	c := &inventedCrawl{
		Crawl:   report.New("http://www.example/ and what it links to", agent, began, time.Second),
		random:  rand.New(rand.NewPCG(1, 2)),
		checker: inventedChecker(t),
		early:   early,
	}
	for n := range hosts {
		c.addHost(t, n, pages)
	}
	return c.Crawl, c.summary
}

var words = strings.Fields("archive garden history map minutes museum news opening orders people " +
	"prices river school station tickets visit weather winter")

func (c *inventedCrawl) word() string { return words[c.random.IntN(len(words))] }

// An inventedHost is a host of an invented crawl.
type inventedHost struct {
	*inventedCrawl
	record.HostSummary
	number   int
	base     string  // the URL of the host, without a slash
	slowness float64 // the mean response time, in seconds
	now      float64 // when the next request is sent, in seconds since the crawl began
}

// addHost adds the n-th host.
func (c *inventedCrawl) addHost(t testing.TB, n, pages int) {
	t.Helper()
	name := fmt.Sprintf("%s-%03d.example", c.word(), n)
	interval := 1.0
	if n%7 == 3 {
		interval = 2.5
	}
	h := &inventedHost{
		inventedCrawl: c,
		HostSummary:   record.HostSummary{Host: name, Interval: interval, Closest: interval, RobotsTxt: "200"},
		number:        n,
		base:          "http://" + name,
	}
	h.slowness = 0.02 + c.random.ExpFloat64()*0.15
	h.now = c.random.Float64() * 3
	h.addRequest(record.Record{Verdict: record.RobotsTxt, URL: h.base + "/robots.txt", Status: 200}, 1)
	for page := range pages {
		r := h.page(t, page)
		if r.Verdict == record.Disallowed {
			h.add(r)
			continue
		}
		if page == pages/2 && c.early > 0 {
			c.early--
			h.now -= 0.6 * interval
		}
		h.addRequest(r, interval)
	}
	c.summary.Hosts = append(c.summary.Hosts, h.HostSummary)
}

// page returns the record of a page with a random outcome, without its request.
func (h *inventedHost) page(t testing.TB, page int) record.Record {
	t.Helper()
	r := record.Record{
		Verdict: record.Fetched,
		URL:     fmt.Sprintf("%s/%s/%s/%d", h.base, h.word(), h.word(), page),
		Status:  200,
	}
	switch dice := h.random.IntN(200); {
	case dice < 6:
		r.Verdict = record.Disallowed
		r.Status = 0
		r.URL = h.base + []string{"/private/", "/cart?add=", "/search/q/"}[dice%3] + fmt.Sprint(page)
		r.Decision = check(t, h.checker, r.URL)
	case dice < 8:
		r.Verdict = record.Moved
		r.Status = 301
		r.Location = h.base + "/" + h.word()
	case dice < 9 && h.number%5 == 0:
		r.Verdict = record.PutOff
		r.Status = 429
		r.Tries = 1
		r.PausedUntil = float64(5 + h.random.IntN(40)) // see addRequest
		r.RetryIn = r.PausedUntil
	case dice < 10 && h.number%6 == 0:
		r.Verdict = record.GivenUp
		r.Status = 503
		r.Tries = 3
		r.PausedUntil = 10
	case dice < 11:
		r.Verdict = record.Failed
		r.Status = 0
		r.Error = "read: connection reset by peer"
	case dice < 16:
		r.NoIndex = true
		r.PageInfo = noindexPage()
	case dice < 20:
		r.NoIndex = dice == 19
		r.PageInfo = deniedPage()
	}
	return r
}

// noindexPage returns the information on a page with noindex.
func noindexPage() record.PageInfo {
	noindex := robotsmeta.Rule{Source: robotsmeta.Meta, Line: 4, Name: "noindex", Known: true, Raw: "noindex"}
	return record.PageInfo{Examined: "complete", Directives: []robotsmeta.Rule{noindex}}
}

// deniedPage returns the information on a page that denies AI training.
func deniedPage() record.PageInfo {
	statement := preference.Statement{
		Use:    preference.TrainAI,
		Answer: preference.Deny,
		Signal: "Content-Usage",
		Where:  "header",
		Line:   1,
		Raw:    "train-ai=n",
		Draft:  "draft-ietf-aipref-vocab",
	}
	verdict := preference.Verdict{
		Use:      preference.TrainAI,
		Answer:   preference.Deny,
		Evidence: []preference.Statement{statement},
	}
	return record.PageInfo{Examined: "complete", Uses: []preference.Verdict{verdict}}
}

// addRequest adds a record with a request. PausedUntil of the record is the
// length of the pause.
func (h *inventedHost) addRequest(r record.Record, interval float64) {
	took := h.slowness * (0.5 + h.random.ExpFloat64())
	r.Requests = []record.Request{{At: h.now, Took: took, Status: r.Status, Interval: interval}}
	r.Seconds = h.now + took
	if r.PausedUntil > 0 {
		r.PausedUntil += h.now + took
	}
	h.now = max(h.now+interval, r.PausedUntil) + h.random.ExpFloat64()*0.02
	h.Requests++
	h.count(r)
}

// add adds a record without a request.
func (h *inventedHost) add(r record.Record) {
	r.Seconds = h.now
	h.count(r)
}

// count adds a record to the report and to the summary.
func (h *inventedHost) count(r record.Record) {
	r.Host = h.Host
	s := &h.summary
	switch r.Verdict {
	case record.Fetched:
		h.Fetched++
		s.Fetched++
	case record.Moved:
		h.Moved++
		s.Moved++
	case record.Disallowed:
		h.Disallowed++
		s.Disallowed++
	case record.GivenUp, record.Failed:
		h.Lost++
		s.Lost = append(s.Lost, r.Brief())
	}
	if r.NoIndex {
		s.NoIndex++
	}
	s.Seconds = max(s.Seconds, h.now)
	add(h.Crawl, r)
}

// inventedRobots is the robots.txt of all hosts of an invented crawl.
const inventedRobots = `# What our site asks of robots.

User-agent: OtherBot
Disallow: /

User-agent: ExampleBot
User-agent: *
Disallow: /private/
Disallow: /cart?
Allow: /search/about
Disallow: /search/
Crawl-delay: 1

Sitemap: http://www.example/sitemap.xml
`

func inventedChecker(t testing.TB) *robotsmw.Checker { return newChecker(t, inventedRobots) }

// newChecker returns a Checker for an internet with this robots.txt on every
// host.
func newChecker(t testing.TB, robotsTxt string) *robotsmw.Checker {
	t.Helper()
	transport, err := robotsmw.NewTransport(robotsmw.Options{
		UserAgent: "ExampleBot/1.0",
		KeepFiles: true,
		Base:      everywhere{robotsTxt},
	})
	if err != nil {
		t.Fatal(err)
	}
	return transport.Checker()
}

// An everywhere is a RoundTripper whose response is the same for every request.
type everywhere struct{ text string }

func (e everywhere) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK,
		Request:    req,
		Header:     make(http.Header),
		Body:       io.NopCloser(strings.NewReader(e.text)),
	}, nil
}

// check returns the decision on a URL.
func check(t testing.TB, c *robotsmw.Checker, rawURL string) *robotsmw.Decision {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.Check(context.Background(), u)
	if err != nil {
		t.Fatal(err)
	}
	return &d
}

// These are texts with which a site might try to run a script in the report.
var smuggled = []string{
	`</script><script>pwned=1</script>`,
	`<!--<script>`,
	`"><img src=x onerror=pwned=1>`,
	`<svg onload=pwned=1>`,
	`' autofocus onfocus=pwned=1 '`,
	`javascript:pwned=1`,
	`<iframe srcdoc="<script>parent.pwned=1</script>">`,
	`</style><style>*{display:none}`,
	"\u202egnp.exe",
	"\u2028pwned=1\u2029",
	"__proto__",
	"constructor",
	`<base href=http://evil.example/>`,
	`<meta http-equiv=refresh content=0;url=http://evil.example/>`,
}

// hostile returns a crawl of sites that put the smuggled texts wherever they
// can.
func hostile(t *testing.T) (*report.Crawl, record.Summary) {
	t.Helper()
	c := report.New(smuggled[0], smuggled[2], time.Now(), time.Second)
	s := record.Summary{Seconds: 100, Fetched: len(smuggled), Disallowed: len(smuggled)}
	for n, text := range smuggled {
		addHostile(t, c, text, float64(5*n))
		s.Hosts = append(s.Hosts, record.HostSummary{
			Host:       text,
			Requests:   2,
			Fetched:    1,
			Disallowed: 1,
			RobotsTxt:  text,
		})
		s.Lost = append(s.Lost, record.Record{
			URL:     "http://a.example/" + text,
			Host:    text,
			Error:   text,
			Verdict: record.Failed,
		})
	}
	return c, s
}

// addHostile adds records of a site that puts a text wherever it can. The first
// request is sent at the given time.
func addHostile(t *testing.T, c *report.Crawl, text string, at float64) {
	t.Helper()
	u := "http://a.example/" + text
	add(c, record.Record{
		Seconds:  at,
		Verdict:  record.RobotsTxt,
		URL:      u,
		Host:     text,
		Status:   200,
		Error:    text,
		Requests: []record.Request{{URL: u, Host: text, At: at, Status: 200, Interval: 1}},
	})
	add(c, record.Record{
		Seconds:  at + 1,
		Verdict:  record.Fetched,
		URL:      u,
		Host:     text,
		Status:   200,
		Location: text,
		Requests: []record.Request{{At: at + 1, Status: 200, Interval: 1}},
		PageInfo: record.PageInfo{
			Examined:    "not examined",
			Coding:      text,
			Canonical:   text,
			Refresh:     text,
			NotFollowed: []string{text},
			Directives:  []robotsmeta.Rule{{Source: robotsmeta.Meta, Scope: text, Name: text, Raw: text}},
		},
	})
	line := strings.NewReplacer("\n", "", "\r", "").Replace(text)
	checker := newChecker(t, "# "+line+"\nUser-agent: *\nDisallow: /a"+line+"\nDisallow: /*\n")
	add(c, record.Record{
		Seconds:  at + 2,
		Verdict:  record.Disallowed,
		URL:      u,
		Host:     text,
		Decision: check(t, checker, "http://a.example/x"),
	})
}

func add(c *report.Crawl, r record.Record) { c.Add(r, r.DisallowedBy(make(map[string]bool)), 0) }
