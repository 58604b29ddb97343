// Command mutate checks that the tests notice changes of the code. A few
// hundred times, it changes one place at random and runs the tests:
//
//	.ci/mutate                    300 changes, within 30 minutes
//	.ci/mutate -n 50 -seed 7 -only politeness
//
// It prints each change that no test noticed, with the explanation in
// explained.go, if there is one. At the end, it prints the number of such
// changes. The exit status is 1 if more than 5 in 100 changes went unnoticed,
// or if an unnoticed change is not explained. The files of the tree are not
// modified: the go command compiles a changed copy in place of one file
// (-overlay).
//
// A change that survives shows that a test is missing or that some code is
// unnecessary. If neither is true, add an explanation to explained.go.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	tolerated = 5               // maximum number of survivors among 100 changes
	hangs     = 2 * time.Minute // a test that runs longer counts as failed
)

func main() {
	n := flag.Int("n", 300, "how many `changes` to try")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of the random choice of changes; 0 is a valid seed")
	within := flag.Duration("within", 30*time.Minute, "stop after this time, even if fewer changes were tried")
	only := flag.String("only", "", "change only files whose path begins with this `prefix`, such as politeness/")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "mutate takes no arguments, but got %q\n", flag.Args())
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *within)
	defer cancel()
	ok, err := run(ctx, *n, *seed, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// run tries n changes. It reports whether at most 5 in 100 survived, and
// whether all survivors are explained.
func run(ctx context.Context, n int, seed uint64, only string) (bool, error) {
	root, err := moduleRoot()
	if err != nil {
		return false, err
	}
	all, err := candidates(root, only)
	if err != nil {
		return false, err
	}
	if len(all) == 0 {
		return false, fmt.Errorf("no change is possible in files whose path begins with %q", only)
	}
	fmt.Printf("seed %d: %d of %d possible changes\n", seed, min(n, len(all)), len(all))
	if err := sound(ctx, root, all); err != nil {
		return false, err
	}
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })

	t := tally{}
	next := make(chan change)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for c := range next {
				t.count(c, try(ctx, root, c))
			}
		})
	}
	for _, c := range all {
		if ctx.Err() != nil || t.enough(n) {
			break
		}
		next <- c
	}
	close(next)
	workers.Wait()
	return t.report(), nil
}

// sound returns an error if the tests fail without any change, because then
// every change would seem to be noticed.
func sound(ctx context.Context, root string, all []change) error {
	var packages []string
	for _, c := range all {
		packages = append(packages, core[c.dir]...)
	}
	slices.Sort(packages)
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-failfast"}, slices.Compact(packages)...)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the tests fail without any change: %w\n%s", err, out)
	}
	return nil
}

type outcome int

const (
	noticed  outcome = iota // a test failed
	survived                // all tests passed
	invalid                 // the changed package does not compile
	aborted                 // time ran out, or a temporary file could not be written
)

// try compiles the package with the change, and then runs the tests. It begins
// with the tests of the package itself.
func try(ctx context.Context, root string, c change) outcome {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return aborted
	}
	defer os.RemoveAll(dir)
	changed := filepath.Join(dir, filepath.Base(c.file))
	overlay := filepath.Join(dir, "overlay.json")
	names, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, c.file): changed}})
	if err == nil {
		err = cmp.Or(os.WriteFile(changed, c.source, 0o600), os.WriteFile(overlay, names, 0o600))
	}
	if err != nil {
		return aborted
	}
	// Compile first. go test would fail for a change that does not compile, so
	// the change would count as noticed although no test detects it.
	build := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "./"+c.dir)
	build.Dir = root
	if build.Run() != nil {
		if ctx.Err() != nil {
			return aborted
		}
		return invalid
	}
	for _, pkg := range core[c.dir] {
		// If a test hangs, go test ends it at the timeout. If the go command
		// were killed instead, the test would continue to run.
		limited, cancel := context.WithTimeout(ctx, 2*hangs)
		test := exec.CommandContext(limited, "go", "test", "-vet=off", "-failfast", "-timeout", hangs.String(), "-overlay", overlay, pkg)
		test.Dir = root
		test.WaitDelay = time.Second
		err := test.Run()
		cancel()
		var exit *exec.ExitError
		switch {
		case ctx.Err() != nil:
			return aborted
		case limited.Err() != nil, errors.As(err, &exit):
			return noticed
		case err != nil:
			return aborted
		}
	}
	return survived
}

// A tally counts outcomes. It is safe for concurrent use.
type tally struct {
	mu          sync.Mutex
	tried       int
	survivors   int
	unexplained int
}

func (t *tally) enough(n int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tried >= n
}

func (t *tally) count(c change, o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch o {
	case noticed:
		t.tried++
	case survived:
		t.tried++
		t.survivors++
		why := explained[explanation{c.file, strings.TrimSpace(c.before), strings.TrimSpace(c.after)}]
		if why == "" {
			t.unexplained++
			why = "NOT EXPLAINED"
		}
		fmt.Printf("%s:%d: %s\n  - %s\n  + %s\n  %s\n", c.file, c.line, c.what, strings.TrimSpace(c.before), strings.TrimSpace(c.after), why)
	case invalid, aborted:
		return
	}
	if t.tried%25 == 0 {
		fmt.Printf("… %d tried, %d survived\n", t.tried, t.survivors)
	}
}

func (t *tally) report() bool {
	fmt.Printf("%d tried, %d survived (%.1f of 100), %d of them not explained\n",
		t.tried, t.survivors, 100*float64(t.survivors)/float64(max(t.tried, 1)), t.unexplained)
	return t.unexplained == 0 && t.survivors*100 <= t.tried*tolerated
}

func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the go.mod of the module: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}
