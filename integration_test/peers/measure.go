package main

import (
	"slices"
	"testing"
	"time"
)

// compare measures two functions in turn. It returns the time of one call to
// each in its fastest round, in nanoseconds. Other load on the machine can only
// add to a time, so the shortest is the nearest to the truth.
func compare(rounds int, atLeast time.Duration, a, b func()) (timeA, timeB float64) {
	var timesA, timesB []float64
	for range rounds {
		timesA = append(timesA, measure(atLeast, a))
		timesB = append(timesB, measure(atLeast, b))
	}
	return slices.Min(timesA), slices.Min(timesB)
}

// measure calls f until enough time has passed. It returns the time of one call
// in nanoseconds.
func measure(atLeast time.Duration, f func()) float64 {
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

// allocations returns how many allocations one call of f makes.
func allocations(f func()) int { return int(testing.AllocsPerRun(3, f)) }
