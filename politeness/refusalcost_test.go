package politeness

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/headers"
	"github.com/goodbots/courtesy/politeness/internal/schedule"
	"github.com/goodbots/courtesy/politeness/refusal"
)

// ordinaryHeader returns a header such as sites send with a page: 15 fields,
// one of them with two lines.
func ordinaryHeader() http.Header {
	return http.Header{
		"Date":                      {"Sun, 22 Nov 2026 17:00:00 GMT"},
		"Content-Type":              {"text/html; charset=utf-8"},
		"Server":                    {"nginx"},
		"Set-Cookie":                {"session=8f14e45fceea167a; Path=/; HttpOnly; Secure; SameSite=Lax", "lang=en; Path=/; Max-Age=31536000"},
		"Cache-Control":             {"public, max-age=300"},
		"Etag":                      {`W/"5d8c72a5edda8"`},
		"Last-Modified":             {"Sat, 21 Nov 2026 09:12:44 GMT"},
		"Vary":                      {"Accept-Encoding, Cookie"},
		"Strict-Transport-Security": {"max-age=31536000; includeSubDomains"},
		"X-Content-Type-Options":    {"nosniff"},
		"X-Frame-Options":           {"SAMEORIGIN"},
		"Content-Security-Policy":   {"default-src 'self'; script-src 'self' https://cdn.example.com"},
		"Referrer-Policy":           {"strict-origin-when-cross-origin"},
		"Link":                      {"</css/site.css>; rel=preload; as=style"},
		"Age":                       {"17"},
	}
}

// ordinaryPage returns the beginning of a page with metas, styles, scripts and
// text. The argument is the length of the result in bytes.
func ordinaryPage(size int) []byte {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>A page</title>\n" +
		"<meta name=\"robots\" content=\"index, follow, max-image-preview:large\">\n")
	for i := range 6 {
		fmt.Fprintf(&b, "<meta property=\"og:tag\" content=\"tag %d\">\n<link rel=\"stylesheet\" id=\"style-%d-css\" href=\"/static/css/%d.css?ver=6.5\">\n", i, i, i)
		fmt.Fprintf(&b, "<script type=\"text/javascript\" src=\"/static/js/part_%d.js\" async></script>\n", i)
	}
	b.WriteString("<script type=\"application/ld+json\">{\"@context\":\"https://schema.org\",\"@type\":\"WebSite\"}</script></head><body>\n")
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "<div class=\"item item_%d\"><a href=\"/item/%d\">An item of the page</a><p>with a paragraph of some text, as there often is.</p></div>\n", i, i)
	}
	return []byte(b.String()[:size])
}

// lookForRefusals makes all checks that a response is subject to. It searches
// the status and header for a refusal, once like a Limiter and once like a
// robotsmw.Transport, the header for a quota, and the page for a sign of a
// refusal.
func lookForRefusals(o Outcome, page []byte) (found bool) {
	blocked := classify(&o) != schedule.Good
	limited := len(headers.Read(o.Header, time.Now(), day).Quotas) > 0
	_, refused := refusal.Of(&http.Response{StatusCode: o.Status, Header: o.Header})
	_, marked := refusal.OfPage(&http.Response{StatusCode: o.Status, ContentLength: int64(len(page))}, page[:min(len(page), refusal.Window)])
	return blocked || limited || refused || marked
}

// BenchmarkLookForRefusals measures lookForRefusals and two of its parts. On a
// quiet machine, lookForRefusals should take less than 400 ns for each size of
// page.
func BenchmarkLookForRefusals(b *testing.B) {
	o := Outcome{Status: 200, Header: ordinaryHeader()}
	b.Run("Header", func(b *testing.B) {
		for b.Loop() {
			classify(&o)
		}
	})
	b.Run("Quota", func(b *testing.B) {
		for b.Loop() {
			headers.Read(o.Header, time.Now(), day)
		}
	})
	for _, size := range []int{2 << 10, 4 << 10, 8 << 10, 9 << 10, 16 << 10, 64 << 10} {
		page := ordinaryPage(size)
		b.Run(fmt.Sprintf("All/%dKB", size>>10), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if lookForRefusals(o, page) {
					b.Fatal("lookForRefusals of an ordinary page = true, want false")
				}
			}
		})
	}
	b.Run("All/corpus", func(b *testing.B) {
		pages := corpusPages(b)
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			lookForRefusals(o, pages[i%len(pages)])
			i++
		}
	})
}

// corpusPages returns those pages of the shared corpus that have at most 9 KiB
// and are no refusals.
func corpusPages(tb testing.TB) (pages [][]byte) {
	dir := os.Getenv("COURTESY_SHARED")
	if dir == "" {
		tb.Skip("SKIPPED: COURTESY_SHARED is unset; set it to the directory that holds conformance/ and corpus/")
	}
	if !filepath.IsAbs(dir) { // a relative path starts at the module's root
		dir = filepath.Join("..", dir)
	}
	f, err := os.Open(filepath.Join(dir, "corpus", "pages.tar.gz"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return pages
		}
		if err != nil {
			tb.Fatal(err)
		}
		if strings.HasSuffix(h.Name, ".html") && h.Size <= 9<<10 {
			page, err := io.ReadAll(r)
			if err != nil {
				tb.Fatal(err)
			}
			if _, refused := refusal.OfPage(&http.Response{StatusCode: 200}, page); !refused {
				pages = append(pages, page)
			}
		}
	}
}

func TestLookForRefusals_AllocatesNothing(t *testing.T) {
	o := Outcome{Status: 200, Header: ordinaryHeader()}
	for _, size := range []int{0, 2 << 10, 8 << 10, 16 << 10, 64 << 10} {
		page := ordinaryPage(size)
		if lookForRefusals(o, page) {
			t.Errorf("lookForRefusals of an ordinary page of %d bytes = true, want false", size)
		}
		if n := testing.AllocsPerRun(100, func() { lookForRefusals(o, page) }); n > 0 {
			t.Errorf("%d bytes: %v allocations, want 0", size, n)
		}
	}
}
