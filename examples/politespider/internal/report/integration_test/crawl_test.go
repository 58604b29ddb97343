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

// invented returns the report of a crawl that never took place. The arguments
// say how many hosts there are, how many pages each host has, and how many
// requests come too early. The crawl has nearly everything that a report shows,
// and is the same each time.
func invented(t testing.TB, hosts, pages, early int) (*report.Crawl, record.Summary) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	c := report.New("http://www.example/ and what it links to",
		"ExampleBot/1.0 (+https://example.com/bot)", time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC), time.Second)
	var s record.Summary
	checker := inventedChecker(t)
	words := strings.Fields("archive garden history map minutes museum news opening orders people prices river school station tickets visit weather winter")
	word := func() string { return words[random.IntN(len(words))] }
	for n := range hosts {
		name := fmt.Sprintf("%s-%03d.example", word(), n)
		base := "http://" + name
		interval := 1.0
		if n%7 == 3 {
			interval = 2.5
		}
		h := record.HostSummary{Host: name, Interval: interval, Closest: interval, RobotsTxt: "200"}
		slowness := 0.02 + random.ExpFloat64()*0.15
		now := random.Float64() * 3
		add := func(r record.Record, sent bool, owed float64) {
			r.Host, r.Seconds = name, now
			if sent {
				took := slowness * (0.5 + random.ExpFloat64())
				r.Requests = []record.Request{{At: now, Took: took, Status: r.Status, Interval: owed}}
				r.Seconds += took
				if r.PausedUntil > 0 { // before this addition, PausedUntil counts from the answer
					r.PausedUntil += now + took
				}
				now = max(now+owed, r.PausedUntil) + random.ExpFloat64()*0.02
				h.Requests++
			}
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
			s.Seconds = max(s.Seconds, now)
			add(c, r)
		}
		add(record.Record{Verdict: record.RobotsTxt, URL: base + "/robots.txt", Status: 200}, true, 1)
		for page := range pages {
			u := fmt.Sprintf("%s/%s/%s/%d", base, word(), word(), page)
			r := record.Record{Verdict: record.Fetched, URL: u, Status: 200}
			switch dice := random.IntN(200); {
			case dice < 6:
				r.Verdict, r.Status = record.Disallowed, 0
				r.URL = base + []string{"/private/", "/cart?add=", "/search/q/"}[dice%3] + fmt.Sprint(page)
				r.Decision = check(t, checker, r.URL)
				add(r, false, 0)
				continue
			case dice < 8:
				r.Verdict, r.Status, r.Location = record.Moved, 301, base+"/"+word()
			case dice < 9 && n%5 == 0:
				r.Verdict, r.Status, r.Tries, r.PausedUntil = record.PutOff, 429, 1, float64(5+random.IntN(40))
				r.RetryIn = r.PausedUntil
			case dice < 10 && n%6 == 0:
				r.Verdict, r.Status, r.Tries, r.PausedUntil = record.GivenUp, 503, 3, 10
			case dice < 11:
				r.Verdict, r.Status, r.Error = record.Failed, 0, "read: connection reset by peer"
			case dice < 16:
				r.NoIndex = true
				r.PageInfo = record.PageInfo{
					Examined: "complete",
					Directives: []robotsmeta.Rule{{
						Source: robotsmeta.Meta,
						Line:   4,
						Name:   "noindex",
						Known:  true,
						Raw:    "noindex",
					}},
				}
			case dice < 20:
				r.NoIndex = dice == 19
				r.PageInfo = record.PageInfo{Examined: "complete", Uses: []preference.Verdict{{Use: preference.TrainAI, Answer: preference.Deny, Evidence: []preference.Statement{{
					Use: preference.TrainAI, Answer: preference.Deny, Signal: "Content-Usage", Where: "header", Line: 1, Raw: "train-ai=n", Draft: "draft-ietf-aipref-vocab",
				}}}}}
			}
			if page == pages/2 && early > 0 {
				early--
				now -= 0.6 * interval
			}
			add(r, true, interval)
		}
		s.Hosts = append(s.Hosts, h)
	}
	return c, s
}

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

// An everywhere is a handler that serves the same robots.txt on every host.
type everywhere struct{ text string }

func (e everywhere) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK,
		Request:    req,
		Header:     make(http.Header),
		Body:       io.NopCloser(strings.NewReader(e.text)),
	}, nil
}

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
	`</script><script>pwned=1</script>`, `<!--<script>`, `"><img src=x onerror=pwned=1>`, `<svg onload=pwned=1>`,
	`' autofocus onfocus=pwned=1 '`, `javascript:pwned=1`, `<iframe srcdoc="<script>parent.pwned=1</script>">`, `</style><style>*{display:none}`,
	"\u202egnp.exe", "\u2028pwned=1\u2029", "__proto__", "constructor", `<base href=http://evil.example/>`, `<meta http-equiv=refresh content=0;url=http://evil.example/>`,
}

// hostile returns a crawl of sites that put the smuggled texts wherever they
// can.
func hostile(t *testing.T) (*report.Crawl, record.Summary) {
	t.Helper()
	c := report.New(smuggled[0], smuggled[2], time.Now(), time.Second)
	s := record.Summary{Seconds: 100, Fetched: len(smuggled), Disallowed: len(smuggled)}
	for n, text := range smuggled {
		host, u, at := text, "http://a.example/"+text, float64(5*n)
		add(c, record.Record{
			Seconds:  at,
			Verdict:  record.RobotsTxt,
			URL:      u,
			Host:     host,
			Status:   200,
			Error:    text,
			Requests: []record.Request{{URL: u, Host: host, At: at, Status: 200, Interval: 1}},
		})
		add(c, record.Record{Seconds: at + 1, Verdict: record.Fetched, URL: u, Host: host, Status: 200, Location: text, Requests: []record.Request{{At: at + 1, Status: 200, Interval: 1}}, PageInfo: record.PageInfo{
			Examined: "not examined", Coding: text, Canonical: text, Refresh: text, NotFollowed: []string{text},
			Directives: []robotsmeta.Rule{{Source: robotsmeta.Meta, Scope: text, Name: text, Raw: text}},
		}})
		line := strings.NewReplacer("\n", "", "\r", "").Replace(text)
		transport, err := robotsmw.NewTransport(robotsmw.Options{
			UserAgent: "ExampleBot/1.0",
			KeepFiles: true,
			Base:      everywhere{"# " + line + "\nUser-agent: *\nDisallow: /a" + line + "\nDisallow: /*\n"},
		})
		if err != nil {
			t.Fatal(err)
		}
		add(c, record.Record{
			Seconds:  at + 2,
			Verdict:  record.Disallowed,
			URL:      u,
			Host:     host,
			Decision: check(t, transport.Checker(), "http://a.example/x"),
		})
		s.Hosts = append(s.Hosts, record.HostSummary{
			Host:       host,
			Requests:   2,
			Fetched:    1,
			Disallowed: 1,
			RobotsTxt:  text,
		})
		s.Lost = append(s.Lost, record.Record{URL: u, Host: host, Error: text, Verdict: record.Failed})
	}
	return c, s
}

func add(c *report.Crawl, r record.Record) { c.Add(r, r.DisallowedBy(make(map[string]bool)), 0) }
