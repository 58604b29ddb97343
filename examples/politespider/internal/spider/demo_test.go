package spider

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
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

// A demoPage is a target of a host of the demo, and what a polite crawler must
// conclude from it, by the host's file.
type demoPage struct {
	URL string
	// Concludes[0] has the verdicts on the URL, one for each attempt, such as
	// "put off, fetched", "disallowed by line 9" or "never asked for". The
	// other elements are what the crawler notes about the page, such as
	// "noindex", and the evidence for it, such as "meta, line 3: noindex".
	Concludes []string
}

// demoPages returns the targets of all hosts.
func demoPages(t *testing.T) (pages []demoPage) {
	t.Helper()
	files, err := filepath.Glob("../demosite/hosts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		known := make(map[string]bool)
		for _, section := range strings.Split("\n"+string(text), "\n-- ")[1:] {
			target, rest, _ := strings.Cut(section, " ")
			page := demoPage{URL: "http://" + strings.TrimSuffix(filepath.Base(file), ".txt") + target}
			head, _, _ := strings.Cut(rest, "\n\n")
			for line := range strings.Lines(head) {
				if conclusion, ok := strings.CutPrefix(line, "=> "); ok {
					page.Concludes = append(page.Concludes, strings.TrimSpace(conclusion))
				}
			}
			switch {
			case !known[target]:
				pages = append(pages, page)
			case page.Concludes != nil:
				t.Errorf("%s: the conclusions stand beside the target's first answer", page.URL)
			}
			known[target] = true
		}
	}
	return pages
}

// requests returns how often the demo's servers must see each request. It
// derives the numbers from the demo's files, which say what a crawler must
// conclude about each page. These conclusions follow from the robots.txt files
// and the pages. They were not taken from the spider's output. A page is
// missing in the result if it is disallowed, or if no link that may be followed
// leads to it.
func requests(t *testing.T) map[string]int {
	t.Helper()
	want := make(map[string]int)
	for _, page := range demoPages(t) {
		if len(page.Concludes) == 0 {
			t.Errorf("%s: nothing says what a crawler is to conclude", page.URL)
			continue
		}
		for verdict := range strings.SplitSeq(page.Concludes[0], ", ") {
			switch record.Verdict(verdict) {
			case record.Fetched, record.Moved, record.NotFound, record.PutOff, record.GivenUp, "asked for":
				want["GET "+strings.TrimPrefix(page.URL, "http://")]++
			}
		}
	}
	return want
}

// demoInterval returns the least time between the starts of two requests to a
// host. The second argument is the target of the earlier request.
func demoInterval(host, previous string) time.Duration {
	if host == "bakery.example" && previous != "/robots.txt" {
		return 2 * time.Second // the host's Crawl-delay
	}
	return time.Second
}

// The spider crawls the demo over real sockets. The test reads the log of the
// demo's servers, which says what the spider sent, and when.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: the demo takes a quarter of a minute")
	}
	t.Parallel()
	site := newDemo(t)
	server := httptest.NewServer(site)
	defer server.Close()
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if host, _, _ := net.SplitHostPort(addr); !slices.Contains(site.Hosts(), host) {
			return site.DialContext(ctx, network, addr) // returns the error for a name that is not in the DNS
		}
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}}
	defer transport.CloseIdleConnections()

	crawlDemo(t, transport)
	auditRequests(t, site)
	// On a busy machine, one request may reach its server late, and the next
	// one on time. So these two requests may be too close in the log. But
	// within n intervals, a server never sees more than n+1 requests.
	for host, log := range byHost(site.Log()) {
		for first := range log {
			var owed time.Duration
			for last := first + 1; last < len(log); last++ {
				owed += demoInterval(host, log[last-1].Target)
				if n := last - first; n > 1 && log[last].At.Sub(log[first].At) < owed-demoInterval(host, log[last-1].Target) {
					t.Errorf("%s: %d requests within %v, from %s to %s",
						host, n+1, log[last].At.Sub(log[first].At), log[first].Target, log[last].Target)
				}
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
			t.Errorf("the demo takes %.1f s of politeness alone; it is to end within 20", summary.Seconds)
		}
		auditRequests(t, site)
		for host, log := range byHost(site.Log()) {
			for i := 1; i < len(log); i++ {
				gap, owed := log[i].At.Sub(log[i-1].At), demoInterval(host, log[i-1].Target)
				if log[i-1].Target == "/departures" && log[i-1].Status == http.StatusTooManyRequests {
					owed = 3 * time.Second // the answer's Retry-After
				}
				if gap < owed {
					t.Errorf("%s: %s came %v after %s, want %v at least",
						host, log[i].Target, gap, log[i-1].Target, owed)
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

		got := make(map[string][]line) // by URL
		for _, r := range records {
			got[r.URL] = append(got[r.URL], r)
		}
		for _, page := range demoPages(t) {
			if said := conclusions(site, page.URL, got[page.URL]); !slices.Equal(said, page.Concludes) {
				t.Errorf("%s\n got %q\nwant %q", page.URL, said, page.Concludes)
			}
			delete(got, page.URL)
		}
		// Pages link to this host, but it has no server.
		if r := got["http://lighthouse.example/"]; len(r) != 1 || r[0].Verdict != record.Unreachable {
			t.Errorf("the lighthouse: %v", r)
		}
		delete(got, "http://lighthouse.example/")
		delete(got, "http://lighthouse.example/robots.txt")
		for url := range got {
			t.Errorf("%s: nothing leads there, and yet the spider speaks of it", url)
		}

		if summary.Left != 0 || summary.Stopped != "" {
			t.Errorf("stopped %q with %d left, want a crawl that ends by itself", summary.Stopped, summary.Left)
		}
		if lost := len(summary.Lost); lost != 4 {
			t.Errorf("%d URLs in the list of those lost, want 4", lost)
		}
		for _, signal := range []string{"Content-Usage", "policy token", "TDM-Reservation"} {
			if summary.Drafts[signal] == "" {
				t.Errorf("the summary does not name the draft of %s", signal)
			}
		}
	})
}

// The records list each request that the servers saw. This includes requests
// for robots.txt, and for URLs to which a robots.txt redirects.
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
				owed := 1.0
				if strings.HasPrefix(url, "http://bakery.example/") && r.Verdict != record.RobotsTxt {
					owed = 2 // the host's Crawl-delay
				}
				if request.Interval != owed {
					t.Errorf("after %s its host is owed %v s, want %v", url, request.Interval, owed)
				}
			}
			wantPause := 0.0
			switch {
			case r.Status == http.StatusTooManyRequests:
				wantPause = 3 // the answer's Retry-After
			case r.Status == http.StatusServiceUnavailable && r.Host == "station.example":
				wantPause = 1 // the answer's Retry-After
			case r.Verdict == record.RobotsTxt && r.Host == "clinic.example":
				wantPause = 2 // after a 503 for robots.txt, the host rests for two intervals
			}
			pause := 0.0 // how long the host is paused, counted from the answer
			if r.PausedUntil > 0 {
				last := r.Requests[len(r.Requests)-1]
				pause = r.PausedUntil - last.At - last.Took
			}
			if pause < wantPause-0.001 || pause > wantPause*1.1 {
				t.Errorf("%s, answered with %d, pauses its host for %v s, want %v",
					r.URL, r.Status, pause, wantPause)
			}
		}
		for _, r := range site.Log() {
			want = append(want, fmt.Sprintf("http://%s%s at %.3f: %d",
				r.Host, r.Target, r.At.Sub(began).Seconds(), r.Status))
		}
		if lighthouse := "http://lighthouse.example/robots.txt at 1.000: 0"; !slices.Contains(got, lighthouse) {
			t.Errorf("what has no answer is no request: want %s", lighthouse)
		} else {
			want = append(want, lighthouse) // this host has no server, so no server has logged the request
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("of the records\n%s\nof the servers\n%s",
				strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// conclusions returns the spider's verdict about a URL, in the form of the
// conclusions in the demo's files.
func conclusions(site *demo, url string, records []line) []string {
	var verdicts, rest []string
	for _, r := range records {
		switch r.Verdict {
		case record.RobotsTxt:
			verdicts = append(verdicts, "asked for")
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
		verdicts = []string{"never asked for"}
		for _, r := range site.Log() {
			if "http://"+r.Host+r.Target == url {
				verdicts = []string{"asked for"}
			}
		}
	}
	return append([]string{strings.Join(verdicts, ", ")}, rest...)
}

// In the text output, directives are on the page's line, and evidence is below
// this line. What robots.txt says is printed once for each host.
func TestDemo_Text(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, internet := demoInternet(t)
		var out bytes.Buffer
		if status := (tool.Command{
			Crawl:  Crawl,
			Base:   internet,
			Stdout: &out,
			Stderr: io.Discard,
		}).Run(t.Context()); status != tool.ExitOK {
			t.Errorf("exit status %d", status)
		}
		for _, want := range []string{
			"Crawling a demo internet on loopback as ExampleBot/1.0 ", "  200 after 1 redirect\n", "  404: everything allowed\n", "  nothing allowed: status 503 Service Unavailable\n",
			"\nFetched, but must not be kept (noindex):\n", "\nUsage preferences, by number of pages:\n", "\n  (draft) Content-Usage: draft-ietf-aipref-",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("nothing is printed of %q:\n%s", want, out.String())
			}
		}
		said := make(map[string]string) // the key is a page's URL, the value the page's line and the lines below it
		url := ""
		for l := range strings.Lines(out.String()) {
			if !strings.HasPrefix(l, strings.Repeat(" ", 21)) {
				_, url, _ = strings.Cut(l, "fetched       200  ")
				url, _, _ = strings.Cut(strings.TrimSpace(url), " ")
			}
			said[url] += l
		}
		for _, page := range demoPages(t) {
			for _, conclusion := range page.Concludes[1:] {
				ofSite := strings.HasPrefix(conclusion, "robots.txt, ") || strings.HasPrefix(conclusion, "uses: ") // the next loop counts how often such conclusions are printed
				if !ofSite && !strings.Contains(said[page.URL], conclusion) {
					t.Errorf("%s: nothing is printed of %q:\n%s", page.URL, conclusion, said[page.URL])
				}
			}
		}
		for text, want := range map[string]int{
			"robots.txt, line 2: Content-Signal: search=yes, ai-input=no, ai-train=no": 1, // printed once, although it applies to two pages
			"robots.txt, line 3: Content-Usage: /open/ train-ai=y (draft)":             1, // printed once, although it applies to two pages
			"uses: search unknown, train-ai allow, ai-input unknown":                   3, // printed once for each of three hosts
			"train-ai    ":                  1, // a line of the summary
			"draft-ietf-aipref-vocab-":      1,
			"not examined (br)":             1,
			"nofollow, examined to 256 KiB": 1,
			"noindex from 2045-06-25":       1,
		} {
			if got := strings.Count(out.String(), text); got != want {
				t.Errorf("%q is printed %d times, want %d", text, got, want)
			}
		}
	})
}

func demoInternet(t *testing.T) (*demo, *robotstest.Internet) {
	t.Helper()
	site := newDemo(t)
	internet := new(robotstest.Internet)
	for _, host := range site.Hosts() {
		internet.Handle(host, site)
	}
	return site, internet
}

func crawlDemo(t *testing.T, base http.RoundTripper) (record.Summary, []line) {
	t.Helper()
	return crawlJSON(t, t.Context(), base, tool.ExitOK)
}

func auditRequests(t *testing.T, site *demo) {
	t.Helper()
	got, want := make(map[string]int), requests(t)
	for _, r := range site.Log() {
		got[r.Method+" "+r.Host+r.Target]++
		if r.UserAgent != "ExampleBot/1.0 (+https://example.com/bot)" {
			t.Errorf("%s%s was asked for as %q", r.Host, r.Target, r.UserAgent)
		}
	}
	for _, host := range site.Hosts() {
		if n := want["GET "+host+"/robots.txt"]; n != 1 {
			t.Errorf("the robots.txt of %s is to be asked for %d times; once is right", host, n)
		}
	}
	for _, request := range slices.Sorted(maps.Keys(got)) {
		if got[request] != want[request] {
			t.Errorf("%s: %d times, want %d", request, got[request], want[request])
		}
	}
	for _, request := range slices.Sorted(maps.Keys(want)) {
		if got[request] == 0 {
			t.Errorf("%s: never, want %d times", request, want[request])
		}
	}
}

func byHost(log []request) map[string][]request {
	hosts := make(map[string][]request)
	for _, r := range log {
		hosts[r.Host] = append(hosts[r.Host], r)
	}
	return hosts
}

// A demo is the demo internet, with its servers' own record of who asked for
// what and when.
type demo struct {
	*demosite.Site
	mu  sync.Mutex
	log []request
}

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
	at, rec := time.Now(), &statusRecorder{ResponseWriter: w, status: http.StatusOK}
	d.Site.ServeHTTP(rec, r)
	d.mu.Lock()
	defer d.mu.Unlock()
	host, _, _ := strings.Cut(strings.ToLower(r.Host), ":")
	d.log = append(d.log, request{at, r.Method, host, r.URL.RequestURI(), r.UserAgent(), rec.status})
}

// Log returns the requests answered so far, in the order in which they arrived.
func (d *demo) Log() []request {
	d.mu.Lock()
	defer d.mu.Unlock()
	log := slices.Clone(d.log)
	slices.SortStableFunc(log, func(a, b request) int { return a.At.Compare(b.At) })
	return log
}

type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}
