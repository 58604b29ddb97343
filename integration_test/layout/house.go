package main

import (
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
)

// A House describes a package: its files, and for each file the files that it
// uses.
type House struct {
	Rooms  []string           // the names of the files, sorted
	Arrows map[Arrow][]string // for each arrow, the names declared in To and used in From, sorted
}

// An Arrow leads from a room to another room that the first one uses. From and
// To are indexes in Rooms.
type Arrow struct{ From, To int }

func houseOf(p *Package) *House {
	h := &House{Arrows: make(map[Arrow][]string)}
	for _, file := range p.Files {
		h.Rooms = append(h.Rooms, filepath.Base(p.Fset.Position(file.FileStart).Filename))
	}
	slices.Sort(h.Rooms)
	for ident, object := range p.Info.Uses {
		object = origin(object)
		if object.Pkg() != p.Types || !object.Pos().IsValid() {
			continue
		}
		if _, ok := object.(*types.PkgName); ok {
			continue // ident is the name of an imported package, such as "fmt"
		}
		a := Arrow{h.room(p, ident.Pos()), h.room(p, object.Pos())}
		if a.From != a.To && !slices.Contains(h.Arrows[a], object.Name()) {
			h.Arrows[a] = append(h.Arrows[a], object.Name())
		}
	}
	for _, uses := range h.Arrows {
		slices.Sort(uses)
	}
	return h
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

func (h *House) room(p *Package, pos token.Pos) int {
	n, _ := slices.BinarySearch(h.Rooms, filepath.Base(p.Fset.Position(pos).Filename))
	return n
}
