package spider

import (
	"bytes"
	"context"
	"flag"
	"fmt"
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

// If the command line is wrong, the error names the flag or the argument.
func TestRun_UsageError(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"a URL without -user-agent", []string{"http://a.example/"}, "-user-agent"},
		{
			"a User-Agent of two words",
			[]string{"-user-agent=My Bot", "http://a.example/"},
			"-user-agent \"My Bot\": must begin with the name of your crawler, " +
				"one word that is not the name of a library, as in \"ExampleBot/1.0 ",
		},
		{
			"a User-Agent of two words for the demo",
			[]string{"-user-agent=My Bot", "demo"},
			"-user-agent \"My Bot\"",
		},
		{
			"a User-Agent of two words for a card",
			[]string{"-user-agent=My Bot", "-card"},
			"-user-agent \"My Bot\"",
		},
		{
			"the User-Agent of a library",
			[]string{"-user-agent=Go-http-client/1.1", "http://a.example/"},
			"-user-agent \"Go-http-client/1.1\"",
		},
		{"a URL without a scheme", []string{agent, "a.example"}, "http://a.example"},
		{"an ftp URL", []string{agent, "ftp://a.example/"}, "such as http://example.com/\n"},
		{"a URL without a host", []string{agent, "http://"}, "such as http://example.com/\n"},
		{"an empty URL", []string{agent, ""}, "such as http://example.com/\n"},
		{"a delay without a unit", []string{agent, "-delay=5", "http://a.example/"}, "did you mean 5s?"},
		{
			"a fraction without a unit",
			[]string{agent, "-delay=0.2", "http://a.example/"},
			"did you mean 200ms?",
		},
		{
			"an invalid port",
			[]string{agent, "http://a.example:99999/"},
			"\"http://a.example:99999/\" is not a URL",
		},
		{"a mailto URL", []string{agent, "mailto:a@a.example"}, "http or https"},
		{"a negative -max-pages", []string{"-max-pages=-1"}, "-max-pages"},
		{
			"a negative -max-refused",
			[]string{"-max-refused=-1"},
			"-max-refused -1: must be a positive number, or 0 for no limit",
		},
		{"a negative -delay", []string{"-delay=-1s"}, "-delay"},
		{"no hosts at a time", []string{"-hosts=0"}, "-hosts 0: must be a positive number"},
		{
			"a product token without a use",
			[]string{"-policy-token=Google-Extended"},
			"train-ai=Google-Extended",
		},
		{
			"a product token for an unknown use",
			[]string{"-policy-token=training=Google-Extended"},
			"search, train-ai or ai-input",
		},
		{
			"a report in a missing directory",
			[]string{"demo", "-report=/nowhere/at/all.html"},
			"-report: open /nowhere/at/all.html",
		},
		{"an unknown scope", []string{"-scope=planet"}, "host, domain or prefix"},
		{"a negative -depth", []string{"-depth=-1"}, "-depth -1: must be a positive number, or 0 for no limit"},
		{"a negative -max-time", []string{"-max-time=-1s"}, "-max-time"},
		{"a negative budget", []string{"-budget-requests=-1"}, "-budget-requests"},
		{"a negative -adaptive", []string{"-adaptive=-1"}, "-adaptive"},
		{"a NaN for -adaptive", []string{"-adaptive=NaN"}, "-adaptive"},
		{"a proxy for the demo", []string{"-proxy=http://127.0.0.1:3128"}, "-proxy"},
		{"a proxy without a scheme", []string{agent, "-proxy=127.0.0.1:3128", "http://a.example/"}, "-proxy"},
		{"an ftp proxy", []string{agent, "-proxy=ftp://127.0.0.1:3128", "http://a.example/"}, "-proxy"},
		{
			"-pages-all without -pages",
			[]string{"-pages-all"},
			"-pages-all requires -pages, the directory for the pages",
		},
		{
			"a card without a URL",
			[]string{agent, "-card=nowhere"},
			"must be -card, or -card=URL with the https URL",
		},
		{
			"a missing file of terms",
			[]string{agent, "-rsl=/nowhere/at/all.xml", "http://a.example/"},
			"/nowhere/at/all.xml",
		},
		{"-store with -resume", []string{"-store=a", "-resume=b"}, "-store"},
		{
			"a mistyped flag",
			[]string{"-dealy=1s"},
			"unknown flag -dealy; did you mean -delay? (politespider -h lists the flags)",
		},
		{"an unknown flag", []string{"-fast"}, "-fast (politespider -h lists the flags)"},
		{"an unknown flag after a URL", []string{agent, "http://a.example/", "-fast"}, "-fast"},
		{"a comparison without a report", []string{agent, "-compare=a.jsonl", "http://a.example/"}, "-report"},
		{
			"a comparison with a missing file",
			[]string{agent, "-report=" + os.DevNull, "-compare=/nowhere/at/all.jsonl", "http://a.example/"},
			"-compare: open /nowhere/at/all.jsonl",
		},
		{
			"a comparison with another file",
			[]string{agent, "-report=" + os.DevNull, "-compare=spider.go", "http://a.example/"},
			"no summary found; use the -json output",
		},
		{"a report without a URL", []string{"-report=" + os.DevNull}, "no URL to crawl"},
		{"an unreadable state", []string{"-resume=" + os.DevNull + "/state"}, "-resume /dev/null/state: "},
		{
			"a missing state",
			[]string{"-resume=nowhere/at/all"},
			"-resume nowhere/at/all: there is no crawl to resume, and no URL to start one",
		},
		{"pages without a URL", []string{"-pages=dir"}, "no URL to crawl"},
		{"a store without a URL", []string{"-store=dir"}, "no URL to crawl"},
		{"a User-Agent without a URL", []string{agent, "-max-pages=3"}, "no URL to crawl"},
		{"the demo and a URL", []string{agent, "demo", "http://a.example/"}, "http://demo"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			runArgs := func(stdout, stderr io.Writer) int { return run(t.Context(), tt.args, stdout, stderr) }
			tooltest.CheckUsageError(t, runArgs, tt.want)
		})
	}
}

// -version prints the version, and does not crawl.
func TestRun_Version(t *testing.T) {
	r := runOn(t.Context(), nil, "-version")
	r.wantStatus(t, tool.ExitOK)
	if !strings.HasPrefix(r.stdout, "politespider ") || !strings.HasSuffix(r.stdout, ")\n") {
		t.Errorf("standard output is %q, want politespider and the version of Go in parentheses", r.stdout)
	}
	if r.stderr != "" {
		t.Errorf("standard error is %q, want none", r.stderr)
	}
}

var update = flag.Bool("update", false, "rewrite testdata/help.txt")

func TestRun_Help(t *testing.T) {
	r := runOn(t.Context(), nil, "-h")
	r.wantStatus(t, tool.ExitOK)
	if r.stderr != "" {
		t.Errorf("standard error is %q, want none", r.stderr)
	}
	const file = "testdata/help.txt"
	if *update {
		if err := os.WriteFile(file, []byte(r.stdout), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if r.stdout != string(want) {
		t.Errorf("help differs from %s (go test -update rewrites it):\n%s", file, r.stdout)
	}
}

// The help lists each field of the objects that -json prints.
func TestRun_HelpListsFields(t *testing.T) {
	help := runOn(t.Context(), nil, "-h").stdout
	_, fields, _ := strings.Cut(help, "Fields of -json")
	fields, _, _ = strings.Cut(fields, "Exit status")
	names := strings.FieldsFunc(fields, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') })
	for _, object := range []reflect.Type{reflect.TypeFor[record.Record](), reflect.TypeFor[record.Request]()} {
		for _, f := range reflect.VisibleFields(object) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" && !slices.Contains(names, name) {
				t.Errorf("help does not list the field %s of %v", name, object)
			}
		}
	}
}

// A crawl of a site in real time. The spider stays on the host of the start
// URL.
func TestRun_URL(t *testing.T) {
	otherRequests := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { otherRequests++ }))
	defer other.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("User-agent: *\nDisallow: /no\n\nUser-agent: OtherBot-AI\nDisallow: /yes"))
	})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<a href=/yes>yes</a> <a href=/no>no</a> <a href="%s/">other</a>`, other.URL)
		fmt.Fprint(w, `<a href="mailto:a@a.example">mail</a>`)
	})
	mux.HandleFunc("/yes", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/no",
		func(http.ResponseWriter, *http.Request) { t.Error("/no was requested, which is disallowed") })
	site := httptest.NewServer(mux)
	defer site.Close()

	r := runOn(t.Context(), nil, "-delay=0", agent, "-policy-token=ai-input=OtherBot-AI", site.URL)
	r.wantStatus(t, tool.ExitOK)
	if r.stderr != "" {
		t.Errorf("standard error is %q, want none", r.stderr)
	}
	if otherRequests != 0 {
		t.Errorf("%d requests were sent to another host, want none", otherRequests)
	}
	wantText(t, "output", r.stdout,
		"fetched       200  "+site.URL+"/yes",
		"line 2: Disallow: /no",
		"robots.txt, line 5: Disallow: /yes for OtherBot-AI (draft)",
		"ai-input    1 allow,   1 deny", // the group of OtherBot-AI allows "/" and disallows "/yes"
		"1 host in ",
		"2 pages fetched, 1 disallowed",
	)
	wantNoText(t, "output, which is not a terminal,", r.stdout, "\x1b")
}

func TestCrawl_MaxPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", page200(`<a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a>`))
		summary, _ := crawlInternet(t, t.Context(), &internet, tool.ExitOK, "-max-pages=2", "http://a.example/")
		wantCounts(t, summary, counts{Fetched: 2, Left: 2, Stopped: "max-pages"})
		if n := len(internet.Log()); n != 3 {
			t.Errorf("%d requests were sent, want one for robots.txt and one for each page", n)
		}
	})
}

// An interrupted crawl stops immediately.
func TestCrawl_Interrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", page200(`<a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a>`))
		const limit = 2500 * time.Millisecond // enough for robots.txt, the front page and one more page
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		start := time.Now()
		summary, _ := crawlInternet(t, ctx, &internet, tool.ExitInterrupted, "http://a.example/")
		if took := time.Since(start); took != limit {
			t.Errorf("crawl ended after %v, want %v", took, limit)
		}
		wantCounts(t, summary, counts{Fetched: 2, Left: 2, Stopped: "interrupted"})
	})
}

// If the spider cannot write its output, it ends the crawl, because the outcome
// would be lost.
func TestCrawl_OutputLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", page200("fine"))
		var stderr bytes.Buffer
		command := tool.Command{
			Crawl:  Crawl,
			Args:   []string{agent, "http://a.example/"},
			Base:   &internet,
			Stdout: fullDisk{},
			Stderr: &stderr,
		}
		if status := command.Run(t.Context()); status != tool.ExitFailed {
			t.Errorf("exit status is %d, want %d", status, tool.ExitFailed)
		}
		wantText(t, "standard error", stderr.String(), "write the output: no space left")
		if n := len(internet.Log()); n > 0 {
			t.Errorf("%d requests were sent, want none", n)
		}
	})
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// If a site does not exist or its responses break off, only the pages of this
// site are lost. The record of a lost page contains the reason, without the
// host.
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
		wantCounts(t, summary, counts{Fetched: 1, Unreachable: 1, Failed: 1})
		for _, l := range lines {
			isLost := l.Verdict == record.Unreachable || l.Verdict == record.Failed
			if isLost && l.Error == "" {
				t.Errorf("record of %s (%s) has no error, want the reason", l.URL, l.Verdict)
			}
			if l.Verdict == record.Unreachable && !strings.HasPrefix(l.Error, "robots.txt: ") {
				t.Errorf("record of %s has the error %q, want one that begins with robots.txt", l.URL, l.Error)
			}
			if strings.Contains(l.Error, "example") {
				t.Errorf("record of %s has the error %q, want one without the host", l.URL, l.Error)
			}
		}
		if len(summary.Lost) != 2 {
			t.Errorf("summary lists %d lost URLs, want 2", len(summary.Lost))
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
			t.Errorf("%d pages were fetched, want 3", summary.Fetched)
		}
		var pages []time.Time
		for _, r := range internet.Log() {
			if !strings.HasSuffix(r.URL, "/robots.txt") {
				pages = append(pages, r.Time)
			}
		}
		for i := 1; i < len(pages); i++ {
			if gap := pages[i].Sub(pages[i-1]); gap < 5*time.Minute {
				t.Errorf("page %d was requested %v after the previous one, want at least 5m0s", i, gap)
			}
		}
	})
}

// A run with a wrong command line creates no file.
func TestRun_UsageErrorLeavesNoFile(t *testing.T) {
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
		{"-report=a.html"},
		{"-report=a.html", "http://a.example/"},
		{"-report=a.html", agent, "a.example"},
		{"-resume=a"},
		{"-pages=a"},
		{"-store=a"},
		append(all, "-key=none.pem", "-signature-agent", keysURL),
		append(all, "-signature-agent", keysURL),
		append(all, "-card=none"),
		append(all, "-compare=none.jsonl"),
		append(all, "-compare="+os.DevNull),
		append(all, "-report=none/a.html"),
	} {
		if status := run(t.Context(), args, io.Discard, io.Discard); status != tool.ExitUsage {
			t.Errorf("with the arguments %q, exit status is %d, want %d", args, status, tool.ExitUsage)
		}
		files, err := os.ReadDir(".")
		if err != nil {
			t.Fatal(err)
		}
		if len(files) > 0 {
			t.Fatalf("with the arguments %q, the directory contains %v, want no files", args, files)
		}
	}
}

// The demo runs with every combination of flags that does not require a URL.
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
				t.Errorf("with the arguments %q, %d pages were fetched, want at least 5", args, summary.Fetched)
			}
		}
	})
}

func TestRun_FlagsAfterURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", page200(`<a href=/1>1</a> <a href=/2>2</a>`))
		args := []string{"http://a.example/", "-max-pages", "1", agent}
		summary, _ := crawlJSON(t, t.Context(), &internet, tool.ExitOK, args...)
		if summary.Fetched != 1 {
			t.Errorf("%d pages were fetched, want 1", summary.Fetched)
		}
	})
}
