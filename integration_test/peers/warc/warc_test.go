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

// internet returns an internet with a host for each kind of answer to a request
// for robots.txt. Among the answers are a file, an empty file, a large file, a
// file with a content coding, a redirect and an error.
func internet() *robotstest.Internet {
	var web robotstest.Internet
	answer := func(host string, f http.HandlerFunc) {
		web.Handle(host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" || r.URL.Path == "/rules" {
				f(w, r)
			}
		}))
	}
	text := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, s) }
	}
	answer("plain.example", text(rules))
	answer("empty.example", text(""))
	answer("binary.example", text("\x00\xff\r\n\r\nWARC/1.1\r\n"))
	answer("large.example", text(strings.Repeat("Disallow: /0123456789\n", 40_000)))
	answer("coded.example", func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, rules)
		z.Close()
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Length", fmt.Sprint(b.Len()))
		w.Write(b.Bytes())
	})
	answer("same.example", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		io.WriteString(w, rules)
	})
	answer("moved.example", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://plain.example/rules?a=b|c", http.StatusFound)
	})
	answer("none.example", http.NotFound)
	answer("wall.example", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("cf-mitigated", "challenge")
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, "<html>prove it</html>")
	})
	answer("busy.example", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "120")
		http.Error(w, "later", http.StatusServiceUnavailable)
	})
	answer("nothing.example",
		func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) })
	web.Handle("cut.example",
		robotstest.Raw("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nX-Odd: a\tb\r\nX-Odd: c\r\n\r\nUser-agent: *\n"))
	web.Handle("gone.example", robotstest.Reset(""))
	return &web
}

// A strict reader accepts each record that a crawl writes.
func TestAStrictReaderTakesEachRecord(t *testing.T) {
	dir := t.TempDir()
	hosts := []string{
		"plain",
		"empty",
		"binary",
		"large",
		"coded",
		"same",
		"moved",
		"none",
		"wall",
		"busy",
		"nothing",
		"cut",
		"gone",
	}
	synctest.Test(t, func(t *testing.T) {
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
	})

	counts := make(map[string]int)
	statuses := make(map[int]int)
	path := filepath.Join(dir, "robots-000001.warc.gz")
	r, err := gowarc.NewWarcFileReader(path, 0, gowarc.WithStrictValidation())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ids := make(map[string]bool)
	var refers []string
	for {
		record, offset, validation, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("at %d: %v", offset, err)
		}
		if err := record.ValidateDigest(validation); err != nil {
			t.Errorf("at %d, %v: %v", offset, record.Type(), err)
		}
		if !validation.Valid() {
			t.Errorf("at %d, %v: %v", offset, record.Type(), validation)
		}
		if ids[record.RecordId()] {
			t.Errorf("at %d: the id %s is there twice", offset, record.RecordId())
		}
		ids[record.RecordId()] = true
		h := record.WarcHeader()
		for _, name := range []string{"WARC-Refers-To", "WARC-Concurrent-To", "WARC-Warcinfo-ID"} {
			if id := h.GetId(name); id != "" {
				refers = append(refers, id)
			}
		}
		counts[fmt.Sprint(record.Type())]++
		if block, ok := record.Block().(gowarc.HttpResponseBlock); ok {
			statuses[block.HttpStatusCode()]++
		}
		record.Close()
	}
	for _, id := range refers {
		if !ids[id] {
			t.Errorf("a record refers to %s, which is not there", id)
		}
	}
	if counts["warcinfo"] != 1 || counts["revisit"] != 1 || counts["request"] < 2*len(hosts) || counts["response"] < 2*len(hosts)-3 || counts["metadata"] < counts["request"] {
		t.Errorf("records: %v", counts)
	}
	for _, status := range []int{200, 204, 302, 404, 403, 503} {
		if statuses[status] == 0 {
			t.Errorf("no response with %d among %v", status, statuses)
		}
	}
	t.Logf("%v, of responses %v", counts, statuses)
}
