package integration

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// A comment on lines of its own ends within 80 columns, with tabs of four
// columns. A comment behind code has at most 80 characters.
func TestComments_FitIn80Columns(t *testing.T) {
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && entry.Name() != "..":
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, wide := range wideComments(t, path, string(text)) {
			t.Errorf("the comment at %s is wider than 80 columns", wide)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wideComments returns the positions of the comments that are too wide. The
// output of an Example may have any width.
func wideComments(t *testing.T, name, text string) (places []string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text, "\n")
	for _, group := range file.Comments {
		output := false
		for _, c := range group.List {
			output = output || isOutput(c)
			at := files.Position(c.Pos())
			before := lines[at.Line-1][:at.Column-1]
			width := utf8.RuneCountInString(c.Text)
			if strings.Trim(before, "\t") == "" {
				width += 4 * len(before)
			}
			if !output && width > 80 && strings.HasPrefix(c.Text, "// ") {
				places = append(places, at.String())
			}
		}
	}
	return places
}

func isOutput(c *ast.Comment) bool {
	text := strings.ToLower(c.Text)
	return strings.HasPrefix(text, "// output:") || strings.HasPrefix(text, "// unordered output:")
}

func TestWideComments(t *testing.T) {
	words := strings.Repeat("x", 77)
	for name, tt := range map[string]struct {
		text string
		want int
	}{
		"80 columns":               {"package a\n\n// " + words + "\n", 0},
		"81 columns":               {"package a\n\n// " + words + "x\n", 1},
		"characters, not bytes":    {"package a\n\n// " + strings.Repeat("§", 77) + "\n", 0},
		"a tab is four columns":    {"package a\n\nfunc f() {\n\t// " + words[4:] + "x\n}\n", 1},
		"behind code":              {"package a\n\nvar aRatherLongName = 1 // " + words + "\n", 0},
		"behind code, too wide":    {"package a\n\nvar a = 1 // " + words + "x\n", 1},
		"the output of an Example": {"package a\n\nfunc f() {\n\t// Output: " + words + "\n\t// " + words + "\n}\n", 0},
		"a string":                 {"package a\n\nvar a = \"// " + words + words + "\"\n", 0},
		"a directive":              {"package a\n\n//go:generate " + words + words + "\n", 0},
	} {
		if got := wideComments(t, "a.go", tt.text); len(got) != tt.want {
			t.Errorf("%s: the comments at %q are too wide, want %d such comments", name, got, tt.want)
		}
	}
}
