//go:build race

package testmain

// RaceEnabled reports whether the race detector is on. It makes code about ten
// times slower and takes memory of its own. Tests of memory are skipped then,
// and long computations in one goroutine are shortened.
const RaceEnabled = true
