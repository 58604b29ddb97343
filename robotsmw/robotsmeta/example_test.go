package robotsmeta_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

func ExampleParseHeader() {
	h := http.Header{"X-Robots-Tag": {
		"noarchive, googlebot: noindex",
		"examplebot: nofollow, max-snippet: 20, nofllow",
	}}
	d := robotsmeta.ParseHeader(h, "ExampleBot")
	fmt.Println("noindex", d.NoIndex(), "nofollow", d.NoFollow(), "noarchive", d.Says("noarchive"))
	for r := range d.Rules() {
		fmt.Printf("%s line %d, to %q: %s (known: %v)\n", r.Source, r.Line, r.Scope, r.Raw, r.Known)
	}
	// Output:
	// noindex false nofollow true noarchive true
	// X-Robots-Tag line 1, to "": noarchive (known: true)
	// X-Robots-Tag line 2, to "examplebot": nofollow (known: true)
	// X-Robots-Tag line 2, to "examplebot": max-snippet: 20 (known: true)
	// X-Robots-Tag line 2, to "examplebot": nofllow (known: false)
}

func ExampleParseContent() {
	d := robotsmeta.ParseContent("index, noindex; nofollow")
	fmt.Println(d.NoIndex(), d.NoFollow()) // "index" does not cancel "noindex"
	// Output: true true
}

func ExampleDirectives_NoIndexAt() {
	d := robotsmeta.ParseContent("unavailable_after: Friday, 25-Jun-10 15:00:00 PST")
	for _, hour := range []int{22, 23} {
		fmt.Println(hour, d.NoIndexAt(time.Date(2010, 6, 25, hour, 0, 0, 0, time.UTC)))
	}
	// Output:
	// 22 false
	// 23 true
}

func ExampleDirectives_Union() {
	header := robotsmeta.ParseContent("noindex, max-snippet:50")
	page := robotsmeta.ParseContent("index, max-snippet:20")
	d := header.Union(page)
	fmt.Println(d.NoIndex(), d.Limit("max-snippet"))
	// Output: true 20
}

// A crawler can report to the author of a page why it did not store the page:
// which directive was the reason, and where it is.
func ExampleDirectives_Rules() {
	h := http.Header{
		"X-Robots-Tag": {"noarchive"},
		"Robots-Tag":   {"ExampleBot;noindex"},
	}
	said := robotsmeta.ParseHeader(h, "ExampleBot").
		Union(robotsmeta.ParseMeta("robots", "nofollow", 7, "ExampleBot"))
	for r := range said.Rules() {
		switch r.Source {
		case robotsmeta.XRobotsTag, robotsmeta.RobotsTag:
			fmt.Printf("%s: by line %d of the header's %s\n", r.Name, r.Line, r.Source)
		case robotsmeta.Meta:
			fmt.Printf("%s: by the element on line %d of the page\n", r.Name, r.Line)
		}
	}
	// Output:
	// noarchive: by line 1 of the header's X-Robots-Tag
	// noindex: by line 1 of the header's Robots-Tag
	// nofollow: by the element on line 7 of the page
}

// A frame that should not be stored by itself may be stored as a part of the
// page that contains it.
func ExampleDirectives_Says() {
	frame := robotsmeta.ParseContent("noindex, indexifembedded")
	fmt.Println("by itself:", !frame.NoIndex())
	fmt.Println("as a part:", !frame.NoIndex() || frame.Says("indexifembedded"))
	// Output:
	// by itself: false
	// as a part: true
}

func ExampleDirectives_WithTruncated() {
	// A program that stops in the middle of a page should report it.
	d := robotsmeta.ParseMeta("robots", "nofollow", 1).WithTruncated()
	fmt.Println(d.NoFollow(), d.NoIndex(), d.Truncated())
	// Output: true false true
}
