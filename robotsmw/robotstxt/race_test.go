//go:build race

package robotstxt

// init makes TestAllocations skip itself, because a sync.Pool drops things at
// random under the race detector.
func init() { raceDetector = true }
