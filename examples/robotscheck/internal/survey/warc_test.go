package survey

import (
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

var update = flag.Bool("update", false, "rewrite the archive of the demo internet")

// warcPair returns the records of a request for a robots.txt, and of the
// response. head is the status and the header of the response.
func warcPair(host, head, body string) (request, response string) {
	request = warcRecord("request", host, "GET /robots.txt HTTP/1.1\r\n"+
		"Host: "+host+"\r\n"+
		"User-Agent: DemoBot/1.0 (+http://demo.example/bot)\r\n\r\n")
	response = warcRecord("response", host, "HTTP/1.1 "+head+"\r\n\r\n"+body)
	return request, response
}

func warcRecord(recordType, host, block string) string {
	return "WARC/1.0\r\n" +
		"WARC-Type: " + recordType + "\r\n" +
		"WARC-Date: 2026-11-20T10:00:00Z\r\n" +
		"WARC-Target-URI: http://" + host + "/robots.txt\r\n" +
		"Content-Type: application/http; msgtype=" + recordType + "\r\n" +
		fmt.Sprintf("Content-Length: %d\r\n", len(block)) +
		"\r\n" + block + "\r\n\r\n"
}

// demoInternet returns the WARC records of all robots.txt files in
// politespider's demo internet.
func demoInternet(t *testing.T) (records []string) {
	hosts, err := filepath.Glob("../../../politespider/internal/demosite/hosts/*.txt")
	if err != nil || len(hosts) == 0 {
		t.Fatalf("Glob found the hosts %v, error %v; want some", hosts, err)
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
		host := strings.TrimSuffix(filepath.Base(file), ".txt")
		request, response := warcPair(host, strings.Join(lines, "\r\n"), body)
		records = append(records, request, response)
	}
	return records
}

// testdata/demo.warc.gz contains the current robots.txt files of the demo
// internet.
func TestSurvey_DemoArchive(t *testing.T) {
	const name = "../../testdata/demo.warc.gz"
	want := demoInternet(t)
	if *update {
		if err := os.WriteFile(name, []byte(compressEach(want...)), 0o644); err != nil {
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
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != strings.Join(want, "") {
		t.Errorf("%s differs from the demo internet (go test -update rewrites it)", name)
	}
}

// compressEach compresses each record separately, as WARC files require.
func compressEach(records ...string) string {
	var b strings.Builder
	for _, record := range records {
		b.WriteString(compressGzip(record))
	}
	return b.String()
}

// The result for a WARC file is the same as for a directory with the files in
// it. The WARC file may be compressed or in a directory.
func TestSurvey_WARC(t *testing.T) {
	t.Chdir(t.TempDir())
	files := map[string]string{
		"a": "User-agent: *\nDisallow: /a\n",
		"b": "User-agent: bot\nDisallow: /\n",
		"c": "User-agent: *\nAllow: /\n",
	}
	var records []string
	for name, text := range files {
		writeFiles(t, map[string]string{"tree/" + name + ".txt": text})
		request, response := warcPair(name+".example", "200 OK", text)
		records = append(records, request, response)
	}
	_, missing := warcPair("d.example", "404 Not Found", "User-agent: *\nDisallow: /\n")
	records = append(records, missing)
	writeFiles(t, map[string]string{
		"warc/x.warc.gz": compressEach(records...),
		"x.warc":         strings.Join(records, ""),
		"x.warc.gz":      compressEach(records...),
		"cut.warc.gz":    compressEach(records...)[:400],
		"no.warc":        "no archive",
		"broken.warc":    records[1] + "WARC/1.0\r\nwords\r\n\r\n" + records[3] + records[5],
	})
	want := runSurvey(t, "tree").stdout
	for _, name := range []string{"warc", "x.warc", "x.warc.gz"} {
		r := runSurvey(t, name)
		r.checkStatus(t, command.OK)
		if got := strings.Replace(r.stdout, "4xx: 1 response, no file\n", "", 1); got != want {
			t.Errorf("%s: output is\n%swant\n%s", name, got, want)
		}
		if r.stderr != "" {
			t.Errorf("%s: standard error is %q, want nothing", name, r.stderr)
		}
	}
	for pattern, want := range map[string]string{"?.example": `{"files":3,`, "a.*": `{"files":1,`} {
		r := runSurvey(t, "-match", pattern, "-json", "x.warc")
		r.checkStatus(t, command.OK)
		checkContains(t, "JSON with -match "+pattern, r.stdout, want)
	}
	for name, want := range map[string]string{
		"cut.warc.gz": "cut.warc.gz",
		"no.warc":     "no.warc: the file is not a WARC file",
		"broken.warc": "broken.warc: record 2: ",
	} {
		r := runSurvey(t, name)
		r.checkStatus(t, command.CannotTell)
		checkContains(t, "standard error", r.stderr, want)
	}
}

func BenchmarkSurvey_WARC(b *testing.B) {
	const files = 2000
	var records []string
	for i := range files {
		host := fmt.Sprintf("host%d.example", i)
		text := fmt.Sprintf("User-agent: *\nDisallow: /private/%d/\n", i) +
			"Disallow: /search\nAllow: /search/about\n\n" +
			"User-agent: GPTBot\nDisallow: /\n\n" +
			"Sitemap: https://" + host + "/sitemap.xml\n"
		request, response := warcPair(host, "200 OK", text)
		records = append(records, request, response)
	}
	name := filepath.Join(b.TempDir(), "x.warc.gz")
	if err := os.WriteFile(name, []byte(compressEach(records...)), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s := newSurvey(command.Env{Stderr: io.Discard})
		err := s.run(b.Context(), func(f visitFunc) error {
			return eachFile(command.Env{}, name, "", f)
		})
		if err != nil {
			b.Fatal(err)
		}
		if s.tally.Files != files {
			b.Fatalf("survey counted %d files, want %d", s.tally.Files, files)
		}
	}
	b.ReportMetric(float64(files*b.N)/b.Elapsed().Seconds(), "files/s")
	b.ReportMetric(float64(runtime.GOMAXPROCS(0)), "cores")
}
