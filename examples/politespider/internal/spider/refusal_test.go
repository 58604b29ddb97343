package spider

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
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

// walled returns an internet with a site that refuses some paths. Most of
// these refusals link to /captcha, which the spider must not request.
func walled() *robotstest.Internet {
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
			panic("a link of a wall's was followed")
		default:
			io.WriteString(w, "<a href=/challenge>1</a><a href=/away>2</a><a href=/price>3</a><a href=/marked>4</a>")
			return
		}
		io.WriteString(w, "<a href=/captcha>prove it</a>")
	}))
	return internet
}

// The spider reports a refusal with its evidence. If the answer is surely a
// refusal, the spider requests the page only once and does not keep the answer.
// If the answer is only perhaps a refusal, it counts as a page, and the summary
// lists it.
func TestCrawl_Refusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := walled()
		pages := t.TempDir()
		summary, lines := crawlInternet(t, t.Context(), web, tool.ExitOK, "-pages="+pages, "http://a.example/")
		want := map[string]string{
			"/challenge": "refused: SiteGround: challenge (202, sg-captcha: challenge)",
			"/away":      "refused: DataDome: block (302, x-dd-b: 2)",
			"/price":     "refused: Cloudflare: payment (402, crawler-price: USD 0.01)",
			"/marked":    `fetched: Anubis: likely challenge (200, the page has <script id="anubis_challenge")`,
		}
		for path, want := range want {
			i := slices.IndexFunc(lines, func(l line) bool { return l.URL == "http://a.example"+path && l.Verdict != record.RobotsTxt })
			if i < 0 || lines[i].Refusal == nil {
				t.Errorf("%s: no refusal in %v", path, lines)
				continue
			}
			if got := string(lines[i].Verdict) + ": " + lines[i].Refusal.String(); got != want {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
			if r := lines[i].Refusal; path == "/price" && r.Currency+" "+r.Price != "USD 0.01" {
				t.Errorf("the price is %q %q", r.Currency, r.Price)
			}
			if lines[i].NoIndex {
				t.Errorf("%s is reported as noindex", path)
			}
		}
		if summary.Refused != 3 || len(summary.Doubtful) != 1 || summary.NoIndex != 0 {
			t.Errorf("summary %+v, want 3 refused pages, 1 doubtful page, and none with noindex", summary)
		}
		asked := make(map[string]int)
		for _, r := range web.Log() {
			asked[r.URL]++
		}
		for url, n := range asked {
			if n > 1 {
				t.Errorf("%s was asked for %d times", url, n)
			}
		}
		index, err := os.ReadFile(filepath.Join(pages, "index.jsonl"))
		if err != nil || strings.Contains(string(index), "challenge") || !strings.Contains(string(index), "/marked") {
			t.Errorf("kept: %s, %v", index, err)
		}
	})
}

func TestCrawl_RefusalsInSummaryAndReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		report := filepath.Join(t.TempDir(), "report.html")
		command := tool.Command{
			Crawl:  Crawl,
			Args:   []string{agent, "-report=" + report, "http://a.example/"},
			Base:   walled(),
			Stdout: &out,
			Stderr: io.Discard,
		}
		if status := command.Run(t.Context()); status != tool.ExitOK {
			t.Errorf("exit status %d", status)
		}
		_, after, _ := strings.Cut(out.String(), "a.example ")
		for _, want := range []string{
			"refused: 402, Cloudflare: payment (402, crawler-price: USD 0.01)",
			"Fetched, but possibly block pages:\n  http://a.example/marked",
		} {
			if !strings.Contains(after, want) {
				t.Errorf("the summary has no %q:\n%s", want, after)
			}
		}
		page, err := os.ReadFile(report)
		if err != nil || !strings.Contains(string(page), "SiteGround: challenge (202, sg-captcha: challenge)") {
			t.Errorf("not in the report (%v)", err)
		}
	})
}

// refusing returns an internet with two sites of ten pages each. The first page
// links to all others. From its third page on, a.example responds as said.
func refusing(respond http.HandlerFunc) *robotstest.Internet {
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

// The crawl of a host ends at -max-refused, whatever the form of the refusal,
// and no request follows. The pages that are missing are reported, and another
// host is crawled to its end.
func TestCrawl_MaxRefused(t *testing.T) {
	for name, respond := range map[string]http.HandlerFunc{
		"403": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"401": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"200, a challenge": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cf-Mitigated",
				"challenge")
		},
		"302, a block page": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Dd-B", "2")
			w.WriteHeader(http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := refusing(respond)
				summary, _ := crawlInternet(t, t.Context(), web, tool.ExitRefused, "-max-refused=3", "http://a.example/", "http://b.example/")
				// The start page and ten others of each host: 3 and 11 fetched,
				// 3 refused, 5 missing.
				want := []record.EndedHost{{Host: "a.example", Left: 5}}
				if summary.Stopped != "max-refused" || !slices.Equal(summary.Ended, want) || summary.Left != 5 || summary.Refused != 3 || summary.Fetched != 14 {
					t.Errorf("unexpected summary: %+v", summary)
				}
				for _, r := range web.Log() {
					if r.URL >= "http://a.example/5" && r.URL <= "http://a.example/9" {
						t.Errorf("%s was requested after the end", r.URL)
					}
				}
			})
		})
	}
}

// Responses that are not refusals do not end the crawl of a host, and neither
// do fewer refusals than -max-refused.
func TestCrawl_MaxRefusedNotReached(t *testing.T) {
	statuses := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	for name, tt := range map[string]struct {
		respond http.HandlerFunc
		limit   string
	}{
		"404":            {statuses(http.StatusNotFound), "1"},
		"410":            {statuses(http.StatusGone), "1"},
		"500":            {statuses(http.StatusInternalServerError), "1"},
		"8 of 9 pages":   {statuses(http.StatusForbidden), "9"},
		"the last of 8":  {statuses(http.StatusForbidden), "8"},
		"no limit":       {statuses(http.StatusForbidden), "0"},
		"perhaps a page": {page200(`<script id="anubis_challenge"`).ServeHTTP, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				summary, _ := crawlInternet(t, t.Context(), refusing(tt.respond), tool.ExitOK, "-max-refused="+tt.limit, "http://a.example/", "http://b.example/")
				if summary.Stopped != "" || summary.Ended != nil || summary.Left != 0 {
					t.Errorf("the crawl stopped early: %+v", summary)
				}
			})
		})
	}
}

// If the first page is refused and no page was fetched, the exit status is
// still that of -max-refused. -max-pages, -max-time and Ctrl-C come before it
// in the summary, and only Ctrl-C in the exit status.
func TestCrawl_MaxRefusedAndOtherEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		internet := new(robotstest.Internet)
		internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/robots.txt" {
				w.WriteHeader(http.StatusForbidden)
			}
		}))
		urls := []string{"http://a.example/", "http://a.example/1"}
		summary, _ := crawlInternet(t, t.Context(), internet, tool.ExitRefused, append([]string{"-max-refused=1"}, urls...)...)
		if summary.Stopped != "max-refused" || summary.Fetched != 0 || summary.Left != 1 {
			t.Errorf("nothing fetched: %+v", summary)
		}

		forbid := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }
		urls = []string{"http://a.example/", "http://b.example/"}
		summary, _ = crawlInternet(t, t.Context(), refusing(forbid), tool.ExitRefused, append([]string{"-max-refused=1", "-max-pages=12"}, urls...)...)
		if summary.Stopped != "max-pages" || len(summary.Ended) != 1 || summary.Left <= summary.Ended[0].Left {
			t.Errorf("-max-pages: %+v", summary)
		}
		summary, _ = crawlInternet(t, t.Context(), refusing(forbid), tool.ExitRefused, append([]string{"-max-refused=1", "-max-time=7s"}, urls...)...)
		if summary.Stopped != "max-time" || len(summary.Ended) != 1 {
			t.Errorf("-max-time: %+v", summary)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		summary, _ = crawlInternet(t, ctx, refusing(forbid), tool.ExitInterrupted, append([]string{"-max-refused=1"}, urls...)...)
		if summary.Stopped != "interrupted" || len(summary.Ended) != 1 {
			t.Errorf("interrupted: %+v", summary)
		}
	})
}

// The text and the report name the host whose crawl has ended. With -resume, no
// page of the host is lost: a run with a larger -max-refused goes on.
func TestCrawl_MaxRefusedResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := true
		web := refusing(func(w http.ResponseWriter, _ *http.Request) {
			if blocked {
				w.WriteHeader(http.StatusForbidden)
			}
		})
		dir, report := t.TempDir(), filepath.Join(t.TempDir(), "report.html")
		crawl := func(want int, args ...string) string {
			t.Helper()
			var out bytes.Buffer
			command := tool.Command{
				Crawl:  Crawl,
				Args:   append([]string{"-resume", dir, "-report", report}, args...),
				Base:   web,
				Stdout: &out,
				Stderr: &out,
			}
			if status := command.Run(t.Context()); status != want {
				t.Errorf("%q: exit status %d, want %d:\n%s", args, status, want, out.String())
			}
			return out.String()
		}
		check := func(text string, wants ...string) {
			t.Helper()
			for _, want := range wants {
				if !strings.Contains(text, want) {
					t.Errorf("nothing of %q in:\n%s", want, text)
				}
			}
		}
		ended := "\nHosts stopped at -max-refused (crawl incomplete):\n  a.example                                   5 URLs still in the queue\n"
		out := crawl(tool.ExitRefused, agent, "-max-refused=3", "http://a.example/", "http://b.example/")
		check(out, ended, "Stopped at -max-refused: 5 URLs still in the queue.", "politespider -resume "+dir+", with a larger -max-refused\n")
		html, err := os.ReadFile(report)
		if err != nil {
			t.Fatal(err)
		}
		check(string(html), "The crawl of 1 host ended at -max-refused.</strong> Missing: 5 URLs of a.example.", "stopped at -max-refused</strong>, 5 URLs still queued")

		requests := len(web.Log())
		out = crawl(tool.ExitRefused) // with the -max-refused of the first run
		check(out, ended)
		if more := len(web.Log()) - requests; more != 0 {
			t.Errorf("%d requests by a run with the same limit", more)
		}
		out = crawl(tool.ExitRefused, "-max-refused=4")
		check(out, "  a.example                                   4 URLs still in the queue\n")
		blocked = false
		out = crawl(tool.ExitOK, "-max-refused=5")
		check(out, "18 pages fetched, 4 refused")
		if strings.Contains(out, "Ended at") {
			t.Errorf("ended after all pages:\n%s", out)
		}
	})
}

func TestCrawl_Terms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		terms, report := filepath.Join(dir, "terms.xml"), filepath.Join(dir, "report.html")
		text := `<rsl xmlns="https://rslstandard.org/rsl"><content url="http://a.example/">
<license><permits type="usage">search</permits><prohibits type="usage">ai-train</prohibits></license>
</content></rsl>`
		if err := os.WriteFile(terms, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var internet robotstest.Internet
		internet.Handle("a.example", page200("<p>"))
		internet.Handle("b.example", page200("<p>"))
		summary, lines := crawlInternet(t, t.Context(), &internet, tool.ExitOK, "-rsl="+terms, "-report="+report, "http://a.example/", "http://b.example/")
		var said []string
		for _, l := range lines {
			for _, e := range l.Evidence() {
				said = append(said, l.Host+" "+e.Text)
			}
		}
		want := []string{
			"a.example uses: search allow, train-ai deny, ai-input unknown",
			"a.example RSL file, line 2: permits search",
			"a.example RSL file, line 2: prohibits ai-train",
		}
		if !slices.Equal(said, want) {
			t.Errorf("got %q, want %q", said, want)
		}
		if len(summary.Uses) != 2 {
			t.Errorf("%+v", summary.Uses)
		}
		page, err := os.ReadFile(report)
		if err != nil || !strings.Contains(string(page), "RSL file, line 2: prohibits ai-train") {
			t.Errorf("not in the report (%v)", err)
		}
		if status := run(t.Context(), []string{"-rsl=" + report, "http://a.example/"}, io.Discard, io.Discard); status != tool.ExitUsage {
			t.Errorf("exit status %d for a file that is no RSL", status)
		}
	})
}
