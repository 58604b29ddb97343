package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestMain runs the program instead of the tests if HTTPCLIENT_TEST is set.
// TestProgram starts the test binary in this way.
func TestMain(m *testing.M) {
	if os.Getenv("HTTPCLIENT_TEST") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Without URLs, the program says what arguments it needs. With URLs, it prints
// a line for each, and its exit status is 0 if it has fetched all of them.
func TestProgram(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.UserAgent(); got != "ExampleBot/1.0 (+https://example.com/bot)" {
			t.Errorf("%s was asked for as %q", r.URL, got)
		}
		if r.URL.Path == "/robots.txt" {
			w.Write([]byte("User-agent: *\nDisallow: /no"))
		}
	}))
	t.Cleanup(site.Close)
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		says   []string
	}{
		{"nothing to fetch", nil, 1, []string{"name the URLs to fetch, as in: httpclient https://example.com/\n"}},
		{"allowed", []string{site.URL + "/yes"}, 0, []string{"200 OK " + site.URL + "/yes"}},
		{"one is refused", []string{site.URL + "/no", site.URL + "/yes"}, 1, []string{"Disallow: /no", "line 2", "200 OK " + site.URL + "/yes"}},
		{"not there", []string{"http://127.0.0.1:1/"}, 1, []string{"127.0.0.1:1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], tt.args...)
			cmd.Env = append(os.Environ(), "HTTPCLIENT_TEST=1")
			out, err := cmd.CombinedOutput()
			status := 0
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				status = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if status != tt.status {
				t.Errorf("exit status %d, want %d: %s", status, tt.status, out)
			}
			for _, want := range tt.says {
				if !strings.Contains(string(out), want) {
					t.Errorf("it says nothing of %q:\n%s", want, out)
				}
			}
		})
	}
}
