package integration

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/examples/politespider/internal/report"
)

// browser is the Chromium that all tests use, or nil if the machine has none.
var browser context.Context

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

// runTests runs the tests with a browser, if there is one.
func runTests(m *testing.M) int {
	path := chromium()
	if path == "" {
		return m.Run()
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(timeout))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	var cancel context.CancelFunc
	browser, cancel = chromedp.NewContext(allocator)
	defer cancel()
	if err := chromedp.Do(browser); err != nil {
		fmt.Fprintf(os.Stderr, "start %s: %v\n", path, err)
		return 1
	}
	return m.Run()
}

// chromium returns the path of Chromium, or "" if there is none.
func chromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// timeout is how long a test waits for the browser. It is long enough for a
// busy machine.
const timeout = 3 * time.Minute

// A tab is a tab of the browser.
type tab struct {
	*testing.T
	context.Context
}

// open shows a report in a tab of its own. The test fails if the browser
// complains about anything, or if the report requests anything from the
// network.
func open(t *testing.T, path string, width, height int64, dark bool) tab {
	t.Helper()
	needBrowser(t)
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	target := "file://" + filepath.ToSlash(path)
	failOnComplaints(t, ctx, target)
	ctx, cancel = context.WithTimeout(ctx, 2*timeout)
	t.Cleanup(cancel)
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	setMedia := func(ctx context.Context, target *chromedp.Target) (none chromedp.Void, err error) {
		features := []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme},
			{Name: "prefers-reduced-motion", Value: "reduce"},
		}
		params := emulation.SetEmulatedMediaParams{Features: features}
		_, err = cdp.Call(ctx, target, emulation.SetEmulatedMedia, params)
		return none, err
	}
	tb := tab{t, ctx}
	tb.run(setMedia, chromedp.EmulateViewport(width, height), chromedp.Navigate(target))
	return tb
}

// failOnComplaints makes the test fail if the browser complains about anything,
// or if the page at target requests anything else.
func failOnComplaints(t *testing.T, ctx context.Context, target string) {
	t.Helper()
	var mu sync.Mutex
	var complaints []string
	complain := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		complaints = append(complaints, fmt.Sprintf(format, args...))
	}
	err := chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			complain("exception: %s %v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception)
		case *runtime.EventConsoleAPICalled:
			complain("console.%s: %v", e.Type, e.Args)
		case *log.EventEntryAdded: // includes violations of the Content-Security-Policy
			complain("%s: %s", e.Entry.Source, e.Entry.Text)
		case *page.EventJavascriptDialogOpening:
			complain("dialog: %s", e.Message)
		case *network.EventRequestWillBeSent:
			if e.Request.URL != target {
				complain("request for %s", e.Request.URL)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range complaints {
			t.Errorf("the browser reported %q, want no reports", c)
		}
	})
}

// needBrowser skips the test if there is no browser.
func needBrowser(t *testing.T) {
	t.Helper()
	if browser == nil {
		t.Skip("SKIPPED: no chromium in the path: the report is not tested in a browser (apt-get install chromium)")
	}
}

// run runs actions.
func (t tab) run(actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(t.Context, actions...); err != nil {
		t.Fatal(err)
	}
}

// eval returns the value of a JavaScript expression.
func eval[T any](t tab, expression string) T {
	t.Helper()
	value, err := chromedp.Run(t.Context, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("evaluate %s: %v", expression, err)
	}
	return value
}

// do runs JavaScript statements.
func (t tab) do(statements string) {
	t.Helper()
	t.run(chromedp.Evaluate[chromedp.Void]("{" + statements + "}"))
}

// wait waits until a JavaScript expression is true.
func (t tab) wait(expression string) {
	t.Helper()
	poll := chromedp.Poll[chromedp.Void](expression,
		chromedp.WithPollingInterval(20*time.Millisecond),
		chromedp.WithPollingTimeout(timeout))
	if err := chromedp.Do(t.Context, poll); err != nil {
		t.Fatalf("wait for %s: %v", expression, err)
	}
}

// filter runs JavaScript statements that change the filter of the report. It
// waits until the report shows the result.
func (t tab) filter(statements string) {
	t.Helper()
	before := eval[string](t, "document.documentElement.dataset.settled")
	t.do("const search = document.getElementById('find'); " + statements)
	t.wait(fmt.Sprintf("document.documentElement.dataset.settled !== %q", before))
}

// screenshot saves a picture of the tab in the directory REPORT_SHOTS. If
// REPORT_SHOTS is not set, it does nothing.
func (t tab) screenshot(name string) {
	t.Helper()
	dir := os.Getenv("REPORT_SHOTS")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(t.Context, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644); err != nil {
		t.Fatal(err)
	}
}

// write writes a report, and returns its path.
func write(t *testing.T, c *report.Crawl, s record.Summary) string {
	t.Helper()
	var out bytes.Buffer
	if err := c.Write(&out, s); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "crawl.html")
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// build builds the spider, and returns its path.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "politespider")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	cmd.Dir = "../../.." // the spider and this test are in different modules
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, strings.TrimSpace(string(out)))
	}
	return binary
}
