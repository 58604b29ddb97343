// Package tooltest tests the command lines of politespider and of its fleet.
package tooltest

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
)

// CheckMistake checks that a run with a wrong command line returns
// tool.ExitUsage, and that it prints nothing but one line of standard error,
// which contains want.
func CheckMistake(t *testing.T, run func(stdout, stderr io.Writer) int, want string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if status := run(&stdout, &stderr); status != tool.ExitUsage {
		t.Errorf("exit status %d, want %d", status, tool.ExitUsage)
	}
	if !strings.Contains(stderr.String(), want) {
		t.Errorf("standard error %q does not contain %q", stderr.String(), want)
	}
	if n := strings.Count(stderr.String(), "\n"); n != 1 || stdout.Len() > 0 {
		t.Errorf("%d lines of error, want 1:\n%s\nstandard output: %s", n, stderr.String(), stdout.String())
	}
}
