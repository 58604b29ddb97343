package lint

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkCheck(b *testing.B) {
	var robots strings.Builder
	robots.WriteString("User-agent: *\n")
	for i := range 1000 {
		star := ""
		if i%4 == 0 {
			star = "*/"
		}
		fmt.Fprintf(&robots, "Disallow: /%csection-%d/%spage-%d\n", 'a'+i%26, i%97, star, i)
	}
	body := []byte(robots.String())
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		Check(body)
	}
}
