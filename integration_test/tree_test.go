package integration

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The top level is part of the design: long pages are package docs or sections of the README.
func TestTopLevel(t *testing.T) {
	want := []string{
		".ci", ".gitignore", "CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md",
		"examples", "go.mod", "go.sum", "integration_test", "politeness", "robotsmw",
	}
	var got []string
	for _, file := range trackedFiles(t) {
		top, _, _ := strings.Cut(file, "/")
		got = append(got, top)
	}
	slices.Sort(got)
	got = slices.Compact(got)
	for _, name := range got {
		if !slices.Contains(want, name) {
			t.Errorf("the top level has %s, which does not belong there", name)
		}
	}
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("the top level lacks %s", name)
		}
	}
}

// One module is published. Tools are pinned beside it, so that they never raise a user's requirements.
func TestOneModule(t *testing.T) {
	for _, file := range trackedFiles(t) {
		if path.Base(file) == "go.mod" && file != "go.mod" && file != "integration_test/peers/go.mod" {
			t.Errorf("%s makes a second module", file)
		}
	}
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, directive := range []string{"\ntool", "\nreplace", "\ntoolchain", "\nexclude"} {
		if bytes.Contains(mod, []byte(directive)) {
			t.Errorf("go.mod has a %s directive", directive[1:])
		}
	}
}

// A file that names the machine it was written on, or the registry that served its dependencies, is wrong everywhere
// else. Which those are, this machine says itself.
func TestNothingOfOneMachine(t *testing.T) {
	forbidden := ofThisMachine(t)
	for _, file := range trackedFiles(t) {
		if strings.Contains(file, "testdata/") || path.Base(file) == "LICENSE" {
			continue // what others wrote
		}
		text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(file)))
		if err != nil {
			continue // deleted, not yet committed
		}
		for name, inLine := range forbidden {
			if !bytes.Contains(text, []byte(name)) {
				continue // which is known at once
			}
			for n, line := range bytes.Split(text, []byte("\n")) {
				if hit := inLine.Find(line); hit != nil {
					t.Errorf("%s:%d: %q", file, n+1, hit)
				}
			}
		}
	}
}

// ofThisMachine are the names of the directories and the registries that this machine is set up with, and how they look
// in a line.
func ofThisMachine(t *testing.T) map[string]*regexp.Regexp {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dirs := []string{root, filepath.Dir(root)}
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, home)
	}
	env, err := exec.CommandContext(t.Context(), "go", "env", "GOPATH", "GOMODCACHE", "GOCACHE", "GOPROXY", "GOSUMDB").Output()
	if err != nil {
		t.Fatal(err)
	}
	settings := strings.Split(strings.TrimSpace(string(env)), "\n")
	dirs = append(dirs, settings[:3]...)
	names := make(map[string]*regexp.Regexp)
	for _, dir := range dirs {
		if dir = filepath.ToSlash(dir); len(dir) > len("/") {
			name := strings.TrimSuffix(dir, "/") + "/"
			names[name] = regexp.MustCompile(`(^|[^\w/.])` + regexp.QuoteMeta(name))
		}
	}
	for _, word := range strings.FieldsFunc(strings.Join(settings[3:], ","), func(r rune) bool { return strings.ContainsRune(",|/: ", r) }) {
		if strings.Contains(word, ".") {
			names[word] = regexp.MustCompile(regexp.QuoteMeta(word))
		}
	}
	return names
}

// trackedFiles lists what is in version control, relative to the module's root, with slashes.
func trackedFiles(t *testing.T) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("SKIPPED: the files of this tree are not known without git and its repository: %v", err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
}
