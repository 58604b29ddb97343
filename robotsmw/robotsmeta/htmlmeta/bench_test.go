package htmlmeta

import (
	"fmt"
	"strings"
	"testing"
)

// benchPage returns a page of about size bytes, whose head is like those of
// real pages: 23 meta elements (the median of 419 pages), half of them with a
// name.
func benchPage(size int, head string) []byte {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">")
	b.WriteString("<title>A page</title>" + head)
	for i := range 11 {
		fmt.Fprintf(&b, "<meta name=\"item-%d\" content=\"A description of item %d\">\n", i, i)
		fmt.Fprintf(&b, "<link rel=\"stylesheet\" href=\"/css/%d.css\">\n", i)
		fmt.Fprintf(&b, "<meta property=\"og:tag\" content=\"tag %d\">\n", i)
		fmt.Fprintf(&b, "<link rel=\"alternate\" hreflang=\"de\" href=\"/de/%d\">\n", i)
	}
	b.WriteString("</head><body>\n")
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "<div class=\"item\"><a href=\"/item/%d\">An item of the page</a>", i)
		b.WriteString("<p>with a paragraph of some text, as there often is.</p></div>\n")
	}
	return []byte(b.String())
}

func BenchmarkScan(b *testing.B) {
	for _, size := range []int{68 << 10, 440 << 10} {
		for _, head := range []string{"", `<meta name="robots" content="index, max-snippet:20">`} {
			page := benchPage(size, head)
			name := fmt.Sprintf("%dKB/metas=%v", size>>10, head != "")
			b.Run(name+"/whole", func(b *testing.B) {
				b.SetBytes(int64(len(page)))
				b.ReportAllocs()
				for b.Loop() {
					Scan(page, "examplebot")
				}
			})
			b.Run(name+"/4KB", func(b *testing.B) {
				b.SetBytes(int64(len(page)))
				b.ReportAllocs()
				for b.Loop() {
					s := Scanner{}
					for p := page; len(p) > 0; p = p[min(len(p), 4096):] {
						s.Write(p[:min(len(p), 4096)])
					}
					s.Finish()
				}
			})
		}
	}
}

func BenchmarkIndexM(b *testing.B) {
	page := benchPage(68<<10, "")
	for b.Loop() {
		for i := 0; i < len(page); i++ {
			i = indexM(page, i)
		}
	}
}

// BenchmarkHostilePage scans pages that are designed to be slow. None should
// take much more than ten milliseconds.
func BenchmarkHostilePage(b *testing.B) {
	for _, unit := range []string{
		"<meta ", "<meta/", "<meta a='", "<meta a=\">", "<meta name=robots ", "<meta a=1 b=2 c=3 d=4 ",
		robots, "<svg><title>" + robots, "<script>" + robots, "<!--" + robots,
	} {
		b.Run(unit, func(b *testing.B) {
			page := []byte(strings.Repeat(unit, Window/len(unit)))
			for b.Loop() {
				s := Scanner{}
				for p := page; len(p) > 0; p = p[min(len(p), 512):] {
					s.Write(p[:min(len(p), 512)])
				}
				s.Finish()
				s.Directives()
			}
		})
	}
}
