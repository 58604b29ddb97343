package robotstxt

import (
	"fmt"
	"strings"
	"testing"
)

// These benchmarks measure single parts. The benchmarks in
// integration_test/peers compare this package with other parsers.

// benchFile returns a file with one group of the given number of rules. Every
// wildEvery-th rule has a wildcard. If wildEvery is 0, no rule has a wildcard.
func benchFile(rules, wildEvery int) string {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range rules {
		star := ""
		if wildEvery > 0 && i%wildEvery == 0 {
			star = "*/"
		}
		fmt.Fprintf(&b, "Disallow: /%csection-%d/%spage-%d\n", 'a'+i%26, i%97, star, i)
	}
	return b.String()
}

var benchTargets = []string{
	"/",
	"/asection-0/page-0",
	"/articles/2026/11/some-long-title-of-an-article.html",
	"/search?q=golang&page=3",
	"/csection-2/x/page-2.html",
	"/about/contact-us-today.html",
	"/esection-22/public",
	"/caf%c3%a9/menu",
}

func BenchmarkParse(b *testing.B) {
	for _, rules := range []int{40, 15_000} {
		body := []byte(benchFile(rules, 4))
		b.Run(fmt.Sprintf("bytes=%d", len(body)), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				Parse(body)
			}
		})
	}
}

// BenchmarkRules measures how long it takes to select the rules of a robot.
func BenchmarkRules(b *testing.B) {
	for _, rules := range []int{4, 40, 400, 4000} {
		f := parse(benchFile(rules, 4))
		b.Run(fmt.Sprintf("rules=%d", rules), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.Rules()
			}
		})
	}
}

func BenchmarkAllowed(b *testing.B) {
	for _, wildEvery := range []int{0, 4, 1} {
		for _, n := range []int{1, 10, 100, 1000, 10_000} {
			rules := parse(benchFile(n, wildEvery)).Rules()
			b.Run(fmt.Sprintf("wild=1of%d/rules=%d", wildEvery, n), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					rules.Allowed(benchTargets[i%len(benchTargets)])
				}
			})
		}
	}
}
