package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// core has a row for each package that this command changes. The row lists the
// packages whose tests should notice a change: the package itself, and packages
// that build on it.
var core = map[string][]string{
	"robotsmw":                          {"./robotsmw"},
	"robotsmw/internal/cache":           {"./robotsmw/internal/cache", "./robotsmw"},
	"robotsmw/internal/fetch":           {"./robotsmw/internal/fetch", "./robotsmw"},
	"robotsmw/internal/load":            {"./robotsmw/internal/load", "./robotsmw"},
	"robotsmw/internal/origin":          {"./robotsmw/internal/origin", "./robotsmw"},
	"robotsmw/internal/page":            {"./robotsmw/internal/page", "./robotsmw"},
	"robotsmw/internal/record":          {"./robotsmw/internal/record", "./robotsmw"},
	"robotsmw/internal/store":           {"./robotsmw/internal/store", "./robotsmw"},
	"robotsmw/robotstxt":                {"./robotsmw/robotstxt"},
	"robotsmw/robotstxt/internal/match": {"./robotsmw/robotstxt/internal/match", "./robotsmw/robotstxt"},
	"robotsmw/robotstxt/internal/syntax": {"./robotsmw/robotstxt/internal/syntax", "./robotsmw/robotstxt",
		"./robotsmw/robotstxt/lint"},
	"robotsmw/robotsmeta":          {"./robotsmw/robotsmeta/..."},
	"robotsmw/robotsmeta/htmlmeta": {"./robotsmw/robotsmeta/htmlmeta"},
	"politeness":                   {"./politeness"},
	"politeness/refusal":           {"./politeness/refusal", "./robotsmw"},
}

// A change is a file with one expression or statement replaced.
type change struct {
	dir, file     string // slash-separated, from the module's root
	line          int
	what          string // such as "< becomes <="
	before, after string // the line before and after the change
	source        []byte // the changed file
}

// candidates returns every possible change of the core packages, ordered by
// file and place.
func candidates(root, only string) ([]change, error) {
	var all []change
	for _, dir := range slices.Sorted(maps.Keys(core)) {
		pkg, err := build.ImportDir(filepath.Join(root, filepath.FromSlash(dir)), 0)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", dir, err)
		}
		for _, name := range pkg.GoFiles {
			file := dir + "/" + name
			if !strings.HasPrefix(file, only) {
				continue
			}
			src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
			if err != nil {
				return nil, err
			}
			changes, err := changesOf(dir, file, src)
			if err != nil {
				return nil, err
			}
			all = append(all, changes...)
		}
	}
	return all, nil
}

// swapped maps each operator to one that is easily confused with it.
var swapped = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
	token.AND: token.OR, token.OR: token.AND, token.SHL: token.SHR, token.SHR: token.SHL,
}

// changesOf returns the possible changes of one file. A change may replace an
// operator, a condition, a number, or one of the words "true", "false" and
// "continue". It may also remove a statement, an assignment or a negation.
func changesOf(dir, file string, src []byte) ([]change, error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all []change
	replace := func(from, to token.Pos, text, what string) {
		begin, end := fset.Position(from), fset.Position(to)
		after := slices.Concat(src[:begin.Offset], []byte(text), src[end.Offset:])
		all = append(all, change{
			dir: dir, file: file, line: begin.Line, what: what,
			before: lineAt(src, begin.Offset), after: lineAt(after, begin.Offset), source: after,
		})
	}
	text := func(n ast.Node) string {
		return string(src[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset])
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok != token.IMPORT && n.Tok != token.TYPE
		case *ast.Field:
			return false // skip struct tags and array lengths
		case *ast.BinaryExpr:
			if to, ok := swapped[n.Op]; ok && !isText(n) {
				replace(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), to.String(), n.Op.String()+" becomes "+to.String())
			}
		case *ast.UnaryExpr:
			if n.Op == token.NOT {
				replace(n.OpPos, n.OpPos+1, "", "! is left out")
			}
		case *ast.IfStmt:
			replace(n.Cond.Pos(), n.Cond.End(), "!("+text(n.Cond)+")", "the condition becomes its opposite")
		case *ast.BasicLit:
			if n.Kind == token.INT {
				replace(n.Pos(), n.End(), "("+n.Value+"+1)", "a number becomes one more")
			}
		case *ast.Ident:
			if opposite := map[string]string{"true": "false", "false": "true"}[n.Name]; opposite != "" {
				replace(n.Pos(), n.End(), opposite, n.Name+" becomes "+opposite)
			}
		case *ast.BranchStmt:
			if n.Label == nil && n.Tok == token.CONTINUE {
				replace(n.Pos(), n.End(), "break", "continue becomes break")
			}
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt:
			replace(n.Pos(), n.End(), strings.Repeat("\n", bytes.Count([]byte(text(n)), []byte("\n"))), "the statement is left out")
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE && len(n.Lhs) == 1 {
				// Keep the right side, because otherwise a variable might be
				// unused.
				replace(n.Pos(), n.End(), "_ = "+text(n.Rhs[0]), "the assignment is left out")
			}
		}
		return true
	})
	return all, nil
}

// isText reports whether n concatenates strings and one of them is a literal.
func isText(n *ast.BinaryExpr) bool {
	for _, side := range []ast.Expr{n.X, n.Y} {
		switch side := side.(type) {
		case *ast.BasicLit:
			if side.Kind == token.STRING && n.Op == token.ADD {
				return true
			}
		case *ast.BinaryExpr:
			if isText(side) {
				return true
			}
		}
	}
	return false
}

func lineAt(src []byte, offset int) string {
	begin := bytes.LastIndexByte(src[:offset], '\n') + 1
	end := bytes.IndexByte(src[offset:], '\n')
	if end < 0 {
		return string(src[begin:])
	}
	return string(src[begin : offset+end])
}
