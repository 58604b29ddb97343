package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

func TestDefaults_Flags(t *testing.T) {
	var help bytes.Buffer
	if status := run(t.Context(), []string{"-h"}, &help, io.Discard); status != 0 {
		t.Fatalf("exit status %d, want 0", status)
	}
	for name, value := range map[string]time.Duration{
		"delay": politeness.DefaultDelay,
		"lease": politeness.DefaultLease,
	} {
		_, usage, _ := strings.Cut(help.String(), "\n  -"+name+" ")
		usage, _, _ = strings.Cut(usage, "\n  -")
		if want := fmt.Sprintf("(default %v)", value); !strings.Contains(usage, want) {
			t.Errorf("help of -%s is %q, want it to contain %q", name, usage, want)
		}
	}
}
