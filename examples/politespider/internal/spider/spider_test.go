package spider

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// busyOnce is a site that answers the first request for "/" with a status and a
// Retry-After.
func busyOnce(status int, retryAfter string) http.Handler {
	var answered bool
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" && !answered {
			answered = true
			w.Header().Set("Retry-After", retryAfter)
			w.WriteHeader(status)
			return
		}
		page200("fine").ServeHTTP(w, r)
	})
}

// If a host answers with a long Retry-After, no worker waits for the host. Even
// a crawl with a single worker goes on with the other hosts.
func TestCrawl_LongRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("busy.example", busyOnce(http.StatusServiceUnavailable, "600"))
		internet.Handle("a.example", page200(`<a href=/1>1</a> <a href=/2>2</a>`))
		summary, lines := crawlInternet(t, t.Context(), &internet, tool.ExitOK, "-hosts=1", "http://busy.example/", "http://a.example/")
		if summary.Fetched != 4 || summary.GivenUp != 0 {
			t.Errorf("%d fetched, %d given up; want 4, 0", summary.Fetched, summary.GivenUp)
		}
		for _, l := range lines {
			switch {
			case l.Verdict != record.Fetched:
			case l.Host == "busy.example" && l.Seconds < 600:
				t.Errorf("%s was fetched after %.0f s, before its Retry-After was over", l.URL, l.Seconds)
			case l.Host == "a.example" && l.Seconds > 60:
				t.Errorf("%s was held up for %.0f s by another host", l.URL, l.Seconds)
			}
		}
	})
}

// After a 429 without a Retry-After, the Limiter's back-off pauses the host.
// Nevertheless, the page gets all of its tries.
func TestCrawl_NoRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("busy.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.NotFound(w, r)
				return
			}
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		summary, lines := crawlInternet(t, t.Context(), &internet, tool.ExitFailed, "-delay=100ms", "http://busy.example/")
		if summary.GivenUp != 1 || len(summary.Lost) != 1 {
			t.Errorf("%d given up, %d listed; want 1, 1", summary.GivenUp, len(summary.Lost))
		}
		var tries int
		var due float64 // when the next try is due, according to the previous record
		for _, l := range lines {
			if l.Status != http.StatusTooManyRequests {
				continue
			}
			if tries++; tries > 1 && math.Abs(l.Requests[0].At-due) > 0.002 {
				t.Errorf("try %d was at %.3f s, announced for %.3f s", tries, l.Requests[0].At, due)
			}
			due = l.Seconds + l.RetryIn
		}
		if paused := summary.Hosts[0].Paused; paused > summary.Seconds {
			t.Errorf("the host was paused for %v s of %v s", paused, summary.Seconds)
		}
		if tries != record.MaxTries {
			t.Errorf("%d tries, want %d", tries, record.MaxTries)
		}
		if log := internet.Log(); len(log) != 1+record.MaxTries {
			t.Errorf("%d requests were sent, want %d", len(log), 1+record.MaxTries)
		}
	})
}

// brokenSite returns a site of 250 pages. The first page links to all others.
// If broken returns true for a page, this page always answers 503, without a
// Retry-After. The site's Crawl-delay is 0.1 s.
func brokenSite(broken func(n int) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		switch _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); {
		case r.URL.Path == "/robots.txt":
			w.Write([]byte("User-agent: *\nCrawl-delay: 0.1"))
		case err == nil && broken(n):
			w.WriteHeader(http.StatusServiceUnavailable)
		case err == nil:
			page200("fine").ServeHTTP(w, r)
		default:
			var links strings.Builder
			for n := 1; n < 250; n++ {
				fmt.Fprintf(&links, "<a href=/%d>%d</a>", n, n)
			}
			page200(links.String()).ServeHTTP(w, r)
		}
	})
}

// If a page always answers 503, only this page waits. The spider goes on with
// the host's other pages and does not report them as put off.
func TestCrawl_BrokenPages(t *testing.T) {
	random := rand.New(rand.NewPCG(22, 503))
	scattered := func() func(int) bool {
		pages := random.Perm(249)[:7]
		return func(n int) bool { return slices.Contains(pages, n-1) }
	}
	for name, broken := range map[string]func(n int) bool{
		"one in 35":     func(n int) bool { return n%35 == 17 },
		"scattered":     scattered(),
		"again":         scattered(),
		"and again":     scattered(),
		"the first":     func(n int) bool { return n <= 7 },
		"in the middle": func(n int) bool { return n >= 120 && n < 127 },
		"the last":      func(n int) bool { return n > 242 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var internet robotstest.Internet
				internet.Handle("a.example", brokenSite(broken))
				summary, lines := crawlInternet(t, t.Context(), &internet, tool.ExitOK, "-delay=100ms", "-max-pages=0", "http://a.example/")
				if summary.Fetched != 243 || summary.GivenUp != 7 || len(summary.Lost) != 7 {
					t.Errorf("%d fetched, %d given up, %d lost; want 243, 7, 7",
						summary.Fetched, summary.GivenUp, len(summary.Lost))
				}
				asked := make(map[string]int)
				for _, request := range internet.Log() {
					asked[request.URL]++
				}
				for _, l := range lines {
					if l.Verdict == record.Checked {
						asked[l.URL]--
					}
				}
				for url, n := range asked {
					var page int
					if fmt.Sscanf(url, "http://a.example/%d", &page); n > record.MaxTries || n > 1 && !broken(page) {
						t.Errorf("%s was asked for %d times", url, n)
					}
				}
				const ideal = 0.1 * 251 // robots.txt and each page once
				if summary.Seconds > 1.5*ideal {
					t.Errorf("it took %.1f s, want %.1f at most", summary.Seconds, 1.5*ideal)
				}
				t.Logf("%.1f s, ideal %.1f, %d requests", summary.Seconds, ideal, len(internet.Log()))
				for _, l := range lines {
					if l.Verdict == record.PutOff && l.Status == 0 {
						t.Errorf("%s is said to be put off, and was not asked for", l.URL)
					}
					if l.Verdict == record.GivenUp && (l.Error == "") != (l.Tries == record.MaxTries) {
						t.Errorf("%s was given up after %d tries: %q", l.URL, l.Tries, l.Error)
					}
				}
			})
		})
	}
}

// If only broken pages are left, the spider finds out that they are broken,
// instead of waiting longer and longer for the host. A server that is down is
// checked a few times only. If it comes back soon, no page is lost, even if
// a cache answers the checks meanwhile.
func TestCrawl_ChecksTheServer(t *testing.T) {
	sent := make(map[string]bool) // path → whether the cache holds the page
	for _, tt := range []struct {
		name             string
		broken           func(path string, since time.Duration) bool
		fetched, givenUp int
		mostChecks       int
		most             time.Duration
	}{
		{
			"two of five pages are broken",
			func(path string, _ time.Duration) bool { return path == "/3" || path == "/4" },
			3,
			2,
			6,
			50 * time.Second,
		},
		{
			"one page is broken",
			func(path string, _ time.Duration) bool { return path == "/1" },
			4,
			1,
			0,
			20 * time.Second,
		},
		{
			"down for a minute",
			func(_ string, since time.Duration) bool { return since > 2*time.Second && since < time.Minute },
			5,
			0,
			5,
			4 * time.Minute,
		},
		{
			"down for good",
			func(_ string, since time.Duration) bool { return since > 2*time.Second },
			2,
			3,
			3,
			24 * time.Hour,
		},
		{"down for half a minute behind a cache", func(path string, since time.Duration) bool {
			broken := since > 2*time.Second && since < 30*time.Second && !sent[path]
			sent[path] = !broken
			return broken
		}, 5, 0, 12, 4 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var internet robotstest.Internet
				start := time.Now()
				internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if tt.broken(r.URL.Path, time.Since(start)) {
						w.WriteHeader(http.StatusServiceUnavailable)
						return
					}
					page200("<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a><a href=/4>4</a>").ServeHTTP(w, r)
				}))
				summary, lines := crawlInternet(t, t.Context(), &internet, tool.ExitOK, "http://a.example/")
				checks := 0
				for _, l := range lines {
					if l.Verdict == record.Checked {
						checks++
					}
				}
				t.Logf("%d fetched, %d given up, %d checks, %.0f s",
					summary.Fetched, summary.GivenUp, checks, summary.Seconds)
				if summary.Fetched != tt.fetched || summary.GivenUp != tt.givenUp || checks > tt.mostChecks || summary.Seconds > tt.most.Seconds() {
					t.Errorf("want %d, %d, at most %d and at most %.0f s",
						tt.fetched, tt.givenUp, tt.mostChecks, tt.most.Seconds())
				}
				if summary.Statuses[200] != tt.fetched {
					t.Errorf("%d pages were answered with 200, want %d: a check is not about a page",
						summary.Statuses[200], tt.fetched)
				}
			})
		})
	}
}

// Each port of a host may have a server of its own. An answer from one port
// says nothing about the pages of another port.
func TestCrawl_ChecksTheServerOfThePort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		start := time.Now()
		internet.Handle("a.example", page200("fine"))
		internet.Handle("a.example:8080", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if since := time.Since(start); since > 3500*time.Millisecond && since < time.Minute {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			page200("<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a><a href=/4>4</a>").ServeHTTP(w, r)
		}))
		summary, _ := crawlInternet(t, t.Context(), &internet, tool.ExitOK, "http://a.example:8080/", "http://a.example/")
		if summary.GivenUp != 0 || summary.Fetched != 6 {
			t.Errorf("%d fetched, %d given up; want 6 and none", summary.Fetched, summary.GivenUp)
		}
	})
}

// If the answer to a check has a Retry-After, a later run obeys it too.
func TestCrawl_RetryAfterOfACheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var until time.Time
		asked := 0
		internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if left := time.Until(until); left > 0 && r.URL.Path != "/robots.txt" {
				t.Errorf("%s was asked for %v before the Retry-After was over", r.URL.Path, left)
			}
			switch r.URL.Path {
			case "/3", "/4":
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			case "/":
				if asked++; asked == 2 {
					until = time.Now().Add(time.Hour)
					w.Header().Set("Retry-After", "3600")
					w.WriteHeader(http.StatusServiceUnavailable)
					time.AfterFunc(500*time.Millisecond, cancel) // as Ctrl-C would
					return
				}
			}
			page200("<a href=/3>3</a><a href=/4>4</a>").ServeHTTP(w, r)
		}))
		dir := t.TempDir()
		crawlInternet(t, ctx, &internet, tool.ExitInterrupted, "-resume="+dir, "http://a.example/")
		if asked != 2 {
			t.Fatalf("the start page was asked for %d times, want a check", asked)
		}
		time.Sleep(time.Second)
		crawlInternet(t, t.Context(), &internet, tool.ExitOK, "-resume="+dir, "http://a.example/")
	})
}

// The status of the answer decides the verdict. A noindex is reported only for
// pages with the verdict Fetched or Moved.
func TestCrawl_Statuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var status int
			if _, err := fmt.Sscanf(r.URL.Path, "/%d", &status); err != nil {
				page200("fine").ServeHTTP(w, r)
				return
			}
			if status == http.StatusMovedPermanently {
				w.Header().Set("Location", "/")
			}
			w.Header().Set("X-Robots-Tag", "noindex")
			w.WriteHeader(status)
		}))
		want := map[int]record.Verdict{
			200: record.Fetched, 203: record.Fetched, 301: record.Moved, 304: record.Failed, 401: record.Refused, 403: record.Refused,
			404: record.NotFound, 410: record.NotFound, 451: record.Refused, 500: record.Failed, 502: record.Failed,
		}
		var urls []string
		for _, status := range slices.Sorted(maps.Keys(want)) {
			urls = append(urls, fmt.Sprintf("http://a.example/%d", status))
		}
		summary, lines := crawlInternet(t, t.Context(), &internet, tool.ExitOK, urls...)
		for _, l := range lines {
			if l.Status != 0 && l.Verdict != record.RobotsTxt && l.URL != "http://a.example/" && l.Verdict != want[l.Status] {
				t.Errorf("%d is %q, want %q", l.Status, l.Verdict, want[l.Status])
			}
			if l.Status == http.StatusNotModified && l.Error != "an unexpected 304 (Not Modified)" {
				t.Errorf("of a 304 that was not asked for is said: %q", l.Error)
			}
			if l.NoIndex && l.Verdict != record.Fetched && l.Verdict != record.Moved {
				t.Errorf("%s, which is %s, is said to be a page that says noindex", l.URL, l.Verdict)
			}
		}
		if summary.Fetched != 3 || summary.Moved != 1 || summary.NotFound != 2 || summary.Refused != 3 || summary.Failed != 3 || len(summary.Lost) != 6 {
			t.Errorf("%+v", summary)
		}
		host := summary.Hosts[0]
		if host.Fetched != 3 || host.Moved != 1 || host.NotFound != 2 || host.Lost != 6 {
			t.Errorf("of its host: %+v", host)
		}
		if summary.Statuses[404] != 1 || summary.Statuses[200] != 2 || len(summary.Statuses) != len(want) {
			t.Errorf("statuses: %v", summary.Statuses)
		}
	})
}

// A crawl that fetched no page has failed, even if every server answered.
func TestCrawl_NothingThere(t *testing.T) {
	for _, status := range []int{
		http.StatusNotFound,
		http.StatusGone,
		http.StatusForbidden,
		http.StatusInternalServerError,
	} {
		synctest.Test(t, func(t *testing.T) {
			var internet robotstest.Internet
			internet.Handle("a.example",
				http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
			crawlInternet(t, t.Context(), &internet, tool.ExitFailed, "http://a.example/1")
		})
	}
}

// The summary says that the ports of a host share one pace. For each port, it
// has the status of robots.txt.
func TestCrawl_Ports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", page200("fine"))
		internet.Handle("a.example:8080", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "User-agent: *\nCrawl-delay: 3\n")
		}))
		var out bytes.Buffer
		command := tool.Command{
			Crawl:  Crawl,
			Args:   []string{agent, "http://a.example/", "http://a.example:8080/"},
			Base:   &internet,
			Stdout: &out,
			Stderr: io.Discard,
		}
		if status := command.Run(t.Context()); status != tool.ExitOK {
			t.Errorf("exit status %d", status)
		}
		for _, want := range []string{
			"http://a.example 404: everything allowed, interval 1.0s; http://a.example:8080 200, interval 3.0s\n",
			"the ports of a host share one pace",
			" 1.0s     3.0s ", // the interval that had to be kept, and the shortest time that passed
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("report lacks %q:\n%s", want, out.String())
			}
		}
	})
}

// The text output shows only the beginning of a long list, and says where the
// whole list is.
func TestCrawl_LongLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		args := []string{agent, "-max-pages=0"}
		for n := range 60 {
			args = append(args, fmt.Sprintf("http://%02d.example/", n))
		}
		internet.Handle("00.example", page200("fine"))
		var out bytes.Buffer
		command := tool.Command{Crawl: Crawl, Args: args, Base: &internet, Stdout: &out, Stderr: io.Discard}
		if status := command.Run(t.Context()); status != tool.ExitOK {
			t.Errorf("exit status %d", status)
		}
		if want := "Crawling http://00.example/, http://01.example/, http://02.example/, http://03.example/, … and 56 more as ExampleBot/1.0\n"; !strings.HasPrefix(out.String(), want) {
			t.Errorf("the heading is not %q:\n%.300s", want, out.String())
		}
		_, summary, _ := strings.Cut(out.String(), "60 hosts in ")
		for want, n := range map[string]int{
			"… and 10 more, in -json\n": 1,
			"… and 39 more, in -json\n": 1,
			"nothing allowed: ":         50 - 1,
			"\n  50.example ":           0,
			": no such host\n":          50 - 1 + 20,
		} {
			if strings.Count(summary, want) != n {
				t.Errorf("%q is not there %d times:\n%s", want, n, summary)
			}
		}
	})
}

func TestCrawl_Paused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", busyOnce(http.StatusTooManyRequests, "90"))
		summary, _ := crawlInternet(t, t.Context(), &internet, tool.ExitOK, "http://a.example/")
		if paused := summary.Hosts[0].Paused; paused != 90 {
			t.Errorf("paused for %v s, want 90", paused)
		}
	})
}

// The record of a robots.txt that redirects to another host has both requests,
// each with its URL and host. Two files that redirect to the same URL have the
// requests that were made for them.
func TestCrawl_RobotsTxtRedirects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		redirects := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.Redirect(w, r, "http://c.example/rules.txt", http.StatusFound)
				return
			}
			page200("fine").ServeHTTP(w, r)
		})
		internet.Handle("a.example", redirects)
		internet.Handle("b.example", redirects)
		internet.Handle("c.example", robotstest.Site{"/rules.txt": "User-agent: *\nDisallow: /x\n"})
		_, lines := crawlInternet(t, t.Context(), &internet, tool.ExitOK, "http://a.example/", "http://b.example/")
		files := 0
		for _, l := range lines {
			if l.Verdict != record.RobotsTxt {
				continue
			}
			files++
			var got []string
			for _, r := range l.Requests {
				got = append(got, fmt.Sprint(r.Host, " ", r.URL, " ", r.Status))
			}
			want := []string{l.Host + " " + l.URL + " 302", "c.example http://c.example/rules.txt 200"}
			if l.Redirects != 1 || !slices.Equal(got, want) {
				t.Errorf("%s, %d redirects: %q, want %q", l.URL, l.Redirects, got, want)
			}
		}
		if files != 2 {
			t.Errorf("%d records of robots.txt, want 2", files)
		}
	})
}

// A start URL whose form changes each time that it is put into its normal form
// is crawled in the first one. If it is then no longer a URL, the crawl says
// so.
func TestCrawl_StartNormalizedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("example", page200("fine"))
		_, lines := crawlInternet(t, t.Context(), &internet, tool.ExitOK, "http://h\u0130~/", "http://example/|.a%2F..")
		verdicts := make(map[string]record.Verdict)
		for _, l := range lines {
			verdicts[l.URL] = l.Verdict
		}
		for url, want := range map[string]record.Verdict{
			"http://xn--hi~-9dc/":     record.Failed,
			"http://example/%7C.a/..": record.Fetched,
		} {
			if verdicts[url] != want {
				t.Errorf("%s: %q, want %q; all: %v", url, verdicts[url], want, verdicts)
			}
		}
	})
}
