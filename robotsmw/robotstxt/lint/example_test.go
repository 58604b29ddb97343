package lint_test

import (
	"fmt"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

func ExampleCheck() {
	for _, p := range lint.Check([]byte(`User-agent: *
Dissallow: /tmp
Disallow: /css/ /cgi-bin/
`)) {
		fmt.Println(p)
		fmt.Println(p.Fix)
	}
	// Output:
	// 2:1: warning: "Dissallow" is taken to mean Disallow, but not all robots understand it [misspelt-field]
	// Disallow: /tmp
	// 3:16: error: one line has one path; robots read the blank as a part of it [several-paths]
	// Disallow: /css/
	// Disallow: /cgi-bin/
}
