package integration

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what users get into testdata/buildlists.txt")

// Each package has a list of modules that its users must require. This list
// changes only on purpose. For each package, the test makes a module that
// imports only this package, and runs go mod tidy there.
func TestBuildLists(t *testing.T) {
	const golden = "testdata/buildlists.txt"
	var got bytes.Buffer
	for _, p := range goList(t, "./...") {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if isFree(name) || strings.Contains(name+"/", "/internal/") {
			continue
		}
		fmt.Fprintln(&got, name)
		for _, required := range requiredBy(t, p.ImportPath) {
			fmt.Fprintf(&got, "\t%s\n", required)
		}
	}
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	had, has := linesOf(string(want)), linesOf(got.String())
	changed := false
	for _, line := range has.order {
		if !had.in[line] {
			t.Errorf("the build lists have the new line %q", line)
			changed = true
		}
	}
	for _, line := range had.order {
		if !has.in[line] {
			t.Errorf("the build lists lack the line %q", line)
			changed = true
		}
	}
	if changed {
		t.Error("The modules that users must require have changed. If this was not intended, find the import: go mod why -m MODULE. " +
			"If it was, add the change to CHANGELOG.md and run go test ./integration_test -run TestBuildLists -update")
	}
}

// lines contains the lines of a build list, in order. linesOf changes the line
// of a requirement to "PACKAGE requires MODULE VERSION".
type lines struct {
	order []string
	in    map[string]bool
}

func linesOf(list string) lines {
	l := lines{in: make(map[string]bool)}
	user := ""
	for line := range strings.Lines(list) {
		line = strings.TrimRight(line, "\n")
		if required, ok := strings.CutPrefix(line, "\t"); ok {
			line = user + " requires " + required
		} else {
			user = line
		}
		l.order = append(l.order, line)
		l.in[line] = true
	}
	return l
}

// requiredBy returns the modules, besides ours, that a user of a package must
// require.
func requiredBy(t *testing.T, imported string) []string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", fmt.Sprintf("module user.example\n\ngo %s\n\nrequire %s v0.0.0\n\nreplace %s => %q\n", goMod(t, ".").Go, module, module, root))
	write("user.go", fmt.Sprintf("package user\n\nimport _ %q\n", imported))
	// This go.sum contains all checksums, so the go command requests none from
	// a server.
	var sums []byte
	for _, file := range []string{"../go.sum", "peers/go.sum"} {
		sum, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, sum...)
	}
	write("go.sum", string(sums))
	// The tests of some indirect dependencies import packages that may be
	// unavailable. With -e, the command ignores such packages. A user of our
	// package does not need them.
	tidy := exec.CommandContext(t.Context(), "go", "mod", "tidy", "-e")
	tidy.Dir = dir
	tidy.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := tidy.CombinedOutput(); err != nil {
		t.Fatalf("go mod tidy of a user of %s: %v\n%s", imported, err, out)
	}
	var required []string
	for _, r := range goModIn(t, dir).Require {
		if r.Path != module {
			required = append(required, r.Path+" "+r.Version)
		}
	}
	return required
}
