//go:build race

package testmain

// RaceEnabled reports whether the race detector is enabled. The race detector
// makes code about ten times slower and uses additional memory, so tests of
// memory should be skipped, and long computations in one goroutine shortened.
const RaceEnabled = true
