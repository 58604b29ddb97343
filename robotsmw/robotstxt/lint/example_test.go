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
	// 2:1: warning: "Dissallow" is probably a misspelling of Disallow; some robots ignore the line [misspelled-field]
	// Disallow: /tmp
	// 3:16: error: a rule must have only one path; robots treat the white space as part of it [several-paths]
	// Disallow: /css/
	// Disallow: /cgi-bin/
}
