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

// arrows says what each package may import besides the standard library, and why. A path ending in "/..." stands for
// everything below it, too. A package that is missing here fails the test: adding one is a decision about what every
// user of it will have in their go.sum and binary.
var arrows = map[string]struct {
	imports []string // packages of this module are written relative to it
	because string
}{
	"robotsmw": {
		[]string{"robotsmw/robotstxt", "robotsmw/robotsmeta", "robotsmw/robotsmeta/htmlmeta", "politeness", "golang.org/x/sync/...", "golang.org/x/net/idna"},
		"a user of http.Client gets neither colly, goquery nor a Redis client",
	},
	"robotsmw/robotstxt":           {nil, "a parser that does no I/O needs the standard library alone"},
	"robotsmw/robotsmeta":          {nil, "a grammar that does no I/O needs the standard library alone"},
	"robotsmw/robotsmeta/htmlmeta": {[]string{"robotsmw/robotsmeta", "golang.org/x/net/html/..."}, "the only importer of x/net/html"},
	"robotsmw/pagelinks":           {[]string{"robotsmw", "github.com/PuerkitoBio/goquery"}, "the only importer of goquery"},
	"robotsmw/preference":          {[]string{"robotsmw/robotstxt", "robotsmw/robotsmeta"}, "reads parsed inputs: no I/O, no HTML"},
	"robotsmw/otelrobots":          {[]string{"robotsmw", "politeness", "go.opentelemetry.io/..."}, "the only importer of OpenTelemetry"},
	"robotsmw/collyrobots": {
		[]string{"robotsmw", "robotsmw/robotsmeta", "robotsmw/robotsmeta/htmlmeta", "robotsmw/pagelinks", "politeness", "github.com/gocolly/colly/v2/..."},
		"the only importer of colly; it reads directives from the body that colly has read, and puts back what the Limiter refuses",
	},
	"robotsmw/diskstore":    {nil, "a directory needs the standard library alone; a miss is fs.ErrNotExist"},
	"robotsmw/redisstore":   {[]string{"github.com/redis/go-redis/v9"}, "a miss is fs.ErrNotExist, so it imports nothing of ours"},
	"robotsmw/storetest":    {[]string{"robotsmw"}, "the suite of the Store interface"},
	"robotsmw/robotstest":   {nil, "test support that everybody can afford"},
	"politeness":            {[]string{"golang.org/x/time/rate", "golang.org/x/net/publicsuffix"}, "pacing knows nothing of robots.txt"},
	"politeness/limittest":  {[]string{"politeness"}, "the suite of the Backend interface"},
	"politeness/redislimit": {[]string{"politeness", "github.com/redis/go-redis/v9"}, "the pace of a fleet"},
}

// free may import anything, and nothing but tests may import them.
var free = []string{"examples", "integration_test"}

// goPackage is what the test reads of one record of go list -json.
type goPackage struct {
	ImportPath string
	Standard   bool
	Imports    []string
}

func TestImports(t *testing.T) {
	standard := make(map[string]bool)
	for _, p := range goList(t, "-deps", "./...") {
		if p.Standard {
			standard[p.ImportPath] = true
		}
	}
	for _, p := range goList(t, "./...") {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if isFree(name) {
			continue
		}
		arrow, ok := arrows[name]
		if !ok {
			t.Errorf("%s has no row in the table of who imports whom: add one, with the reason", name)
			continue
		}
		for _, i := range p.Imports {
			i = strings.TrimPrefix(i, module+"/")
			if !standard[i] && !slices.ContainsFunc(arrow.imports, covers(i)) {
				t.Errorf("%s imports %s, which it may not: %s", name, i, arrow.because)
			}
		}
	}
}

// The arrows bound what a package imports itself; this bounds what its user gets by it, whatever our dependencies
// come to depend on.
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
		{"robotsmw/robotsmeta/htmlmeta", []string{"golang.org/x/net"}},
		{"politeness", []string{"golang.org/x/net", "golang.org/x/time"}},
		{"politeness/limittest", []string{"golang.org/x/net", "golang.org/x/time"}},
		{"robotsmw", []string{"golang.org/x/net", "golang.org/x/sync", "golang.org/x/text", "golang.org/x/time"}},
	}
	existing := make(map[string]bool)
	for _, p := range goList(t, "./...") {
		existing[p.ImportPath] = true
	}
	for _, tt := range tests {
		t.Run(tt.imports, func(t *testing.T) {
			path := module + "/" + tt.imports
			if !existing[path] {
				t.Skipf("there is no package %s", tt.imports)
			}
			for _, p := range goList(t, "-deps", path) {
				if p.Standard || p.ImportPath == module || strings.HasPrefix(p.ImportPath, module+"/") {
					continue
				}
				if !slices.ContainsFunc(tt.gets, func(m string) bool { return strings.HasPrefix(p.ImportPath+"/", m+"/") }) {
					t.Errorf("a user of %s gets %s", tt.imports, p.ImportPath)
				}
			}
		})
	}
}

// covers returns whether an entry of the table allows the import.
func covers(imported string) func(entry string) bool {
	return func(entry string) bool {
		if tree, ok := strings.CutSuffix(entry, "/..."); ok {
			return strings.HasPrefix(imported+"/", tree+"/")
		}
		return imported == entry
	}
}

func isFree(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return slices.Contains(free, top)
}

// goList runs go list -json in the module's root and returns its records.
func goList(t *testing.T, args ...string) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=ImportPath,Standard,Imports"}, args...)...)
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
