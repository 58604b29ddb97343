// Package integration tests Courtesy from outside: which package imports which,
// whether the README is true, and whole crawls of real servers whose own logs
// are the witnesses. It contains only tests.
package integration
