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

// output is the standard error of a run. It may be read during the run.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	written chan struct{} // receives a value after a Write
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.written <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

var listening = regexp.MustCompile(`listening on (\S+)`)

// start starts a gate, and returns its URL. stop ends it, and returns its exit
// status and its standard error.
func start(t *testing.T, args ...string) (base string, stop func() (status int, stderr string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	args = append([]string{"-user-agent", agent, "-listen", "127.0.0.1:0"}, args...)
	stderr := &output{written: make(chan struct{}, 1)}
	status := make(chan int, 1)
	go func() { status <- run(ctx, args, io.Discard, stderr) }()
	for base == "" {
		select {
		case <-stderr.written:
			if m := listening.FindStringSubmatch(stderr.String()); m != nil {
				base = m[1]
			}
		case <-t.Context().Done():
			t.Fatalf("politegate did not report its address before the test ended; standard error:\n%s", stderr)
		}
	}
	return base, func() (int, string) {
		cancel()
		return <-status, stderr.String()
	}
}

// get returns the status and the body of a response.
func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
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
	status, body := get(t, base+"/fetch?url="+site.URL+"/")
	if status != http.StatusOK || body != "page" {
		t.Errorf("fetch of an allowed page: status %d, body %q; want 200, page", status, body)
	}
	status, body = get(t, base+"/fetch?url="+site.URL+"/private")
	if status != http.StatusUnavailableForLegalReasons || !strings.Contains(body, `"line":2`) {
		t.Errorf("fetch of a disallowed page: status %d, body %s; want 451, line 2", status, body)
	}
	http.DefaultClient.CloseIdleConnections()
	exitStatus, stderr := stop()
	if exitStatus != 0 {
		t.Errorf("exit status %d, want 0", exitStatus)
	}
	const want = "stopped after 1 requests that robots.txt allows and 1 that it disallows"
	if !strings.Contains(stderr, want) {
		t.Errorf("standard error lacks %q:\n%s", want, stderr)
	}
	waitForRecord(t, store)
}

// waitForRecord waits until the store contains a record, and no incomplete
// file. A record may be written after the response that required it was sent.
// After a minute, waitForRecord fails the test.
func waitForRecord(t *testing.T, store string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for ; time.Now().Before(deadline); time.Sleep(time.Millisecond) {
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
	status, body := get(t, base+"/fetch?url="+newSite(t).URL+"/")
	if status != http.StatusBadGateway {
		t.Errorf("fetch of a page on loopback: status %d, want 502; body %s", status, body)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestRun_CommandLine(t *testing.T) {
	shortToken := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(shortToken, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	withAgent := func(args ...string) []string {
		return append([]string{"-user-agent", agent}, args...)
	}
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		stderr string // a part of standard error
	}{
		{"help", []string{"-h"}, 0, ""},
		{"no agent", nil, 2, `politegate: -user-agent "": robotsmw: Options.UserAgent is empty`},
		{"an argument", []string{"http://example.com/"}, 2, "takes only flags"},
		{"an unknown flag", []string{"-agent", "x"}, 2, "-h lists the flags"},
		{"a delay of zero", withAgent("-delay", "0s"), 2, "more than 0"},
		{"another address", withAgent("-listen", "0.0.0.0:0"), 2, "-token-file is required"},
		{"a short token", withAgent("-token-file", shortToken), 2, "at least 16 characters"},
		{"a missing token file", withAgent("-token-file", shortToken+"x"), 2, "-token-file"},
		{"an invalid address", withAgent("-listen", "nowhere"), 1, "nowhere"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			status := run(ctx, tt.args, &stdout, &stderr)
			if status != tt.status {
				t.Errorf("exit status %d, want %d", status, tt.status)
			}
			if !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("standard error is %q, want it to contain %q", stderr.String(), tt.stderr)
			}
			if tt.status == 0 && !strings.Contains(stdout.String(), "-user-agent") {
				t.Errorf("help lacks -user-agent: %q", stdout.String())
			}
		})
	}
}

func TestRun_Version(t *testing.T) {
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), []string{"-version"}, &stdout, &stderr)
	want := "politegate " + cli.Version() + "\n"
	if status != 0 || stdout.String() != want {
		t.Errorf("exit status %d, standard output %q; want 0, %q", status, stdout.String(), want)
	}
	if stderr.Len() > 0 {
		t.Errorf("standard error is %q, want nothing", stderr.String())
	}
}
