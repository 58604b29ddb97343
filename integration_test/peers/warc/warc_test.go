package warc

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nlnwa/gowarc"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/evidence"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

const rules = "User-agent: *\nDisallow: /private\n"

// internet returns an internet with a host for each kind of response to a
// request for robots.txt.
func internet() *robotstest.Internet {
	var web robotstest.Internet
	for host, serve := range map[string]http.HandlerFunc{
		"plain.example":  text(rules),
		"empty.example":  text(""),
		"binary.example": text("\x00\xff\r\n\r\nWARC/1.1\r\n"),
		"large.example":  text(strings.Repeat("Disallow: /0123456789\n", 40_000)),
		"coded.example":  serveGzip,
		"same.example":   serveUnchanged,
		"moved.example": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://plain.example/rules?a=b|c", http.StatusFound)
		},
		"none.example": http.NotFound,
		"challenge.example": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("cf-mitigated", "challenge")
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w, "<html>prove it</html>")
		},
		"busy.example": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "120")
			http.Error(w, "later", http.StatusServiceUnavailable)
		},
		"nothing.example": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) },
	} {
		web.Handle(host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" || r.URL.Path == "/rules" {
				serve(w, r)
			}
		}))
	}
	web.Handle("cut.example", robotstest.Raw("HTTP/1.1 200 OK\r\n"+
		"Content-Length: 1000\r\nX-Odd: a\tb\r\nX-Odd: c\r\n\r\nUser-agent: *\n"))
	web.Handle("gone.example", robotstest.Reset(""))
	return &web
}

// text returns a handler that sends a text.
func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, s) }
}

// serveGzip sends the rules in the content coding gzip.
func serveGzip(w http.ResponseWriter, r *http.Request) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, rules)
	z.Close()
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Set("Content-Length", fmt.Sprint(b.Len()))
	w.Write(b.Bytes())
}

// serveUnchanged sends the rules, or a 304 if the client has them.
func serveUnchanged(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", `"1"`)
	if r.Header.Get("If-None-Match") != "" {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	io.WriteString(w, rules)
}

var hosts = []string{
	"plain",
	"empty",
	"binary",
	"large",
	"coded",
	"same",
	"moved",
	"none",
	"challenge",
	"busy",
	"nothing",
	"cut",
	"gone",
}

// writeRecord crawls all hosts twice, with a day between, and writes a record
// to dir.
func writeRecord(t *testing.T, dir string) {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	rec, err := evidence.Open(dir, evidence.Options{Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	opts := robotsmw.Options{
		UserAgent: "ExampleBot/1.0",
		Base:      internet(),
		Limiter:   new(politeness.Limiter),
		Logger:    logger,
	}
	if err := rec.Observe(&opts); err != nil {
		t.Fatal(err)
	}
	client, err := robotsmw.NewClient(opts)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, host := range hosts {
			resp, err := client.Get("http://" + host + ".example/page?q=<ツ>&r=[1]")
			if err == nil {
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}
		time.Sleep(25 * time.Hour)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
}

// A warcFile is what a strict reader has found in a WARC file.
type warcFile struct {
	types    map[string]int  // number of records, by type
	statuses map[int]int     // number of responses, by status
	ids      map[string]bool // of records
	refers   []string        // IDs to which records refer
}

// readStrictly reads a WARC file. It reports each record that is invalid.
func readStrictly(t *testing.T, path string) *warcFile {
	t.Helper()
	r, err := gowarc.NewWarcFileReader(path, 0, gowarc.WithStrictValidation())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f := &warcFile{
		types:    make(map[string]int),
		statuses: make(map[int]int),
		ids:      make(map[string]bool),
	}
	for {
		record, offset, validation, err := r.Next()
		if errors.Is(err, io.EOF) {
			return f
		}
		if err != nil {
			t.Fatalf("record at %d: %v", offset, err)
		}
		if err := record.ValidateDigest(validation); err != nil {
			t.Errorf("record of type %v at %d has an invalid digest: %v", record.Type(), offset, err)
		}
		if !validation.Valid() {
			t.Errorf("record of type %v at %d is invalid: %v", record.Type(), offset, validation)
		}
		f.add(t, record)
		record.Close()
	}
}

// add adds a record.
func (f *warcFile) add(t *testing.T, record gowarc.WarcRecord) {
	t.Helper()
	id := record.RecordId()
	if f.ids[id] {
		t.Errorf("two records have the ID %s", id)
	}
	f.ids[id] = true
	for _, name := range []string{"WARC-Refers-To", "WARC-Concurrent-To", "WARC-Warcinfo-ID"} {
		if id := record.WarcHeader().GetId(name); id != "" {
			f.refers = append(f.refers, id)
		}
	}
	f.types[fmt.Sprint(record.Type())]++
	if block, ok := record.Block().(gowarc.HttpResponseBlock); ok {
		f.statuses[block.HttpStatusCode()]++
	}
}

// A strict reader accepts each record that a crawl writes.
func TestStrictReader(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) { writeRecord(t, dir) })
	f := readStrictly(t, filepath.Join(dir, "robots-000001.warc.gz"))
	for _, id := range f.refers {
		if !f.ids[id] {
			t.Errorf("a record refers to %s, which is not in the file", id)
		}
	}
	for _, recordType := range []string{"warcinfo", "revisit"} {
		if n := f.types[recordType]; n != 1 {
			t.Errorf("file has %d records of type %s, want 1", n, recordType)
		}
	}
	for recordType, limit := range map[string]int{
		"request":  2 * len(hosts),
		"response": 2*len(hosts) - 3,
		"metadata": f.types["request"],
	} {
		if n := f.types[recordType]; n < limit {
			t.Errorf("file has %d records of type %s, want at least %d", n, recordType, limit)
		}
	}
	for _, status := range []int{200, 204, 302, 404, 403, 503} {
		if f.statuses[status] == 0 {
			t.Errorf("responses by status are %v, want also one with %d", f.statuses, status)
		}
	}
	t.Logf("records by type: %v; responses by status: %v", f.types, f.statuses)
}
