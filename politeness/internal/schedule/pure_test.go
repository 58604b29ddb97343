package schedule

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The package decides by its arguments alone, so it neither starts goroutines
// nor waits, locks, reads a clock or draws random numbers itself.
func TestPackageIsPure(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	forbidden := map[string]bool{"context": true, "log": true, "log/slog": true, "math/rand": true, "math/rand/v2": true, "net": true, "net/http": true, "os": true, "sync": true, "sync/atomic": true}
	clocks := map[string]bool{"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "AfterFunc": true, "NewTimer": true, "NewTicker": true, "Tick": true}
	files := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files++
		for _, imp := range file.Imports {
			path, _ := strconv.Unquote(imp.Path.Value)
			if forbidden[path] || strings.Contains(path, ".") {
				t.Errorf("%v: the package imports %s, want no such import", fset.Position(imp.Pos()), path)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
				t.Errorf("%v: the code contains an %T, want none", fset.Position(n.Pos()), n)
			case *ast.SelectorExpr:
				if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "time" && clocks[n.Sel.Name] {
					t.Errorf("%v: the code uses time.%s, want no clock", fset.Position(n.Pos()), n.Sel.Name)
				}
			}
			return true
		})
	}
	if files < 5 {
		t.Errorf("only %d files were examined, want at least 5", files)
	}
}
