package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// The report is there when the crawl is over, however it came to be.
func TestCrawl_Report(t *testing.T) {
	tests := []struct {
		name  string
		limit time.Duration
		want  int // exit status
		says  []string
	}{
		{"to its end", time.Hour, exitOK, []string{"The pace was kept.", "http://a.example/, http://b.example/", "4 requests to 2 hosts", `"urls":["/robots.txt","/"]`}},
		{"interrupted", 1500 * time.Millisecond, exitInterrupted, []string{"interrupted", "2 URLs still queued"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "crawl.html")
			if err := os.WriteFile(path, []byte(strings.Repeat("an older report\n", 1<<14)), 0o600); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				var internet robotstest.Internet
				internet.Handle("a.example", page200(map[bool]string{true: "<a href=/1>1</a> <a href=/2>2</a>"}[tt.want == exitInterrupted]))
				internet.Handle("b.example", page200(""))
				cfg := testConfig(&internet)
				cfg.userAgent, cfg.report = "ExampleBot/1.0", path
				if err := cfg.sites([]string{"http://a.example/", "http://b.example/"}, sameHost); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
				defer cancel()
				var stderr bytes.Buffer
				if status := crawl(ctx, cfg, inMemory(cfg), false, io.Discard, &stderr); status != tt.want {
					t.Errorf("exit status %d, want %d", status, tt.want)
				}
				if want := "politespider: the report is in " + path + "\n"; stderr.String() != want {
					t.Errorf("standard error %q, want %q", stderr.String(), want)
				}
			})
			page, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.says {
				if !bytes.Contains(page, []byte(want)) {
					t.Errorf("the report says nothing of %q", want)
				}
			}
			if bytes.Contains(page, []byte("an older report")) || !bytes.HasSuffix(page, []byte("</html>\n")) {
				t.Error("it is not a report from its beginning to its end")
			}
		})
	}
}

// A report that cannot be written is a failure, not a surprise for later.
func TestCrawl_ReportFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", page200("fine"))
		cfg := testConfig(&internet)
		cfg.userAgent, cfg.report = "ExampleBot/1.0", filepath.Join(dir, "crawl.html")
		if err := cfg.sites([]string{"http://a.example/"}, sameHost); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		if status := crawl(t.Context(), cfg, inMemory(cfg), false, io.Discard, &stderr); status != exitFailed {
			t.Errorf("exit status %d, want %d", status, exitFailed)
		}
		if !strings.Contains(stderr.String(), cfg.report) {
			t.Errorf("standard error: %q", stderr.String())
		}
	})
}
