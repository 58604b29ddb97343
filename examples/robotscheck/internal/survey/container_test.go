package survey

import (
	"archive/zip"
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
)

// A WARC file in zstd or in a WACZ has the same robots.txt files, also in a
// directory.
func TestSurvey_Containers(t *testing.T) {
	dir := t.TempDir()
	pair := warcPair("a.example", "200 OK", "User-agent: *\nDisallow: /\n")
	warc := pair[0] + pair[1]
	packed, err := os.Create(filepath.Join(dir, "a.warc.zst"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := zstd.NewWriter(packed)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(w, warc)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	packed.Close()
	container, err := os.Create(filepath.Join(dir, "b.wacz"))
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(container)
	for _, name := range []string{"archive/1.warc", "archive/2.warc", "pages/pages.jsonl"} {
		f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(f, warc)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	container.Close()
	for arg, want := range map[string]string{filepath.Join(dir, "a.warc.zst"): `"files":1,`, filepath.Join(dir, "b.wacz"): `"files":2,`, dir: `"files":3,`} {
		var out, errOut strings.Builder
		e := command.Env{Stdin: strings.NewReader(""), Stdout: bufio.NewWriter(&out), Stderr: &errOut}
		status := Command.Run(t.Context(), e, []string{"-json", arg})
		e.Stdout.Flush()
		if status != command.OK || !strings.Contains(out.String(), want) {
			t.Errorf("%s: status %d, %s is not in %s%s", arg, status, want, out.String(), errOut.String())
		}
	}
}
