package main

import (
	"slices"
	"testing"
	"time"
)

// compare measures two functions in turn. For each function, it returns the
// time of one call in the fastest round, in nanoseconds. Other load on the
// machine can only add to a time, so the shortest time is the most accurate.
func compare(rounds int, atLeast time.Duration, a, b func()) (timeA, timeB float64) {
	var timesA, timesB []float64
	for range rounds {
		timesA = append(timesA, measureTime(atLeast, a))
		timesB = append(timesB, measureTime(atLeast, b))
	}
	return slices.Min(timesA), slices.Min(timesB)
}

// measureTime calls f in rounds until a round takes at least the given time.
// Each round has twice as many calls as the previous one. It returns the time
// of one call in the last round, in nanoseconds.
func measureTime(atLeast time.Duration, f func()) float64 {
	for n := 1; ; n *= 2 {
		start := time.Now()
		for range n {
			f()
		}
		if elapsed := time.Since(start); elapsed >= atLeast {
			return float64(elapsed.Nanoseconds()) / float64(n)
		}
	}
}

// allocations returns the number of allocations of one call of f.
func allocations(f func()) int { return int(testing.AllocsPerRun(3, f)) }
