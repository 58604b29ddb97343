// Command layout measures how the module is laid out: which other files each
// file uses, and which names each package exports.
//
//	go run ./integration_test/layout            # rooms, floors, arrows, back arrows
//	go run ./integration_test/layout -v         # also each arrow that runs back up
//	go run ./integration_test/layout -names     # how many names each package exports
//	go run ./integration_test/layout -names -v  # also the names
//	go run ./integration_test/layout -unused    # names that only tests use
//
// The flags may be followed by packages to print, relative to the module's
// root, such as robotsmw/robotstxt. By default all packages are printed.
//
// The output calls a package a house. Each file of the package except its tests
// is a room. An arrow leads from file A to file B if A uses something that B
// declares: an identifier, a method or a field.
//
// If no files use each other in a circle, all arrows lead down, and a file
// stands one floor above the highest file that it uses. Otherwise some arrows
// run back up. The command finds the order of the files in which the fewest
// arrows run back up.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	verbose := flag.Bool("v", false, "print each arrow that runs back, or each name")
	names := flag.Bool("names", false, "count exported names instead of arrows")
	unused := flag.Bool("unused", false, "print the exported names that no example, no other package and no command uses")
	flag.Parse()
	if err := run(os.Stdout, flag.Args(), *names, *unused, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "layout:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, only []string, names, unused, verbose bool) error {
	if names && unused {
		return errors.New("-names and -unused are two questions: ask one at a time")
	}
	packages, err := load(unused)
	if err != nil {
		return err
	}
	for _, name := range only {
		if !slices.ContainsFunc(packages, func(p *Package) bool { return p.Name == name }) {
			return fmt.Errorf("there is no package %s in this module", name)
		}
	}
	shown := func(p *Package) bool { return len(only) == 0 || slices.Contains(only, p.Name) }
	switch {
	case unused:
		return printUnused(out, packages, shown)
	case names:
		return printNames(out, packages, shown, verbose)
	default:
		return printArrows(out, packages, shown, verbose)
	}
}

func printArrows(out io.Writer, packages []*Package, shown func(*Package) bool, verbose bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "rooms\tfloors\tarrows\tback\t  package")
	var list strings.Builder
	for _, p := range packages {
		if p.Test || !shown(p) {
			continue
		}
		h := houseOf(p)
		plan := h.order()
		note := ""
		if !plan.Exact {
			note = " (at most: too many files in one circle to be sure)"
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t  %s%s\n", len(h.Rooms), plan.Floors, len(h.Arrows), len(plan.Back), p.Name, note)
		for _, a := range plan.Back {
			fmt.Fprintf(&list, "%s: %s -> %s: %s\n", p.Name, h.Rooms[a.From], h.Rooms[a.To], strings.Join(h.Arrows[a], ", "))
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
