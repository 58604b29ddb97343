package lint

import (
	"slices"
	"testing"
)

// FuzzCheck gives the linter any bytes. The linter must not panic. Each problem
// must have a known code, and a place in the file.
func FuzzCheck(f *testing.F) {
	for _, test := range lintTests {
		if len(test.robots) < 1<<12 {
			f.Add([]byte(test.robots))
		}
	}
	known := codes(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		problems := Check(body)
		lines := 1 + countLines(body)
		for _, p := range problems {
			if p.Line < 0 || p.Line > lines || p.Column < 0 || p.Column > len(body)+1 || p.Message == "" {
				t.Fatalf("%v in a file of %d lines", p, lines)
			}
			if known[p.Code] == "" {
				t.Fatalf("unknown code %s", p.Code)
			}
		}
		if len(problems) > maxProblems+1 {
			t.Fatalf("%d problems", len(problems))
		}
		if !slices.Equal(problems, Check(body)) {
			t.Fatal("a second look finds other problems")
		}
	})
}
