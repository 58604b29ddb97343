package lint

import (
	"slices"
	"testing"
)

// FuzzCheck checks that the linter does not panic, and that each problem has a
// known code and a position in the file.
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
			if p.Line < 0 || p.Line > lines {
				t.Fatalf("Check returns the line of %q, want 0 to %d", p, lines)
			}
			if p.Column < 0 || p.Column > len(body)+1 {
				t.Fatalf("Check returns the column of %q, want 0 to %d", p, len(body)+1)
			}
			if p.Message == "" || known[p.Code] == "" {
				t.Fatalf("Check returns %q, want a message and a code of code.go", p)
			}
		}
		if len(problems) > maxProblems+1 {
			t.Fatalf("Check returns %d problems, want at most %d", len(problems), maxProblems+1)
		}
		if again := Check(body); !slices.Equal(again, problems) {
			t.Fatalf("a second Check returns %v, want %v", again, problems)
		}
	})
}
