package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goodbots/courtesy/examples/internal/cli"
)

const agent = "TestBot/1.0 (+https://example.com/bot)"

// output is what a run prints. It may be read while the run goes on.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	news chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.news <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start runs a gate, and returns its URL. stop ends it, and returns its exit
// status and what it printed.
func start(t *testing.T, args ...string) (base string, stop func() (int, string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stderr := &output{news: make(chan struct{}, 1)}
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, append([]string{"-user-agent", agent, "-listen", "127.0.0.1:0"}, args...), io.Discard, stderr)
	}()
	listening := regexp.MustCompile(`listening on (\S+)`)
	for base == "" {
		select {
		case <-stderr.news:
			if m := listening.FindStringSubmatch(stderr.String()); m != nil {
				base = m[1]
			}
		case <-t.Context().Done():
			t.Fatalf("it does not listen: %s", stderr)
		}
	}
	return base, func() (int, string) {
		cancel()
		return <-status, stderr.String()
	}
}

// fetch asks the gate for a page.
func fetch(t *testing.T, target string, fields ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequest("GET", target, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range fields {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

func newSite(t *testing.T) *httptest.Server {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			io.WriteString(w, "User-agent: TestBot\nDisallow: /private")
			return
		}
		io.WriteString(w, "page")
	}))
	t.Cleanup(site.Close)
	return site
}

func TestGate(t *testing.T) {
	site := newSite(t)
	store := t.TempDir()
	base, stop := start(t, "-allow-private", "-delay", "1ms", "-store", store)
	if status, text := fetch(t, base+"/fetch?url="+site.URL+"/"); status != 200 || text != "page" {
		t.Errorf("%d %s", status, text)
	}
	if status, text := fetch(t, base+"/fetch?url="+site.URL+"/private"); status != 451 || !strings.Contains(text, `"line":2`) {
		t.Errorf("%d %s", status, text)
	}
	http.DefaultClient.CloseIdleConnections()
	status, stderr := stop()
	if status != 0 || !strings.Contains(stderr, "stopped after 1 requests that robots.txt allows and 1 that it disallows") {
		t.Errorf("exit status %d:\n%s", status, stderr)
	}
	waitForRecord(t, store)
}

// waitForRecord waits until the store has a record and no file of a write that
// is not over. A record is written after the request that it was fetched for
// has its response. After a minute, waitForRecord fails the test.
func waitForRecord(t *testing.T, store string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		files, err := filepath.Glob(filepath.Join(store, "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		records, err := filepath.Glob(filepath.Join(store, "*", "*.robots"))
		if err != nil {
			t.Fatal(err)
		}
		if len(records) > 0 && len(records) == len(files) {
			return
		}
	}
	t.Error("the store has no complete record after a minute")
}

func TestGate_RefusesPrivateAddresses(t *testing.T) {
	base, stop := start(t)
	defer stop()
	if status, text := fetch(t, base+"/fetch?url="+newSite(t).URL+"/"); status != 502 {
		t.Errorf("%d %s", status, text)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestCommandLine(t *testing.T) {
	short := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(short, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args   []string
		status int
		says   string
	}{
		"help":              {[]string{"-h"}, 0, ""},
		"no agent":          {nil, 2, "UserAgent"},
		"an argument":       {[]string{"http://example.com/"}, 2, "takes only flags"},
		"an unknown flag":   {[]string{"-agent", "x"}, 2, "-h lists the flags"},
		"no delay":          {[]string{"-user-agent", agent, "-delay", "0s"}, 2, "more than 0"},
		"no name":           {nil, 2, `politegate: -user-agent "": robotsmw: Options.UserAgent is empty`},
		"not on loopback":   {[]string{"-user-agent", agent, "-listen", "0.0.0.0:0"}, 2, "-token-file is required"},
		"a short token":     {[]string{"-user-agent", agent, "-token-file", short}, 2, "at least 16 characters"},
		"no file of tokens": {[]string{"-user-agent", agent, "-token-file", short + "x"}, 2, "-token-file"},
		"a bad address":     {[]string{"-user-agent", agent, "-listen", "nowhere"}, 1, "nowhere"},
	} {
		var stdout, stderr bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if status := run(ctx, tt.args, &stdout, &stderr); status != tt.status || !strings.Contains(stderr.String(), tt.says) {
			t.Errorf("%s: exit status %d, %q", name, status, stderr.String())
		}
		if tt.status == 0 && !strings.Contains(stdout.String(), "-user-agent") {
			t.Errorf("%s: %q", name, stdout.String())
		}
	}
}

func TestVersion(t *testing.T) {
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), []string{"-version"}, &stdout, &stderr)
	if want := "politegate " + cli.Version() + "\n"; status != 0 || stdout.String() != want {
		t.Errorf("exit status %d, %q, %q", status, stdout.String(), stderr.String())
	}
}
