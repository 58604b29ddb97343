package integration

import (
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Each whole program in the documentation of a package compiles, because a new
// user copies it.
func TestDocs_ProgramsCompile(t *testing.T) {
	programs := docPrograms(t)
	if len(programs) == 0 {
		t.Fatal("no package has a program in its documentation")
	}
	buildPrograms(t, programs)
}

// docPrograms returns the code blocks in the documentation of packages that
// begin with a package clause.
func docPrograms(t *testing.T) []string {
	t.Helper()
	var programs []string
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && entry.Name() != "..":
			return filepath.SkipDir
		case entry.Name() != "doc.go":
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		for _, block := range new(doc.Package).Parser().Parse(file.Doc.Text()).Content {
			if code, ok := block.(*comment.Code); ok && strings.HasPrefix(code.Text, "package ") {
				programs = append(programs, code.Text)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return programs
}
