package main

import (
	"slices"
	"testing"
	"time"
)

// compare measures two functions in turn and returns the time of a call to each
// in its fastest round, in nanoseconds. What else the machine does can only add
// to a time, so the least is the nearest to the truth.
func compare(rounds int, atLeast time.Duration, a, b func()) (timeA, timeB float64) {
	var timesA, timesB []float64
	for range rounds {
		timesA = append(timesA, measure(atLeast, a))
		timesB = append(timesB, measure(atLeast, b))
	}
	return slices.Min(timesA), slices.Min(timesB)
}

// measure calls f until enough time has passed and returns the nanoseconds of
// one call.
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

// allocations returns how many allocations one call makes.
func allocations(f func()) int { return int(testing.AllocsPerRun(3, f)) }
