//go:build race

package collyrobots_test

const raceEnabled = true
