package main

import "testing"

func TestCountCodeLines(t *testing.T) {
	tests := []struct {
		name, source string
		want         int
	}{
		{"nothing", "", 0},
		{"comments and blank lines", "// a\n\npackage p\n/* b\nc */\n", 1},
		{"code and a comment in one line", "package p // a\n", 1},
		{"a raw string of three lines", "package p\nvar x = `a\n\nb` + \"c\"\n", 4},
		{"two raw strings that share a line", "package p\nvar x = `a\n` + `b\n`\n", 4},
		{"braces alone", "package p\nfunc f() {\n\tg()\n}\n", 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := countCodeLines([]byte(tt.source)); got != tt.want {
				t.Errorf("countCodeLines of %q = %d, want %d", tt.source, got, tt.want)
			}
		})
	}
}

func TestBranches(t *testing.T) {
	p := files(t, map[string]string{"a.go": `
func f(c chan int, a, b bool) {
	if a && b || !a {
	}
	for range 3 {
	}
	for {
		switch { case a, b: case !a: default: }
		func() { select { case <-c: default: } }()
	}
}`})
	for _, file := range p.Files {
		if got := branches(file); got != 8 {
			t.Errorf("branches of the file = %d, want 8", got)
		}
	}
}
