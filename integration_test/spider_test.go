package integration

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Ctrl-C ends a crawl immediately. Before the spider ends, it prints its
// summary.
func TestSpider_CtrlC(t *testing.T) {
	t.Parallel()
	binary := build(t, "politespider")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // without Ctrl-C, the demo takes about 15 seconds
	defer cancel()
	cmd := exec.CommandContext(ctx, binary)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the output of the demo ended before a page was fetched: %v", err)
		}
		if strings.Contains(line, "fetched  ") {
			break
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil {
		t.Fatal(err)
	}
	exit, ok := errors.AsType[*exec.ExitError](cmd.Wait())
	if !ok || exit.ExitCode() != 130 {
		t.Errorf("after Ctrl-C, the spider ended with %v, want exit status 130", exit)
	}
	for _, want := range []string{" fetched", "Interrupted: ", " still in the queue"} {
		if !strings.Contains(string(rest), want) {
			t.Errorf("after Ctrl-C, the output does not contain %q:\n%s", want, rest)
		}
	}
}

// programs contains the compiled examples. Each is compiled once for all tests.
var programs struct {
	dir   string
	mu    sync.Mutex
	built map[string]error
}

// runWithPrograms runs the tests and returns the exit status. It keeps the
// compiled examples until the tests are over.
func runWithPrograms(m *testing.M) int {
	dir, err := os.MkdirTemp("", "programs")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	programs.dir, programs.built = dir, make(map[string]error)
	return m.Run()
}

// build compiles an example, unless it is compiled already. It returns the path
// of the program.
func build(t *testing.T, example string) string {
	t.Helper()
	programs.mu.Lock()
	defer programs.mu.Unlock()
	binary := filepath.Join(programs.dir, strings.ReplaceAll(example, "/", "-"))
	err, built := programs.built[example]
	if !built {
		cmd := exec.Command("go", "build", "-o", binary, "./examples/"+example)
		cmd.Dir = ".."
		if out, failed := cmd.CombinedOutput(); failed != nil {
			err = fmt.Errorf("go build ./examples/%s: %w\n%s", example, failed, out)
		}
		programs.built[example] = err
	}
	if err != nil {
		t.Fatal(err)
	}
	return binary
}
