package tool

import (
	"bytes"
	"context"
	"errors"
	"testing"
)

func TestRun_CannotBegin(t *testing.T) {
	var stdout, stderr bytes.Buffer
	command := Command{
		Crawl:  func(context.Context, *Job) error { return errors.New("no legs") },
		Args:   []string{"-user-agent=ExampleBot/1.0", "http://a.example/"},
		Stdout: &stdout,
		Stderr: &stderr,
	}
	if status := command.Run(t.Context()); status != ExitUsage {
		t.Errorf("exit status %d, want %d", status, ExitUsage)
	}
	if got, want := stderr.String(), "politespider: no legs\n"; got != want {
		t.Errorf("standard error %q, want %q", got, want)
	}
	if stdout.Len() > 0 {
		t.Errorf("standard output: %s", stdout.String())
	}
}
