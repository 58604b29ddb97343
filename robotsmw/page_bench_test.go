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

// benchPage returns a page of about size bytes. Its head has 23 meta elements,
// which is the median of 419 real pages. Half of these elements have a name.
func benchPage(size int, head string) string {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>A page</title>" + head)
	for i := range 11 {
		fmt.Fprintf(&b,
			"<meta name=\"item-%d\" content=\"A description of item %d\">\n<link rel=\"stylesheet\" href=\"/css/%d.css\">\n",
			i, i, i)
		fmt.Fprintf(&b,
			"<meta property=\"og:tag\" content=\"tag %d\">\n<link rel=\"alternate\" hreflang=\"de\" href=\"/de/%d\">\n",
			i, i)
	}
	b.WriteString("</head><body>\n")
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b,
			"<div class=\"item\"><a href=\"/item/%d\">An item of the page</a><p>with a paragraph of some text, as there often is.</p></div>\n",
			i)
	}
	return b.String()
}

const robotsMeta = `<meta name="robots" content="noindex, max-snippet:20">`

// BenchmarkLoopback compares two clients of a real server: a bare http.Client,
// and one with a Transport. In each turn, each client fetches a hundred pages.
// The benchmark reports the Transport's throughput as a fraction of the bare
// client's: the median and the quartiles of all turns. It also reports the bare
// client's median time for a page. In the cases named "asked", PageDirectives
// is called after each page.
func BenchmarkLoopback(b *testing.B) {
	for _, page := range []struct {
		name, kind, body string
		ask              bool
	}{
		{"text/16KB", "text/plain", benchPage(16<<10, ""), false},
		{"html/16KB", "text/html", benchPage(16<<10, ""), false},
		{"html/68KB", "text/html; charset=utf-8", benchPage(68<<10, ""), false},
		{"html/68KB/asked", "text/html; charset=utf-8", benchPage(68<<10, ""), true},
		{"html/68KB/metas/asked", "text/html; charset=utf-8", benchPage(68<<10, robotsMeta), true},
		{"html/440KB", "text/html; charset=utf-8", benchPage(440<<10, ""), false},
		{"html/440KB/metas/asked", "text/html; charset=utf-8", benchPage(440<<10, robotsMeta), true},
	} {
		b.Run(page.name, func(b *testing.B) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					io.WriteString(w, typicalRobots())
					return
				}
				w.Header().Set("Content-Type", page.kind)
				io.WriteString(w, page.body)
			}))
			defer server.Close()
			base := http.DefaultTransport.(*http.Transport).Clone()
			defer base.CloseIdleConnections()
			bare := &http.Client{Transport: base}
			ours := &http.Client{Transport: newTestTransport(b, base)}
			req, err := http.NewRequest("GET", server.URL+"/section-7/public/page.html", nil)
			if err != nil {
				b.Fatal(err)
			}
			req.Header.Set("User-Agent", testAgent)
			buf := make([]byte, 32<<10)
			noindex := strings.Contains(page.body, robotsMeta)
			fetch := func(client *http.Client, ask bool) time.Duration {
				start := time.Now()
				for range 100 {
					resp, err := client.Do(req)
					if err != nil {
						b.Fatal(err)
					}
					for err == nil {
						_, err = resp.Body.Read(buf)
					}
					resp.Body.Close()
					if ask && PageDirectives(resp).NoIndex() != noindex {
						b.Fatalf("PageDirectives: NoIndex is %t, want %t", !noindex, noindex)
					}
				}
				return time.Since(start)
			}
			var times []time.Duration
			var ratios []float64
			for turn := 0; b.Loop(); turn++ {
				var with, without time.Duration
				if turn%2 == 0 {
					without, with = fetch(bare, false), fetch(ours, page.ask)
				} else {
					with, without = fetch(ours, page.ask), fetch(bare, false)
				}
				times = append(times, without)
				ratios = append(ratios, float64(without)/float64(with))
			}
			slices.Sort(times)
			slices.Sort(ratios)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(times[len(times)/2].Seconds()*1e4, "µs-bare")
			b.ReportMetric(ratios[len(ratios)/4], "of-bare-low")
			b.ReportMetric(ratios[len(ratios)/2], "of-bare")
			b.ReportMetric(ratios[len(ratios)*3/4], "of-bare-high")
		})
	}
}
