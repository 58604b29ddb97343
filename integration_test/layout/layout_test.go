package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

var loaded = sync.OnceValues(func() ([]*Package, error) { return load(false) })

// No file uses a file that uses it, directly or through others, so each package
// can be read from one end to the other. If the files of a package are put one
// above the other in the best order, no file uses a file above it.
func TestBackArrows(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("SKIPPED: it reads the whole module, which takes a minute with the race detector, and has no goroutines")
	}
	t.Parallel()
	packages, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		g := newFileGraph(p)
		for _, a := range g.bestOrder().Back {
			t.Errorf("%s: %s uses %s of %s, which uses the first file, directly or through other files", p.Name, g.Files[a.From], strings.Join(g.Arrows[a], ", "), g.Files[a.To])
		}
	}
}

func files(t *testing.T, content map[string]string) *Package {
	t.Helper()
	l := listed{ImportPath: "example.com/m/p", Name: "p", Dir: t.TempDir()}
	l.Module = &struct {
		Path string
		Main bool
	}{"example.com/m", true}
	for name, text := range content {
		if err := os.WriteFile(filepath.Join(l.Dir, name), []byte("package p\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		l.GoFiles = append(l.GoFiles, name)
	}
	p, err := check(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNewFileGraph(t *testing.T) {
	const uses, isUsed = "a.go", "b.go"
	tests := []struct {
		name       string
		a, b, want string // want: names from b.go that a.go uses
	}{
		{"nothing", "var x = 1", "var y = 2", ""},
		{"a variable", "var x = y", "var y = 2", "y"},
		{"a method", "func f(t interface{ M() }) { t.M() }\nfunc g() { new(T).M() }", "type T struct{}\nfunc (*T) M() {}", "M, T"},
		{"a field", "func f() int { return t().n }", "type T struct{ n int }\nfunc t() T { return T{} }", "n, t"},
		{"a key of a literal", "var x = T{n: 1}", "type T struct{ n int }", "T, n"},
		{"a method's receiver", "func (T) m() {}", "type T struct{}", "T"},
		{"an instance's method and field", "func f() { t := L[int]{}; t.add(t.first) }", "type L[E any] struct{ first E }\nfunc (*L[E]) add(E) {}", "L, add, first"},
		{"what has the same name in it", "func f() { y := 1; _ = y }", "var y = 2", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newFileGraph(files(t, map[string]string{uses: tt.a, isUsed: tt.b}))
			if !slices.Equal(g.Files, []string{uses, isUsed}) {
				t.Fatalf("the graph has the files %q, want %q", g.Files, []string{uses, isUsed})
			}
			if got := strings.Join(g.Arrows[Arrow{0, 1}], ", "); got != tt.want {
				t.Errorf("%s uses %q of %s, want %q", uses, got, isUsed, tt.want)
			}
			if back, ok := g.Arrows[Arrow{1, 0}]; ok {
				t.Errorf("%s uses %q of %s, want nothing", isUsed, back, uses)
			}
		})
	}
}

func TestExported(t *testing.T) {
	p := files(t, map[string]string{"a.go": `
const C, c = 1, 2
var V, v int
func F() {}
func f() {}
type T struct { Field int; field int; Embedded; hidden }
func (*T) Method() {}
func (T) method() {}
type Embedded struct{ Own int }
type hidden struct{ Promoted int }
func (hidden) M() {}
type I interface { Do(); do(); Wide }
type Wide interface{ More() }
type Alias = T
type Pair[K any] struct { Key K }
`})
	want := []string{"Alias", "C", "Embedded", "Embedded.Own", "F", "I", "I.Do", "Pair", "Pair.Key", "T", "T.Field", "T.Method", "V", "Wide", "Wide.More"}
	if got := exported(p.Types); !slices.Equal(got, want) {
		t.Errorf("exported returned\n     %q\nwant %q", got, want)
	}
}

func TestRun(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("SKIPPED: it reads the whole module three times, and has no goroutines")
	}
	t.Parallel()
	tests := []struct {
		name    string
		ask     question
		verbose bool
		want    []string
	}{
		{"arrows", askArrows, false, []string{"files  layers  arrows  back", "robotsmw/robotsmeta\n"}},
		{"names", askNames, true, []string{"robotsmw/robotsmeta\n", "Directives.NoIndexAt\n", "in all\n"}},
		{"sizes", askSizes, true, []string{"robotsmw/robotsmeta\n", "libraries\n", "examples\n"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			if err := run(&out, []string{"robotsmw/robotsmeta"}, tt.ask, tt.verbose); err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("output does not contain %q:\n%s", want, out.String())
				}
			}
		})
	}
	if err := run(new(strings.Builder), []string{"robotsmw/robotsmeto"}, askArrows, false); err == nil {
		t.Error("run returned no error for a package that does not exist")
	}
}

// A name counts as used if an Example uses it, but not if only a test does.
func TestUsedNames(t *testing.T) {
	p := files(t, map[string]string{"a.go": "type T struct{}\nfunc (T) Shown() {}\nfunc (T) Tested() {}\nfunc F() { T{}.Tested() }"})
	p.Test = false
	q := files(t, map[string]string{"a.go": "type T struct{}\nfunc (T) Shown() {}\nfunc (T) Tested() {}",
		"a_test.go": "func ExampleT() { T{}.Shown() }\nfunc TestT() { T{}.Tested() }"})
	q.Test = true
	used := usedNames([]*Package{p, q})
	if !used[p.Path+".T"] || !used[p.Path+".T.Shown"] || used[p.Path+".T.Tested"] || used[p.Path+".F"] {
		t.Errorf("the used names are %v, want T and T.Shown, but neither T.Tested nor F", used)
	}
}
