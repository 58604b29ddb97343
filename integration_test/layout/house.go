package main

import (
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
)

// A House is a package as its reader walks through it.
type House struct {
	Rooms  []string           // file names, in alphabetical order
	Arrows map[Arrow][]string // and what of the other room is used, in alphabetical order
}

// An Arrow leads from a room to one that it uses, both by their index.
type Arrow struct{ From, To int }

// houseOf draws the house of a package.
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
			continue // the name that an import has in this file
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

// origin returns what a part of an instantiated type or function was declared
// as.
func origin(o types.Object) types.Object {
	switch o := o.(type) {
	case *types.Func:
		return o.Origin()
	case *types.Var:
		return o.Origin()
	}
	return o
}

// room returns the index of the file that holds a position.
func (h *House) room(p *Package, pos token.Pos) int {
	n, _ := slices.BinarySearch(h.Rooms, filepath.Base(p.Fset.Position(pos).Filename))
	return n
}
