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

// warcRecord returns a record of a WARC file about a path of a.example.
func warcRecord(recordType, path, date, block string) string {
	return "WARC/1.0\r\n" +
		"WARC-Type: " + recordType + "\r\n" +
		"WARC-Date: " + date + "\r\n" +
		"WARC-Target-URI: http://a.example" + path + "\r\n" +
		fmt.Sprintf("Content-Length: %d\r\n", len(block)) +
		"\r\n" + block + "\r\n\r\n"
}

func warcRequest(path, date string) string {
	return warcRecord("request", path, date, "GET "+path+" HTTP/1.1\r\nUser-Agent: Bot/1\r\n\r\n")
}

func compressZstd(t *testing.T, text string) string {
	t.Helper()
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

// makeWACZ returns a WACZ with these WARC files.
func makeWACZ(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i, text := range files {
		name := fmt.Sprintf("archive/data-%d.warc", i)
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
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

// The result for a log, a WARC file or a robots.txt is the same if it is
// compressed with zstd or in a WACZ.
func TestAudit_Containers(t *testing.T) {
	const ruleTime = "2026-11-20T10:00:00Z"
	robotsWARC := warcRequest("/robots.txt", ruleTime) +
		warcRecord("response", "/robots.txt", ruleTime, "HTTP/1.1 200 OK\r\n\r\n"+robotsTxt)
	pageWARC := warcRequest("/private/a", "2026-11-20T10:00:05Z")
	earlierWARC := warcRequest("/b", "2026-11-20T09:00:00Z")
	warc := robotsWARC + pageWARC
	log := line("10:00:01", "/a", "Bot/1") + line("10:00:05", "/private/a", "Bot/1")
	files := map[string]string{
		"r.txt":          robotsTxt,
		"r.txt.zst":      compressZstd(t, robotsTxt),
		"log":            log,
		"log.zst":        compressZstd(t, log),
		"a.warc":         warc,
		"a.warc.zst":     compressZstd(t, warc),
		"a.wacz":         makeWACZ(t, warc),
		"two.wacz":       makeWACZ(t, robotsWARC, pageWARC),
		"rules.wacz":     makeWACZ(t, earlierWARC, robotsWARC),
		"rules.warc.zst": compressZstd(t, robotsWARC),
		"cut.zst":        compressZstd(t, strings.Repeat(log, 100))[:60],
		"bad.zip":        makeWACZ(t)[:10],
	}
	for _, args := range []string{
		"-robots r.txt log",
		"-robots r.txt log.zst",
		"-robots r.txt.zst log",
		"-robots rules.warc.zst log",
		"-robots rules.wacz log",
		"a.warc",
		"a.warc.zst",
		"a.wacz",
		"two.wacz",
	} {
		t.Run(args, func(t *testing.T) {
			r := runAudit(t, files, "", strings.Fields(args)...)
			r.checkStatus(t, command.No)
			checkContains(t, "standard output", r.stdout, "2 requests, 1 robot, 1 violation")
		})
	}
	for _, args := range []string{"-robots r.txt cut.zst", "bad.zip"} {
		t.Run(args, func(t *testing.T) {
			runAudit(t, files, "", strings.Fields(args)...).checkStatus(t, command.CannotTell)
		})
	}
}
