package spider

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// protectedInternet returns an internet with a site that refuses some paths.
// Most of these refusals link to /captcha, which the spider must not request.
func protectedInternet() *robotstest.Internet {
	const links = "<a href=/challenge>1</a><a href=/away>2</a><a href=/price>3</a><a href=/marked>4</a>"
	internet := new(robotstest.Internet)
	internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/challenge":
			w.Header().Set("Sg-Captcha", "challenge")
			w.Header().Set("X-Robots-Tag", "noindex")
			w.WriteHeader(http.StatusAccepted)
		case "/away":
			w.Header().Set("X-Dd-B", "2")
			w.Header().Set("Location", "/captcha")
			w.WriteHeader(http.StatusFound)
		case "/price":
			w.Header().Set("Crawler-Price", "USD 0.01")
			w.WriteHeader(http.StatusPaymentRequired)
		case "/marked":
			io.WriteString(w, `<script id="anubis_challenge" type="application/json">{}</script>`)
			return
		case "/robots.txt":
			w.WriteHeader(http.StatusNotFound)
		case "/captcha":
			panic("a link in a refusal was followed")
		default:
			io.WriteString(w, links)
			return
		}
		io.WriteString(w, "<a href=/captcha>prove it</a>")
	}))
	return internet
}

// The spider reports a refusal with its evidence. If a response is surely a
// refusal, the spider requests the page only once and does not keep the
// response. If it is perhaps a refusal, it counts as a page, and the summary
// lists it.
func TestCrawl_Refusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := protectedInternet()
		pages := t.TempDir()
		summary, lines := crawlInternet(t, t.Context(), web, tool.ExitOK, "-pages="+pages, "http://a.example/")
		got := make(map[string]string)
		for _, l := range lines {
			if l.Refusal != nil {
				got[strings.TrimPrefix(l.URL, "http://a.example")] = string(l.Verdict) + ": " + l.Refusal.String()
			}
		}
		want := map[string]string{
			"/challenge": "refused: SiteGround: challenge (202, sg-captcha: challenge)",
			"/away":      "refused: DataDome: block (302, x-dd-b: 2)",
			"/price":     "refused: Cloudflare: payment (402, crawler-price: USD 0.01)",
			"/marked":    `fetched: Anubis: likely challenge (200, the page has <script id="anubis_challenge")`,
		}
		if !maps.Equal(got, want) {
			t.Errorf("refusals are %q, want %q", got, want)
		}
		wantCounts(t, summary, counts{Fetched: 2, Refused: 3})
		if len(summary.Doubtful) != 1 || summary.NoIndex != 0 {
			t.Errorf("summary has %d doubtful pages and %d with noindex, want 1 and 0",
				len(summary.Doubtful), summary.NoIndex)
		}
		wantOneRequestEach(t, web)
		index := readFile(t, filepath.Join(pages, "index.jsonl"))
		wantText(t, "index of kept pages", index, "/marked")
		wantNoText(t, "index of kept pages", index, "challenge")
	})
}

// wantOneRequestEach checks that no URL was requested twice.
func wantOneRequestEach(t *testing.T, internet *robotstest.Internet) {
	t.Helper()
	requests := make(map[string]int)
	for _, r := range internet.Log() {
		requests[r.URL]++
	}
	for url, n := range requests {
		if n > 1 {
			t.Errorf("%s was requested %d times, want once", url, n)
		}
	}
}

// The JSON output contains the price that a refusal requests.
func TestCrawl_RefusalPrice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, lines := crawlInternet(t, t.Context(), protectedInternet(), tool.ExitFailed, "http://a.example/price")
		last := lines[len(lines)-1]
		if last.Refusal == nil {
			t.Fatalf("record of %s has no refusal", last.URL)
		}
		if r := last.Refusal; r.Currency != "USD" || r.Price != "0.01" {
			t.Errorf("price is %q %q, want USD 0.01", r.Currency, r.Price)
		}
	})
}

func TestCrawl_RefusalsInSummaryAndReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		report := filepath.Join(t.TempDir(), "report.html")
		r := runOn(t.Context(), protectedInternet(), agent, "-report="+report, "http://a.example/")
		r.wantStatus(t, tool.ExitOK)
		_, summary, _ := strings.Cut(r.stdout, "a.example ")
		wantText(t, "summary", summary,
			"refused: 402, Cloudflare: payment (402, crawler-price: USD 0.01)",
			"Fetched, but possibly block pages:\n  http://a.example/marked")
		wantText(t, "report", readFile(t, report), "SiteGround: challenge (202, sg-captcha: challenge)")
	})
}

// refusingInternet returns an internet with two sites of ten pages each. The
// first page links to all others. For its third page and the following ones,
// a.example calls respond.
func refusingInternet(respond http.HandlerFunc) *robotstest.Internet {
	var links strings.Builder
	for n := range 10 {
		fmt.Fprintf(&links, "<a href=/%d>%[1]d</a> ", n)
	}
	site := page200(links.String())
	internet := new(robotstest.Internet)
	internet.Handle("b.example", site)
	internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path >= "/2" && r.URL.Path <= "/9" {
			respond(w, r)
			return
		}
		site.ServeHTTP(w, r)
	}))
	return internet
}

// respondWith returns a handler that responds with a status.
func respondWith(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

var twoSites = []string{"http://a.example/", "http://b.example/"}

// The crawl of a host ends at -max-refused, whatever the form of the refusal,
// and no further request is sent to the host. The missing pages are reported,
// and the crawl of another host continues.
func TestCrawl_MaxRefused(t *testing.T) {
	for name, respond := range map[string]http.HandlerFunc{
		"a 403": respondWith(http.StatusForbidden),
		"a 401": respondWith(http.StatusUnauthorized),
		"a challenge with status 200": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cf-Mitigated", "challenge")
		},
		"a block page with status 302": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Dd-B", "2")
			w.WriteHeader(http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := refusingInternet(respond)
				args := append([]string{"-max-refused=3"}, twoSites...)
				summary, _ := crawlInternet(t, t.Context(), web, tool.ExitRefused, args...)
				// 3 pages of a.example and 11 of b.example are fetched.
				wantCounts(t, summary, counts{Fetched: 14, Refused: 3, Left: 5, Stopped: "max-refused"})
				want := []record.EndedHost{{Host: "a.example", Left: 5}}
				if !slices.Equal(summary.Ended, want) {
					t.Errorf("ended hosts are %+v, want %+v", summary.Ended, want)
				}
				for _, r := range web.Log() {
					if r.URL >= "http://a.example/5" && r.URL <= "http://a.example/9" {
						t.Errorf("%s was requested after the third refusal, want no further request to a.example", r.URL)
					}
				}
			})
		})
	}
}

// Responses that are not refusals do not end the crawl of a host, and neither
// do fewer refusals than -max-refused.
func TestCrawl_MaxRefusedNotReached(t *testing.T) {
	for name, tt := range map[string]struct {
		respond http.HandlerFunc
		limit   string
	}{
		"pages with status 404":      {respondWith(http.StatusNotFound), "1"},
		"pages with status 410":      {respondWith(http.StatusGone), "1"},
		"pages with status 500":      {respondWith(http.StatusInternalServerError), "1"},
		"one refusal too few":        {respondWith(http.StatusForbidden), "9"},
		"a refusal of the last page": {respondWith(http.StatusForbidden), "8"},
		"no limit":                   {respondWith(http.StatusForbidden), "0"},
		"possible block pages":       {page200(`<script id="anubis_challenge"`).ServeHTTP, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				args := append([]string{"-max-refused=" + tt.limit}, twoSites...)
				summary, _ := crawlInternet(t, t.Context(), refusingInternet(tt.respond), tool.ExitOK, args...)
				if summary.Stopped != "" || summary.Ended != nil || summary.Left != 0 {
					t.Errorf("the crawl stopped early, want it complete: %+v", summary)
				}
			})
		})
	}
}

// If the first page is refused and no page was fetched, the exit status is that
// of -max-refused.
func TestCrawl_MaxRefusedWithoutPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		internet := new(robotstest.Internet)
		internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/robots.txt" {
				w.WriteHeader(http.StatusForbidden)
			}
		}))
		args := []string{"-max-refused=1", "http://a.example/", "http://a.example/1"}
		summary, _ := crawlInternet(t, t.Context(), internet, tool.ExitRefused, args...)
		wantCounts(t, summary, counts{Refused: 1, Left: 1, Stopped: "max-refused"})
	})
}

// If the crawl also stopped for another reason, the summary contains that
// reason. The exit status is that of -max-refused if the other reason is
// -max-pages or -max-time, but not after Ctrl-C.
func TestCrawl_MaxRefusedAndOtherEnds(t *testing.T) {
	for _, tt := range []struct {
		name    string
		args    []string
		timeout time.Duration // of the context; 0 means none
		status  int
		stopped string
	}{
		{
			name:    "a crawl with -max-pages",
			args:    []string{"-max-pages=12"},
			status:  tool.ExitRefused,
			stopped: "max-pages",
		},
		{
			name:    "a crawl with -max-time",
			args:    []string{"-max-time=7s"},
			status:  tool.ExitRefused,
			stopped: "max-time",
		},
		{
			name:    "an interrupted crawl",
			timeout: 7 * time.Second,
			status:  tool.ExitInterrupted,
			stopped: "interrupted",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tt.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.timeout)
					defer cancel()
				}
				web := refusingInternet(respondWith(http.StatusForbidden))
				args := append(tt.args, "-max-refused=1")
				summary, _ := crawlInternet(t, ctx, web, tt.status, append(args, twoSites...)...)
				if summary.Stopped != tt.stopped {
					t.Errorf("crawl stopped because of %q, want %q", summary.Stopped, tt.stopped)
				}
				if len(summary.Ended) != 1 || summary.Left <= summary.Ended[0].Left {
					t.Errorf("ended hosts are %+v and %d URLs are left, want one host and more URLs than its own",
						summary.Ended, summary.Left)
				}
			})
		})
	}
}

// The text output and the report name the host whose crawl has ended. With
// -resume, no page of the host is lost: a run with a larger -max-refused
// fetches the other pages.
func TestCrawl_MaxRefusedResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		isRefusing := true
		web := refusingInternet(func(w http.ResponseWriter, _ *http.Request) {
			if isRefusing {
				w.WriteHeader(http.StatusForbidden)
			}
		})
		dir := t.TempDir()
		report := filepath.Join(t.TempDir(), "report.html")
		crawl := func(wantStatus int, args ...string) string {
			t.Helper()
			r := runOn(t.Context(), web, append([]string{"-resume", dir, "-report", report}, args...)...)
			r.wantStatus(t, wantStatus)
			return r.stdout + r.stderr
		}
		const ended = "\nHosts stopped at -max-refused (crawl incomplete):\n" +
			"  a.example                                   5 URLs still in the queue\n"
		out := crawl(tool.ExitRefused, append([]string{agent, "-max-refused=3"}, twoSites...)...)
		wantText(t, "output of the first run", out,
			ended,
			"Stopped at -max-refused: 5 URLs still in the queue.",
			"politespider -resume "+dir+", with a larger -max-refused\n")
		wantText(t, "report of the first run", readFile(t, report),
			"The crawl of 1 host ended at -max-refused.</strong> Missing: 5 URLs of a.example.",
			"stopped at -max-refused</strong>, 5 URLs still queued")

		requests := len(web.Log())
		out = crawl(tool.ExitRefused) // with the -max-refused of the first run
		wantText(t, "output of a run with the same limit", out, ended)
		if n := len(web.Log()) - requests; n != 0 {
			t.Errorf("a run with the same limit sent %d requests, want none", n)
		}
		out = crawl(tool.ExitRefused, "-max-refused=4")
		wantText(t, "output of a run with a larger limit", out,
			"  a.example                                   4 URLs still in the queue\n")
		isRefusing = false
		out = crawl(tool.ExitOK, "-max-refused=5")
		wantText(t, "output of the last run", out, "18 pages fetched, 4 refused")
		wantNoText(t, "output of the last run", out, "Hosts stopped at")
	})
}

const sampleTerms = `<rsl xmlns="https://rslstandard.org/rsl"><content url="http://a.example/">
<license><permits type="usage">search</permits><prohibits type="usage">ai-train</prohibits></license>
</content></rsl>`

// With -rsl, the terms in a file count as preferences of the sites' owners.
func TestCrawl_Terms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		terms := filepath.Join(dir, "terms.xml")
		writeFile(t, terms, sampleTerms)
		report := filepath.Join(dir, "report.html")
		var internet robotstest.Internet
		internet.Handle("a.example", page200("<p>"))
		internet.Handle("b.example", page200("<p>"))
		args := append([]string{"-rsl=" + terms, "-report=" + report}, twoSites...)
		summary, lines := crawlInternet(t, t.Context(), &internet, tool.ExitOK, args...)
		var evidence []string
		for _, l := range lines {
			for _, e := range l.Evidence() {
				evidence = append(evidence, l.Host+" "+e.Text)
			}
		}
		want := []string{
			"a.example uses: search allow, train-ai deny, ai-input unknown",
			"a.example RSL file, line 2: permits search",
			"a.example RSL file, line 2: prohibits ai-train",
		}
		if !slices.Equal(evidence, want) {
			t.Errorf("evidence is %q, want %q", evidence, want)
		}
		if len(summary.Uses) != 2 {
			t.Errorf("summary has the uses %+v, want search and train-ai", summary.Uses)
		}
		wantText(t, "report", readFile(t, report), "RSL file, line 2: prohibits ai-train")
	})
}

func TestRun_InvalidTerms(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	writeFile(t, file, "<!doctype html><p>")
	runOn(t.Context(), nil, "-rsl="+file, "http://a.example/").wantStatus(t, tool.ExitUsage)
}
