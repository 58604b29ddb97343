package preference

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// TestSays_Memory checks that statements and licenses do not retain the
// robots.txt files and header fields that contain them.
func TestSays_Memory(t *testing.T) {
	var statements []Statement
	var licenses []License
	before := testmain.Heap()
	for i := range 100 {
		text := fmt.Sprintf(
			"User-agent: *\n"+
				"Content-Usage: /page%d train-ai=n, other=%d\n"+
				"Content-Signal: ai-train=no, label%d=x\n"+
				"Allow: /\n"+
				"License: https://a.example/%d\n",
			i, i, i, i)
		link := fmt.Sprintf(`<https://a.example/%d>; rel=license; title="%s"`,
			i, strings.Repeat("x", 60<<10))
		in := Input{
			Robots: robotstxt.Parse([]byte(text + "# " + strings.Repeat("x", 450<<10))),
			Target: fmt.Sprintf("/page%d", i),
			Header: header("Link", link),
		}
		statements = append(statements, in.Says()...)
		licenses = append(licenses, in.Licenses()...)
	}
	if len(statements) != 600 || len(licenses) != 200 {
		t.Errorf("the inputs have %d statements and %d licenses, want 600 and 200",
			len(statements), len(licenses))
	}
	if grown := testmain.Heap() - before; grown > 5<<20 {
		t.Errorf("%d statements and %d licenses take %d bytes, want at most 5 MiB",
			len(statements), len(licenses), grown)
	}
	runtime.KeepAlive(statements)
	runtime.KeepAlive(licenses)
}

// TestFor_MemoryOfPolicies checks that Policy does not retain the white space
// around the URL in an RSL file.
func TestFor_MemoryOfPolicies(t *testing.T) {
	var statements []Statement
	before := testmain.Heap()
	for i := range 10 {
		terms := fmt.Sprintf(`<prohibits type="usage">ai-train</prohibits>`+
			`<payment><custom>https://a.example/%d%s</custom></payment>`,
			i, strings.Repeat(" ", 1_000_000))
		file := mustParseRSL(t, rslFile(forAllURLs(terms)))
		statements = append(statements, Input{RSL: []*RSL{file}}.For(TrainAI).Evidence...)
	}
	if grown := testmain.Heap() - before; grown > 2<<20 {
		t.Errorf("%d statements take %d bytes, want at most 2 MiB", len(statements), grown)
	}
	if len(statements) != 10 {
		t.Fatalf("the inputs have %d statements, want 10", len(statements))
	}
	if got := statements[7].Policy; got != "https://a.example/7" {
		t.Errorf("the Policy of statement 7 is %q, want https://a.example/7", got)
	}
	runtime.KeepAlive(statements)
}
