package main

import (
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
)

// A FileGraph describes a package: its files, and for each file the files that
// it uses.
type FileGraph struct {
	Files  []string           // the names of the files, sorted
	Arrows map[Arrow][]string // for each arrow, the names declared in To and used in From, sorted
}

// An Arrow leads from a file to another file that the first one uses. From and
// To are indexes in Files.
type Arrow struct{ From, To int }

// newFileGraph returns the graph of a package.
func newFileGraph(p *Package) *FileGraph {
	g := &FileGraph{Arrows: make(map[Arrow][]string)}
	for _, file := range p.Files {
		g.Files = append(g.Files, filepath.Base(p.Fset.Position(file.FileStart).Filename))
	}
	slices.Sort(g.Files)
	for ident, object := range p.Info.Uses {
		object = origin(object)
		if object.Pkg() != p.Types || !object.Pos().IsValid() {
			continue
		}
		if _, ok := object.(*types.PkgName); ok {
			continue // ident is the name of an imported package, such as "fmt"
		}
		a := Arrow{g.index(p, ident.Pos()), g.index(p, object.Pos())}
		if a.From != a.To && !slices.Contains(g.Arrows[a], object.Name()) {
			g.Arrows[a] = append(g.Arrows[a], object.Name())
		}
	}
	for _, uses := range g.Arrows {
		slices.Sort(uses)
	}
	return g
}

// origin returns the generic declaration of o, if o is a method or a field of
// an instantiated type. Otherwise it returns o.
func origin(o types.Object) types.Object {
	switch o := o.(type) {
	case *types.Func:
		return o.Origin()
	case *types.Var:
		return o.Origin()
	}
	return o
}

func (g *FileGraph) index(p *Package, pos token.Pos) int {
	n, _ := slices.BinarySearch(g.Files, filepath.Base(p.Fset.Position(pos).Filename))
	return n
}
