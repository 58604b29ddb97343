package webtest

import (
	"runtime"
	"sync"
	"time"
)

// OnAllCores calls f for each index below n, on all cores at once. It returns
// how long that took. Benchmarks measure with it how fast a command could be at
// best.
func OnAllCores(n int, f func(i int)) time.Duration {
	start := time.Now()
	cores := runtime.GOMAXPROCS(0)
	var workers sync.WaitGroup
	for worker := range cores {
		workers.Go(func() {
			for i := worker; i < n; i += cores {
				f(i)
			}
		})
	}
	workers.Wait()
	return time.Since(start)
}
