package spider

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
)

// If a small answer decompresses to more bytes than a page may have, the spider
// keeps only the beginning of the page.
func TestCrawl_Bomb(t *testing.T) {
	var mebibyte bytes.Buffer
	packed := gzip.NewWriter(&mebibyte)
	packed.Write(make([]byte, 1<<20))
	packed.Close()
	// The body repeats one compressed mebibyte 64 times. That is a valid gzip
	// file, because such a file may have several members (RFC 1952 §2.2). To
	// compress 64 MiB would take too long under the race detector.
	all := bytes.Repeat(mebibyte.Bytes(), 64)
	bomb := func(w http.ResponseWriter) { w.Write(all) }
	mux := http.NewServeMux()
	mux.HandleFunc("/0", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<a href="/sitemap.xml.gz">1</a> <a href="/type">2</a> <a href="/coding">3</a> <a href="/broken.xml.gz">4</a>`)
	})
	mux.HandleFunc("/sitemap.xml.gz", func(w http.ResponseWriter, _ *http.Request) { bomb(w) })
	mux.HandleFunc("/type", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/gzip")
		bomb(w)
	})
	mux.HandleFunc("/coding", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		bomb(w)
	})
	mux.HandleFunc("/broken.xml.gz",
		func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "not packed") })
	dir := t.TempDir()
	out := runSite(t, mux, tool.ExitOK, "-pages", dir)
	if !strings.Contains(out, "4 pages fetched, 1 failed") || !strings.Contains(out, "gzip: invalid header") {
		t.Errorf("%s", out)
	}
	files, full := 0, 0
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, _ error) error {
		if info, err := d.Info(); err == nil && !d.IsDir() {
			files++
			switch {
			case info.Size() == 10<<20:
				full++
			case info.Size() > 10<<20:
				t.Errorf("a page of %d bytes", info.Size())
			}
		}
		return nil
	})
	if files != 5 || full != 3 {
		t.Errorf("%d files, %d of them full, want 4 pages and the index, and 3", files, full)
	}
}
