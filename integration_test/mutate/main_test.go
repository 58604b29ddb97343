package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestChangesOf(t *testing.T) {
	const src = `package p

import "fmt"

func f(a, b int, ok bool) bool {
	if a < b && !ok {
		fmt.Println("a" + "b")
		a = 2
	}
	for range a {
		continue
	}
	return true
}
`
	got := make(map[string]string)
	changes, err := changesOf("p", "p/p.go", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		got[c.what] = strings.TrimSpace(c.after)
		if _, err := parser.ParseFile(token.NewFileSet(), "p.go", c.source, 0); err != nil {
			t.Errorf("the changed file cannot be parsed after the change %q: %v", c.what, err)
		}
	}
	want := map[string]string{
		"< becomes <=":                       "if a <= b && !ok {",
		"&& becomes ||":                      "if a < b || !ok {",
		"! is left out":                      "if a < b && ok {",
		"the condition becomes its opposite": "if !(a < b && !ok) {",
		"the statement is left out":          "",
		"the assignment is left out":         "_ = 2",
		"a number becomes one more":          "a = (2+1)",
		"continue becomes break":             "break",
		"true becomes false":                 "return false",
	}
	for what, line := range want {
		if after, ok := got[what]; !ok || after != line {
			t.Errorf("after the change %q, the line is %q, want %q", what, after, line)
		}
	}
	if len(got) != len(want) {
		t.Errorf("changesOf returned %d kinds of changes, want %d: %v", len(got), len(want), got)
	}
}

// Each entry of the map "explained" is about a line that still exists.
func TestExplainedLinesExist(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	for e, why := range explained {
		src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.file)))
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(src), e.before) || why == "" {
			t.Errorf("an entry of explained has no reason, or its file %s no longer contains the line %q", e.file, e.before)
		}
	}
}
