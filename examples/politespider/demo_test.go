package main

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/demosite"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// demoWants is every request that the demo's servers are to see, and how often: what is not here is disallowed, linked
// from nowhere that may be followed, or not there at all. It was written by reading the robots.txt files, not by running
// the spider.
var demoWants = map[string]int{
	"GET town.example/robots.txt":         1,
	"GET town.example/":                   1,
	"GET town.example/council/":           1,
	"GET town.example/robots/library.txt": 1, // the library's robots.txt

	"GET museum.example/robots.txt":             1,
	"GET museum.example/":                       1,
	"GET museum.example/hours":                  1,
	"GET museum.example/archive/1901/catalogue": 1, // an Allow inside a Disallow
	"GET museum.example/shop":                   1,
	"GET museum.example/plans.zip.html":         1, // /*.zip$ ends there
	"GET museum.example/old-tickets":            1, // redirects into a forbidden path
	"GET museum.example/staff":                  1,
	"GET museum.example/staff/curator":          1, // noindex is not nofollow
	"GET museum.example/guestbook":              1,
	"GET museum.example/guide.pdf":              1,

	"GET bakery.example/robots.txt": 1,
	"GET bakery.example/":           1,
	"GET bakery.example/bread":      1,
	"GET bakery.example/rolls":      1,
	"GET bakery.example/cakes":      1,

	"GET library.example/robots.txt": 1,
	"GET library.example/":           1,
	"GET library.example/books":      1,

	"GET fountain.example/robots.txt": 1,
	"GET fountain.example/":           1,
	"GET fountain.example/coins":      1,
	"GET fountain.example/fish":       1,

	"GET clinic.example/robots.txt": 1,

	"GET station.example/robots.txt": 1,
	"GET station.example/":           1,
	"GET station.example/departures": 2, // 429, then an answer
	"GET station.example/delays":     4, // 503 for ever
	"GET station.example/platforms":  1,
}

// demoInterval is the time that a host is owed between the starts of two requests, robots.txt included.
func demoInterval(host, previous string) time.Duration {
	if host == "bakery.example" && previous != "/robots.txt" {
		return 2 * time.Second // its Crawl-delay
	}
	return time.Second
}

// The demo as a user sees it, over real sockets: its servers' log is the witness.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: the demo takes a quarter of a minute")
	}
	t.Parallel()
	site, err := demosite.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	transport := &http.Transport{DialContext: site.DialContext}
	defer transport.CloseIdleConnections()

	crawlDemo(t, site, transport)
	auditRequests(t, site.Log())
	// A loaded machine may let a request reach its server late, and the next one in time: what a server's log can
	// prove is that no n intervals ever hold more than n+1 starts.
	for host, log := range byHost(site.Log()) {
		for first := range log {
			var owed time.Duration
			for last := first + 1; last < len(log); last++ {
				owed += demoInterval(host, log[last-1].Target)
				if n := last - first; n > 1 && log[last].At.Sub(log[first].At) < owed-demoInterval(host, log[last-1].Target) {
					t.Errorf("%s: %d requests within %v, from %s to %s", host, n+1, log[last].At.Sub(log[first].At), log[first].Target, log[last].Target)
				}
			}
		}
	}
}

// The demo in a bubble, where time is exact.
func TestDemo_Pace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, err := demosite.New()
		if err != nil {
			t.Fatal(err)
		}
		var internet robotstest.Internet
		for _, host := range site.Hosts() {
			internet.Handle(host, site)
		}
		summary, _ := crawlDemo(t, site, &internet)
		if summary.Seconds > 15 {
			t.Errorf("the demo takes %.1f s of politeness alone; it is to end within 20", summary.Seconds)
		}
		auditRequests(t, site.Log())
		for host, log := range byHost(site.Log()) {
			for i := 1; i < len(log); i++ {
				gap, owed := log[i].At.Sub(log[i-1].At), demoInterval(host, log[i-1].Target)
				if log[i-1].Target == "/departures" && log[i-1].Status == http.StatusTooManyRequests {
					owed = 3 * time.Second // its Retry-After
				}
				if gap < owed {
					t.Errorf("%s: %s came %v after %s, want %v at least", host, log[i].Target, gap, log[i-1].Target, owed)
				}
			}
		}
	})
}

// What the spider says agrees with what the servers saw, and every URL that it met is accounted for.
func TestDemo_Report(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, err := demosite.New()
		if err != nil {
			t.Fatal(err)
		}
		var internet robotstest.Internet
		for _, host := range site.Hosts() {
			internet.Handle(host, site)
		}
		summary, records := crawlDemo(t, site, &internet)

		got := make(map[string]Verdict) // the last word on each URL
		for _, r := range records {
			if r.Verdict != RobotsTxt {
				got[r.URL] = r.Verdict
			}
		}
		want := map[string]Verdict{
			"http://town.example/council/minutes/1901-05-02": Blocked,
			"http://museum.example/archive/":                 Blocked,
			"http://museum.example/shop?session=42":          Blocked,
			"http://museum.example/plans.zip":                Blocked,
			"http://museum.example/tickets/today":            Blocked,
			"http://museum.example/old-tickets":              Moved,
			"http://bakery.example/orders/17":                Blocked,
			"http://library.example/reading-room/":           Blocked,
			"http://clinic.example/":                         Unreachable,
			"http://clinic.example/appointments":             Unreachable,
			"http://lighthouse.example/":                     Unreachable,
			"http://station.example/delays":                  Missing,
		}
		for request := range demoWants {
			url := "http://" + strings.TrimPrefix(request, "GET ")
			if _, ok := want[url]; !ok && !strings.HasSuffix(url, ".txt") {
				want[url] = Fetched
			}
		}
		for url, verdict := range want {
			if got[url] != verdict {
				t.Errorf("%s: %q, want %q", url, got[url], verdict)
			}
		}
		for url, verdict := range got {
			if _, ok := want[url]; !ok {
				t.Errorf("%s: %q, but nothing leads there", url, verdict)
			}
		}

		for _, r := range records {
			if r.Verdict != Blocked {
				continue
			}
			if r.Decision.Line == 0 || !strings.HasPrefix(r.Decision.Rule, "Disallow: /") {
				t.Errorf("%s: blocked by no rule", r.URL)
			}
		}
		flags := make(map[string]string)
		for _, r := range records {
			if r.NoIndex {
				flags[r.URL] += "noindex "
			}
			if r.NoFollow {
				flags[r.URL] += "nofollow "
			}
		}
		if want := map[string]string{
			"http://museum.example/staff":         "noindex ",
			"http://museum.example/staff/curator": "noindex ",
			"http://museum.example/guestbook":     "nofollow ",
			"http://museum.example/guide.pdf":     "noindex nofollow ",
		}; !maps.Equal(flags, want) {
			t.Errorf("directives %q, want %q", flags, want)
		}
		if summary.Left != 0 || summary.Stopped != "" {
			t.Errorf("stopped %q with %d left, want a crawl that ends by itself", summary.Stopped, summary.Left)
		}
		if lost := len(summary.Lost); lost != 4 {
			t.Errorf("%d URLs in the list of those lost, want 4", lost)
		}
	})
}

// crawlDemo crawls the demo and returns what was printed.
func crawlDemo(t *testing.T, site *demosite.Site, base http.RoundTripper) (Summary, []line) {
	t.Helper()
	cfg := testConfig(base)
	if err := cfg.demo(site); err != nil {
		t.Fatal(err)
	}
	return testCrawl(t, t.Context(), cfg, exitOK)
}

// line is a line of the JSON output as a reader in another language sees it.
type line struct {
	Record
	Decision struct {
		Rule string `json:"rule"`
		Line int    `json:"line"`
	} `json:"decision"`
	Summary *Summary `json:"summary"`
}

// parseOutput reads the JSON lines of a crawl.
func parseOutput(t *testing.T, out io.Reader) (Summary, []line) {
	t.Helper()
	var lines []line
	dec := json.NewDecoder(out)
	for {
		var l line
		if err := dec.Decode(&l); err != nil {
			t.Fatalf("after %d lines and no summary: %v", len(lines), err)
		}
		if l.Summary != nil {
			return *l.Summary, lines
		}
		lines = append(lines, l)
	}
}

func auditRequests(t *testing.T, log []demosite.Request) {
	t.Helper()
	got := make(map[string]int)
	for _, r := range log {
		got[r.Method+" "+r.Host+r.Target]++
		if r.UserAgent != demoAgent {
			t.Errorf("%s%s was asked for as %q", r.Host, r.Target, r.UserAgent)
		}
	}
	for _, request := range slices.Sorted(maps.Keys(got)) {
		if got[request] != demoWants[request] {
			t.Errorf("%s: %d times, want %d", request, got[request], demoWants[request])
		}
	}
	for _, request := range slices.Sorted(maps.Keys(demoWants)) {
		if got[request] == 0 {
			t.Errorf("%s: never, want %d times", request, demoWants[request])
		}
	}
}

func byHost(log []demosite.Request) map[string][]demosite.Request {
	hosts := make(map[string][]demosite.Request)
	for _, r := range log {
		hosts[r.Host] = append(hosts[r.Host], r)
	}
	return hosts
}
