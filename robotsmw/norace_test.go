//go:build !race

package robotsmw

const raceEnabled = false
