package integration

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Ctrl-C ends a crawl at once, and it still says what it came to.
func TestSpider_CtrlC(t *testing.T) {
	binary := build(t, "politespider")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // the demo itself ends after a quarter of one
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
			t.Fatalf("the demo ended before a page was fetched: %v", err)
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
		t.Errorf("the spider ended with %v, want exit status 130", exit)
	}
	for _, want := range []string{" fetched", "Interrupted: ", " still in the queue"} {
		if !strings.Contains(string(rest), want) {
			t.Errorf("after Ctrl-C the spider says nothing of %q:\n%s", want, rest)
		}
	}
}

// build compiles one of the examples and returns its path.
func build(t *testing.T, example string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), example)
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./examples/"+example)
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build ./examples/%s: %v\n%s", example, err, out)
	}
	return binary
}
