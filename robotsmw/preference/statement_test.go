package preference

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A program keeps the statements about 100 pages, and the addresses of their
// licenses. The robots.txt files and the header fields that they come from have
// 50 MB together, and are not kept with them.
func TestMemoryOfStatements(t *testing.T) {
	var statements []Statement
	var licenses []License
	before := testmain.Heap()
	for i := range 100 {
		text := fmt.Sprintf("User-agent: *\nContent-Usage: /page%d train-ai=n, other=%d\nContent-Signal: ai-train=no, label%d=x\nAllow: /\nLicense: https://a.example/%d\n", i, i, i, i)
		in := Input{
			Robots: robotstxt.Parse([]byte(text + "# " + strings.Repeat("x", 450<<10))),
			Target: fmt.Sprintf("/page%d", i),
			Header: header("Link", fmt.Sprintf(`<https://a.example/%d>; rel=license; title="%s"`, i, strings.Repeat("x", 60<<10))),
		}
		statements = append(statements, in.Says()...)
		licenses = append(licenses, in.Licenses()...)
	}
	if len(statements) != 600 || len(licenses) != 200 {
		t.Errorf("%d statements and %d licenses: %v", len(statements), len(licenses), statements[:4])
	}
	if grown := testmain.Heap() - before; grown > 5<<20 {
		t.Errorf("%d statements and %d licenses take %d bytes", len(statements), len(licenses), grown)
	}
	runtime.KeepAlive(statements)
	runtime.KeepAlive(licenses)
}
