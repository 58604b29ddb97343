//go:build race

package robotstxt

// init tells TestAllocations not to count. Under the race detector a sync.Pool
// drops things at random.
func init() { raceDetector = true }
