package spider

import (
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

// busyOnce is a site that responds to the first request for "/" with a status
// and a Retry-After.
func busyOnce(status int, retryAfter string) http.Handler {
	wasBusy := false
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" && !wasBusy {
			wasBusy = true
			w.Header().Set("Retry-After", retryAfter)
			w.WriteHeader(status)
			return
		}
		page200("fine").ServeHTTP(w, r)
	})
}

// If a host sends a long Retry-After, no worker waits for the host. Even a
// crawl with a single worker continues with the other hosts.
func TestCrawl_LongRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("busy.example", busyOnce(http.StatusServiceUnavailable, "600"))
		internet.Handle("a.example", page200(`<a href=/1>1</a> <a href=/2>2</a>`))
		args := []string{"-hosts=1", "http://busy.example/", "http://a.example/"}
		summary, lines := crawlInternet(t, t.Context(), &internet, tool.ExitOK, args...)
		wantCounts(t, summary, counts{Fetched: 4})
		for _, l := range lines {
			switch {
			case l.Verdict != record.Fetched:
			case l.Host == "busy.example" && l.Seconds < 600:
				t.Errorf("%s was fetched after %.0f s, want at least the Retry-After of 600 s",
					l.URL, l.Seconds)
			case l.Host == "a.example" && l.Seconds > 60:
				t.Errorf("%s was fetched after %.0f s, want it not to wait for the other host",
					l.URL, l.Seconds)
			}
		}
	})
}

// After a 429 without a Retry-After, the Limiter's back-off pauses the host.
// Nevertheless, the page gets all of its tries, each at the time that the
// previous record contains.
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
		args := []string{"-delay=100ms", "http://busy.example/"}
		summary, lines := crawlInternet(t, t.Context(), &internet, tool.ExitFailed, args...)
		wantCounts(t, summary, counts{GivenUp: 1})
		if len(summary.Lost) != 1 {
			t.Errorf("summary lists %d lost URLs, want 1", len(summary.Lost))
		}
		tries := 0
		due := 0.0 // when the next try is due
		for _, l := range lines {
			if l.Status != http.StatusTooManyRequests {
				continue
			}
			tries++
			if at := l.Requests[0].At; tries > 1 && math.Abs(at-due) > 0.002 {
				t.Errorf("try %d was at %.3f s, want %.3f s", tries, at, due)
			}
			due = l.Seconds + l.RetryIn
		}
		if paused := summary.Hosts[0].Paused; paused > summary.Seconds {
			t.Errorf("host was paused for %v s, want at most the %v s of the crawl", paused, summary.Seconds)
		}
		if tries != record.MaxTries {
			t.Errorf("page was tried %d times, want %d", tries, record.MaxTries)
		}
		if n := len(internet.Log()); n != 1+record.MaxTries {
			t.Errorf("%d requests were sent, want %d", n, 1+record.MaxTries)
		}
	})
}

// brokenSite returns a site of 250 pages. The first page links to all others.
// The response for a page for which broken returns true is always a 503 without
// a Retry-After. The site's Crawl-delay is 0.1 s.
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

// If the response for a page is always a 503, only this page waits. The spider
// fetches the host's other pages meanwhile, and does not report them as put
// off.
func TestCrawl_BrokenPages(t *testing.T) {
	random := rand.New(rand.NewPCG(22, 503))
	scattered := func() func(int) bool {
		pages := random.Perm(249)[:7]
		return func(n int) bool { return slices.Contains(pages, n-1) }
	}
	for name, broken := range map[string]func(n int) bool{
		"one page in 35":           func(n int) bool { return n%35 == 17 },
		"scattered pages":          scattered(),
		"other scattered pages":    scattered(),
		"further scattered pages":  scattered(),
		"the first pages":          func(n int) bool { return n <= 7 },
		"adjacent pages in middle": func(n int) bool { return n >= 120 && n < 127 },
		"the last pages":           func(n int) bool { return n > 242 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var internet robotstest.Internet
				internet.Handle("a.example", brokenSite(broken))
				args := []string{"-delay=100ms", "-max-pages=0", "http://a.example/"}
				summary, lines := crawlInternet(t, t.Context(), &internet, tool.ExitOK, args...)
				wantCounts(t, summary, counts{Fetched: 243, GivenUp: 7})
				if len(summary.Lost) != 7 {
					t.Errorf("summary lists %d lost URLs, want 7", len(summary.Lost))
				}
				const ideal = 0.1 * 251 // robots.txt and each page once
				t.Logf("crawl took %.1f s, ideally %.1f, with %d requests", summary.Seconds, ideal, len(internet.Log()))
				if summary.Seconds > 1.5*ideal {
					t.Errorf("crawl took %.1f s, want at most %.1f", summary.Seconds, 1.5*ideal)
				}
				wantFewTries(t, &internet, lines, broken)
				wantTriesInRecords(t, lines)
			})
		})
	}
}

// wantFewTries checks that each page was requested once, and a broken page at
// most record.MaxTries times. Checks of the server do not count.
func wantFewTries(t *testing.T, internet *robotstest.Internet, lines []line, broken func(n int) bool) {
	t.Helper()
	tries := make(map[string]int)
	for _, request := range internet.Log() {
		tries[request.URL]++
	}
	for _, l := range lines {
		if l.Verdict == record.Checked {
			tries[l.URL]--
		}
	}
	for url, n := range tries {
		var page int
		fmt.Sscanf(url, "http://a.example/%d", &page)
		limit := 1
		if broken(page) {
			limit = record.MaxTries
		}
		if n > limit {
			t.Errorf("%s was requested %d times, want at most %d", url, n, limit)
		}
	}
}

// wantTriesInRecords checks the records of pages that were put off or given up.
func wantTriesInRecords(t *testing.T, lines []line) {
	t.Helper()
	for _, l := range lines {
		if l.Verdict == record.PutOff && l.Status == 0 {
			t.Errorf("record of %s, which was put off, has no status", l.URL)
		}
		hasReason := l.Error != ""
		isExhausted := l.Tries == record.MaxTries
		if l.Verdict == record.GivenUp && hasReason == isExhausted {
			t.Errorf("record of %s, given up after %d tries, has the error %q; want an error if and only if there were fewer than %d tries",
				l.URL, l.Tries, l.Error, record.MaxTries)
		}
	}
}

// If only broken pages are left, the spider determines that they are broken,
// instead of waiting for increasingly longer pauses of the host. A server that
// is down is checked only a few times. If it is soon up again, no page is lost,
// even if a cache responds to the checks meanwhile.
func TestCrawl_Checks(t *testing.T) {
	cached := make(map[string]bool) // by path
	for _, tt := range []struct {
		name       string
		isBroken   func(path string, since time.Duration) bool
		fetched    int
		givenUp    int
		maxChecks  int
		maxSeconds float64
	}{
		{
			name:       "two broken pages of five",
			isBroken:   func(path string, _ time.Duration) bool { return path == "/3" || path == "/4" },
			fetched:    3,
			givenUp:    2,
			maxChecks:  6,
			maxSeconds: 50,
		},
		{
			name:       "one broken page",
			isBroken:   func(path string, _ time.Duration) bool { return path == "/1" },
			fetched:    4,
			givenUp:    1,
			maxChecks:  0,
			maxSeconds: 20,
		},
		{
			name:       "a server that is down for a minute",
			isBroken:   func(_ string, since time.Duration) bool { return since > 2*time.Second && since < time.Minute },
			fetched:    5,
			maxChecks:  5,
			maxSeconds: 4 * 60,
		},
		{
			name:       "a server that stays down",
			isBroken:   func(_ string, since time.Duration) bool { return since > 2*time.Second },
			fetched:    2,
			givenUp:    3,
			maxChecks:  3,
			maxSeconds: 24 * 60 * 60,
		},
		{
			name: "a server behind a cache that is down for half a minute",
			isBroken: func(path string, since time.Duration) bool {
				isDown := since > 2*time.Second && since < 30*time.Second
				isBroken := isDown && !cached[path]
				cached[path] = !isBroken
				return isBroken
			},
			fetched:    5,
			maxChecks:  12,
			maxSeconds: 4 * 60,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var internet robotstest.Internet
				start := time.Now()
				internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if tt.isBroken(r.URL.Path, time.Since(start)) {
						w.WriteHeader(http.StatusServiceUnavailable)
						return
					}
					page200(fourLinks).ServeHTTP(w, r)
				}))
				summary, lines := crawlInternet(t, t.Context(), &internet, tool.ExitOK, "http://a.example/")
				wantCounts(t, summary, counts{Fetched: tt.fetched, GivenUp: tt.givenUp})
				checks := 0
				for _, l := range lines {
					if l.Verdict == record.Checked {
						checks++
					}
				}
				t.Logf("%d checks, %.0f s", checks, summary.Seconds)
				if checks > tt.maxChecks {
					t.Errorf("server was checked %d times, want at most %d", checks, tt.maxChecks)
				}
				if summary.Seconds > tt.maxSeconds {
					t.Errorf("crawl took %.0f s, want at most %.0f", summary.Seconds, tt.maxSeconds)
				}
				if n := summary.Statuses[200]; n != tt.fetched { // a check is not about a page
					t.Errorf("summary counts %d pages with status 200, want %d", n, tt.fetched)
				}
			})
		})
	}
}

// fourLinks is a page with four links.
const fourLinks = "<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a><a href=/4>4</a>"

// Each port of a host may have a server of its own. A response from one port
// proves nothing about the pages of another port.
func TestCrawl_ChecksOfPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		start := time.Now()
		internet.Handle("a.example", page200("fine"))
		internet.Handle("a.example:8080", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if since := time.Since(start); since > 3500*time.Millisecond && since < time.Minute {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			page200(fourLinks).ServeHTTP(w, r)
		}))
		args := []string{"http://a.example:8080/", "http://a.example/"}
		summary, _ := crawlInternet(t, t.Context(), &internet, tool.ExitOK, args...)
		wantCounts(t, summary, counts{Fetched: 6})
	})
}

// If the response to a check has a Retry-After, a later run obeys it too.
func TestCrawl_RetryAfterOfCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var pausedUntil time.Time
		startPages := 0 // number of requests for the start page; the second one is a check
		internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if left := time.Until(pausedUntil); left > 0 && r.URL.Path != "/robots.txt" {
				t.Errorf("%s was requested %v before the Retry-After had passed", r.URL.Path, left)
			}
			if r.URL.Path == "/" {
				startPages++
			}
			switch {
			case r.URL.Path == "/3", r.URL.Path == "/4":
				w.WriteHeader(http.StatusServiceUnavailable)
			case r.URL.Path == "/" && startPages == 2:
				pausedUntil = time.Now().Add(time.Hour)
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(http.StatusServiceUnavailable)
				time.AfterFunc(500*time.Millisecond, cancel) // as Ctrl-C would
			default:
				page200("<a href=/3>3</a><a href=/4>4</a>").ServeHTTP(w, r)
			}
		}))
		args := []string{"-resume=" + t.TempDir(), "http://a.example/"}
		crawlInternet(t, ctx, &internet, tool.ExitInterrupted, args...)
		if startPages != 2 {
			t.Fatalf("start page was requested %d times, want a second time as a check", startPages)
		}
		time.Sleep(time.Second)
		crawlInternet(t, t.Context(), &internet, tool.ExitOK, args...)
	})
}

// statusVerdicts has the verdict on each status.
var statusVerdicts = map[int]record.Verdict{
	200: record.Fetched,
	203: record.Fetched,
	301: record.Moved,
	304: record.Failed,
	401: record.Refused,
	403: record.Refused,
	404: record.NotFound,
	410: record.NotFound,
	451: record.Refused,
	500: record.Failed,
	502: record.Failed,
}

// crawlStatuses crawls a site with a page for each of statusVerdicts, such as
// /404. The page for 301 redirects to /. Each page has noindex.
func crawlStatuses(t *testing.T) (record.Summary, []line) {
	t.Helper()
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
	var urls []string
	for status := range statusVerdicts {
		urls = append(urls, fmt.Sprintf("http://a.example/%d", status))
	}
	slices.Sort(urls)
	return crawlInternet(t, t.Context(), &internet, tool.ExitOK, urls...)
}

// The status of the response determines the verdict. A noindex is reported only
// for pages with the verdict Fetched or Moved.
func TestCrawl_Verdicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, lines := crawlStatuses(t)
		verdicts := make(map[int]record.Verdict)
		for _, l := range lines {
			if l.Verdict == record.RobotsTxt {
				continue
			}
			verdicts[l.Status] = l.Verdict
			mayBeIndexed := l.Verdict == record.Fetched || l.Verdict == record.Moved
			if l.NoIndex && !mayBeIndexed {
				t.Errorf("record of %s (%s) has noindex, want it only for pages", l.URL, l.Verdict)
			}
			if want := "an unexpected 304 (Not Modified)"; l.Status == http.StatusNotModified && l.Error != want {
				t.Errorf("record of %s has the error %q, want %q", l.URL, l.Error, want)
			}
		}
		if !maps.Equal(verdicts, statusVerdicts) {
			t.Errorf("verdicts are %v, want %v", verdicts, statusVerdicts)
		}
	})
}

func TestCrawl_VerdictsInSummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		summary, _ := crawlStatuses(t)
		wantCounts(t, summary, counts{Fetched: 3, Refused: 3, Failed: 3})
		if summary.Moved != 1 || summary.NotFound != 2 || len(summary.Lost) != 6 {
			t.Errorf("summary has %d moved, %d missing and %d lost pages, want 1, 2 and 6",
				summary.Moved, summary.NotFound, len(summary.Lost))
		}
		host := summary.Hosts[0]
		got := [...]int{host.Fetched, host.Moved, host.NotFound, host.Lost}
		if want := [...]int{3, 1, 2, 6}; got != want {
			t.Errorf("host has %v fetched, moved, missing and lost pages, want %v", got, want)
		}
		wantStatuses := make(map[int]int)
		for status := range statusVerdicts {
			wantStatuses[status] = 1
		}
		wantStatuses[http.StatusOK]++ // the target of the redirect
		if !maps.Equal(summary.Statuses, wantStatuses) {
			t.Errorf("responses by status are %v, want %v", summary.Statuses, wantStatuses)
		}
	})
}

// A crawl that fetched no page has failed, even if every server responded.
func TestCrawl_NoPage(t *testing.T) {
	for _, status := range []int{
		http.StatusNotFound,
		http.StatusGone,
		http.StatusForbidden,
		http.StatusInternalServerError,
	} {
		synctest.Test(t, func(t *testing.T) {
			var internet robotstest.Internet
			internet.Handle("a.example", respondWith(status))
			crawlInternet(t, t.Context(), &internet, tool.ExitFailed, "http://a.example/1")
		})
	}
}

// The summary states that the ports of a host share one pace. It has the
// outcome of robots.txt for each port.
func TestCrawl_Ports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", page200("fine"))
		internet.Handle("a.example:8080", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "User-agent: *\nCrawl-delay: 3\n")
		}))
		r := runOn(t.Context(), &internet, agent, "http://a.example/", "http://a.example:8080/")
		r.wantStatus(t, tool.ExitOK)
		wantText(t, "output", r.stdout,
			"http://a.example 404: everything allowed, interval 1.0s; ",
			"http://a.example:8080 200, interval 3.0s\n",
			"the ports of a host share one pace",
			" 1.0s     3.0s ", // the interval, and the shortest time that passed
		)
	})
}

// The text output shows only the beginning of a long list, and where the whole
// list is.
func TestCrawl_LongLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("00.example", page200("fine"))
		args := []string{agent, "-max-pages=0"}
		for n := range 60 {
			args = append(args, fmt.Sprintf("http://%02d.example/", n))
		}
		r := runOn(t.Context(), &internet, args...)
		r.wantStatus(t, tool.ExitOK)
		const heading = "Crawling http://00.example/, http://01.example/, http://02.example/, http://03.example/, " +
			"… and 56 more as ExampleBot/1.0\n"
		if !strings.HasPrefix(r.stdout, heading) {
			t.Errorf("output begins with\n%.300s\nwant %s", r.stdout, heading)
		}
		_, summary, _ := strings.Cut(r.stdout, "60 hosts in ")
		for text, want := range map[string]int{
			"… and 10 more, in -json\n": 1,
			"… and 39 more, in -json\n": 1,
			"nothing allowed: ":         50 - 1,
			"\n  50.example ":           0,
			": no such host\n":          50 - 1 + 20,
		} {
			if got := strings.Count(summary, text); got != want {
				t.Errorf("summary contains %q %d times, want %d:\n%s", text, got, want, summary)
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
			t.Errorf("host was paused for %v s, want 90", paused)
		}
	})
}

// The record of a robots.txt that redirects to another host has both requests,
// each with its URL and host. If two files redirect to the same URL, each
// record has its own requests.
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
		_, lines := crawlInternet(t, t.Context(), &internet, tool.ExitOK, twoSites...)
		files := 0
		for _, l := range lines {
			if l.Verdict != record.RobotsTxt {
				continue
			}
			files++
			var requests []string
			for _, r := range l.Requests {
				requests = append(requests, fmt.Sprint(r.Host, " ", r.URL, " ", r.Status))
			}
			want := []string{l.Host + " " + l.URL + " 302", "c.example http://c.example/rules.txt 200"}
			if l.Redirects != 1 || !slices.Equal(requests, want) {
				t.Errorf("record of %s has %d redirects and the requests %q, want 1 and %q",
					l.URL, l.Redirects, requests, want)
			}
		}
		if files != 2 {
			t.Errorf("output has %d records of robots.txt, want 2", files)
		}
	})
}

// The normal form of a start URL may itself have another normal form. The
// spider requests the first one, even if it is no longer a URL.
func TestCrawl_StartNormalizedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("example", page200("fine"))
		urls := []string{"http://h\u0130~/", "http://example/|.a%2F.."}
		_, lines := crawlInternet(t, t.Context(), &internet, tool.ExitOK, urls...)
		got := verdicts(lines)
		for url, want := range map[string]record.Verdict{
			"http://xn--hi~-9dc/":     record.Failed,
			"http://example/%7C.a/..": record.Fetched,
		} {
			if got[url] != want {
				t.Errorf("verdict on %s is %q, want %q; all verdicts: %v", url, got[url], want, got)
			}
		}
	})
}
