package audit

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
)

// Logs and WARC files have the same verdict in zstd and in a WACZ, also as the
// source of robots.txt.
func TestAudit_Containers(t *testing.T) {
	record := func(kind, url, date, block string) string {
		return fmt.Sprintf("WARC/1.0\r\nWARC-Type: %s\r\nWARC-Date: %s\r\nWARC-Target-URI: %s\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", kind, date, url, len(block), block)
	}
	page := func(path, date string) string {
		return record("request", "http://a.example"+path, date, "GET "+path+" HTTP/1.1\r\nUser-Agent: Bot/1\r\n\r\n")
	}
	rules := record("request", "http://a.example/robots.txt", "2026-11-20T10:00:00Z", "GET /robots.txt HTTP/1.1\r\nUser-Agent: Bot/1\r\n\r\n") +
		record("response", "http://a.example/robots.txt", "2026-11-20T10:00:00Z", "HTTP/1.1 200 OK\r\n\r\n"+robotsTxt)
	warc := rules + page("/private/a", "2026-11-20T10:00:05Z")
	packed := func(text string) string {
		var b bytes.Buffer
		w, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(w, text)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	wacz := func(files ...string) string {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for i, text := range files {
			f, err := w.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("archive/data-%d.warc", i), Method: zip.Store})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(f, text)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	log := line("10:00:01", "/a", "Bot/1") + line("10:00:05", "/private/a", "Bot/1")
	files := map[string]string{
		"r.txt": robotsTxt, "log": log, "log.zst": packed(log), "a.warc": warc, "a.warc.zst": packed(warc), "a.wacz": wacz(warc),
		"two.wacz": wacz(rules, page("/private/a", "2026-11-20T10:00:05Z")), "rules.wacz": wacz(page("/b", "2026-11-20T09:00:00Z"), rules), "rules.warc.zst": packed(rules), "r.txt.zst": packed(robotsTxt),
		"cut.zst": packed(strings.Repeat(log, 100))[:60], "bad.zip": wacz()[:10],
	}
	for _, tt := range []struct {
		args string
		want command.Status
		text string
	}{
		{"-robots r.txt log", command.No, "2 requests, 1 robot, 1 violation"},
		{"-robots r.txt log.zst", command.No, "2 requests, 1 robot, 1 violation"},
		{"-robots r.txt.zst log", command.No, "2 requests, 1 robot, 1 violation"},
		{"-robots rules.warc.zst log", command.No, "2 requests, 1 robot, 1 violation"},
		{"-robots rules.wacz log", command.No, "2 requests, 1 robot, 1 violation"},
		{"a.warc", command.No, "2 requests, 1 robot, 1 violation"},
		{"a.warc.zst", command.No, "2 requests, 1 robot, 1 violation"},
		{"a.wacz", command.No, "2 requests, 1 robot, 1 violation"},
		{"two.wacz", command.No, "2 requests, 1 robot, 1 violation"},
		{"-robots r.txt cut.zst", command.CannotTell, ""},
		{"bad.zip", command.CannotTell, ""},
	} {
		status, stdout, stderr := try(t, files, "", strings.Fields(tt.args)...)
		if status != tt.want || !strings.Contains(stdout, tt.text) {
			t.Errorf("%s: status %d, want %d: %s%s", tt.args, status, tt.want, stdout, stderr)
		}
	}
}
