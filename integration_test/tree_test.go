package integration

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The top level has these files and directories and no others. Long pages
// belong in package docs or in the README.
func TestTopLevel(t *testing.T) {
	want := []string{
		".ci", ".github", ".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md",
		"examples", "go.mod", "go.sum", "integration_test", "internal", "politeness", "robotsmw",
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

// nestedModules have a go.mod of their own, each for the given reason. If their
// directories belonged to the root module, users of Courtesy would get
// requirements that only these directories need. The go command does not enter
// these modules from the root, so .ci/run vets, builds and tests each of them.
var nestedModules = map[string]string{
	"examples/fetchtool":                                     "the SDK of the Model Context Protocol",
	"examples/politegate/browser":                            "the driver of a browser",
	"integration_test/peers":                                 "other people's parsers and retries",
	"integration_test/peers/prometheus":                      "a Prometheus exporter, with its 20 modules",
	"integration_test/peers/signatures":                      "another implementation of signatures, with 14 modules",
	"integration_test/peers/warc":                            "another implementation of WARC, a strict reader",
	"examples/politespider/internal/report/integration_test": "the driver of a browser",
	"examples/queues":                                        "the clients of three queues, and a server of NATS",
}

// Only one module is published. It has no tool directives, because these would
// give its users more requirements.
func TestOneModule(t *testing.T) {
	found := make(map[string]bool)
	for _, file := range trackedFiles(t) {
		if path.Base(file) == "go.mod" {
			found[path.Dir(file)] = true
		}
	}
	for dir := range found {
		if dir != "." && nestedModules[dir] == "" {
			t.Errorf("%s/go.mod makes another module", dir)
		}
	}
	root := goMod(t, ".")
	if root.Tool != nil || root.Replace != nil || root.Exclude != nil || root.Toolchain != "" {
		t.Error("go.mod has a tool, replace, exclude or toolchain directive, want none, because the modules of its users would inherit it or would need it themselves")
	}
	for dir, why := range nestedModules {
		if !found[dir] {
			t.Errorf("%s, which is for %s, has no go.mod", dir, why)
			continue
		}
		mod := goMod(t, dir)
		// The go command decides by a module's path whether the module may
		// import internal packages.
		if want := module + "/" + dir; mod.Module.Path != want {
			t.Errorf("%s/go.mod names the module %s, want %s", dir, mod.Module.Path, want)
		}
		if mod.Go != root.Go {
			t.Errorf("%s/go.mod is for go %s, want go %s as in the root", dir, mod.Go, root.Go)
		}
		if len(mod.Replace) != 1 || mod.Replace[0].Old.Path != module || path.Join(dir, mod.Replace[0].New.Path) != "." {
			t.Errorf("%s/go.mod must have exactly one replace directive, which replaces %s by the root of the tree", dir, module)
		}
	}
}

// Few modules are required directly. Each of them is in the build list of every
// user of Courtesy, or at least in the user's go.sum.
func TestFewRequirements(t *testing.T) {
	const most = 11
	var direct []string
	for _, r := range goMod(t, ".").Require {
		if !r.Indirect {
			direct = append(direct, r.Path)
		}
	}
	if len(direct) > most {
		t.Errorf("go.mod has %d direct requirements, want at most %d: %q; a module that only tests require belongs in a nested module", len(direct), most, direct)
	}
}

// Dependabot proposes newer requirements only for the modules that its
// configuration lists.
func TestDependabotListsAllModules(t *testing.T) {
	text, err := os.ReadFile("../.github/dependabot.yml")
	if err != nil {
		t.Fatal(err)
	}
	_, gomod, found := strings.Cut(string(text), "package-ecosystem: gomod\n")
	if !found {
		t.Fatal("dependabot.yml has no entry for gomod")
	}
	gomod, actions, _ := strings.Cut(gomod, "- package-ecosystem:")
	if !strings.HasPrefix(actions, " github-actions\n") {
		t.Error("dependabot.yml has no entry for github-actions after the one for gomod")
	}
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^ +- /(.*)$`).FindAllStringSubmatch(gomod, -1) {
		listed = append(listed, path.Clean(m[1]))
	}
	for _, file := range trackedFiles(t) {
		if path.Base(file) != "go.mod" {
			continue
		}
		dir := path.Dir(file)
		if !slices.Contains(listed, dir) {
			t.Errorf("dependabot.yml does not list the directory of %s", file)
		}
		listed = slices.DeleteFunc(listed, func(s string) bool { return s == dir })
	}
	if len(listed) > 0 {
		t.Errorf("dependabot.yml lists directories without a go.mod: %q", listed)
	}
}

// Actions are pinned by commits, because a tag can be moved to other code.
// Unless persist-credentials is false, actions/checkout leaves the workflow's
// token where the tests, and all the code that they use, can read it.
func TestWorkflowsPinActions(t *testing.T) {
	pinned := regexp.MustCompile(`^[\w-]+/[\w./-]+@[0-9a-f]{40} # v[0-9.]+$`)
	readsContents := regexp.MustCompile(`^  contents: read\n\S`)
	for _, file := range trackedFiles(t) {
		if path.Dir(file) != ".github/workflows" {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		_, permissions, _ := strings.Cut(string(text), "permissions:\n")
		if !readsContents.MatchString(permissions) || strings.Contains(permissions, "permissions:") {
			t.Errorf("the permissions in %s are not only \"contents: read\"", file)
		}
		steps := string(text)
		uses := regexp.MustCompile(`\buses: *(.*)`).FindAllStringSubmatchIndex(steps, -1)
		if len(uses) == 0 {
			t.Errorf("%s uses no action, want at least actions/checkout", file)
		}
		for i, at := range uses {
			action := steps[at[2]:at[3]]
			if !pinned.MatchString(action) {
				t.Errorf("%s uses the action %q, want it pinned by its commit, with the version as a comment", file, action)
			}
			settings := steps[at[1]:]
			if i+1 < len(uses) {
				settings = steps[at[1]:uses[i+1][0]]
			}
			if strings.HasPrefix(action, "actions/checkout@") && !strings.Contains(settings, "\n          persist-credentials: false\n") {
				t.Errorf("%s uses %s without \"persist-credentials: false\"", file, action)
			}
		}
	}
}

type moduleFile struct {
	Module    struct{ Path string }
	Go        string
	Toolchain string
	Tool      []struct{ Path string }
	Exclude   []struct{ Path string }
	Replace   []struct{ Old, New struct{ Path string } }
	Require   []struct {
		Path, Version string
		Indirect      bool
	}
}

func goMod(t *testing.T, dir string) moduleFile {
	t.Helper()
	return goModIn(t, filepath.Join("..", filepath.FromSlash(dir)))
}

func goModIn(t *testing.T, dir string) moduleFile {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("read %s/go.mod: %v", dir, err)
	}
	var mod moduleFile
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatalf("read %s/go.mod: %v", dir, err)
	}
	return mod
}

// No file names a directory of the machine on which the file was written, or a
// registry that this machine uses. The test takes these names from the machine
// on which it runs.
func TestNothingOfOneMachine(t *testing.T) {
	forbidden := ofThisMachine(t)
	for _, file := range trackedFiles(t) {
		if strings.Contains(file, "testdata/") || path.Base(file) == "LICENSE" {
			continue // these files were written by others
		}
		text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(file)))
		if err != nil {
			continue // the file is deleted, but its deletion is not committed yet
		}
		for name, inLine := range forbidden {
			if !bytes.Contains(text, []byte(name)) {
				continue // this quick test comes first, because the search of each line is slow
			}
			for n, line := range bytes.Split(text, []byte("\n")) {
				if hit := inLine.Find(line); hit != nil {
					t.Errorf("%s:%d contains %q, a name from this machine", file, n+1, hit)
				}
			}
		}
	}
}

// ofThisMachine returns the names of this machine's directories and registries,
// each with a pattern that finds the name in a line.
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
		if dir = filepath.ToSlash(filepath.Clean(dir)); !onManyMachines(dir) {
			name := dir + "/"
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

// onManyMachines reports whether a directory has the same name on many
// machines, so that its name in a file proves nothing. The tree may be a clone
// directly below such a directory.
func onManyMachines(dir string) bool {
	common := []string{
		filepath.ToSlash(filepath.Clean(os.TempDir())),
		"/", "/Users", "/data", "/etc", "/home", "/media", "/mnt", "/opt", "/srv", "/tmp", "/usr", "/usr/local", "/usr/src", "/var", "/var/tmp",
	}
	return slices.Contains(common, dir)
}

func TestOnManyMachines(t *testing.T) {
	for dir, want := range map[string]bool{
		filepath.ToSlash(filepath.Clean(os.TempDir())): true,
		"/tmp":            true, // a clone in /tmp/courtesy
		"/home":           true,
		"/":               true,
		"/tmp/courtesy":   false,
		"/home/user":      false,
		"/home/user/src":  false,
		"/somewhere/else": false,
	} {
		if got := onManyMachines(dir); got != want {
			t.Errorf("onManyMachines(%q) = %v, want %v", dir, got, want)
		}
	}
}

// trackedFiles returns the files under version control, as slash-separated
// paths from the module's root.
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
