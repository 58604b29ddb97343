package testmain

import (
	"bytes"
	"flag"
	"log"
	"log/slog"
	"strings"
	"testing"
)

func TestQuiet(t *testing.T) {
	before, writer, flags := slog.Default(), log.Writer(), log.Flags()
	var written bytes.Buffer
	log.SetOutput(&written)
	t.Cleanup(func() {
		slog.SetDefault(before)
		log.SetOutput(writer)
		log.SetFlags(flags)
	})
	Quiet()
	slog.Error("from the library")
	log.Print("from the test")
	if got := written.String(); strings.Contains(got, "library") || !strings.HasSuffix(got, " from the test\n") {
		t.Errorf("%q was written to the log, want only the line of the test", got)
	}
}

func TestParallel(t *testing.T) {
	parallel := flag.Lookup("test.parallel")
	given := parallel.Value.String()
	t.Cleanup(func() { parallel.Value.Set(given) })
	for _, tt := range []struct{ given, want string }{
		{parallel.DefValue, "99"},
		{"98", "98"},
	} {
		parallel.Value.Set(tt.given)
		Parallel(99)
		if got := parallel.Value.String(); got != tt.want {
			t.Errorf("after Parallel(99) with the flag -parallel=%s, its value is %s, want %s", tt.given, got, tt.want)
		}
	}
}
