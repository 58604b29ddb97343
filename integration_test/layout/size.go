package main

import (
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

// group returns the group in which the code of p is counted: "libraries" or
// "examples". It returns "" for tests and for the commands of this directory.
func (p *Package) group() string {
	top, _, _ := strings.Cut(p.Name, "/")
	switch {
	case p.Test:
		return ""
	case top == "robotsmw" || top == "politeness":
		return "libraries"
	case top == "examples":
		return "examples"
	}
	return ""
}

// codeLines returns the number of lines with code in the package's files. It
// includes files for other systems, but no tests.
func codeLines(p *Package) (int, error) {
	names, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
	total := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		total += countCodeLines(source)
	}
	return total, err
}

// countCodeLines counts the lines with a token, and each line of a raw string.
// Comments and blank lines do not count.
func countCodeLines(source []byte) int {
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, 0) // without comments
	last, total := 0, 0
	for {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			return total
		}
		if kind == token.SEMICOLON && text == "\n" {
			continue // the scanner put it there; no line has only this token
		}
		line := file.Line(pos)
		end := line + strings.Count(text, "\n")
		total += end - max(line-1, last)
		last = end
	}
}

// maxBranches is the maximum number of branches of a function, unless its doc
// comment contains the word "branches" and explains why the function has more.
const maxBranches = 20

// A branchy is a function with more than maxBranches branches.
type branchy struct {
	name      string // "file.go:12 Function"
	branches  int
	explained bool
}

func findBranchy(p *Package) []branchy {
	var found []branchy
	for _, file := range p.Files {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := branches(f); n > maxBranches {
				at := p.Fset.Position(f.Pos())
				name := fmt.Sprintf("%s:%d %s", filepath.Base(at.Filename), at.Line, f.Name.Name)
				found = append(found, branchy{name, n, strings.Contains(f.Doc.Text(), "branches")})
			}
		}
	}
	return found
}

// branches counts the branches of a function: each if, loop, case with a
// condition, && and ||, including those in its function literals.
func branches(f ast.Node) int {
	n := 0
	ast.Inspect(f, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if node.List != nil {
				n++
			}
		case *ast.CommClause:
			if node.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if node.Op == token.LAND || node.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

func printSizes(out io.Writer, packages []*Package, shown func(*Package) bool, verbose bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "lines\tbranchy\t  package")
	totals := make(map[string]int)
	var list strings.Builder
	for _, p := range packages {
		if p.group() == "" || !shown(p) {
			continue
		}
		lines, err := codeLines(p)
		if err != nil {
			return err
		}
		totals[p.group()] += lines
		functions := findBranchy(p)
		fmt.Fprintf(w, "%d\t%d\t  %s\n", lines, len(functions), p.Name)
		for _, f := range functions {
			fmt.Fprintf(&list, "%s/%s: %d branches, explained: %t\n", p.Name, f.name, f.branches, f.explained)
		}
	}
	fmt.Fprintf(w, "%d\t\t  libraries\n%d\t\t  examples\n", totals["libraries"], totals["examples"])
	if err := w.Flush(); err != nil || !verbose || list.Len() == 0 {
		return err
	}
	_, err := fmt.Fprint(out, "\n", list.String())
	return err
}
