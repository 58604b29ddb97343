//go:build race

package robotstxt

// init tells TestAllocations to skip, because a sync.Pool drops things at
// random under the race detector.
func init() { raceDetector = true }
