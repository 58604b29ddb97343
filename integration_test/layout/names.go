package main

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// exported returns the exported names of a package, sorted. A field or a method
// is listed as "Type.Name", and any other declaration as "Name".
func exported(p *types.Package) []string {
	var names []string
	for _, name := range exportedObjects(p) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// exportedObjects maps the exported objects of a package to their names. It
// leaves out embedded fields, because their types have the same names.
func exportedObjects(p *types.Package) map[types.Object]string {
	names := make(map[types.Object]string)
	for _, name := range p.Scope().Names() {
		object := p.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		names[object] = name
		typeName, ok := object.(*types.TypeName)
		if !ok || typeName.IsAlias() {
			continue
		}
		member := func(m types.Object) {
			if m.Exported() {
				names[m] = name + "." + m.Name()
			}
		}
		named := typeName.Type().(*types.Named)
		for m := range named.Methods() {
			member(m)
		}
		switch u := named.Underlying().(type) {
		case *types.Struct:
			for f := range u.Fields() {
				if !f.Embedded() {
					member(f)
				}
			}
		case *types.Interface:
			for m := range u.ExplicitMethods() {
				member(m)
			}
		}
	}
	return names
}

// usedNames returns "path.Name" for each exported name that an Example or
// another package of the module uses.
func usedNames(packages []*Package) map[string]bool {
	ours := make(map[string]bool)
	for _, p := range packages {
		ours[p.Path] = true
	}
	used := make(map[string]bool)
	for _, p := range packages {
		names := make(map[*types.Package]map[types.Object]string)
		use := func(object types.Object) {
			from := object.Pkg()
			if from == nil || !ours[from.Path()] {
				return
			}
			if names[from] == nil {
				names[from] = exportedObjects(from)
			}
			if name, ok := names[from][origin(object)]; ok {
				used[from.Path()+"."+name] = true
			}
		}
		for _, file := range p.Files {
			test := strings.HasSuffix(p.Fset.Position(file.FileStart).Filename, "_test.go")
			for _, decl := range file.Decls {
				if test && !isExample(decl) {
					continue
				}
				ast.Inspect(decl, func(n ast.Node) bool {
					if ident, ok := n.(*ast.Ident); ok {
						if object := p.Info.Uses[ident]; object != nil && (test || object.Pkg() != p.Types) {
							use(object)
						}
					}
					return true
				})
			}
		}
	}
	return used
}

func isExample(decl ast.Decl) bool {
	f, ok := decl.(*ast.FuncDecl)
	return ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Example")
}
