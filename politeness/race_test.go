//go:build race

package politeness

const raceEnabled = true
