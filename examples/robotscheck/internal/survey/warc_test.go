package survey

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
)

var update = flag.Bool("update", false, "write the archive of the demo internet anew")

// warcPair returns two records: a request for a robots.txt, and the answer.
func warcPair(host, head, body string) (records [2]string) {
	url := "http://" + host + "/robots.txt"
	for i, block := range []string{
		"GET /robots.txt HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: DemoBot/1.0 (+http://demo.example/bot)\r\n\r\n",
		"HTTP/1.1 " + head + "\r\n\r\n" + body,
	} {
		kind := []string{"request", "response"}[i]
		records[i] = fmt.Sprintf("WARC/1.0\r\nWARC-Type: %s\r\nWARC-Date: 2026-11-20T10:00:00Z\r\nWARC-Target-URI: %s\r\nContent-Type: application/http; msgtype=%s\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n",
			kind, url, kind, len(block), block)
	}
	return records
}

// demoInternet returns the WARC records of all robots.txt files in
// politespider's demo internet.
func demoInternet(t *testing.T) (records []string) {
	hosts, err := filepath.Glob("../../../politespider/internal/demosite/hosts/*.txt")
	if err != nil || len(hosts) == 0 {
		t.Fatalf("%v, %v", hosts, err)
	}
	for _, file := range hosts {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, section, ok := strings.Cut(string(text), "\n-- /robots.txt ")
		if !ok {
			continue
		}
		section, _, _ = strings.Cut(section, "\n-- ")
		status, section, _ := strings.Cut(section, " --\n")
		head, body, _ := strings.Cut(section, "\n\n")
		lines := []string{status}
		for line := range strings.Lines(head) {
			if !strings.HasPrefix(line, "=>") && !strings.HasPrefix(line, "#") {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		pair := warcPair(strings.TrimSuffix(filepath.Base(file), ".txt"), strings.Join(lines, "\r\n"), body)
		records = append(records, pair[0], pair[1])
	}
	return records
}

// testdata/demo.warc.gz has the current robots.txt files of the demo internet.
func TestSurvey_DemoArchive(t *testing.T) {
	const name = "../../testdata/demo.warc.gz"
	want := demoInternet(t)
	if *update {
		if err := os.WriteFile(name, members(want...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(unpacked)
	if err != nil || string(got) != strings.Join(want, "") {
		t.Errorf("%v: it differs from the demo internet: go test -update writes it anew", err)
	}
}

// members compresses each record separately, as in WARC files.
func members(records ...string) []byte {
	var b bytes.Buffer
	for _, record := range records {
		zip := gzip.NewWriter(&b)
		io.WriteString(zip, record)
		zip.Close()
	}
	return b.Bytes()
}

// A survey of a WARC file counts the same as a survey of the files in it. The
// WARC file may be compressed or in a directory.
func TestSurvey_WARC(t *testing.T) {
	a, b, c := "User-agent: *\nDisallow: /a\n", "User-agent: bot\nDisallow: /\n", "User-agent: *\nAllow: /\n"
	var records []string
	for host, text := range map[string]string{"a.example": a, "b.example": b, "c.example": c} {
		pair := warcPair(host, "200 OK", text)
		records = append(records, pair[0], pair[1])
	}
	gone := warcPair("d.example", "404 Not Found", "User-agent: *\nDisallow: /\n")
	records = append(records, gone[1])
	dir := t.TempDir()
	for name, text := range map[string][]byte{
		"tree/a.txt": []byte(a), "tree/b.txt": []byte(b), "tree/c.txt": []byte(c),
		"warc/x.warc.gz": members(records...), "x.warc": []byte(strings.Join(records, "")), "x.warc.gz": members(records...),
		"cut.warc.gz": members(records...)[:400], "no.warc": []byte("no archive"),
		"broken.warc": []byte(records[1] + "WARC/1.0\r\nwords\r\n\r\n" + records[3] + records[5]),
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	_, want, _ := run(t, "tree")
	for _, name := range []string{"warc", "x.warc", "x.warc.gz"} {
		status, got, stderr := run(t, name)
		if got = strings.Replace(got, "4xx: 1 answer, no file\n", "", 1); status != command.OK || got != want || stderr != "" {
			t.Errorf("%s: exit status %d, standard error %q,\n%swant\n%s", name, status, stderr, got, want)
		}
	}
	if status, got, _ := run(t, "-match", "?.example", "-json", "x.warc"); status != command.OK || !strings.Contains(got, `{"files":3,`) {
		t.Errorf("-match of all hosts: exit status %d, %.100s", status, got)
	}
	if status, got, _ := run(t, "-match", "a.*", "-json", "x.warc"); status != command.OK || !strings.Contains(got, `{"files":1,`) {
		t.Errorf("-match of a host: exit status %d, %.100s", status, got)
	}
	for name, want := range map[string]string{"cut.warc.gz": "cut.warc.gz", "no.warc": "no.warc: the file is not a WARC file", "broken.warc": "broken.warc: record 2: "} {
		if status, _, stderr := run(t, name); status != command.CannotTell || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit status %d, standard error %q", name, status, stderr)
		}
	}
}

func BenchmarkSurvey_WARC(b *testing.B) {
	var records []string
	const files = 2000
	for i := range files {
		pair := warcPair(fmt.Sprintf("host%d.example", i), "200 OK", fmt.Sprintf("User-agent: *\nDisallow: /private/%d/\nDisallow: /search\nAllow: /search/about\n\nUser-agent: GPTBot\nDisallow: /\n\nSitemap: https://host%d.example/sitemap.xml\n", i, i))
		records = append(records, pair[0], pair[1])
	}
	name := filepath.Join(b.TempDir(), "x.warc.gz")
	if err := os.WriteFile(name, members(records...), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s := survey{stderr: io.Discard}
		total, err := s.run(b.Context(), func(each visit) error {
			return eachFile(command.Env{}, name, "", each)
		})
		if err != nil || total.Files != files {
			b.Fatal(err, total.Files)
		}
	}
	b.ReportMetric(float64(files*b.N)/b.Elapsed().Seconds(), "files/s")
	b.ReportMetric(float64(runtime.GOMAXPROCS(0)), "cores")
}
