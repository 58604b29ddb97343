//go:build race

package robotstxt

// Under the race detector a sync.Pool drops things at random.
func init() { raceDetector = true }
