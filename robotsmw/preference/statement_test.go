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
		text := fmt.Sprintf(
			"User-agent: *\n"+
				"Content-Usage: /page%d train-ai=n, other=%d\n"+
				"Content-Signal: ai-train=no, label%d=x\n"+
				"Allow: /\n"+
				"License: https://a.example/%d\n",
			i,
			i,
			i,
			i,
		)
		in := Input{
			Robots: robotstxt.Parse([]byte(text + "# " + strings.Repeat("x", 450<<10))),
			Target: fmt.Sprintf("/page%d", i),
			Header: header(
				"Link",
				fmt.Sprintf(`<https://a.example/%d>; rel=license; title="%s"`, i, strings.Repeat("x", 60<<10)),
			),
		}
		statements = append(statements, in.Says()...)
		licenses = append(licenses, in.Licenses()...)
	}
	if len(statements) != 600 || len(licenses) != 200 {
		t.Errorf("%d statements and %d licenses: %v",
			len(statements), len(licenses), statements[:4])
	}
	if grown := testmain.Heap() - before; grown > 5<<20 {
		t.Errorf("%d statements and %d licenses take %d bytes",
			len(statements), len(licenses), grown)
	}
	runtime.KeepAlive(statements)
	runtime.KeepAlive(licenses)
}

// The terms of 10 RSL files have their URLs in a megabyte of white space. A
// program that keeps the statements keeps the URLs, and not the white space.
func TestMemoryOfPolicies(t *testing.T) {
	var statements []Statement
	before := testmain.Heap()
	for i := range 10 {
		file := mustParseRSL(t, fmt.Sprintf(`<rsl xmlns="https://rslstandard.org/rsl"><content url="/"><license>`+
			`<prohibits type="usage">ai-train</prohibits><payment><custom>https://a.example/%d%s</custom></payment>`+
			`</license></content></rsl>`, i, strings.Repeat(" ", 1_000_000)))
		statements = append(statements, Input{RSL: []*RSL{file}}.For(TrainAI).Evidence...)
	}
	if grown := testmain.Heap() - before; grown > 2<<20 {
		t.Errorf("%d statements take %d bytes", len(statements), grown)
	}
	if len(statements) != 10 || statements[7].Policy != "https://a.example/7" {
		t.Errorf("%d statements; the first is %v", len(statements), statements[0])
	}
	runtime.KeepAlive(statements)
}
