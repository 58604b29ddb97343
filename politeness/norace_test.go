//go:build !race

package politeness

const raceEnabled = false
