package htmlmeta_test

import (
	"fmt"
	"io"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta"
)

const page = `<!DOCTYPE html>
<html><head>
<meta name="robots" content="noindex, max-snippet:20">
<meta name="googlebot" content="nofollow">
<!-- <meta name="robots" content="noarchive"> -->
</head><body>Hello</body></html>`

func ExampleScan() {
	d := htmlmeta.Scan([]byte(page), "ExampleBot")
	fmt.Println("noindex", d.NoIndex(), "nofollow", d.NoFollow(), "noarchive", d.Says("noarchive"))
	for r := range d.Rules() {
		fmt.Printf("line %d: %s\n", r.Line, r.Raw)
	}
	// Output:
	// noindex true nofollow false noarchive false
	// line 3: noindex
	// line 3: max-snippet:20
}

// A Scanner can scan a page while another function reads it.
func ExampleScanner() {
	s := htmlmeta.Scanner{Tokens: []string{"Googlebot"}, HeadOnly: true}
	io.Copy(io.Discard, io.TeeReader(strings.NewReader(page), &s))
	s.Finish()
	fmt.Println(s.Directives().NoFollow())
	// Output: true
}
