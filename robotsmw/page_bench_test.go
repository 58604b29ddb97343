package robotsmw

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// benchPage is a page of about size octets with a head like real ones: 23 metas (the median of 419), half of them with
// a name.
func benchPage(size int, head string) string {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>A page</title>" + head)
	for i := range 11 {
		fmt.Fprintf(&b, "<meta name=\"item-%d\" content=\"A description of item %d\">\n<link rel=\"stylesheet\" href=\"/css/%d.css\">\n", i, i, i)
		fmt.Fprintf(&b, "<meta property=\"og:tag\" content=\"tag %d\">\n<link rel=\"alternate\" hreflang=\"de\" href=\"/de/%d\">\n", i, i)
	}
	b.WriteString("</head><body>\n")
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "<div class=\"item\"><a href=\"/item/%d\">An item of the page</a><p>with a paragraph of some text, as there often is.</p></div>\n", i)
	}
	return b.String()
}

// BenchmarkReadPage reads a page over loopback without the transport and
// with it, in turns, and tells what the transport adds to the median, in
// percent: "read" while the caller reads, "asked" with a call of
// PageDirectives at the end.
func BenchmarkReadPage(b *testing.B) {
	for _, size := range []int{68 << 10, 440 << 10} {
		for _, meta := range []string{"", robotsMeta} {
			page := benchPage(size, meta)
			for _, ask := range []bool{false, true} {
				b.Run(fmt.Sprintf("%dKB/metas=%v/asked=%v", size>>10, meta != "", ask), func(b *testing.B) {
					server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						w.Header().Set("Content-Type", "text/html; charset=utf-8")
						io.WriteString(w, page)
					}))
					defer server.Close()
					robots := newTestTransport(b, http.DefaultTransport, func(o *Options) {
						o.Override = map[string]string{server.URL: AllowAll}
					})
					req, err := http.NewRequest("GET", server.URL+"/page", nil)
					if err != nil {
						b.Fatal(err)
					}
					req.Header.Set("User-Agent", testAgent)
					buf := make([]byte, 32<<10)
					read := func(rt http.RoundTripper, ask bool) time.Duration {
						start := time.Now()
						resp, err := rt.RoundTrip(req)
						if err != nil {
							b.Fatal(err)
						}
						for err == nil {
							_, err = resp.Body.Read(buf)
						}
						resp.Body.Close()
						if ask && PageDirectives(resp).NoIndex() != (meta != "") {
							b.Fatal("wrong answer")
						}
						return time.Since(start)
					}
					var without, with []time.Duration
					for b.Loop() {
						without = append(without, read(http.DefaultTransport, false))
						with = append(with, read(robots, ask))
					}
					slices.Sort(without)
					slices.Sort(with)
					a, z := float64(without[len(without)/2]), float64(with[len(with)/2])
					b.ReportMetric(0, "ns/op")
					b.ReportMetric(a/1000, "µs-without")
					b.ReportMetric((z-a)/a*100, "%-added")
				})
			}
		}
	}
}

const robotsMeta = `<meta name="robots" content="noindex, max-snippet:20">`
