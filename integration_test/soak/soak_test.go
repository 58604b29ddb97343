package main

import (
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
// long one.
func TestSoak(t *testing.T) {
	duration := 4 * time.Second
	if s := os.Getenv("COURTESY_SOAK"); s != "" {
		var err error
		if duration, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	err := soak(&out, t.TempDir(), duration)
	t.Log(out.String())
	if err != nil {
		t.Error(err)
	}
}
