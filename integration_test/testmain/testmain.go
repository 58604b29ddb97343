// Package testmain configures and measures the process in which tests run: its
// log output, its parallelism and its memory.
package testmain

import (
	"flag"
	"log"
	"log/slog"
	"strconv"
)

// Quiet discards the output of [slog.Default], which this module uses wherever
// no Logger is set. A test that checks log output should set a Logger. Package
// log still writes to standard error. Call Quiet in TestMain.
func Quiet() {
	writer, flags := log.Writer(), log.Flags()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	log.SetOutput(writer) // slog.SetDefault has redirected it to the handler
	log.SetFlags(flags)
}

// Parallel lets up to n parallel tests of the package run at once, unless the
// flag -parallel is set. It is for tests that mostly wait in real time, so that
// there can be more of them than processors. Call Parallel in TestMain.
func Parallel(n int) {
	flag.Parse()
	parallel := flag.Lookup("test.parallel")
	if parallel.Value.String() == parallel.DefValue {
		parallel.Value.Set(strconv.Itoa(n))
	}
}
