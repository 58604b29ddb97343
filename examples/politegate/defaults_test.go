package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/politeness"
)

func TestDefaults_Flags(t *testing.T) {
	var help bytes.Buffer
	if status := run(t.Context(), []string{"-h"}, &help, io.Discard); status != 0 {
		t.Fatalf("exit status %d", status)
	}
	for name, value := range map[string]fmt.Stringer{"delay": politeness.DefaultDelay, "lease": politeness.DefaultLease} {
		_, usage, _ := strings.Cut(help.String(), "\n  -"+name+" ")
		usage, _, _ = strings.Cut(usage, "\n  -")
		if want := fmt.Sprintf("(default %v)", value); !strings.Contains(usage, want) {
			t.Errorf("the help of -%s is %q, want %q in it", name, usage, want)
		}
	}
}
