// Package tooltest tests the command lines of politespider and of its fleet.
package tooltest

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
)

// CheckUsageError checks that a run with a wrong command line returns
// tool.ExitUsage. The run must print one line of standard error, which contains
// want, and nothing else.
func CheckUsageError(t *testing.T, run func(stdout, stderr io.Writer) int, want string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if status := run(&stdout, &stderr); status != tool.ExitUsage {
		t.Errorf("exit status is %d, want %d", status, tool.ExitUsage)
	}
	if !strings.Contains(stderr.String(), want) {
		t.Errorf("standard error is %q, want it to contain %q", stderr.String(), want)
	}
	if n := strings.Count(stderr.String(), "\n"); n != 1 || stdout.Len() > 0 {
		t.Errorf("standard output is %q and standard error is %q, want nothing and one line", stdout.String(), stderr.String())
	}
}
