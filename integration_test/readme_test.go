package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each Go program in the README compiles.
func TestReadme_ProgramsCompile(t *testing.T) {
	programs := readmePrograms(t)
	if len(programs) == 0 {
		t.Fatal("README.md has no Go program")
	}
	buildPrograms(t, programs)
}

// buildPrograms reports programs that do not compile. It builds each program as
// a package of this module that exists only in an overlay.
func buildPrograms(t *testing.T, programs []string) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{make(map[string]string)}
	args := []string{"build", "-o", os.DevNull, "-overlay", filepath.Join(dir, "overlay.json")}
	for n, program := range programs {
		if !strings.HasPrefix(program, "package ") {
			program = wholeProgram(program)
		}
		source := filepath.Join(dir, fmt.Sprintf("program%d.go", n))
		if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("documented_program%d", n)
		overlay.Replace[filepath.Join(root, "examples", name, "main.go")] = source
		args = append(args, "./examples/"+name)
	}
	data, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("a Go program of the documentation does not compile: %v\n%s", err, out)
	}
}

// The README contains the source of the shortest crawler verbatim.
func TestReadme_ShowsTheExample(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("..", "examples", "colly", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(source), "package main\n")
	if !slices.Contains(readmePrograms(t), "package main\n"+code) {
		t.Error("README.md does not show examples/colly/main.go unchanged")
	}
}

// The README names each package that can be imported and each example, and no
// others.
func TestReadme_NamesThePackages(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, name := range regexp.MustCompile("`((?:robotsmw|politeness|examples)(?:/[a-z]+)*)`").FindAllStringSubmatch(string(readme), -1) {
		named = append(named, name[1])
	}
	var packages []string
	for _, p := range goList(t, "./...") {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if (!isFree(name) || strings.HasPrefix(name, "examples/")) && !strings.Contains(name, "internal/") {
			packages = append(packages, name)
		}
	}
	for name := range nestedModules {
		if path.Dir(name) == "examples" {
			packages = append(packages, name)
		}
	}
	for _, name := range packages {
		if !slices.Contains(named, name) {
			t.Errorf("README.md does not name %s", name)
		}
	}
	for _, get := range regexp.MustCompile(`go (?:get|install) `+module+`/([a-z/]+)@latest`).FindAllStringSubmatch(string(readme), -1) {
		named = append(named, get[1])
	}
	for _, name := range named {
		if !slices.Contains(packages, name) {
			t.Errorf("README.md names %s, which is neither a package that can be imported nor an example", name)
		}
	}
}

// Each terminal session in the README shows what the example prints on standard
// output.
func TestReadme_ShowsWhatCommandsPrint(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatch(string(readme), -1)
	if len(blocks) == 0 {
		t.Fatal("README.md has no code block with a terminal session (```console)")
	}
	binaries := make(map[string]string)
	for _, block := range blocks {
		for _, session := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			command, want, _ := strings.Cut(session+"\n", "\n")
			words := strings.Fields(strings.ReplaceAll(command, "'", ""))
			example, ok := strings.CutPrefix(strings.Join(words[:min(3, len(words))], " "), "go run ./examples/")
			if !ok {
				t.Errorf("README.md shows the command %q, want only \"go run ./examples/...\"", command)
				continue
			}
			if binaries[example] == "" {
				binaries[example] = build(t, example)
			}
			cmd := exec.CommandContext(t.Context(), binaries[example], words[3:]...)
			cmd.Dir = ".."
			got, err := cmd.Output()
			if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
				t.Fatal(err)
			}
			if strings.TrimSpace(string(got)) != strings.TrimSpace(want) {
				t.Errorf("%s prints\n%s\nbut README.md shows\n%s", command, got, want)
			}
		}
	}
}

// wholeProgram makes a program of statements. It imports what they use, and
// uses what they declare.
func wholeProgram(statements string) string {
	imports := ""
	for _, path := range []string{
		"context", "fmt", "log", "net/http", "net/url", "time",
		"go.opentelemetry.io/otel/metric",
		module + "/politeness", module + "/robotsmw", module + "/robotsmw/diskstore", module + "/robotsmw/otelrobots",
	} {
		if strings.Contains(statements, path[strings.LastIndexByte(path, '/')+1:]+".") {
			imports += fmt.Sprintf("import %q\n", path)
		}
	}
	if strings.Contains(statements, "opts := ") {
		statements += "_, _ = opts, err\n"
	}
	return "package main\n" + imports + "func main() {\n" + statements + "}\n"
}

// readmePrograms returns the Go code blocks of the README.
func readmePrograms(t *testing.T) []string {
	t.Helper()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var programs []string
	for _, block := range regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(string(readme), -1) {
		programs = append(programs, block[1])
	}
	return programs
}
