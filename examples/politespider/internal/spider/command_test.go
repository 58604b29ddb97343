package spider

import (
	"bytes"
	"context"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
	"github.com/goodbots/courtesy/examples/politespider/internal/tooltest"
	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func TestMain(m *testing.M) {
	testmain.Quiet()
	testmain.Parallel(8)
	goleak.VerifyTestMain(m)
}

func TestRun_Mistakes(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"URL without a user agent", []string{"http://a.example/"}, "-user-agent"},
		{
			"user agent of two words",
			[]string{"-user-agent=My Bot", "http://a.example/"},
			"-user-agent \"My Bot\": must begin with the name of your crawler, one word that is not the name of a library, as in \"ExampleBot/1.0 ",
		},
		{
			"user agent of two words, for the demo",
			[]string{"-user-agent=My Bot", "demo"},
			"-user-agent \"My Bot\"",
		},
		{
			"user agent of two words, for a card",
			[]string{"-user-agent=My Bot", "-card"},
			"-user-agent \"My Bot\"",
		},
		{
			"a library's user agent",
			[]string{"-user-agent=Go-http-client/1.1", "http://a.example/"},
			"-user-agent \"Go-http-client/1.1\"",
		},
		{"no scheme", []string{agent, "a.example"}, "http://a.example"},
		{"another scheme", []string{agent, "ftp://a.example/"}, "such as http://example.com/\n"},
		{"no host", []string{agent, "http://"}, "such as http://example.com/\n"},
		{"an empty URL", []string{agent, ""}, "such as http://example.com/\n"},
		{"a delay without a unit", []string{agent, "-delay=5", "http://a.example/"}, "did you mean 5s?"},
		{
			"a part of a second without a unit",
			[]string{agent, "-delay=0.2", "http://a.example/"},
			"did you mean 200ms?",
		},
		{
			"a port that there is not",
			[]string{agent, "http://a.example:99999/"},
			"\"http://a.example:99999/\" is not a URL",
		},
		{"not for crawlers", []string{agent, "mailto:a@a.example"}, "http or https"},
		{"negative pages", []string{"-max-pages=-1"}, "-max-pages"},
		{
			"negative refusals",
			[]string{"-max-refused=-1"},
			"-max-refused -1: must be a positive number, or 0 for no limit",
		},
		{"negative delay", []string{"-delay=-1s"}, "-delay"},
		{"no hosts", []string{"-hosts=0"}, "-hosts 0: must be a positive number"},
		{"a name for no use", []string{"-policy-token=Google-Extended"}, "train-ai=Google-Extended"},
		{
			"a name for a use that there is not",
			[]string{"-policy-token=training=Google-Extended"},
			"search, train-ai or ai-input",
		},
		{
			"a report where there is no directory",
			[]string{"demo", "-report=/nowhere/at/all.html"},
			"-report: open /nowhere/at/all.html",
		},
		{"unknown scope", []string{"-scope=planet"}, "host, domain or prefix"},
		{"negative depth", []string{"-depth=-1"}, "-depth -1: must be a positive number, or 0 for no limit"},
		{"negative time", []string{"-max-time=-1s"}, "-max-time"},
		{"negative budget", []string{"-budget-requests=-1"}, "-budget-requests"},
		{"negative adaptive pace", []string{"-adaptive=-1"}, "-adaptive"},
		{"adaptive pace that is no number", []string{"-adaptive=NaN"}, "-adaptive"},
		{"proxy for the demo", []string{"-proxy=http://127.0.0.1:3128"}, "-proxy"},
		{"proxy without a scheme", []string{agent, "-proxy=127.0.0.1:3128", "http://a.example/"}, "-proxy"},
		{"proxy of another", []string{agent, "-proxy=ftp://127.0.0.1:3128", "http://a.example/"}, "-proxy"},
		{
			"all pages kept nowhere",
			[]string{"-pages-all"},
			"-pages-all requires -pages, the directory for the pages",
		},
		{
			"a card at no address",
			[]string{agent, "-card=nowhere"},
			"must be -card, or -card=URL with the https URL",
		},
		{
			"terms that are not there",
			[]string{agent, "-rsl=/nowhere/at/all.xml", "http://a.example/"},
			"/nowhere/at/all.xml",
		},
		{"robots.txt kept in two places", []string{"-store=a", "-resume=b"}, "-store"},
		{
			"a mistyped flag",
			[]string{"-dealy=1s"},
			"unknown flag -dealy; did you mean -delay? (politespider -h lists the flags)",
		},
		{"unknown flag", []string{"-fast"}, "-fast (politespider -h lists the flags)"},
		{"unknown flag after a URL", []string{agent, "http://a.example/", "-fast"}, "-fast"},
		{"a comparison without a report", []string{agent, "-compare=a.jsonl", "http://a.example/"}, "-report"},
		{
			"a comparison with nothing",
			[]string{agent, "-report=" + os.DevNull, "-compare=/nowhere/at/all.jsonl", "http://a.example/"},
			"-compare: open /nowhere/at/all.jsonl",
		},
		{
			"a comparison with no crawl",
			[]string{agent, "-report=" + os.DevNull, "-compare=spider.go", "http://a.example/"},
			"no summary found; use the -json output",
		},
		{"a report of nothing", []string{"-report=" + os.DevNull}, "no URL to crawl"},
		{"a state of nothing", []string{"-resume=" + os.DevNull + "/state"}, "-resume /dev/null/state: "},
		{
			"a state that is not there",
			[]string{"-resume=nowhere/at/all"},
			"-resume nowhere/at/all: there is no crawl to resume, and no URL to start one",
		},
		{"pages of nothing", []string{"-pages=dir"}, "no URL to crawl"},
		{"a store for nothing", []string{"-store=dir"}, "no URL to crawl"},
		{"a crawler of nothing", []string{agent, "-max-pages=3"}, "no URL to crawl"},
		{"the demo and a URL", []string{agent, "demo", "http://a.example/"}, "http://demo"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tooltest.CheckMistake(t, func(stdout, stderr io.Writer) int { return run(t.Context(), tt.args, stdout, stderr) }, tt.want)
		})
	}
}

// The version is the build's own, and nothing is crawled.
func TestRun_Version(t *testing.T) {
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), []string{"-version"}, &stdout, &stderr)
	if status != tool.ExitOK || stderr.Len() > 0 || !strings.HasPrefix(stdout.String(), "politespider ") || !strings.HasSuffix(stdout.String(), ")\n") {
		t.Errorf("exit status %d, standard output %q, standard error %q",
			status, stdout.String(), stderr.String())
	}
}

var update = flag.Bool("update", false, "write the help as it is now into testdata/help.txt")

func TestRun_Help(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"-h"}, &stdout, &stderr); status != tool.ExitOK || stderr.Len() > 0 {
		t.Errorf("exit status %d, want 0; standard error: %s", status, stderr.String())
	}
	for _, flag := range []string{
		"-user-agent", "-scope", "-depth", "-max-pages", "-max-refused", "-max-time", "-sitemaps", "-delay", "-adaptive", "-budget-requests", "-budget-bytes", "-hosts", "-proxy", "-json",
		"-report", "-compare", "-policy-token", "-pages", "-pages-all", "-resume", "-store", "130",
		"-key", "-signature-agent", "-legacy-signature-agent", "-card",
	} {
		if !strings.Contains(stdout.String(), flag) {
			t.Errorf("the help does not mention %s", flag)
		}
	}
	const file = "testdata/help.txt"
	if *update {
		if err := os.WriteFile(file, stdout.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if stdout.String() != string(want) {
		t.Errorf("the help has changed (go test -update writes it into %s):\n%s", file, stdout.String())
	}
}

// The help lists each field of the objects that -json prints.
func TestRun_HelpHasTheFieldsOfJSON(t *testing.T) {
	var stdout bytes.Buffer
	run(t.Context(), []string{"-h"}, &stdout, io.Discard)
	_, fields, _ := strings.Cut(stdout.String(), "Fields of -json")
	fields, _, _ = strings.Cut(fields, "Exit status")
	words := strings.FieldsFunc(fields, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') })
	for _, of := range []reflect.Type{reflect.TypeFor[record.Record](), reflect.TypeFor[record.Request]()} {
		for _, f := range reflect.VisibleFields(of) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && !slices.Contains(words, name) {
				t.Errorf("the help does not mention %s", name)
			}
		}
	}
}

func TestRun_URLs(t *testing.T) {
	var other int
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { other++ }))
	defer elsewhere.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("User-agent: *\nDisallow: /no\n\nUser-agent: OtherBot-AI\nDisallow: /yes"))
	})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(`<a href=/yes>yes</a> <a href=/no>no</a> <a href="` + elsewhere.URL + `/">elsewhere</a> <a href="mailto:a@a.example">us</a>`))
	})
	mux.HandleFunc("/yes", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/no", func(http.ResponseWriter, *http.Request) { t.Error("/no was asked for") })
	site := httptest.NewServer(mux)
	defer site.Close()

	var stdout, stderr bytes.Buffer
	status := run(t.Context(), []string{
		"-delay=0",
		"-user-agent=ExampleBot/1.0",
		"-policy-token=ai-input=OtherBot-AI",
		site.URL,
	}, &stdout, &stderr)
	if status != tool.ExitOK {
		t.Errorf("exit status %d, want 0", status)
	}
	if stderr.Len() > 0 {
		t.Errorf("standard error: %s", stderr.String())
	}
	if other != 0 {
		t.Error("the spider left the hosts that it was given")
	}
	for _, want := range []string{
		"fetched       200  " + site.URL + "/yes",
		"line 2: Disallow: /no",
		"robots.txt, line 5: Disallow: /yes for OtherBot-AI (draft)",
		"ai-input    1 allow,   1 deny", // the group of OtherBot-AI allows "/" and disallows "/yes"
		"1 host in ",
		"2 pages fetched, 1 disallowed",
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the output says nothing of %q:\n%s", want, stdout.String())
		}
	}
	if strings.Contains(stdout.String(), "\x1b") {
		t.Error("colors in a pipe")
	}
}

func TestCrawl_MaxPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", page200(`<a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a>`))
		summary, _ := crawlInternet(t, t.Context(), &internet, tool.ExitOK, "-max-pages=2", "http://a.example/")
		if summary.Fetched != 2 || summary.Left != 2 || summary.Stopped != "max-pages" {
			t.Errorf("%d fetched, %d left, stopped %q; want 2, 2, max-pages",
				summary.Fetched, summary.Left, summary.Stopped)
		}
		if n := len(internet.Log()); n != 3 {
			t.Errorf("%d requests were sent, want one for robots.txt and one for each page", n)
		}
	})
}

func TestCrawl_Interrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", page200(`<a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a>`))
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond) // enough for robots.txt, the front page and one more page
		defer cancel()
		start := time.Now()
		summary, _ := crawlInternet(t, ctx, &internet, tool.ExitInterrupted, "http://a.example/")
		if time.Since(start) != 2500*time.Millisecond {
			t.Errorf("it took %v to stop", time.Since(start)-2500*time.Millisecond)
		}
		if summary.Fetched != 2 || summary.Left != 2 || summary.Failed != 0 || summary.Stopped != "interrupted" {
			t.Errorf("%d fetched, %d left, %d failed, stopped %q; want 2, 2, 0, interrupted",
				summary.Fetched, summary.Left, summary.Failed, summary.Stopped)
		}
	})
}

// If the spider cannot write its output, it ends the crawl, because nobody
// would see the outcome.
func TestCrawl_OutputLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", page200("fine"))
		var stderr bytes.Buffer
		status := tool.Command{
			Crawl:  Crawl,
			Args:   []string{agent, "http://a.example/"},
			Base:   &internet,
			Stdout: fullDisk{},
			Stderr: &stderr,
		}.Run(t.Context())
		if status != tool.ExitFailed {
			t.Errorf("exit status %d, want %d", status, tool.ExitFailed)
		}
		if !strings.Contains(stderr.String(), "write the output: no space left") {
			t.Errorf("standard error: %q", stderr.String())
		}
		if log := internet.Log(); len(log) > 0 {
			t.Errorf("%d requests were sent all the same", len(log))
		}
	})
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// If a site does not exist or breaks off its answers, only the pages of this
// site are lost.
func TestCrawl_BrokenSites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", page200("fine"))
		internet.Handle("broken.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/robots.txt" {
				panic(http.ErrAbortHandler)
			}
		}))
		summary, lines := crawlInternet(t, t.Context(), &internet, tool.ExitOK,
			"http://nowhere.example/", "http://broken.example/", "http://a.example/")
		if summary.Fetched != 1 || summary.Unreachable != 1 || summary.Failed != 1 {
			t.Errorf("%d fetched, %d unreachable, %d failed; want one of each",
				summary.Fetched, summary.Unreachable, summary.Failed)
		}
		for _, l := range lines {
			if (l.Verdict == record.Unreachable || l.Verdict == record.Failed) && l.Error == "" {
				t.Errorf("%s: %s, without saying why", l.URL, l.Verdict)
			}
			if l.Verdict == record.Unreachable && !strings.HasPrefix(l.Error, "robots.txt: ") {
				t.Errorf("%s: %q does not say what is unreachable", l.URL, l.Error)
			}
			if strings.Contains(l.Error, "example") {
				t.Errorf("%s: %q names the host again", l.URL, l.Error)
			}
		}
		if len(summary.Lost) != 2 {
			t.Errorf("the summary lists %d lost URLs, want 2", len(summary.Lost))
		}
	})
}

func TestCrawl_NothingFetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		crawlInternet(t, t.Context(), &internet, tool.ExitFailed, "http://nowhere.example/")
	})
}

// The spider obeys a Crawl-delay even if it is longer than the Limiter's
// MaxWait.
func TestCrawl_LongCrawlDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				w.Write([]byte("User-agent: *\nCrawl-delay: 300"))
				return
			}
			page200(`<a href=/1>1</a> <a href=/2>2</a>`).ServeHTTP(w, r)
		}))
		summary, _ := crawlInternet(t, t.Context(), &internet, tool.ExitOK, "http://a.example/")
		if summary.Fetched != 3 {
			t.Errorf("%d fetched, want 3", summary.Fetched)
		}
		var pages []time.Time
		for _, r := range internet.Log() {
			if !strings.HasSuffix(r.URL, "/robots.txt") {
				pages = append(pages, r.Time)
			}
		}
		for i := 1; i < len(pages); i++ {
			if gap := pages[i].Sub(pages[i-1]); gap < 5*time.Minute {
				t.Errorf("a page came %v after the one before, want 5m0s", gap)
			}
		}
	})
}

func TestRun_MistakesLeaveNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	all := []string{
		agent,
		"http://a.example/",
		"-report=a.html",
		"-pages=pages",
		"-resume=state",
		"-evidence=record",
	}
	for _, args := range [][]string{
		{"-report=a.html"}, {"-report=a.html", "http://a.example/"}, {"-report=a.html", agent, "a.example"}, {"-resume=a"}, {"-pages=a"}, {"-store=a"},
		append(all, "-key=none.pem", "-signature-agent", keysURL),
		append(all, "-signature-agent", keysURL),
		append(all, "-card=none"),
		append(all, "-compare=none.jsonl"),
		append(all, "-compare="+os.DevNull),
		append(all, "-report=none/a.html"),
	} {
		if status := run(t.Context(), args, io.Discard, io.Discard); status != tool.ExitUsage {
			t.Errorf("%q: exit status %d", args, status)
		}
		if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
			t.Fatalf("%q left %v behind, %v", args, files, err)
		}
	}
}

func TestRun_Demo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, internet := demoInternet(t)
		for _, args := range [][]string{
			nil,
			{"demo"},
			{"demo", "-report", filepath.Join(t.TempDir(), "crawl.html")},
			{"-max-pages=5"},
			{"-resume", t.TempDir(), "demo"},
		} {
			summary, _ := crawlJSON(t, t.Context(), internet, tool.ExitOK, args...)
			if summary.Fetched < 5 {
				t.Errorf("%q: %d fetched", args, summary.Fetched)
			}
		}
	})
}

func TestRun_FlagsAfterURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", page200(`<a href=/1>1</a> <a href=/2>2</a>`))
		summary, _ := crawlJSON(t, t.Context(), &internet, tool.ExitOK, "http://a.example/", "-max-pages", "1", agent)
		if summary.Fetched != 1 {
			t.Errorf("%d fetched, want 1", summary.Fetched)
		}
	})
}
