package robotstxt

import (
	"fmt"
	"strings"
	"testing"
)

var benchTargets = []string{"/", "/section0/private/x.html", "/articles/2024/05/some-long-title-of-an-article.html", "/search?q=golang&page=3",
	"/section3/private/1", "/about/contact-us-today.html", "/section22/public", "/p/1234567"}

func BenchmarkSmall(b *testing.B) {
	for _, n := range []int{1, 2, 3, 5, 10, 100, 1000, 10000} {
		var robots strings.Builder
		robots.WriteString("User-agent: *\n")
		for i := range n {
			fmt.Fprintf(&robots, "Disallow: /%csection%d/private/\n", 'r'+i%5, i)
		}
		rules := Parse([]byte(robots.String())).Rules("bot")
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				rules.Allowed(benchTargets[i&7])
			}
		})
	}
}
