package tool

import (
	"bytes"
	"context"
	"errors"
	"testing"
)

// If the crawl cannot begin, the command prints the error and nothing else.
func TestRun_CannotBegin(t *testing.T) {
	var stdout, stderr bytes.Buffer
	command := Command{
		Crawl:  func(context.Context, *Job) error { return errors.New("no proxy") },
		Args:   []string{"-user-agent=ExampleBot/1.0", "http://a.example/"},
		Stdout: &stdout,
		Stderr: &stderr,
	}
	if status := command.Run(t.Context()); status != ExitUsage {
		t.Errorf("exit status is %d, want %d", status, ExitUsage)
	}
	if got, want := stderr.String(), "politespider: no proxy\n"; got != want {
		t.Errorf("standard error is %q, want %q", got, want)
	}
	if stdout.Len() > 0 {
		t.Errorf("standard output is %q, want none", stdout.String())
	}
}
