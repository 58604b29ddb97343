package spider

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/demosite"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A demoPage is a target of a host of the demo, with the conclusions of a
// polite crawler that the host's file contains.
type demoPage struct {
	URL string

	// Concludes[0] has the verdicts on the URL, one for each attempt, such as
	// "put off, fetched", "disallowed by line 9" or "never requested". The
	// other elements are what the crawler notes about the page, such as
	// "noindex", and the evidence for it, such as "meta, line 3: noindex".
	Concludes []string
}

// demoPages returns the targets of all hosts.
func demoPages(t *testing.T) (pages []demoPage) {
	t.Helper()
	files, err := filepath.Glob("../demosite/hosts/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("the demo has no hosts")
	}
	for _, file := range files {
		pages = append(pages, hostPages(t, file)...)
	}
	return pages
}

// hostPages returns the targets in the file of a host.
func hostPages(t *testing.T, file string) (pages []demoPage) {
	t.Helper()
	origin := "http://" + strings.TrimSuffix(filepath.Base(file), ".txt")
	known := make(map[string]bool)
	for _, section := range strings.Split("\n"+readFile(t, file), "\n-- ")[1:] {
		target, rest, _ := strings.Cut(section, " ")
		page := demoPage{URL: origin + target}
		head, _, _ := strings.Cut(rest, "\n\n")
		for line := range strings.Lines(head) {
			if conclusion, ok := strings.CutPrefix(line, "=> "); ok {
				page.Concludes = append(page.Concludes, strings.TrimSpace(conclusion))
			}
		}
		if known[target] {
			if page.Concludes != nil {
				t.Errorf("%s: a later response has conclusions, want them only at the first", page.URL)
			}
			continue
		}
		known[target] = true
		pages = append(pages, page)
	}
	return pages
}

// demoRequests returns how often the demo's servers must receive each request.
// It derives the numbers from the demo's files, which contain the conclusions
// that a crawler must draw about each page. These conclusions follow from the
// robots.txt files and the pages. They were not taken from the spider's output.
// The result does not contain pages that are disallowed, or to which no link
// leads that may be followed.
func demoRequests(t *testing.T) map[string]int {
	t.Helper()
	want := make(map[string]int)
	for _, page := range demoPages(t) {
		if len(page.Concludes) == 0 {
			t.Errorf("%s: the demo's file has no conclusions", page.URL)
			continue
		}
		for verdict := range strings.SplitSeq(page.Concludes[0], ", ") {
			switch record.Verdict(verdict) {
			case record.Fetched, record.Moved, record.NotFound, record.PutOff, record.GivenUp, "requested":
				want["GET "+strings.TrimPrefix(page.URL, "http://")]++
			}
		}
	}
	return want
}

// demoInterval returns the minimum time between the starts of two requests to a
// host. The second argument is the target of the earlier request.
func demoInterval(host, previous string) time.Duration {
	if host == "bakery.example" && previous != "/robots.txt" {
		return 2 * time.Second // the host's Crawl-delay
	}
	return time.Second
}

// The spider crawls the demo over real sockets. The test reads the log of the
// demo's servers, which contains the requests and their times.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: the demo takes a quarter of a minute")
	}
	t.Parallel()
	site := newDemo(t)
	server := httptest.NewServer(site)
	defer server.Close()
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if host, _, _ := net.SplitHostPort(addr); !slices.Contains(site.Hosts(), host) {
			return site.DialContext(ctx, network, addr) // returns the error for a name that is not in the DNS
		}
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}
	transport := &http.Transport{DialContext: dial}
	defer transport.CloseIdleConnections()

	crawlDemo(t, transport)
	checkDemoRequests(t, site)
	for host, log := range byHost(site.Log()) {
		wantPace(t, host, log)
	}
}

// wantPace checks the pace of the requests to a host in real time. On a busy
// machine, one request may reach its server late, and the next one on time, so
// that these two requests are too close in the log. Even so, a server never
// receives more than n+1 requests within n intervals.
func wantPace(t *testing.T, host string, log []request) {
	t.Helper()
	for first := range log {
		var required time.Duration
		for last := first + 1; last < len(log); last++ {
			interval := demoInterval(host, log[last-1].Target)
			required += interval
			n := last - first
			if took := log[last].At.Sub(log[first].At); n > 1 && took < required-interval {
				t.Errorf("%s received %d requests within %v, from %s to %s; want at least %v",
					host, n+1, took, log[first].Target, log[last].Target, required-interval)
			}
		}
	}
}

// The spider never shortens an interval or a Retry-After. The test runs in a
// synctest bubble, where time is exact.
func TestDemo_Pace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, internet := demoInternet(t)
		summary, _ := crawlDemo(t, internet)
		if summary.Seconds > 15 {
			t.Errorf("crawl of the demo took %.1f s, want at most 15", summary.Seconds)
		}
		checkDemoRequests(t, site)
		for host, log := range byHost(site.Log()) {
			for i := 1; i < len(log); i++ {
				before := log[i-1]
				required := demoInterval(host, before.Target)
				if before.Target == "/departures" && before.Status == http.StatusTooManyRequests {
					required = 3 * time.Second // the response's Retry-After
				}
				if gap := log[i].At.Sub(before.At); gap < required {
					t.Errorf("%s received the request for %s %v after that for %s, want at least %v",
						host, log[i].Target, gap, before.Target, required)
				}
			}
		}
	})
}

// The spider's conclusions about each page, in the JSON lines, equal those in
// the demo's files.
func TestDemo_Conclusions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, internet := demoInternet(t)
		summary, records := crawlDemo(t, internet)
		byURL := make(map[string][]line)
		for _, r := range records {
			byURL[r.URL] = append(byURL[r.URL], r)
		}
		for _, page := range demoPages(t) {
			if got := conclusions(site, page.URL, byURL[page.URL]); !slices.Equal(got, page.Concludes) {
				t.Errorf("conclusions about %s are\n     %q\nwant %q", page.URL, got, page.Concludes)
			}
			delete(byURL, page.URL)
		}
		// Pages link to the lighthouse, but it has no server.
		lighthouse := byURL["http://lighthouse.example/"]
		if len(lighthouse) != 1 || lighthouse[0].Verdict != record.Unreachable {
			t.Errorf("records of lighthouse.example are %v, want one with the verdict unreachable", lighthouse)
		}
		delete(byURL, "http://lighthouse.example/")
		delete(byURL, "http://lighthouse.example/robots.txt")
		for url, records := range byURL {
			t.Errorf("%s has the records %v, want none, because no link leads there", url, records)
		}
		if summary.Left != 0 || summary.Stopped != "" || len(summary.Lost) != 4 {
			t.Errorf("crawl stopped because of %q with %d URLs left and %d lost, want a complete crawl with 4 lost",
				summary.Stopped, summary.Left, len(summary.Lost))
		}
		for _, signal := range []string{"Content-Usage", "policy token", "TDM-Reservation"} {
			if summary.Drafts[signal] == "" {
				t.Errorf("summary has the drafts %v, want also the draft of %s", summary.Drafts, signal)
			}
		}
	})
}

// The records list each request that the servers received. This includes
// requests for robots.txt, and for URLs to which a robots.txt redirects.
func TestDemo_Requests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		site, internet := demoInternet(t)
		_, records := crawlDemo(t, internet)
		var got, want []string
		for _, r := range records {
			for _, request := range r.Requests {
				url := cmp.Or(request.URL, r.URL)
				got = append(got, fmt.Sprintf("%s at %.3f: %d", url, request.At, request.Status))
			}
		}
		for _, r := range site.Log() {
			want = append(want, fmt.Sprintf("http://%s%s at %.3f: %d",
				r.Host, r.Target, r.At.Sub(began).Seconds(), r.Status))
		}
		// The lighthouse has no server that could have logged the request.
		want = append(want, "http://lighthouse.example/robots.txt at 1.000: 0")
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("requests in the records are\n%s\nwant those in the servers' log:\n%s",
				strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// The records contain the interval after each request, and the pause that the
// response caused.
func TestDemo_IntervalsAndPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, internet := demoInternet(t)
		_, records := crawlDemo(t, internet)
		for _, r := range records {
			for _, request := range r.Requests {
				url := cmp.Or(request.URL, r.URL)
				want := 1.0
				if strings.HasPrefix(url, "http://bakery.example/") && r.Verdict != record.RobotsTxt {
					want = 2 // the host's Crawl-delay
				}
				if request.Interval != want {
					t.Errorf("interval after the request for %s is %v s, want %v", url, request.Interval, want)
				}
			}
			got, want := pause(r), wantPause(r)
			if got < want-0.001 || got > want*1.1 {
				t.Errorf("response for %s with status %d paused the host for %v s, want %v",
					r.URL, r.Status, got, want)
			}
		}
	})
}

// pause returns for how many seconds the response of a record paused the host.
func pause(r line) float64 {
	if r.PausedUntil == 0 {
		return 0
	}
	last := r.Requests[len(r.Requests)-1]
	return r.PausedUntil - last.At - last.Took
}

// wantPause returns for how many seconds the response must pause the host.
func wantPause(r line) float64 {
	switch {
	case r.Status == http.StatusTooManyRequests:
		return 3 // the response's Retry-After
	case r.Status == http.StatusServiceUnavailable && r.Host == "station.example":
		return 1 // the response's Retry-After
	case r.Verdict == record.RobotsTxt && r.Host == "clinic.example":
		return 2 // two intervals, after a 503 for robots.txt
	}
	return 0
}

// conclusions returns the spider's verdict about a URL, in the form of the
// conclusions in the demo's files.
func conclusions(site *demo, url string, records []line) []string {
	var verdicts, rest []string
	for _, r := range records {
		switch r.Verdict {
		case record.RobotsTxt:
			verdicts = append(verdicts, "requested")
		case record.Disallowed:
			verdicts = append(verdicts, fmt.Sprintf("disallowed by line %d", r.Decision.Line))
		default:
			verdicts = append(verdicts, string(r.Verdict))
		}
		if flags := r.Flags(); flags != nil {
			rest = append(rest, strings.Join(flags, ", "))
		}
		for _, e := range r.Evidence() {
			rest = append(rest, e.Text)
		}
	}
	if verdicts == nil { // no record has this URL, but a robots.txt may have redirected to it
		verdicts = []string{"never requested"}
		for _, r := range site.Log() {
			if "http://"+r.Host+r.Target == url {
				verdicts = []string{"requested"}
			}
		}
	}
	return append([]string{strings.Join(verdicts, ", ")}, rest...)
}

// runDemoText crawls the demo, and returns the text output.
func runDemoText(t *testing.T) string {
	t.Helper()
	_, internet := demoInternet(t)
	r := runOn(t.Context(), internet)
	r.wantStatus(t, tool.ExitOK)
	return r.stdout
}

func TestDemo_Text(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wantText(t, "output", runDemoText(t),
			"Crawling a demo internet on loopback as ExampleBot/1.0 ",
			"  200 after 1 redirect\n",
			"  404: everything allowed\n",
			"  nothing allowed: status 503 Service Unavailable\n",
			"\nFetched, but must not be kept (noindex):\n",
			"\nUsage preferences, by number of pages:\n",
			"\n  (draft) Content-Usage: draft-ietf-aipref-",
		)
	})
}

// In the text output, directives are on the page's line, and evidence is below
// this line.
func TestDemo_TextOfPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		byURL := make(map[string]string) // URL → the page's line and the lines below it
		url := ""
		for l := range strings.Lines(runDemoText(t)) {
			if isBelow := strings.HasPrefix(l, strings.Repeat(" ", 21)); !isBelow {
				_, url, _ = strings.Cut(l, "fetched       200  ")
				url, _, _ = strings.Cut(strings.TrimSpace(url), " ")
			}
			byURL[url] += l
		}
		for _, page := range demoPages(t) {
			for _, conclusion := range page.Concludes[1:] {
				// TestDemo_TextOnce checks what is printed once for a host.
				isFromRobots := strings.HasPrefix(conclusion, "robots.txt, ") || strings.HasPrefix(conclusion, "uses: ")
				if !isFromRobots {
					wantText(t, "text about "+page.URL, byURL[page.URL], conclusion)
				}
			}
		}
	})
}

// Statements in robots.txt are printed once for each host.
func TestDemo_TextOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := runDemoText(t)
		for text, want := range map[string]int{
			// These statements apply to two pages of a host.
			"robots.txt, line 2: Content-Signal: search=yes, ai-input=no, ai-train=no": 1,
			"robots.txt, line 3: Content-Usage: /open/ train-ai=y (draft)":             1,
			// This statement applies to three hosts.
			"uses: search unknown, train-ai allow, ai-input unknown": 3,

			"train-ai    ":                  1, // a line of the summary
			"draft-ietf-aipref-vocab-":      1,
			"not examined (br)":             1,
			"nofollow, examined to 256 KiB": 1,
			"noindex from 2045-06-25":       1,
		} {
			if got := strings.Count(out, text); got != want {
				t.Errorf("output contains %q %d times, want %d", text, got, want)
			}
		}
	})
}

// demoInternet returns the demo, and an internet with its hosts.
func demoInternet(t *testing.T) (*demo, *robotstest.Internet) {
	t.Helper()
	site := newDemo(t)
	internet := new(robotstest.Internet)
	for _, host := range site.Hosts() {
		internet.Handle(host, site)
	}
	return site, internet
}

// crawlDemo crawls the demo with the default flags.
func crawlDemo(t *testing.T, base http.RoundTripper) (record.Summary, []line) {
	t.Helper()
	return crawlJSON(t, t.Context(), base, tool.ExitOK)
}

// checkDemoRequests checks that the demo's servers received the requests of
// demoRequests and no others.
func checkDemoRequests(t *testing.T, site *demo) {
	t.Helper()
	got := make(map[string]int)
	for _, r := range site.Log() {
		got[r.Method+" "+r.Host+r.Target]++
		if want := "ExampleBot/1.0 (+https://example.com/bot)"; r.UserAgent != want {
			t.Errorf("request for %s%s has the User-Agent %q, want %q", r.Host, r.Target, r.UserAgent, want)
		}
	}
	want := demoRequests(t)
	for _, host := range site.Hosts() {
		if n := want["GET "+host+"/robots.txt"]; n != 1 {
			t.Errorf("the demo's file of %s expects %d requests for robots.txt, want 1", host, n)
		}
	}
	if maps.Equal(got, want) {
		return
	}
	all := maps.Clone(got)
	maps.Copy(all, want)
	for _, request := range slices.Sorted(maps.Keys(all)) {
		if got[request] != want[request] {
			t.Errorf("%s was received %d times, want %d", request, got[request], want[request])
		}
	}
}

// byHost returns the requests to each host.
func byHost(log []request) map[string][]request {
	hosts := make(map[string][]request)
	for _, r := range log {
		hosts[r.Host] = append(hosts[r.Host], r)
	}
	return hosts
}

// A demo is the demo internet, with a log of the requests to its servers.
type demo struct {
	*demosite.Site
	mu  sync.Mutex
	log []request
}

// A request is a request to a server of the demo.
type request struct {
	At        time.Time // when the handler began
	Method    string
	Host      string // without a port
	Target    string // path and query, as in the request
	UserAgent string
	Status    int
}

func newDemo(t *testing.T) *demo {
	t.Helper()
	site, err := demosite.New("example")
	if err != nil {
		t.Fatal(err)
	}
	return &demo{Site: site}
}

func (d *demo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	rec := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
	d.Site.ServeHTTP(rec, r)
	d.mu.Lock()
	defer d.mu.Unlock()
	host, _, _ := strings.Cut(strings.ToLower(r.Host), ":")
	d.log = append(d.log, request{at, r.Method, host, r.URL.RequestURI(), r.UserAgent(), rec.status})
}

// Log returns the requests so far that have a response, in the order of their
// arrival.
func (d *demo) Log() []request {
	d.mu.Lock()
	defer d.mu.Unlock()
	log := slices.Clone(d.log)
	slices.SortStableFunc(log, func(a, b request) int { return a.At.Compare(b.At) })
	return log
}

// A statusRecorder records the status of a response.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}
