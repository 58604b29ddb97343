package robotsmw

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// benchPage is a page of about size octets with a head of 8 KB.
func benchPage(size int, head string) string {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>A page</title>" + head)
	for i := 0; b.Len() < 8<<10; i++ {
		fmt.Fprintf(&b, "<meta property=\"og:tag\" content=\"tag %d\">\n<link rel=\"stylesheet\" href=\"/css/%d.css\">\n", i, i)
	}
	b.WriteString("</head><body>\n")
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "<div class=\"item\"><a href=\"/item/%d\">An item of the page</a><p>with a paragraph of some text, as there often is.</p></div>\n", i)
	}
	return b.String()
}

// BenchmarkReadPage reads a page over loopback, with the transport and
// without it; "asked" also calls PageDirectives at the end.
func BenchmarkReadPage(b *testing.B) {
	for _, size := range []int{68 << 10, 440 << 10} {
		for _, meta := range []string{"", robotsMeta} {
			page := benchPage(size, meta)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				io.WriteString(w, page)
			}))
			defer server.Close()
			robots := newTestTransport(b, http.DefaultTransport, func(o *Options) { o.Override = map[string]string{server.URL: AllowAll} })
			off := newTestTransport(b, http.DefaultTransport, func(o *Options) {
				o.Override = map[string]string{server.URL: AllowAll}
				o.Page.Off = true
			})
			for _, mode := range []struct {
				name string
				rt   http.RoundTripper
				ask  bool
			}{{"without", http.DefaultTransport, false}, {"off", off, false}, {"with", robots, false}, {"asked", robots, true}} {
				b.Run(fmt.Sprintf("%dKB/metas=%v/%s", size>>10, meta != "", mode.name), func(b *testing.B) {
					buf := make([]byte, 32<<10)
					req, _ := http.NewRequest("GET", server.URL+"/page", nil)
					req.Header.Set("User-Agent", testAgent)
					b.SetBytes(int64(len(page)))
					b.ReportAllocs()
					for b.Loop() {
						resp, err := mode.rt.RoundTrip(req)
						if err != nil {
							b.Fatal(err)
						}
						for err == nil {
							_, err = resp.Body.Read(buf)
						}
						resp.Body.Close()
						if mode.ask && PageDirectives(resp).NoIndex() != (meta != "") {
							b.Fatal("wrong answer")
						}
					}
				})
			}
		}
	}
}

const robotsMeta = `<meta name="robots" content="noindex, max-snippet:20">`
