package record

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// With and without its file, a document takes about as much memory as Cost
// returns, so that the cache exceeds MaxBytes only by little.
func TestMemoryOfDocuments(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("the race detector uses additional memory")
	}
	lines := func(n int, line string) func(i int) string {
		return func(i int) string {
			var b strings.Builder
			fmt.Fprintf(&b, "# %d\nUser-agent: *\n", i)
			for j := range n {
				b.WriteString(strings.ReplaceAll(line, "%", fmt.Sprint(j)) + "\n")
			}
			return b.String()
		}
	}
	for _, tt := range []struct {
		name string
		body func(i int) string
	}{
		{"as most sites have it", lines(12, "Disallow: /directory-%/")},
		{"a long one", lines(2000, "Disallow: /directory-%/page")},
		{"patterns with wildcards", lines(500, "Disallow: /*/page-%.html$")},
		{"short lines", lines(5000, "a:")},
		{"short rules", lines(5000, "allow:/%")},
		{"comments alone", lines(3000, "# % is a comment")},
		{"empty lines", lines(20_000, "")},
		{"others' groups", lines(500, "User-agent: bot-%\nDisallow: /a\nCrawl-delay: %\n")},
		{"sitemaps", lines(500, "Sitemap: https://a.example/sitemap-%.xml")},
		{"one line", func(i int) string {
			return fmt.Sprintf("User-agent: *\nDisallow: /%d%s\n", i, strings.Repeat("x", 100_000))
		}},
	} {
		for _, keep := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, KeepFiles %v", tt.name, keep), func(t *testing.T) {
				// There are so many documents that a few KB of the runtime do
				// not matter.
				k := &Kind{Tokens: []string{"ExampleBot"}, KeepFiles: keep}
				one := k.Documents.Add(k.Document([]byte(tt.body(0))))
				bodies := make([][]byte, min(400, max(40, 200_000/int(one))))
				for i := range bodies {
					bodies[i] = []byte(tt.body(i))
				}
				k = &Kind{Tokens: k.Tokens, KeepFiles: keep}
				held := make([]*Document, 0, len(bodies))
				before := testmain.Heap()
				cost := 0.0
				for _, body := range bodies {
					d := k.Document(body)
					cost += float64(k.Documents.Add(d))
					for range 1000 { // after so many calls, a large group is compiled
						d.Rules.Allowed("/directory-1/x")
					}
					held = append(held, d)
				}
				takes := float64(testmain.Heap() - before)
				// On a quiet machine, the ratio is between 0.87 and 1.08.
				if ratio := takes / cost; ratio > 2 || ratio < 0.5 {
					t.Errorf("%d documents of %d bytes take %.0f bytes of memory, and their Cost is %.0f: the ratio is %.2f, want 0.5 to 2",
						len(held), len(bodies[0]), takes, cost, ratio)
				}
				runtime.KeepAlive(bodies)
				runtime.KeepAlive(held)
				runtime.KeepAlive(k)
			})
		}
	}
}
