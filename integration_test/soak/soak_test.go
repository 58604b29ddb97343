package main

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

func TestMain(m *testing.M) {
	testmain.Quiet()
	os.Exit(m.Run())
}

// A short crawl stays within twice its bounds. COURTESY_SOAK=30m makes it a
// long one. With the race detector, which uses additional memory, the test
// checks only for races.
func TestSoak(t *testing.T) {
	duration := 4 * time.Second
	if s := os.Getenv("COURTESY_SOAK"); s != "" {
		var err error
		if duration, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	err := soak(&out, tempDir(t), duration)
	t.Log(out.String())
	if errors.Is(err, errMemory) && testmain.RaceEnabled {
		t.Skip(err)
	}
	if err != nil {
		t.Errorf("soak: %v", err)
	}
}

// tempDir returns a new directory, which is removed after the test. Fetches of
// robots.txt that no visit waits for may store a file even then, so tempDir
// retries for a while. t.TempDir would fail the test.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "courtesy-soak")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 100 {
			if err = os.RemoveAll(dir); err == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Error(err)
	})
	return dir
}
