package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/politeness"
)

// withDefaults are the packages that use the defaults of a Limiter. Their tests
// whose names begin with TestDefaults compare what they do, or write, with the
// constants of package politeness.
var withDefaults = []string{
	"politeness",
	"robotsmw/collyrobots",
	"robotsmw/evidence",
	"robotsmw/gate",
	"examples/politegate",
	"examples/politespider/internal/tool",
}

// TestDefaults_HaveOneHome runs the tests of the defaults in a build in which
// all the constants are three times as large. A package that repeats a value
// instead of using its constant then differs from the constant. Without the
// change, no test would notice a copy of the value until the default is changed
// and the copy is not.
func TestDefaults_HaveOneHome(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds six packages again")
	}
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	home, err := filepath.Abs("../politeness")
	if err != nil {
		t.Fatal(err)
	}
	constants := filepath.Join(home, "defaults.go")
	// The additional test verifies that the tests run with the changed
	// constants.
	proof := fmt.Sprintf("package politeness\n\nimport \"testing\"\n\nfunc TestDefaults_AreTripled(t *testing.T) {\n"+
		"\tif DefaultDelay != %d {\n\t\tt.Errorf(\"DefaultDelay is %%v\", DefaultDelay)\n\t}\n}\n", 3*politeness.DefaultDelay)
	replace := map[string]string{
		constants: write("defaults.go", tripled(t, constants)),
		filepath.Join(home, "defaultproof_test.go"): write("proof.go", []byte(proof)),
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"test", "-v", "-vet=off", "-count=1", "-run=^TestDefaults", "-overlay=" + write("overlay.json", overlay)}
	for _, name := range withDefaults {
		args = append(args, module+"/"+name)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("a default of package politeness has a copy, which differs from the changed constant: %v\n%s", err, out)
		return
	}
	if !strings.Contains(string(out), "--- PASS: TestDefaults_AreTripled") {
		t.Errorf("the tests did not run with the tripled constants: the output lacks the passing test TestDefaults_AreTripled:\n%s", out)
	}
	for _, name := range withDefaults {
		_, result, found := strings.Cut(string(out), "\nok  \t"+module+"/"+name+"\t")
		result, _, _ = strings.Cut(result, "\n")
		if !found || strings.Contains(result, "no tests to run") {
			t.Errorf("%s has no test whose name begins with TestDefaults:\n%s", name, out)
		}
	}
}

// tripled returns the source of a Go file in which the value of each constant
// is three times what it is.
func tripled(t *testing.T, path string) []byte {
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	var changed bytes.Buffer
	end := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, value := range spec.Values {
			from, to := files.Position(value.Pos()).Offset, files.Position(value.End()).Offset
			changed.Write(source[end:from])
			fmt.Fprintf(&changed, "3 * (%s)", source[from:to])
			end = to
		}
		return false
	})
	changed.Write(source[end:])
	return changed.Bytes()
}
