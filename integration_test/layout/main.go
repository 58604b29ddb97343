// Command layout measures how the module is laid out: which other files each
// file uses, which names each package exports, and how much code there is.
//
//	go run ./integration_test/layout            # files, layers, arrows, back arrows
//	go run ./integration_test/layout -v         # also each arrow that runs back up
//	go run ./integration_test/layout -names     # how many names each package exports
//	go run ./integration_test/layout -names -v  # also the names
//	go run ./integration_test/layout -unused    # names that only tests use
//	go run ./integration_test/layout -sizes     # lines of code of each package
//	go run ./integration_test/layout -sizes -v  # also the functions with many branches
//
// The flags may be followed by packages to print, relative to the module's
// root, such as robotsmw/robotstxt. By default all packages are printed.
//
// The files of a package, except its tests, form a graph. An arrow leads from
// file A to file B if A uses something that B declares: an identifier, a method
// or a field.
//
// If no files use each other in a circle, all arrows lead down, and a file
// stands one layer above the highest file that it uses. Otherwise some arrows
// run back up. The command finds the order of the files in which the fewest
// arrows run back up.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	verbose := flag.Bool("v", false, "also print each arrow that runs back up, each name, or each function with many branches")
	names := flag.Bool("names", false, "count exported names instead of arrows")
	unused := flag.Bool("unused", false, "print the exported names that no example, no other package and no command uses")
	sizes := flag.Bool("sizes", false, "count lines of code, without comments, blank lines and tests")
	flag.Parse()
	ask := askArrows
	for _, flag := range []struct {
		given bool
		question
	}{{*names, askNames}, {*unused, askUnused}, {*sizes, askSizes}} {
		if !flag.given {
			continue
		}
		if ask != askArrows {
			fmt.Fprintln(os.Stderr, "layout: only one of -names, -unused and -sizes may be set")
			os.Exit(1)
		}
		ask = flag.question
	}
	if err := run(os.Stdout, flag.Args(), ask, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "layout:", err)
		os.Exit(1)
	}
}

// A question selects what the command prints.
type question int

const (
	askArrows question = iota
	askNames
	askUnused
	askSizes
)

func run(out io.Writer, only []string, ask question, verbose bool) error {
	packages, err := load(ask == askUnused)
	if err != nil {
		return err
	}
	for _, name := range only {
		if !slices.ContainsFunc(packages, func(p *Package) bool { return p.Name == name }) {
			return fmt.Errorf("the module has no package %s", name)
		}
	}
	shown := func(p *Package) bool { return len(only) == 0 || slices.Contains(only, p.Name) }
	switch ask {
	case askUnused:
		return printUnused(out, packages, shown)
	case askNames:
		return printNames(out, packages, shown, verbose)
	case askSizes:
		return printSizes(out, packages, shown, verbose)
	}
	return printArrows(out, packages, shown, verbose)
}

func printArrows(out io.Writer, packages []*Package, shown func(*Package) bool, verbose bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "files\tlayers\tarrows\tback\t  package")
	var list strings.Builder
	for _, p := range packages {
		if p.Test || !shown(p) {
			continue
		}
		g := newFileGraph(p)
		plan := g.bestOrder()
		note := ""
		if !plan.Exact {
			note = " (or fewer: a circle has too many files for an exact search)"
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t  %s%s\n", len(g.Files), plan.Layers, len(g.Arrows), len(plan.Back), p.Name, note)
		for _, a := range plan.Back {
			fmt.Fprintf(&list, "%s: %s -> %s: %s\n", p.Name, g.Files[a.From], g.Files[a.To], strings.Join(g.Arrows[a], ", "))
		}
	}
	if err := w.Flush(); err != nil || !verbose || list.Len() == 0 {
		return err
	}
	_, err := fmt.Fprint(out, "\n", list.String())
	return err
}

func printNames(out io.Writer, packages []*Package, shown func(*Package) bool, verbose bool) error {
	total := 0
	for _, p := range packages {
		if !p.Public() || !shown(p) {
			continue
		}
		names := exported(p.Types)
		total += len(names)
		fmt.Fprintf(out, "%4d  %s\n", len(names), p.Name)
		if verbose {
			for _, name := range names {
				fmt.Fprintf(out, "      %s\n", name)
			}
		}
	}
	_, err := fmt.Fprintf(out, "%4d  in all\n", total)
	return err
}

func printUnused(out io.Writer, packages []*Package, shown func(*Package) bool) error {
	used := usedNames(packages)
	for _, p := range packages {
		if p.Test || p.Main || !shown(p) {
			continue
		}
		names := exported(p.Types)
		var left []string
		for _, name := range names {
			if !used[p.Path+"."+name] {
				left = append(left, name)
			}
		}
		if len(left) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(out, "%s, %d of %d: %s\n", p.Name, len(left), len(names), strings.Join(left, ", ")); err != nil {
			return err
		}
	}
	return nil
}
