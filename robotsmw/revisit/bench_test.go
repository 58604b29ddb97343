package revisit

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// ok returns a RoundTripper whose responses have status 200 and a header.
func ok(header http.Header) roundTripper {
	return func(req *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode:    200,
			Header:        header,
			Body:          io.NopCloser(strings.NewReader("page")),
			ContentLength: 4,
			Request:       req,
		}, nil
	}
}

// visitPage requests a page and reads it.
func visitPage(tb testing.TB, tr http.RoundTripper, url string) {
	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		tb.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		tb.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}

func BenchmarkTransport(b *testing.B) {
	header := http.Header{
		"Etag":          {`"0123456789abcdef"`},
		"Last-Modified": {"Thu, 01 Jan 1998 00:00:00 GMT"},
		"Date":          {time.Now().UTC().Format(http.TimeFormat)},
		"Content-Type":  {"text/html"},
	}
	fresh := header.Clone()
	fresh.Set("Cache-Control", "max-age=86400")
	b.Run("bare", func(b *testing.B) {
		tr := ok(header)
		for b.Loop() {
			visitPage(b, tr, page)
		}
	})
	b.Run("remembered", func(b *testing.B) {
		tr := &Transport{Base: ok(header)}
		for b.Loop() {
			visitPage(b, tr, page)
		}
	})
	b.Run("fresh", func(b *testing.B) {
		tr := &Transport{Base: ok(fresh)}
		visitPage(b, tr, page)
		for b.Loop() {
			visitPage(b, tr, page)
		}
	})
}

// TestMemory_PerPage checks that a page takes about 180 bytes in memory,
// besides its URL and validators. The budget is twice that.
func TestMemory_PerPage(t *testing.T) {
	const n = 50_000
	base := roundTripper(func(req *http.Request) (*http.Response, error) {
		return ok(http.Header{"Etag": {fmt.Sprintf(`"%s"`, req.URL.Path)}})(req)
	})
	tr := &Transport{MaxPages: n, Base: base}
	before := testmain.Heap()
	for i := range n {
		visitPage(t, tr, fmt.Sprintf("http://site.example/%026d", i)) // 46 bytes, rounded up to 48
	}
	perPage := float64(testmain.Heap()-before)/n - 48 - 32
	if perPage > 360 {
		t.Errorf("a page takes %.0f bytes besides its URL and ETag, want at most 360", perPage)
	}
	t.Logf("%.0f bytes a page", perPage)
	last := fmt.Sprintf("http://site.example/%026d", n-1)
	if e := tr.cache.get(context.Background(), last); e.Page == nil {
		t.Errorf("the page %s is not stored, want it stored", last)
	}
}
