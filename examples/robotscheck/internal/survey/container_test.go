package survey

import (
	"archive/zip"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
)

// The robots.txt files in a WARC file are read if it is compressed with zstd or
// in a WACZ, also in a directory.
func TestSurvey_Containers(t *testing.T) {
	t.Chdir(t.TempDir())
	request, response := warcPair("a.example", "200 OK", "User-agent: *\nDisallow: /\n")
	warc := request + response
	writeFiles(t, map[string]string{
		"dir/a.warc.zst": compressZstd(t, warc),
		"dir/b.wacz":     makeZip(t, warc, "archive/1.warc", "archive/2.warc", "pages/pages.jsonl"),
	})
	for arg, want := range map[string]string{
		"dir/a.warc.zst": `"files":1,`,
		"dir/b.wacz":     `"files":2,`,
		"dir":            `"files":3,`,
	} {
		r := runSurvey(t, "-json", arg)
		r.checkStatus(t, command.OK)
		checkContains(t, "JSON of "+arg, r.stdout, want)
	}
}

func compressZstd(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
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

// makeZip returns a ZIP file in which each of the names has this text.
func makeZip(t *testing.T, text string, names ...string) string {
	t.Helper()
	var b strings.Builder
	w := zip.NewWriter(&b)
	for _, name := range names {
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
