package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/goodbots/courtesy"

// arrows lists the imports of each package outside the standard library, with
// the reason. The test fails if a package has no row, or if its imports differ
// from its row. The imports matter because they are added to the go.mod and the
// binary of each user of the package.
var arrows = map[string]struct {
	imports []string // sorted; packages of this module without the module's path
	because string
}{
	"robotsmw": {
		[]string{"internal/httputil", "politeness", "politeness/refusal", "robotsmw/internal/address", "robotsmw/internal/load", "robotsmw/internal/origin", "robotsmw/internal/page", "robotsmw/internal/record", "robotsmw/robotsmeta", "robotsmw/robotstxt"},
		"a user of http.Client gets neither colly, goquery nor a Redis client",
	},
	"robotsmw/internal/origin":    {[]string{"politeness"}, "names of origins; politeness defines the form of a host"},
	"robotsmw/internal/address":   {nil, "rejects addresses, and does not depend on requests or records"},
	"robotsmw/internal/freshness": {nil, "reads headers, and does not depend on records"},
	"robotsmw/internal/record":    {[]string{"internal/bodycode", "politeness", "robotsmw/internal/address", "robotsmw/internal/freshness", "robotsmw/internal/origin", "robotsmw/robotstxt"}, "the data about an origin; does no I/O"},
	"robotsmw/internal/cache":     {[]string{"politeness", "robotsmw/internal/origin", "robotsmw/internal/record"}, "records in memory; does no I/O"},
	"robotsmw/internal/store":     {[]string{"robotsmw/internal/record"}, "protects from Stores that fail, and does not depend on any of them"},
	"robotsmw/internal/fetch":     {[]string{"internal/bodycode", "internal/httpstatus", "politeness", "politeness/refusal", "politeness/structured", "robotsmw/internal/origin", "robotsmw/robotstxt"}, "sends one request to one server, and does not depend on records"},
	"robotsmw/internal/load":      {[]string{"internal/httpstatus", "politeness", "robotsmw/internal/cache", "robotsmw/internal/fetch", "robotsmw/internal/origin", "robotsmw/internal/record", "robotsmw/internal/store"}, "the only package that combines cache, fetch, origin, record and store"},
	"robotsmw/internal/page":      {[]string{"internal/httputil", "politeness/refusal", "robotsmw/robotsmeta", "robotsmw/robotsmeta/htmlmeta"}, "examines bodies, and does not depend on robots.txt"},
	"robotsmw/robotstxt": {
		[]string{"robotsmw/robotstxt/internal/match", "robotsmw/robotstxt/internal/syntax"},
		"a parser that does no I/O needs the standard library alone",
	},
	"robotsmw/robotstxt/lint": {
		[]string{"robotsmw/robotstxt/internal/match", "robotsmw/robotstxt/internal/syntax"},
		"parses files like robotstxt, but separately, so that a robot does not need to contain a linter",
	},
	"robotsmw/robotstxt/internal/match": {
		[]string{"robotsmw/robotstxt/internal/syntax"},
		"compiles the rules of a group, and does not depend on groups",
	},
	"robotsmw/robotstxt/internal/syntax": {
		nil,
		"parses a file, and does not depend on the matching of rules",
	},
	"robotsmw/robotsmeta":          {[]string{"internal/httptime"}, "a grammar that does no I/O needs the standard library alone, and the module's reader of dates"},
	"robotsmw/robotsmeta/htmlmeta": {[]string{"golang.org/x/net/html", "robotsmw/robotsmeta"}, "the only importer of x/net/html"},
	"robotsmw/pagelinks":           {[]string{"github.com/PuerkitoBio/goquery", "robotsmw"}, "the only importer of goquery"},
	"robotsmw/preference":          {[]string{"politeness/structured", "robotsmw/robotsmeta", "robotsmw/robotstxt"}, "reads parsed inputs: no I/O, no HTML"},
	"robotsmw/otelrobots":          {[]string{"go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/metric", "politeness", "robotsmw"}, "the only importer of OpenTelemetry"},
	"robotsmw/collyrobots": {
		[]string{"github.com/gocolly/colly/v2", "github.com/gocolly/colly/v2/storage", "internal/httpstatus", "internal/httputil", "politeness", "politeness/refusal", "robotsmw", "robotsmw/internal/address", "robotsmw/internal/page", "robotsmw/pagelinks", "robotsmw/robotsmeta", "robotsmw/robotsmeta/htmlmeta"},
		"the only importer of colly; reads directives from the body that colly has read, and puts back requests that the Limiter delays",
	},
	"robotsmw/evidence/internal/chain": {nil, "the format of a record, which is all that its writer and its audit share"},
	"robotsmw/evidence/audit": {
		[]string{"internal/bodycode", "internal/httpstatus", "internal/httptime", "robotsmw/evidence/internal/chain", "robotsmw/robotstxt"},
		"judges recorded data, so that an auditor does not need to contain a crawler",
	},
	"robotsmw/evidence":     {[]string{"internal/httpstatus", "politeness", "robotsmw", "robotsmw/evidence/internal/chain"}, "observes politeness and robotsmw, and writes WARC with the standard library alone"},
	"robotsmw/gate":         {[]string{"politeness", "robotsmw", "robotsmw/internal/origin"}, "offers politeness and robotsmw to clients in other languages; rejects a URL without a valid origin"},
	"robotsmw/revisit":      {[]string{"internal/httpstatus", "internal/httputil", "robotsmw", "robotsmw/internal/freshness", "robotsmw/internal/page", "robotsmw/robotsmeta"}, "wraps the Transport of robotsmw, and stores page directives"},
	"robotsmw/diskstore":    {nil, "a directory needs the standard library alone; a miss is fs.ErrNotExist"},
	"robotsmw/redisstore":   {[]string{"github.com/redis/go-redis/v9"}, "a miss is fs.ErrNotExist, so no package of this module is needed"},
	"robotsmw/storetest":    {[]string{"robotsmw"}, "the suite of the Store interface"},
	"robotsmw/sitemap":      {[]string{"internal/bodycode", "internal/httptime"}, "a reader of files needs the standard library alone, and the module's readers of dates and codings"},
	"robotsmw/robotstest":   {nil, "test support without dependencies"},
	"robotsmw/webbotauth":   {[]string{"internal/httputil", "politeness/structured"}, "signing needs only crypto/ed25519 and the parser of signature fields"},
	"politeness":            {[]string{"golang.org/x/net/idna", "golang.org/x/net/publicsuffix", "golang.org/x/time/rate", "internal/httpstatus", "internal/httputil", "politeness/internal/fleet", "politeness/internal/headers", "politeness/internal/schedule", "politeness/refusal"}, "the rate limiter does not depend on robots.txt"},
	"politeness/refusal":    {nil, "a table of bot-protection responses needs the standard library alone"},
	"politeness/structured": {nil, "the only parser of Structured Fields; depends on no other package of this module"},
	"politeness/redislimit": {[]string{"github.com/redis/go-redis/v9", "politeness", "politeness/internal/fleet"}, "the rate limit of a fleet"},

	"internal/httputil":            {nil, "small helpers for HTTP, with one home for all packages, need the standard library alone"},
	"politeness/internal/headers":  {[]string{"internal/httptime", "politeness/structured"}, "parses the headers that influence the delay, and does not depend on the Limiter"},
	"politeness/internal/schedule": {nil, "decides from values and times alone, without I/O, locks or clocks"},
	"politeness/internal/fleet":    {nil, "the interface between a Limiter and its Fleet"},
	"internal/bodycode":            {nil, "decodes bodies whose labels or ends are wrong"},
	"internal/httpstatus":          {nil, "the meaning of statuses that no standard defines, for packages that may not import each other"},
	"internal/httptime":            {nil, "reads times and waits in header fields, for packages that may not import each other"},
}

// Packages below these directories may import anything. No other package may
// import them.
var free = []string{"examples", "integration_test"}

// testHelpers are for the tests of all packages. They import only the standard
// library, so any test may import them.
var testHelpers = []string{"integration_test/redisserver", "integration_test/testmain"}

// goPackage has those fields of the output of "go list -json" that the test
// reads.
type goPackage struct {
	ImportPath   string
	Standard     bool
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func TestImports(t *testing.T) {
	standard := make(map[string]bool)
	for _, p := range goList(t, "-deps", "./...") {
		if p.Standard {
			standard[p.ImportPath] = true
		}
	}
	found := make(map[string]bool)
	for _, p := range goList(t, "./...") {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if isFree(name) {
			continue
		}
		found[name] = true
		var imports []string
		for _, i := range p.Imports {
			if !standard[i] {
				imports = append(imports, strings.TrimPrefix(i, module+"/"))
			}
		}
		arrow, ok := arrows[name]
		if !ok {
			t.Errorf("%s has no row in the table of imports: add one with the reason; the package imports %q", name, imports)
			continue
		}
		for _, i := range imports {
			if !slices.Contains(arrow.imports, i) {
				t.Errorf("%s imports %s, which is not in its row of the table arrows; the reason for its imports is: %s", name, i, arrow.because)
			}
		}
		for _, i := range arrow.imports {
			if !slices.Contains(imports, i) {
				t.Errorf("%s does not import %s: remove the import from its row", name, i)
			}
		}
		if !slices.IsSorted(arrow.imports) {
			t.Errorf("the imports in the row of %s are not in alphabetical order", name)
		}
		for _, i := range slices.Concat(p.TestImports, p.XTestImports) {
			if i, ours := strings.CutPrefix(i, module+"/"); ours && isFree(i) && !slices.Contains(testHelpers, i) {
				t.Errorf("a test of %s imports %s: whole crawls are tested in integration_test", name, i)
			}
		}
	}
	for name := range arrows {
		if !found[name] {
			t.Errorf("there is no package %s: remove its row from the table", name)
		}
	}
}

// TestImportsOfAUser checks which modules a user of a package gets, directly or
// indirectly. The indirect ones may change with our dependencies. TestImports
// checks only direct imports, and TestBuildLists checks versions.
func TestImportsOfAUser(t *testing.T) {
	tests := []struct {
		imports string
		gets    []string // modules, besides ours and the standard library
	}{
		{"robotsmw/robotstxt", nil},
		{"robotsmw/robotsmeta", nil},
		{"robotsmw/preference", nil},
		{"robotsmw/robotstest", nil},
		{"robotsmw/diskstore", nil},
		{"robotsmw/evidence/audit", nil},
		{"robotsmw/webbotauth", nil},
		{"robotsmw/sitemap", nil},
		{"robotsmw/robotsmeta/htmlmeta", []string{"golang.org/x/net"}},
		{"politeness", []string{"golang.org/x/net", "golang.org/x/text", "golang.org/x/time"}},
		{"robotsmw", []string{"golang.org/x/net", "golang.org/x/text", "golang.org/x/time"}},
	}
	for _, tt := range tests {
		t.Run(tt.imports, func(t *testing.T) {
			for _, p := range goList(t, "-deps", module+"/"+tt.imports) {
				if p.Standard || p.ImportPath == module || strings.HasPrefix(p.ImportPath, module+"/") {
					continue
				}
				if !slices.ContainsFunc(tt.gets, func(m string) bool { return strings.HasPrefix(p.ImportPath+"/", m+"/") }) {
					t.Errorf("a user of %s gets %s, want only packages of %q", tt.imports, p.ImportPath, tt.gets)
				}
			}
		})
	}
}

// The program in the README's first command is compiled without a client of
// Redis, which would take a third of the time. A program in another directory
// has the client.
func TestImportsOfTheSpider(t *testing.T) {
	for program, want := range map[string]bool{"examples/politespider": false, "examples/politespider/internal/spider": false, "examples/politespider/fleet": true} {
		got := slices.ContainsFunc(goList(t, "-deps", module+"/"+program), func(p goPackage) bool {
			return strings.HasPrefix(p.ImportPath, "github.com/redis/go-redis")
		})
		if got != want {
			t.Errorf("%s imports go-redis, directly or indirectly: %t, want %t", program, got, want)
		}
	}
}

func isFree(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return slices.Contains(free, top)
}

func goList(t *testing.T, args ...string) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=ImportPath,Standard,Imports,TestImports,XTestImports"}, args...)...)
	cmd.Dir = ".."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	var packages []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("go list %s: %v", strings.Join(args, " "), err)
		}
		packages = append(packages, p)
	}
}
