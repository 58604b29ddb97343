package spider

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// walled() returns an internet with a site that refuses some paths. Most of
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
				t.Errorf("%s is said to be a page that says noindex", path)
			}
		}
		if summary.Refused != 3 || len(summary.Doubtful) != 1 || summary.NoIndex != 0 {
			t.Errorf("%+v", summary)
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
		command := tool.Command{Crawl: Crawl, Args: []string{agent, "-report=" + report, "http://a.example/"}, Base: walled(), Stdout: &out, Stderr: io.Discard}
		if status := command.Run(t.Context()); status != tool.ExitOK {
			t.Errorf("exit status %d", status)
		}
		_, after, _ := strings.Cut(out.String(), "a.example ")
		for _, want := range []string{
			"refused: 402, Cloudflare: payment (402, crawler-price: USD 0.01)",
			"Fetched, but perhaps no pages:\n  http://a.example/marked",
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
			t.Errorf("%q, want %q", said, want)
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
