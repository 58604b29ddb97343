package spider

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
)

// gzipBomb returns a small gzip file that decompresses to 64 MiB.
func gzipBomb() []byte {
	var mebibyte bytes.Buffer
	z := gzip.NewWriter(&mebibyte)
	z.Write(make([]byte, 1<<20))
	z.Close()
	// The file repeats one compressed mebibyte 64 times. That is a valid gzip
	// file, because such a file may have several members (RFC 1952 section
	// 2.2). To compress 64 MiB would take too long under the race detector.
	return bytes.Repeat(mebibyte.Bytes(), 64)
}

// If a small response decompresses to more bytes than a page may have, the
// spider keeps only the beginning of the page.
func TestCrawl_GzipBomb(t *testing.T) {
	bomb := gzipBomb()
	mux := http.NewServeMux()
	mux.Handle("/0", page200(`<a href="/sitemap.xml.gz">1</a> <a href="/type">2</a> `+
		`<a href="/coding">3</a> <a href="/broken.xml.gz">4</a>`))
	mux.HandleFunc("/sitemap.xml.gz", func(w http.ResponseWriter, _ *http.Request) { w.Write(bomb) })
	mux.HandleFunc("/type", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/gzip")
		w.Write(bomb)
	})
	mux.HandleFunc("/coding", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(bomb)
	})
	mux.HandleFunc("/broken.xml.gz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "not compressed")
	})
	dir := t.TempDir()
	out := runSite(t, mux, tool.ExitOK, "-pages", dir)
	wantText(t, "output", out, "4 pages fetched, 1 failed", "gzip: invalid header")
	files := pageFiles(t, dir)
	for _, path := range []string{"/sitemap.xml.gz", "/type", "/coding"} {
		info, err := os.Stat(filepath.Join(dir, files[path]))
		if err != nil {
			t.Fatal(err)
		}
		const want = 10 << 20 // the limit of colly
		if info.Size() != want {
			t.Errorf("kept page %s has %d bytes, want %d", path, info.Size(), want)
		}
	}
	if n := countFiles(t, dir); n != 5 {
		t.Errorf("directory has %d files, want 4 pages and the index", n)
	}
}
