package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A Package is one package of the module, parsed and type-checked.
type Package struct {
	Path  string // the import path
	Name  string // the path relative to the module
	Dir   string
	Main  bool
	Test  bool // whether go list -test made this variant of the package
	Files []*ast.File
	Fset  *token.FileSet
	Types *types.Package
	Info  *types.Info
}

// Public reports whether users of the module can import p.
func (p *Package) Public() bool {
	top, _, _ := strings.Cut(p.Name, "/")
	return !p.Test && !p.Main && top != "examples" && top != "integration_test" && !slices.Contains(strings.Split(p.Name, "/"), "internal")
}

type listed struct {
	ImportPath string
	Name       string
	Dir        string
	Export     string
	ForTest    string
	GoFiles    []string
	Standard   bool
	Module     *struct {
		Path string
		Main bool
	}
	ImportMap map[string]string
	Error     *struct{ Err string }
}

// load type-checks the packages of the main module. If tests is set, it
// type-checks their tests too. It reads imported packages from the compiler's
// export data.
func load(tests bool) ([]*Package, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Name,Dir,Export,ForTest,GoFiles,Standard,Module,ImportMap,Error"}
	if tests {
		args = append(args, "-test")
	}
	cmd := exec.Command("go", append(args, "./...")...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	var all []listed
	exports := make(map[string]string)
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if l.Error != nil {
			return nil, fmt.Errorf("go list: %s: %s", l.ImportPath, l.Error.Err)
		}
		all = append(all, l)
		exports[l.ImportPath] = l.Export
	}
	var packages []*Package
	for _, l := range all {
		if l.Module == nil || !l.Module.Main || strings.HasSuffix(l.ImportPath, ".test") {
			continue // a package of another module, or the generated main package of a test
		}
		p, err := check(l, exports)
		if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	slices.SortFunc(packages, func(a, b *Package) int { return strings.Compare(a.Name, b.Name) })
	return packages, nil
}

func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	file := strings.TrimSpace(string(out))
	if file == "" || file == os.DevNull {
		return "", errors.New("no go.mod found; run this command inside the module")
	}
	return filepath.Dir(file), nil
}

func check(l listed, exports map[string]string) (*Package, error) {
	path, _, variant := strings.Cut(l.ImportPath, " ") // in go list -test, a test variant has the path "path [path.test]"
	p := &Package{
		Path: path,
		Name: strings.TrimPrefix(path, l.Module.Path+"/"),
		Dir:  l.Dir,
		Main: l.Name == "main",
		Test: variant,
		Fset: token.NewFileSet(),
		Info: &types.Info{Uses: make(map[*ast.Ident]types.Object), Defs: make(map[*ast.Ident]types.Object)},
	}
	for _, name := range l.GoFiles {
		file, err := parser.ParseFile(p.Fset, filepath.Join(l.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.Files = append(p.Files, file)
	}
	lookup := func(path string) (io.ReadCloser, error) {
		if id, ok := l.ImportMap[path]; ok {
			path = id
		}
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(exports[path])
	}
	config := types.Config{Importer: importer.ForCompiler(p.Fset, "gc", lookup)}
	var err error
	if p.Types, err = config.Check(path, p.Fset, p.Files, p.Info); err != nil {
		return nil, err
	}
	return p, nil
}
