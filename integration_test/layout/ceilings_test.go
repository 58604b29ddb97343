package main

import (
	"fmt"
	"testing"
)

// ceilings limit how large the module may become. Whoever adds code removes
// other code, or raises a ceiling on purpose. Whoever removes code lowers it.
var ceilings = struct {
	lines       map[string]int // lines of code, without comments, blank lines and tests
	unexplained int            // functions of more than maxBranches branches, with no word why
	names       map[string]int // exported names of packages for a special purpose
	otherNames  int            // exported names of all other packages together
}{
	lines:       map[string]int{"libraries": 20_400, "newcomers": 1_211, "examples": 8_460},
	unexplained: 0,
	names: map[string]int{
		"politeness/refusal":      23,
		"robotsmw/gate":           5,
		"robotsmw/revisit":        18,
		"robotsmw/evidence":       10,
		"robotsmw/evidence/audit": 45,
		"robotsmw/webbotauth":     22,
	},
	otherNames: 492,
}

func TestCodeIsSmall(t *testing.T) {
	t.Parallel()
	packages, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	lines, unexplained, err := countCode(packages)
	if err != nil {
		t.Fatal(err)
	}
	for group, most := range ceilings.lines {
		if n := lines[group]; n > most || n == 0 {
			t.Errorf("the %s have %d lines of code, %d may be (go run ./integration_test/layout -sizes)", group, n, most)
		}
	}
	if n := len(unexplained); n > ceilings.unexplained {
		t.Errorf("%d functions have more than %d branches and do not say why in their docs, %d may:", n, maxBranches, ceilings.unexplained)
		for _, name := range unexplained {
			t.Error(name)
		}
	}
}

// An added name takes the place of another one, and has an Example.
func TestExported_AreFew(t *testing.T) {
	t.Parallel()
	packages, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	total, counts := 0, ""
	for _, p := range packages {
		if !p.Public() {
			continue
		}
		n := len(exported(p.Types))
		if most, ok := ceilings.names[p.Name]; ok {
			if n > most {
				t.Errorf("%s exports %d names, %d may", p.Name, n, most)
			}
			continue
		}
		total += n
		counts += fmt.Sprintf("\n%4d %s", n, p.Name)
	}
	if total > ceilings.otherNames {
		t.Errorf("%d names are exported, %d may:%s", total, ceilings.otherNames, counts)
	}
}

func TestCodeLinesOf(t *testing.T) {
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
			if got := codeLinesOf([]byte(tt.source)); got != tt.want {
				t.Errorf("%d lines, want %d", got, tt.want)
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
			t.Errorf("%d branches, want 8", got)
		}
	}
}
